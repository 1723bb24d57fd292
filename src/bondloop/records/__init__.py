"""Run files and ground motions: what a test leaves behind, and what shakes it.

>>> import numpy as np
>>> record = Record(time=np.arange(3) * 0.5, channels={"m3.v.flow": np.zeros(3)}, units={"m3.v.flow": "m/s"})
>>> record
<Record: 3 samples, 1 channel, 0 to 1 s>
"""

from bondloop.records.ground_motion import GroundMotion, read_at2, read_two_columns
from bondloop.records.matlab_motion import read_matlab_motion
from bondloop.records.record import Record

__all__ = ["GroundMotion", "Record", "read_at2", "read_matlab_motion", "read_two_columns"]
