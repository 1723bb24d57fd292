"""Band-limited noise of an exact rms, the same for the same seed everywhere."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.data import Parameter, Whole
from bondloop.engine.ir import uniform_array
from bondloop.errors import InputError
from bondloop.signals.base import Signal

if TYPE_CHECKING:
    from numpy.typing import NDArray


NOISE_STREAM = 0xFFFF0000
EARTHQUAKE_STREAM = 0xFFFF0001
"""Philox streams of excitations, far from those of sensors, which count from 0."""

_MOST_WAVES = 1_000_000
_CHUNK = 4_000_000


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
        if last - first >= _MOST_WAVES:
            raise InputError(
                f"Noise: {last - first + 1} waves, more than {_MOST_WAVES}; narrow the band or shorten "
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
        return 2 * math.pi * uniform_array(self.seed, NOISE_STREAM, np.arange(len(self.frequencies)))

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
        size = max(1, _CHUNK // len(omega))
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
