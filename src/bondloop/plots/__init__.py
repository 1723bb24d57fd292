"""Figures of runs, fit to print as they come.

Every function returns a Matplotlib ``Figure`` of its own (no pyplot, no global settings) and saves it when a
`path` is given; the ending of the path (``.svg``, ``.pdf``, ``.png``) chooses the format.
"""

from bondloop.plots.animation import animate_motion
from bondloop.plots.earthquake import drift_profile, energies, ground_motion, hysteresis
from bondloop.plots.force_diagrams import force_diagram
from bondloop.plots.histories import gains, time_histories
from bondloop.plots.overview import overview
from bondloop.plots.prediction import prediction
from bondloop.plots.run import RunPlots
from bondloop.plots.spectra import error_spectrum
from bondloop.plots.structures import deformed_shape, mode_shapes
from bondloop.plots.subspace import subspace

__all__ = [
    "RunPlots", "animate_motion", "deformed_shape", "drift_profile", "energies",
    "error_spectrum", "force_diagram", "gains", "ground_motion", "hysteresis", "mode_shapes", "overview",
    "prediction", "subspace", "time_histories",
]  # fmt: skip
