"""Identification: from measured data to what they say about a transfer system.

>>> import numpy as np
>>> from bondloop.identify import Data, spectral_response
>>> u = np.random.default_rng(1).normal(size=4000)
>>> pair = Data.from_arrays({"u": u, "y": 0.5 * u}, rate=1000).select(input="u", output="y")
>>> found = spectral_response(pair.input, pair.output, pair.sample_period)
>>> round(float(abs(found.h1).mean()), 9), round(float(found.coherence.min()), 9)
(0.5, 1.0)
"""

from bondloop.identify.data import Data
from bondloop.identify.distortion import Nonlinearity, harmonic_distortion, nonlinearity
from bondloop.identify.excitation import PlannedPoint, SteppedSinePlan, multisine, stepped_sine_plan
from bondloop.identify.fourier import FourierPoint, fourier_point
from bondloop.identify.input_output import InputOutput
from bondloop.identify.reading import read_data
from bondloop.identify.spectra import (
    PowerSpectrum,
    Spectral,
    SpectralSurface,
    power_spectrum,
    spectral_response,
    spectral_surface,
)
from bondloop.identify.step_response import StepResponse, step_response
from bondloop.identify.stepped_sine import FrequencyResponse, SteppedSine, stepped_sine

__all__ = [
    "Data", "FourierPoint", "FrequencyResponse", "InputOutput", "Nonlinearity", "PlannedPoint",
    "PowerSpectrum", "Spectral", "SpectralSurface", "StepResponse", "SteppedSine", "SteppedSinePlan",
    "fourier_point", "harmonic_distortion", "multisine", "nonlinearity", "power_spectrum", "read_data",
    "spectral_response", "spectral_surface", "step_response", "stepped_sine", "stepped_sine_plan",
]  # fmt: skip
