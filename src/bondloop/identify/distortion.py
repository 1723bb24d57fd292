"""How far a system is from linear, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.identify.policy import POLICY, IdentificationPolicy
from bondloop.identify.stepped_sines import fourier_point

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.identify.stepped_sines import SteppedSine


def harmonic_distortion(
    signal: ArrayLike, frequency: float | str, sample_period: float | str, harmonics: int = 10
) -> float:
    """Return the total harmonic distortion of a steady periodic signal: rms of harmonics over fundamental.

    Parameters
    ----------
    signal
        Samples of at least one whole period.
    frequency
        Of the fundamental in Hz.
    sample_period
        In s.
    harmonics
        Number of the last one counted.

    Examples
    --------
    >>> t = np.arange(1000) * 1e-3
    >>> square = np.sign(np.sin(2 * np.pi * 5 * (t + 5e-4)))
    >>> round(harmonic_distortion(square, 5.0, 1e-3, harmonics=9), 3)  # sqrt(1/9 + 1/25 + 1/49 + 1/81)
    0.429
    """
    return fourier_point(signal, signal, frequency, sample_period, harmonics).distortion


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
