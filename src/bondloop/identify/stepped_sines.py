"""Frequency response from stepped sines, its points by Fourier coefficients, and how linear it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import brief, with_progress
from bondloop.engine.data import NOT_NEGATIVE, POSITIVE, number, si_array
from bondloop.errors import InputError
from bondloop.identify.policy import POLICY, IdentificationPolicy
from bondloop.results.assess import same_length

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.identify.experiment import SteppedSinePlan
    from bondloop.identify.input_output import InputOutput

UNSETTLED_CHANGE = 0.02
"""Relative change of a response between the two halves of a record that counts as not settled."""


@dataclass(frozen=True)
class Nonlinearity:
    """How much a response departs from that of a linear system.

    Attributes
    ----------
    distortion, distortion_at
        Greatest total harmonic distortion that stands out of the noise; its frequency [Hz] and amplitude.
    gain_change, gain_at
        Greatest change of the gain over the amplitudes, as part of the mean gain; its frequency [Hz]. NaN
        with one amplitude.
    phase_change, phase_at
        Greatest change of the phase over the amplitudes [deg]; its frequency [Hz].
    noise
        Median of the rms of the noise over that of the fundamental.
    grade
        ``"linear"``, ``"mild"``, ``"strong"``, or ``"unknown"`` when one amplitude shows no distortion.
    verdict
        What this means, in sentences.
    """

    distortion: float
    distortion_at: tuple[float, float]
    gain_change: float
    gain_at: float
    phase_change: float
    phase_at: float
    noise: float
    grade: str
    verdict: str

    def __str__(self) -> str:
        return self.verdict


def nonlinearity(surface: SteppedSine, *, policy: IdentificationPolicy = POLICY) -> Nonlinearity:
    """Judge the nonlinearity of a stepped-sine test.

    Changes that the noise can explain (three standard deviations) do not count.

    Parameters
    ----------
    surface
        Responses at several amplitudes.
    policy
        Thresholds of judgement.

    Examples
    --------
    >>> from bondloop.identify.stepped_sines import stepped_sine
    >>> t = np.arange(2000) * 1e-3
    >>> def measure(a):  # a hardening cubic: 3 a³/4 at the frequency, a³/4 at three times the frequency
    ...     u = a * np.sin(2 * np.pi * 5 * t)
    ...     return u, u + 0.1 * u**3
    >>> found = nonlinearity(
    ...     stepped_sine([measure(1.0), measure(2.0)], frequencies=[5, 5], sample_period=1e-3)
    ... )
    >>> round(found.gain_change, 4), found.grade  # (1.3 - 1.075) / 1.1875
    (0.1895, 'strong')
    """
    f, a = surface.frequency, surface.amplitude
    there = np.isfinite(surface.response)
    clear = np.where(there & (surface.distortion > 3 * surface.distortion_floor), surface.distortion, 0.0)
    i, j = np.unravel_index(int(np.argmax(clear)), clear.shape)
    thd, where = float(clear[i, j]), (float(f[j]), float(a[i]))
    noise = float(np.nanmedian(surface.noise))
    repeated = there.sum(axis=0) > 1
    if not repeated.any():
        nan = float("nan")
        grade = _grade((thd, 0.0, 0.0), policy)
        grade = "unknown" if grade == "linear" else grade
        verdict = _words(grade, thd, where, noise) + (
            " With one amplitude it cannot be told whether gain and phase change with the amplitude: measure "
            "at three amplitudes or more, over the range that the test will use."
        )
        return Nonlinearity(thd, where, nan, nan, nan, nan, noise, grade, verdict)
    gain, gain_at, phase, phase_at = _changes(surface, repeated)
    grade = _grade((thd, gain, phase), policy)
    verdict = _words(grade, thd, where, noise) + _change_words(surface, gain, gain_at, phase, phase_at)
    verdict += _advice(grade)
    return Nonlinearity(thd, where, gain, gain_at, phase, phase_at, noise, grade, verdict)


def _changes(surface: SteppedSine, repeated: NDArray[np.bool_]) -> tuple[float, float, float, float]:
    """Return the greatest change of gain and of phase [deg] over the amplitudes, and where they are."""
    f = surface.frequency[repeated]
    response, deviation = surface.response[:, repeated], surface.deviation[:, repeated]
    gain = np.abs(response)
    mean = np.nanmean(gain, axis=0)
    # Angles against the mean response, so that nothing wraps.
    turn = np.angle(response / np.nansum(response, axis=0))
    unsure = 3 * np.sqrt(2) * np.nanmax(deviation, axis=0) / mean
    gains = (np.nanmax(gain, axis=0) - np.nanmin(gain, axis=0)) / mean
    turns = np.nanmax(turn, axis=0) - np.nanmin(turn, axis=0)
    gains, turns = np.where(gains > unsure, gains, 0.0), np.where(turns > unsure, turns, 0.0)
    p, q = int(np.argmax(gains)), int(np.argmax(turns))
    return float(gains[p]), float(f[p]), float(np.degrees(turns[q])), float(f[q])


def _change_words(surface: SteppedSine, gain: float, gain_at: float, phase: float, phase_at: float) -> str:
    a = surface.amplitude
    column = surface.gain[:, int(np.argmin(np.abs(surface.frequency - gain_at)))]
    column = column[np.isfinite(column)]
    gains = (
        f"the gain changes by up to {_short(100 * gain)} % (at {gain_at:.3g} Hz, from {column[0]:.3g} to "
        f"{column[-1]:.3g})"
        if gain > 0
        else "the gain does not change beyond the noise"
    )
    phases = (
        f"the phase by up to {_short(phase)}° (at {phase_at:.3g} Hz)"
        if phase > 0
        else "the phase does not change beyond the noise"
    )
    return f" Over amplitudes from {a[0]:.3g} to {a[-1]:.3g} {gains}, and {phases}."


def _grade(measures: tuple[float, float, float], policy: IdentificationPolicy = POLICY) -> str:
    if any(value > limit for value, limit in zip(measures, policy.strong, strict=True)):
        return "strong"
    return "mild" if any(v > limit for v, limit in zip(measures, policy.slight, strict=True)) else "linear"


def _words(grade: str, thd: float, where: tuple[float, float], noise: float) -> str:
    opening = {
        "linear": "The system is close to linear.",
        "mild": "The system is mildly nonlinear.",
        "strong": "The system is strongly nonlinear.",
        "unknown": "No nonlinearity shows.",
    }[grade]
    if thd == 0:
        return f"{opening} No harmonics stand out of the noise ({_short(100 * noise)} % of the signal)."
    return (
        f"{opening} Its harmonic distortion reaches {_short(100 * thd)} % (at {where[0]:.3g} Hz, amplitude "
        f"{where[1]:.3g}); noise is {_short(100 * noise)} % of the signal."
    )


def _short(value: float) -> str:
    """Return two digits, or all before the point."""
    return f"{value:.2g}" if value < 99.5 else f"{value:.0f}"


def _advice(grade: str) -> str:
    return {
        "linear": " One linear model serves for all these amplitudes.",
        "mild": " Fit the linear model to data at the amplitude of the test.",
        "strong": (
            " One linear model does not serve: fit one for each amplitude, lower the amplitude, or use an "
            "adaptive compensator."
        ),
    }[grade]


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


@with_progress("reading stepped sines")
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


@dataclass(frozen=True, eq=False)
class FourierPoint:
    """The response to a sine of one frequency and amplitude.

    Attributes
    ----------
    frequency
        Of the excitation [Hz].
    amplitude
        Of the input's sine, in its unit, as measured.
    response
        Complex ratio of the Fourier coefficients of output and input at the frequency.
    deviation
        Standard deviation of the real and of the imaginary part of the response; divided by the gain it is
        that of the gain's relative error and of the phase [rad]. The residual is taken for white noise.
    input_lines, output_lines
        Complex amplitudes of mean, fundamental and harmonics, shape (1 + harmonics,): the signal is
        Re Σ_k lines[k] exp(jkωt), t counted from the first sample used.
    distortion, input_distortion
        Total harmonic distortion: rms of the harmonics over the rms of the fundamental.
    distortion_floor
        The distortion that the noise alone would seem to be.
    noise
        Rms of what is left of the output over the rms of its fundamental.
    drift
        Relative change of the response from the first to the second half of the periods; NaN for one period.
    periods
        Whole periods used.
    """

    frequency: float
    amplitude: float
    response: complex
    deviation: float
    input_lines: NDArray[np.complex128]
    output_lines: NDArray[np.complex128]
    distortion: float
    input_distortion: float
    distortion_floor: float
    noise: float
    drift: float
    periods: int

    __repr__ = brief

    @property
    def gain(self) -> float:
        """Ratio of the amplitudes."""
        return abs(self.response)

    @property
    def phase(self) -> float:
        """Phase of the output against the input [rad] in (−π, π]; negative: it lags."""
        return float(np.angle(self.response))

    @property
    def delay(self) -> float:
        """The phase as a delay [s]; positive: the output lags."""
        return -self.phase / (2 * np.pi * self.frequency)

    @property
    def settled(self) -> bool:
        """Whether the response stayed the same over the record, as far as the noise lets one see."""
        if np.isnan(self.drift):
            return True
        # Each half has twice the variance, their difference four times.
        return self.drift <= UNSETTLED_CHANGE + 6 * self.deviation / self.gain


def fourier_point(
    input: ArrayLike,  # noqa: A002 - the word of the interface
    output: ArrayLike,
    frequency: float | str,
    sample_period: float | str,
    harmonics: int = 10,
) -> FourierPoint:
    """Return the response at one frequency over the last whole periods of a record.

    Mean, fundamental and harmonics are fitted together by least squares,

        x(t) ≈ x_0 + Σ_k Re(X_k exp(jkωt)),   k = 1 ... harmonics, kω below half the sample rate,

    which equals the Fourier sums where a period has a whole number of samples, and stays exact where it has
    not (du Bois 2010, section 2.2: Fourier coefficients over an integer number of periods).

    Parameters
    ----------
    input, output
        Signals, shape (n,), at least one period long; cut off the settling before, or record so many periods
        that the last ones are steady.
    frequency
        Of the excitation [Hz].
    sample_period
        Seconds between samples.
    harmonics
        How many are looked at, the fundamental included.

    Examples
    --------
    >>> t = np.arange(2000) * 1e-3
    >>> u = 2 * np.sin(2 * np.pi * 7 * t)
    >>> y = 1.5 * np.sin(2 * np.pi * 7 * t - 0.4) + 0.03 * np.sin(2 * np.pi * 21 * t)
    >>> point = fourier_point(u, y, 7.0, 1e-3)
    >>> round(point.amplitude, 9), round(point.gain, 9), round(point.phase, 9), round(point.distortion, 9)
    (2.0, 0.75, -0.4, 0.02)
    """
    h, f = POSITIVE.check(sample_period, "sample_period", "s"), POSITIVE.check(frequency, "frequency", "Hz")
    u, y = same_length(input=input, output=output)
    if not (np.isfinite(u).all() and np.isfinite(y).all()):
        raise InputError(f"the signals at {f:g} Hz have values that are not finite; measure this point again")
    if f >= 0.49 / h:
        raise InputError(f"{f:g} Hz is not below half the sample rate ({0.5 / h:g} Hz); sample faster")
    whole = int(np.floor(u.size * h * f * (1 + 1e-9)))
    if whole < 1:
        raise InputError(
            f"{u.size * h:g} s hold no whole period of {f:g} Hz; measure for at least {1 / f:g} s after "
            "settling"
        )
    count = min(u.size, round(whole / (f * h)))
    # Too many harmonics for too few samples would fit the noise; a line near half the rate is half seen.
    orders = max(1, min(int(harmonics), int(0.49 / (f * h)), (count - 2) // 4))
    if count < 8:
        raise InputError(f"{count} samples of {f:g} Hz are too few for a fit; measure more periods")
    signals = np.column_stack((u[-count:], y[-count:]))
    lines, left = _lines(signals, f * h, orders)
    first = np.abs(lines[1])
    if first[0] <= 1e-12 * np.abs(signals[:, 0]).max():
        raise InputError(
            f"the input has nothing at {f:g} Hz; check the frequency, or which channel is the input"
        )
    response = complex(lines[1, 1] / lines[1, 0])
    variance = (left**2).sum(axis=0) / (count - 1 - 2 * orders)
    # A fitted complex amplitude has the variance 2σ²/n in each of its parts.
    deviation = float(np.sqrt(2 / count * (variance[1] + abs(response) ** 2 * variance[0])) / first[0])
    harmonic = np.sqrt((np.abs(lines[2:]) ** 2).sum(axis=0))
    floor = np.sqrt(4 * variance[1] / count * max(orders - 1, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return FourierPoint(
            f, float(first[0]), response, deviation, lines[:, 0], lines[:, 1],
            float(harmonic[1] / first[1]), float(harmonic[0] / first[0]), float(floor / first[1]),
            float(np.sqrt(2 * variance[1]) / first[1]), _drift(signals, f * h, whole), whole,
        )  # fmt: skip


def _lines(
    signals: NDArray[np.float64], turns: float, orders: int
) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
    """Return the complex amplitudes at multiples of `turns` per sample, mean first, and what is left."""
    angle = 2 * np.pi * turns * np.arange(signals.shape[0])[:, None] * np.arange(1, orders + 1)
    basis = np.column_stack((np.ones(signals.shape[0]), np.cos(angle), np.sin(angle)))
    # Over whole periods the columns are all but orthogonal, so the normal equations lose no digits.
    fit = np.linalg.solve(basis.T @ basis, basis.T @ signals)
    lines = np.concatenate((fit[:1] + 0j, fit[1 : orders + 1] - 1j * fit[orders + 1 :]))
    return lines, signals - basis @ fit


def _drift(signals: NDArray[np.float64], turns: float, whole: int) -> float:
    """Return how much the response changes between the first and the second half of the periods."""
    half = round((whole // 2) / turns)
    if whole < 2 or half < 8:
        return float("nan")
    early, late = (_lines(part, turns, 1)[0][1] for part in (signals[:half], signals[-half:]))
    if early[0] == 0 or late[0] == 0 or late[1] == 0:
        return float("nan")
    return float(abs(early[1] / early[0] - late[1] / late[0]) / abs(late[1] / late[0]))
