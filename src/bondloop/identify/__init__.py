"""Identification: from measured data to what they say about a transfer system.

>>> import numpy as np
>>> from bondloop.identify import Data, spectral_response
>>> u = np.random.default_rng(1).normal(size=4000)
>>> pair = Data.from_arrays({"u": u, "y": 0.5 * u}, rate=1000).select(input="u", output="y")
>>> found = spectral_response(pair.input, pair.output, pair.sample_period)
>>> round(float(abs(found.h1).mean()), 9), round(float(found.coherence.min()), 9)
(0.5, 1.0)
"""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "Data",
    "Experiment",
    "IdentificationPolicy",
    "ModelStructure",
    "ProcessFit",
    "SteppedSine",
    "fit_bond_graph",
    "fit_frequency",
    "fit_matrix",
    "fit_specimen",
    "fit_time",
    "fourier_point",
    "leave_out",
    "matrix_response",
    "model_drift",
    "multisine",
    "nonlinearity",
    "rank_frequency",
    "rank_specimens",
    "rank_time",
    "read_contents",
    "read_data",
    "spectral_response",
    "spectral_surface",
    "step_response",
    "stepped_sine",
    "stepped_sine_plan",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
