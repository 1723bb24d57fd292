"""Run files and ground motions: what a test leaves behind, and what shakes it.

>>> import numpy as np
>>> record = Record(time=np.arange(3) * 0.5, channels={"m3.v.flow": np.zeros(3)}, units={"m3.v.flow": "m/s"})
>>> record
<Record: 3 samples, 1 channel, 0 to 1 s>
"""

from bondloop.records.cosmos import read_cosmos
from bondloop.records.esm import read_esm
from bondloop.records.ground_motion import GroundMotion
from bondloop.records.matlab_motion import read_matlab_motion
from bondloop.records.motion_files import read_ground_motion
from bondloop.records.peer import read_at2
from bondloop.records.record import Record
from bondloop.records.response_spectrum import ResponseSpectrum, response_spectrum
from bondloop.records.two_columns import read_two_columns

__all__ = [
    "GroundMotion", "Record", "ResponseSpectrum", "read_at2", "read_cosmos", "read_esm", "read_ground_motion",
    "read_matlab_motion", "read_two_columns", "response_spectrum",
]  # fmt: skip
