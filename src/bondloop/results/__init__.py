"""Runs, how well the rig followed, and figures of them."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "SCALES",
    "GroundMotion",
    "Record",
    "deformed_shape",
    "delay",
    "ground_motion",
    "metrics",
    "mode_shapes",
    "normalised_rms_error",
    "prediction",
    "read_cycles",
    "read_events",
    "read_ground_motion",
    "read_run",
    "read_two_columns",
    "response_spectrum",
    "subspace",
    "time_histories",
    "work",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
