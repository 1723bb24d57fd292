"""Ground motions: read from files, corrected and scaled, and what they do to oscillators."""

from bondloop.records.motions.accelerograms import (
    read_at2,
    read_cosmos,
    read_esm,
    read_ground_motion,
    read_two_columns,
)
from bondloop.records.motions.ground_motion import GroundMotion
from bondloop.records.motions.matlab import read_matlab_motion
from bondloop.records.motions.response_spectrum import ResponseSpectrum, response_spectrum

__all__ = [
    "GroundMotion", "ResponseSpectrum", "read_at2", "read_cosmos", "read_esm",
    "read_ground_motion", "read_matlab_motion", "read_two_columns", "response_spectrum",
]  # fmt: skip
