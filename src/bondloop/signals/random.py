"""Random signals, repeatable by their seeds: noise of a band, earthquakes and their envelopes."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.display import brief
from bondloop.engine.data import Described, Parameter, Whole, number, si_array
from bondloop.engine.ir import normal_array, uniform_array
from bondloop.errors import InputError
from bondloop.signals.base import Signal
from bondloop.signals.recorded import integrated
from bondloop.signals.table import Table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Envelope(Described, family="envelope"):
    """Base of the envelopes."""

    __repr__ = brief

    @abstractmethod
    def __call__(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the strength at times from 0 on."""


@dataclass(frozen=True)
class Flat(Envelope):
    """No envelope: stationary shaking.

    Examples
    --------
    >>> Flat()(np.array([0.0, 9.0])).tolist()
    [1.0, 1.0]
    """

    def __call__(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ones."""
        return np.ones_like(t)


@dataclass(frozen=True)
class Trapezoid(Envelope):
    """Linear rise, plateau, linear fall to zero at the end.

    Parameters
    ----------
    rise
        Seconds until the plateau begins.
    plateau
        Time at which the plateau ends.
    end
        Time at which the shaking has died away.

    Examples
    --------
    >>> Trapezoid(rise=2, plateau=8, end=10)(np.array([0.0, 1.0, 5.0, 9.0, 11.0])).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    rise: Parameter = Parameter(above=0, unit="s")
    plateau: Parameter = Parameter(above=0, unit="s")
    end: Parameter = Parameter(above=0, unit="s")

    def __post_init__(self) -> None:
        if not self.rise <= self.plateau < self.end:
            raise InputError(
                "Trapezoid: expected rise <= plateau < end; "
                f"found {self.rise:g}, {self.plateau:g}, {self.end:g} s"
            )

    def __call__(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the strength."""
        return np.interp(t, [0.0, self.rise, self.plateau, self.end], [0.0, 1.0, 1.0, 0.0])


@dataclass(frozen=True)
class Jennings(Envelope):
    """Quadratic rise, plateau, exponential decay (Jennings, Housner and Tsai 1968).

    Parameters
    ----------
    rise
        Seconds until the plateau begins.
    plateau
        Time at which it ends.
    decay
        Rate of decay after it, 1/s.

    Examples
    --------
    >>> Jennings(rise=4, plateau=15, decay=0.1)(np.array([2.0, 10.0, 25.0])).round(4).tolist()
    [0.25, 1.0, 0.3679]
    """

    rise: Parameter = Parameter(above=0, unit="s")
    plateau: Parameter = Parameter(above=0, unit="s")
    decay: Parameter = Parameter(above=0, unit="1/s")

    def __post_init__(self) -> None:
        if self.plateau < self.rise:
            raise InputError(f"Jennings: expected rise <= plateau; found {self.rise:g}, {self.plateau:g} s")

    @classmethod
    def over(cls, duration: float | str) -> Jennings:
        """Return one that fills a duration: up within 15 % of it, flat until 50 %, down to 5 % at its end."""
        seconds = number(duration, "Jennings.over(duration)", "s")
        return cls(0.15 * seconds, 0.5 * seconds, math.log(20) / (0.5 * seconds))

    def __call__(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the strength."""
        result: NDArray[np.float64] = np.minimum(t / self.rise, 1.0) ** 2
        return result * np.exp(-self.decay * np.maximum(t - self.plateau, 0.0))


@dataclass(frozen=True)
class Gamma(Envelope):
    """Gamma function: ((t/peak) exp(1 - t/peak))^shape, 1 at the peak (Saragoni and Hart 1974).

    Parameters
    ----------
    peak
        When it is 1, in s.
    shape
        The larger, the narrower.

    Examples
    --------
    >>> Gamma(peak=3, shape=2)(np.array([0.0, 3.0])).tolist()
    [0.0, 1.0]
    """

    peak: Parameter = Parameter(above=0, unit="s")
    shape: Parameter = Parameter(2.0, above=0, unit="1")

    def __call__(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the strength."""
        x = np.maximum(t / self.peak, 0.0)
        result: NDArray[np.float64] = (x * np.exp(1 - x)) ** self.shape
        return result


@dataclass(frozen=True)
class Noise(Signal):
    """Noise with a flat spectrum between two frequencies: equal cosines of random phases.

    x(t) = rms √(2/n) Σ cos(2π fₖ t + φₖ), fₖ = k/duration in [low, high]. It is nearly normal for more than a
    dozen waves (Shinozuka and Deodatis 1991), holds nothing outside its band, has exactly its rms over the
    duration, and repeats after it. It does not begin at zero: fade a rig in before it.

    Parameters
    ----------
    rms
        Root mean square value, in SI or text with a unit.
    low, high
        The band, in Hz, both ends included.
    duration
        Seconds until it repeats; longer is finer in frequency.
    seed
        From 0 to 2⁵³ - 1.

    Examples
    --------
    >>> noise = Noise(rms="2 mm", low=1, high=20, duration=10, seed=7)
    >>> x = noise.sampled(np.arange(1000) * 0.01)
    >>> round(float(np.sqrt(np.mean(x**2))), 12)
    0.002
    """

    _stream: ClassVar[int] = 0xFFFF0000
    """Philox stream of excitations, far from those of sensors, which count from 0."""
    _most_waves: ClassVar[int] = 1_000_000

    rms: Parameter = Parameter(least=0)
    low: Parameter = Parameter(least=0, unit="Hz")
    high: Parameter = Parameter(above=0, unit="Hz")
    duration: Parameter = Parameter(above=0, unit="s")
    seed: Whole = Whole(0, least=0, most=2**53 - 1)

    def __post_init__(self) -> None:
        first, last = self._band
        if last < first:
            raise InputError(
                f"Noise: no multiple of 1/duration = {1 / self.duration:g} Hz lies between "
                f"low = {self.low:g} Hz and high = {self.high:g} Hz; widen the band or lengthen the duration"
            )
        if last - first >= self._most_waves:
            raise InputError(
                f"Noise: {last - first + 1} waves, more than {self._most_waves}; narrow the band or shorten "
                "the duration"
            )

    @property
    def _band(self) -> tuple[int, int]:
        """First and last multiple of 1/duration in the band."""
        first = math.ceil(self.low * self.duration * (1 - 1e-12))
        return max(first, 1), math.floor(self.high * self.duration * (1 + 1e-12))

    @property
    def highest_frequency(self) -> float:
        """The highest frequency on the grid."""
        return self._band[1] / self.duration

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Frequencies of the cosines, Hz."""
        first, last = self._band
        return np.arange(first, last + 1) / self.duration

    @property
    def phases(self) -> NDArray[np.float64]:
        """Phases of the cosines, radians."""
        return 2 * math.pi * uniform_array(self.seed, self._stream, np.arange(len(self.frequencies)))

    def _values(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._derivatives(times, 0)

    def _derivatives(self, times: NDArray[np.float64], order: int) -> NDArray[np.float64]:
        omega = 2 * math.pi * self.frequencies
        weights = self.rms * math.sqrt(2 / len(omega)) * omega**order
        phases = self.phases + order * math.pi / 2
        flat = times.ravel()
        on_grid = self._on_grid(flat, weights * np.exp(1j * phases))
        if on_grid is not None:
            return on_grid.reshape(times.shape)
        result = np.empty_like(flat)
        size = max(1, 4_000_000 // len(omega))  # cosines at once, 32 MB of them
        for i in range(0, len(flat), size):
            result[i : i + size] = np.cos(np.outer(flat[i : i + size], omega) + phases) @ weights
        return result.reshape(times.shape)

    def _on_grid(
        self, times: NDArray[np.float64], waves: NDArray[np.complex128]
    ) -> NDArray[np.float64] | None:
        """Evaluate by FFT where all times are multiples of a fraction of the duration; else return None."""
        if len(times) < 2 or not (step := abs(times[1] - times[0])) > 0:
            return None
        n = round(self.duration / step)
        first, last = self._band
        if n <= 2 * last or n > 50_000_000:
            return None
        index = np.round(times * (n / self.duration))
        if np.any(np.abs(index * (self.duration / n) - times) > 1e-15 * (self.duration + np.abs(times))):
            return None
        spectrum = np.zeros(n // 2 + 1, dtype=complex)
        spectrum[first : last + 1] = waves * (n / 2)
        period: NDArray[np.float64] = np.fft.irfft(spectrum, n)
        return np.asarray(period[(index % n).astype(np.intp)])


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

    _stream: ClassVar[int] = 0xFFFF0001
    """Philox stream, as of `Noise`."""

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
        draws = normal_array(self.seed, self._stream, np.arange(2 * lines))
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
