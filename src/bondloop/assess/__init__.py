"""How well a test went: synchronisation, tracking, delay, frequency, energy.

Every measure is a pure function of sampled signals. Errors are *actual minus desired*; a positive delay means
that the actual motion lags the desired one.

>>> import numpy as np
>>> t = np.arange(1000) * 1e-3
>>> desired, actual = np.sin(10 * np.pi * t), np.sin(10 * np.pi * (t - 0.002))
>>> round(normalised_rms_error(desired, actual), 5), round(delay(desired, actual, 1e-3), 5)
(0.06282, 0.002)
"""

from bondloop.assess.delay import delay
from bondloop.assess.drift import Vibration, vibration, vibration_frequency
from bondloop.assess.energy import (
    energy_error,
    energy_error_of_motion,
    hybrid_system_energy_error,
    normalised_energy_error,
    normalised_energy_error_of_motion,
    work,
)
from bondloop.assess.frequency import FrequencyIndex, Response, frequency_evaluation_index, response_at
from bondloop.assess.judgement import SCALES, Finding, Grade, Judgement, Scale, graded
from bondloop.assess.metrics import Metrics, metrics
from bondloop.assess.tracking import (
    SynchronisationErrors,
    maximum_error,
    normalised_peak_error,
    normalised_rms_error,
    peak_amplitude_error,
    rms,
    synchronisation_errors,
    tracking_indicator,
)

__all__ = [
    "SCALES",
    "Finding",
    "FrequencyIndex",
    "Grade",
    "Judgement",
    "Metrics",
    "Response",
    "Scale",
    "SynchronisationErrors",
    "Vibration",
    "delay",
    "energy_error",
    "energy_error_of_motion",
    "frequency_evaluation_index",
    "graded",
    "hybrid_system_energy_error",
    "maximum_error",
    "metrics",
    "normalised_energy_error",
    "normalised_energy_error_of_motion",
    "normalised_peak_error",
    "normalised_rms_error",
    "peak_amplitude_error",
    "response_at",
    "rms",
    "synchronisation_errors",
    "tracking_indicator",
    "vibration",
    "vibration_frequency",
    "work",
]
