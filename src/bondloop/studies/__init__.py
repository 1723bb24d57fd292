"""Sweeps over a test's options and parameters, and rehearsals by the million: tables, maps, probabilities.

Figures are imported when they are first used: a worker that rehearses draws nothing.
"""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "Axis",
    "Case",
    "Correlated",
    "Interrupted",
    "Measure",
    "StudyPolicy",
    "axis_from",
    "distribution",
    "exceedance_curves",
    "from_identified",
    "heat_maps",
    "overlay",
    "read_uncertainty",
    "sample",
    "sensitivity",
    "study",
    "tornado",
    "trade_off",
    "tune_over",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
