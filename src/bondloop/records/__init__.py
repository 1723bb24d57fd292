"""Run files and ground motions: what a test leaves behind, and what shakes it.

>>> import numpy as np
>>> record = Record(time=np.arange(3) * 0.5, channels={"m3.v.flow": np.zeros(3)}, units={"m3.v.flow": "m/s"})
>>> record
<Record: 3 samples, 1 channel, 0 to 1 s>
"""

from bondloop.records.hdf5 import read_cycles, read_events
from bondloop.records.motions import (
    GroundMotion,
    ResponseSpectrum,
    read_at2,
    read_cosmos,
    read_esm,
    read_ground_motion,
    read_matlab_motion,
    read_two_columns,
    response_spectrum,
)
from bondloop.records.record import Record, read_run

__all__ = [
    "GroundMotion", "Record", "ResponseSpectrum", "read_at2", "read_cosmos", "read_cycles", "read_esm",
    "read_events", "read_ground_motion", "read_matlab_motion", "read_run", "read_two_columns",
    "response_spectrum",
]  # fmt: skip
