"""The range of a sensor, and how often it read an end of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.rigs import Bias, Chain, GainError, Noise, Quantisation, Saturation, Sensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.rigs import Imperfection


def span(imperfections: tuple[Imperfection, ...], *, noise: float = 3.0) -> tuple[float, float]:
    """Return the least and the greatest reading after a chain of imperfections; infinite without a limit.

    Parameters
    ----------
    imperfections
        In the order in which the signal passes them.
    noise
        How often noise behind a limit takes its rms off both ends: readings that near to one may be at it.

    Examples
    --------
    >>> span((Saturation(100.0), Bias(4.0), GainError("50 %")))
    (-144.0, 156.0)
    """
    low, high = -math.inf, math.inf
    for part in imperfections:
        if isinstance(part, (Sensor, Chain)):
            inner = span(part.imperfections if isinstance(part, Sensor) else part.parts, noise=noise)
            low, high = max(low, inner[0]), min(high, inner[1])
        elif isinstance(part, Quantisation):
            low, high = max(low, -part.range), min(high, part.range - part.resolution)
        elif isinstance(part, Saturation):
            assert isinstance(part.low, float)
            low, high = max(low, part.low), min(high, part.high)
        elif isinstance(part, Bias):
            low, high = low + part.offset, high + part.offset
        elif isinstance(part, GainError):
            low, high = sorted(((1 + part.error) * low, (1 + part.error) * high))
        elif isinstance(part, Noise):
            low, high = low + noise * part.rms, high - noise * part.rms
    return (low, high) if low < high else (-math.inf, math.inf)


def saturated_share(readings: NDArray[np.float64], sensor: Mapping[str, object]) -> float:
    """Return the share of readings at an end of the range of a sensor, given by its description.

    Examples
    --------
    >>> sensor = Sensor((Saturation(2.0),)).describe()
    >>> saturated_share(np.array([0.0, 1.0, 2.0, -2.0]), sensor)
    0.5
    """
    try:
        low, high = span(Sensor.from_description(sensor).imperfections)
    except InputError:  # a sensor of someone's own, whose range is not known
        return 0.0
    if readings.size == 0:
        return 0.0
    return float(np.mean(at_an_end(readings, low, high)))


def at_an_end(readings: NDArray[np.float64], low: float, high: float) -> NDArray[np.bool_]:
    """Return which readings are at an end of a range, but for rounding.

    Examples
    --------
    >>> at_an_end(np.array([0.0, 2.0, -2.0]), -2.0, 2.0).tolist()
    [False, True, True]
    """
    near = 1e-9 * (high - low) if math.isfinite(high - low) else 0.0
    return np.asarray((readings >= high - near) | (readings <= low + near))
