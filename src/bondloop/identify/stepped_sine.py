"""Stepped sines: gain and phase over frequency and amplitude."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.data.ranges import NOT_NEGATIVE, POSITIVE, number, si_array
from bondloop.display import brief, telling
from bondloop.errors import InputError
from bondloop.identify.fourier import FourierPoint, fourier_point

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.identify.excitation import SteppedSinePlan
    from bondloop.identify.input_output import InputOutput

__all__ = ["FrequencyResponse", "SteppedSine", "stepped_sine"]


@dataclass(frozen=True, eq=False)
class FrequencyResponse:
    """A measured frequency response, with how sure it is.

    Attributes
    ----------
    frequency
        Where [Hz], increasing, shape (n,).
    response
        Complex output over input, shape (n,).
    deviation
        Standard deviation of the real and of the imaginary part, shape (n,).

    Examples
    --------
    >>> found = FrequencyResponse(
    ...     np.array([1.0, 2.0]), np.array([1 - 0.1j, 0.9 - 0.2j]), np.array([0.01, 0.01])
    ... )
    >>> np.abs(found.response).round(3).tolist()
    [1.005, 0.922]
    """

    frequency: NDArray[np.float64]
    response: NDArray[np.complex128]
    deviation: NDArray[np.float64]

    __repr__ = brief

    @property
    def gain(self) -> NDArray[np.float64]:
        """Ratio of the amplitudes."""
        return np.abs(self.response)

    @property
    def phase(self) -> NDArray[np.float64]:
        """Phase [rad], without jumps from one frequency to the next; negative: the output lags."""
        return np.unwrap(np.angle(self.response))


@dataclass(frozen=True, eq=False, repr=False)
class SteppedSine:
    """Gain and phase surfaces of a stepped-sine test; NaN where a point was not measured.

    Attributes
    ----------
    frequency
        Of the sines [Hz], increasing, shape (f,).
    amplitude
        Of the input, increasing, shape (a,).
    response, deviation
        Complex output over input, and the standard deviation of its parts, shape (a, f).
    distortion, distortion_floor, noise
        Total harmonic distortion of the output, what the noise alone would make it seem, and the rms of the
        noise over that of the fundamental, shape (a, f).
    points
        All that is known of each point.
    warnings
        What is doubtful, in sentences.
    """

    frequency: NDArray[np.float64]
    amplitude: NDArray[np.float64]
    response: NDArray[np.complex128]
    deviation: NDArray[np.float64]
    distortion: NDArray[np.float64]
    distortion_floor: NDArray[np.float64]
    noise: NDArray[np.float64]
    points: tuple[FourierPoint, ...]
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        f, a = self.frequency, self.amplitude
        return (
            f"<SteppedSine: {len(self.points)} points, {f[0]:g} to {f[-1]:g} Hz, amplitudes "
            f"{', '.join(f'{value:.3g}' for value in a)}>"
        )

    @classmethod
    def from_points(
        cls, points: Sequence[FourierPoint], amplitudes: Sequence[float] | None = None
    ) -> SteppedSine:
        """Arrange points on a grid of frequency and amplitude.

        Parameters
        ----------
        points
            What was measured, in any order.
        amplitudes
            Nominal amplitude of each point; unless given, measured amplitudes that differ by less than 5 %
            from their neighbours make up one row.
        """
        if not points:
            raise InputError("a stepped-sine test needs at least one point")
        if amplitudes is not None and len(amplitudes) != len(points):
            raise InputError(f"{len(points)} points but {len(amplitudes)} amplitudes; give one for each")
        frequency, column = np.unique([point.frequency for point in points], return_inverse=True)
        if amplitudes is None:
            amplitude, row = _rows(np.array([point.amplitude for point in points]))
        else:
            amplitude, row = np.unique(np.asarray(amplitudes, dtype=np.float64), return_inverse=True)
        shape = amplitude.size, frequency.size
        response = np.full(shape, np.nan + 1j * np.nan)
        others = {
            name: np.full(shape, np.nan) for name in ("deviation", "distortion", "distortion_floor", "noise")
        }
        # A point measured twice: the later one counts, as an operator who repeats a point means it to.
        for point, i, j in zip(points, row, column, strict=True):
            response[i, j] = point.response
            for name, array in others.items():
                array[i, j] = getattr(point, name)
        return cls(frequency, amplitude, response, **others, points=tuple(points), warnings=_doubts(points))

    @property
    def gain(self) -> NDArray[np.float64]:
        """Ratio of the amplitudes, shape (a, f)."""
        return np.abs(self.response)

    @property
    def phase(self) -> NDArray[np.float64]:
        """Phase [rad], without jumps along the frequency, shape (a, f); negative: the output lags."""
        phase = np.angle(self.response)
        for row in phase:
            there = np.isfinite(row)
            row[there] = np.unwrap(row[there])
        return phase

    def at(self, amplitude: float) -> FrequencyResponse:
        """Return the frequency response measured at the amplitude nearest to the one asked for."""
        return self._row(int(np.argmin(np.abs(self.amplitude - amplitude))))

    def mean(self) -> FrequencyResponse:
        """Return the frequency response averaged over the amplitudes; the spread joins the deviation.

        This is the one linear description of a system that is not quite linear: what varies with the
        amplitude is uncertainty to it.
        """
        there = np.isfinite(self.response)
        count = there.sum(axis=0)
        response = np.where(there, self.response, 0).sum(axis=0) / count
        spread = (np.abs(np.where(there, self.response - response, 0)) ** 2).sum(axis=0) / 2
        noise = np.where(there, self.deviation**2, 0).sum(axis=0) / count**2
        deviation = np.sqrt(noise + spread / np.maximum(count - 1, 1))
        return FrequencyResponse(self.frequency, response, deviation)

    def _row(self, row: int) -> FrequencyResponse:
        there = np.isfinite(self.response[row])
        return FrequencyResponse(self.frequency[there], self.response[row, there], self.deviation[row, there])


@telling("reading stepped sines")
def stepped_sine(
    data: InputOutput | tuple[ArrayLike, ArrayLike] | Sequence[InputOutput | tuple[ArrayLike, ArrayLike]],
    plan: SteppedSinePlan | None = None,
    *,
    frequencies: Sequence[float | str] | None = None,
    sample_period: float | str | None = None,
    settling: float | str = 0.0,
    delay: float | str = 0.0,
) -> SteppedSine:
    """Return gain and phase surfaces from one record of a whole plan, or from a record for each point.

    Parameters
    ----------
    data
        With a `plan`: input and output of the whole test, from its first sample on. Otherwise a sequence with
        an ``InputOutput``, or a pair (input, output) of arrays, for each point.
    plan
        The points that were driven one after another.
    frequencies
        Of each record [Hz], without a plan.
    sample_period
        Seconds between samples, for pairs of arrays.
    settling
        Time [s] to leave out at the start of each record, without a plan.
    delay
        Time [s] by which the whole record started before the plan.

    Examples
    --------
    >>> t = np.arange(1000) * 1e-3
    >>> def measure(f, a):
    ...     return a * np.sin(2 * np.pi * f * t), 0.9 * a * np.sin(2 * np.pi * f * (t - 0.002))
    >>> found = stepped_sine(
    ...     [measure(f, 2.0) for f in (5, 10, 20)], frequencies=[5, 10, 20], sample_period=1e-3
    ... )
    >>> found
    <SteppedSine: 3 points, 5 to 20 Hz, amplitudes 2>
    >>> found.gain.round(6).tolist(), np.degrees(found.phase).round(6).tolist()
    ([[0.9, 0.9, 0.9]], [[-3.6, -7.2, -14.4]])
    """
    if plan is not None:
        return _planned(data, plan, number(delay, "delay", "s"))
    if frequencies is None or not isinstance(data, Sequence) or len(frequencies) != len(data):
        count = len(data) if isinstance(data, Sequence) else 1
        given = "none" if frequencies is None else len(frequencies)
        raise InputError(
            f"give the plan that was driven, or a list of records and the frequency of each; found {count} "
            f"record{'' if count == 1 else 's'} and {given} frequencies"
        )
    waited = NOT_NEGATIVE.check(settling, "settling", "s")
    points = []
    for record, frequency in zip(data, si_array(frequencies, "frequencies", "Hz").tolist(), strict=True):
        u, y, h = _signals(record, sample_period)
        skip = round(waited / h)
        points.append(fourier_point(u[skip:], y[skip:], frequency, h))
    return SteppedSine.from_points(points)


def _planned(data: Any, plan: SteppedSinePlan, delay: float) -> SteppedSine:
    u, y, h = _signals(data, plan.sample_period)
    if abs(h - plan.sample_period) > 1e-6 * plan.sample_period:
        raise InputError(
            f"mixed sample rates: the plan was made for {1 / plan.sample_period:g} Hz, the data have "
            f"{1 / h:g} Hz"
        )
    shift = round(delay / h)
    end = shift + plan.points[-1].first + plan.points[-1].samples
    if u.size < end:
        raise InputError(
            f"the record ends after {u.size * h:g} s, the plan after {end * h:g} s; record the whole test, "
            "or plan fewer points"
        )
    points = []
    for planned in plan:
        first = shift + planned.first
        part = slice(first + planned.settling, first + planned.samples)
        points.append(fourier_point(u[part], y[part], planned.frequency, h))
    return SteppedSine.from_points(points, [planned.amplitude for planned in plan])


def _signals(
    record: Any, sample_period: float | str | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    if hasattr(record, "input"):
        return record.input, record.output, record.sample_period
    if sample_period is None:
        raise InputError("give the sample_period [s] of the arrays")
    pair: tuple[ArrayLike, ArrayLike] = record
    h = POSITIVE.check(sample_period, "sample_period", "s")
    return np.asarray(pair[0], dtype=np.float64), np.asarray(pair[1], dtype=np.float64), h


def _rows(
    measured: NDArray[np.float64], alike: float = 0.05
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the amplitude of each row, and the row of each point.

    Measured amplitudes that differ by less than a part of ``alike`` belong to one row.
    """
    order = np.argsort(measured)
    ranked = measured[order]
    new = np.concatenate(([0], np.cumsum(ranked[1:] > (1 + alike) * ranked[:-1])))
    row = np.empty(measured.size, dtype=np.int64)
    row[order] = new
    return np.array([measured[row == i].mean() for i in range(int(new[-1]) + 1)]), row


def _doubts(points: Sequence[FourierPoint]) -> tuple[str, ...]:
    found = []
    moving = [point for point in points if not point.settled]
    if moving:
        worst = max(moving, key=lambda point: point.drift)
        found.append(
            f"{len(moving)} of {len(points)} points had not settled: at {worst.frequency:g} Hz the response "
            f"still changed by {100 * worst.drift:.2g} %; let each point settle longer"
        )
    bent = [point for point in points if point.input_distortion > 0.02]
    if bent:
        worst = max(bent, key=lambda point: point.input_distortion)
        found.append(
            f"the input itself is distorted, by up to {100 * worst.input_distortion:.2g} % at "
            f"{worst.frequency:g} Hz; take the command for the input, or excite less"
        )
    return tuple(found)
