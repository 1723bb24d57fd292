"""Synthetic earthquakes: filtered white noise with an envelope, repeatable by its seed."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.data import Parameter, Whole, si_array
from bondloop.engine.ir import normal_array
from bondloop.errors import InputError
from bondloop.signals.base import Signal
from bondloop.signals.envelopes import Envelope, Jennings
from bondloop.signals.noise import EARTHQUAKE_STREAM
from bondloop.signals.recorded import integrated
from bondloop.signals.table import Table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Earthquake(Signal):
    """Ground acceleration after Kanai and Tajimi, with the second filter of Clough and Penzien.

    White noise passes the ground, a damped oscillator, and a high-pass filter that keeps the displacement
    finite. Its one-sided power spectrum is, up to a factor (Clough and Penzien 1993),

    S(ω) = (1 + 4ζg²r²) / ((1 - r²)² + 4ζg²r²) · s⁴ / ((1 - s²)² + 4ζf²s²),  r = ω/ωg, s = ω/ωf.

    It is multiplied by the envelope, corrected so that velocity and displacement end at zero, and scaled to
    its peak. Between samples the acceleration is linear; after the end it is zero.

    Parameters
    ----------
    peak
        Peak ground acceleration, m/s², or text such as ``"0.3 gn"``.
    duration
        Seconds.
    step
        Seconds between samples.
    seed
        From 0 to 2⁵³ - 1.
    ground_frequency, ground_damping
        Of the ground: Hz and ratio. The defaults stand for firm soil (ωg = 5π rad/s, ζg = 0.6).
    filter_frequency, filter_damping
        Of the high-pass filter.
    envelope
        How the shaking rises and falls; by default `Jennings.over` the duration.

    Examples
    --------
    >>> quake = Earthquake("0.3 gn", duration=20, seed=4)
    >>> acceleration = quake.sampled(np.arange(2001) * 0.01)
    >>> round(float(np.abs(acceleration).max() / 9.80665), 12)
    0.3
    >>> abs(quake.displacement()(20.0)) < 1e-12
    True

    References
    ----------
    Kanai (1957); Tajimi (1960). Clough and Penzien (1993), Dynamics of Structures.
    """

    peak: Parameter = Parameter(above=0, unit="m/s^2")
    duration: Parameter = Parameter(above=0, unit="s")
    step: Parameter = Parameter(0.01, above=0, unit="s")
    seed: Whole = Whole(0, least=0, most=2**53 - 1)
    ground_frequency: Parameter = Parameter(2.5, above=0, unit="Hz")
    ground_damping: Parameter = Parameter(0.6, above=0, unit="1")
    filter_frequency: Parameter = Parameter(0.25, above=0, unit="Hz")
    filter_damping: Parameter = Parameter(0.6, above=0, unit="1")
    envelope: Envelope | None = None

    @property
    def unit(self) -> str:
        """Of an acceleration."""
        return "m/s^2"

    def __post_init__(self) -> None:
        if self.envelope is None:
            object.__setattr__(self, "envelope", Jennings.over(self.duration))
        if not isinstance(self.envelope, Envelope):
            raise InputError(f"Earthquake(envelope): expected an Envelope; found {self.envelope!r:.60}")
        if self.duration < 20 * self.step:
            raise InputError(
                f"Earthquake: expected at least 20 samples; a duration of {self.duration:g} s "
                f"has {self.duration / self.step:.1f} steps of {self.step:g} s"
            )
        highest = max(self.ground_frequency, self.filter_frequency)
        if 2 * highest * self.step >= 1:
            raise InputError(
                f"Earthquake: a step of {self.step:g} s shows frequencies below {0.5 / self.step:g} Hz, "
                f"but a filter stands at {highest:g} Hz; shorten the step"
            )

    @property
    def highest_frequency(self) -> float:
        """The highest frequency of the noise, one line below half the sampling frequency."""
        return 0.5 / self.step - 1 / (self._length * self.step)

    @property
    def smoothness(self) -> float:
        """One: the acceleration is linear between samples."""
        return 1

    @property
    def _count(self) -> int:
        return math.floor(self.duration / self.step * (1 + 1e-12)) + 1

    @property
    def _length(self) -> int:
        """Length of the periodic noise: more than twice what is used, so that end and start are strangers."""
        return 1 << (2 * self._count).bit_length()

    @property
    def times(self) -> NDArray[np.float64]:
        """Times of the samples."""
        return self.step * np.arange(self._count, dtype=float)

    def spectrum(self, frequency: ArrayLike) -> NDArray[np.float64]:
        """Return the power spectrum at ``frequency`` in Hz, for white noise of unit spectrum."""
        f = si_array(frequency, "frequency", "Hz")
        r2, s2 = (f / self.ground_frequency) ** 2, (f / self.filter_frequency) ** 2
        g, h = 4 * self.ground_damping**2 * r2, 4 * self.filter_damping**2 * s2
        return np.asarray((1 + g) / ((1 - r2) ** 2 + g) * s2**2 / ((1 - s2) ** 2 + h))

    def stationary(self) -> NDArray[np.float64]:
        """Return the filtered noise before envelope, correction and scaling; unit white noise in."""
        n = self._length
        lines = n // 2 + 1
        draws = normal_array(self.seed, EARTHQUAKE_STREAM, np.arange(2 * lines))
        # A one-sided spectrum S gives each line a variance of S/(n step), shared by cosine and sine.
        size = np.sqrt(self.spectrum(np.fft.rfftfreq(n, self.step)) / (n * self.step))
        waves = size * (draws[0::2] + 1j * draws[1::2])
        waves[[0, -1]] = 0.0
        result: NDArray[np.float64] = np.fft.irfft(waves * (n / 2), n)
        return result

    @cached_property
    def _acceleration(self) -> Table:
        assert self.envelope is not None
        shaking = self.stationary()[: self._count] * self.envelope(self.times)
        corrected = _corrected(shaking, self.step)
        return Table(self.times, corrected * (self.peak / np.abs(corrected).max()), beyond="zero")

    def velocity(self) -> Table:
        """Return the velocity of the ground: exact at the samples, a cubic spline between them."""
        velocity, _ = integrated(self._acceleration.values, self.step)
        return Table(self.times, velocity, "cubic", "zero", "m/s")

    def displacement(self) -> Table:
        """Return the displacement of the ground: exact at the samples, a cubic spline between them."""
        _, displacement = integrated(self._acceleration.values, self.step)
        return Table(self.times, displacement, "cubic", "zero", "m")

    def derivative(self) -> Signal:
        """Return the slope of the acceleration, constant between samples."""
        return self._acceleration.derivative()

    def _values(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._acceleration._values(times)

    def _derivatives(self, times: NDArray[np.float64], order: int) -> NDArray[np.float64]:
        return self._acceleration._derivatives(times, order)


def _corrected(a: NDArray[np.float64], h: float) -> NDArray[np.float64]:
    """Remove the drift of the displacement.

    The polynomial of degree 3 to 7 in time nearest to the displacement (least squares), under the condition
    that velocity and displacement end at zero after its removal, is taken away as an acceleration. Degree 2
    is left out so that the acceleration still begins where it did.
    """
    tau = np.linspace(0.0, 1.0, len(a))
    powers = np.arange(3, 8)
    basis = powers * (powers - 1) * tau[:, None] ** (powers - 2)
    v, d = integrated(a, h)
    basis_v, basis_d = integrated(basis, h)
    scale = np.abs(basis_d[-1])
    basis, basis_v, basis_d = basis / scale, basis_v / scale, basis_d / scale
    ends = np.vstack([basis_v[-1] * (len(a) * h), basis_d[-1]])
    matrix = np.block([[basis_d.T @ basis_d / len(a), ends.T], [ends, np.zeros((2, 2))]])
    right = np.concatenate([basis_d.T @ d / len(a), [v[-1] * (len(a) * h), d[-1]]])
    return np.asarray(a - basis @ np.linalg.solve(matrix, right)[: len(powers)])
