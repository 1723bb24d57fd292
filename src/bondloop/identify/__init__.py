"""Identification: from measured data to what they say about a transfer system.

>>> import numpy as np
>>> from bondloop.identify import Data, spectral_response
>>> u = np.random.default_rng(1).normal(size=4000)
>>> pair = Data.from_arrays({"u": u, "y": 0.5 * u}, rate=1000).select(input="u", output="y")
>>> found = spectral_response(pair.input, pair.output, pair.sample_period)
>>> round(float(abs(found.h1).mean()), 9), round(float(found.coherence.min()), 9)
(0.5, 1.0)
"""

from bondloop.identify.confidence import Estimate, ResidualTests, check_residuals
from bondloop.identify.contents import Contents, read_contents
from bondloop.identify.data import Data, read_data
from bondloop.identify.distortion import Nonlinearity, harmonic_distortion, nonlinearity
from bondloop.identify.drift import Drift, model_drift
from bondloop.identify.experiment import (
    Experiment,
    PlannedPoint,
    SteppedSinePlan,
    multisine,
    stepped_sine_plan,
)
from bondloop.identify.input_output import InputOutput
from bondloop.identify.matrix_response import MatrixResponse, matrix_response
from bondloop.identify.models import (
    BondGraphFit,
    SpecimenFit,
    SpecimenRanking,
    Validation,
    fit_bond_graph,
    fit_specimen,
    leave_out,
    rank_specimens,
)
from bondloop.identify.policy import IdentificationPolicy
from bondloop.identify.process import (
    MatrixFit,
    ProcessFit,
    Ranking,
    Structure,
    fit_frequency,
    fit_matrix,
    fit_time,
    rank,
    rank_frequency,
    rank_time,
)
from bondloop.identify.spectra import (
    PowerSpectrum,
    Spectral,
    SpectralSurface,
    power_spectrum,
    spectral_response,
    spectral_surface,
)
from bondloop.identify.step_response import StepResponse, step_response
from bondloop.identify.stepped_sine import (
    FourierPoint,
    FrequencyResponse,
    SteppedSine,
    fourier_point,
    stepped_sine,
)

__all__ = [
    "BondGraphFit", "Contents", "Data", "Drift", "Estimate", "Experiment", "FourierPoint",
    "FrequencyResponse", "IdentificationPolicy", "InputOutput", "MatrixFit", "MatrixResponse",
    "Nonlinearity", "PlannedPoint",
    "PowerSpectrum", "ProcessFit", "Ranking", "ResidualTests", "SpecimenFit", "SpecimenRanking", "Spectral",
    "SpectralSurface", "StepResponse", "SteppedSine", "SteppedSinePlan", "Structure", "Validation",
    "check_residuals", "fit_bond_graph", "fit_frequency", "fit_matrix", "fit_specimen", "fit_time",
    "fourier_point", "harmonic_distortion", "leave_out", "matrix_response", "model_drift", "multisine",
    "nonlinearity", "power_spectrum", "rank", "rank_frequency", "rank_specimens", "rank_time",
    "read_contents", "read_data", "spectral_response", "spectral_surface", "step_response", "stepped_sine",
    "stepped_sine_plan",
]  # fmt: skip
