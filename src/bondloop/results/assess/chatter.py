"""Chatter: how much of a force's power lies above the band of the motion, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.results.assess.policy import ASSESSMENT, AssessmentPolicy
from bondloop.results.assess.tracking import cosine_lines, same_length

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Chatter:
    """What of a signal lies above a band.

    Attributes
    ----------
    share
        Power above the band that the structure's own signal does not have, over all power of the signal.
    frequency
        Frequency [Hz] round which most of it lies; NaN where there is none.
    lone
        Part of what lies above the band that lies round that frequency.
    """

    share: float
    frequency: float
    lone: float


def power_lines(signal: ArrayLike, sample_period: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return frequencies [Hz] and mean squares of a signal's lines; its mean is left out.

    The lines are those of the cosine transform, which continues a signal as in a mirror. A Fourier transform
    sees a jump from its end to its beginning, whose power would look like chatter.

    Parameters
    ----------
    signal
        Shape (n,).
    sample_period
        Seconds between samples.

    Examples
    --------
    >>> x = 2.0 * np.cos(np.pi * 30 * (np.arange(1000) + 0.5) / 1000)
    >>> f, lines = power_lines(x, 1e-3)
    >>> float(f[np.argmax(lines)]), round(float(lines.sum()), 12)
    (15.0, 2.0)
    """
    (x,) = same_length(signal=signal)
    lines = cosine_lines(x - x.mean()) ** 2 / x.size
    return np.arange(x.size, dtype=np.float64) * (0.5 / (x.size * sample_period)), lines


def band_edge(
    displacement: ArrayLike, velocity: ArrayLike, sample_period: float, policy: AssessmentPolicy = ASSESSMENT
) -> float:
    """Return the frequency [Hz] from which on a force belongs to no motion; infinite where nothing moves.

    With f_v and f_x the frequencies below which 99 % of the power of velocity and displacement lie, and f_s
    the rate, it is the lower one of 10 f_v and max(f_s / 10, 2 f_x). The second counts where the velocity
    chatters itself: a displacement hardly does.

    Parameters
    ----------
    displacement, velocity
        Of one interface, shape (n,).
    sample_period
        Seconds between samples.
    policy
        The numbers in it.

    Examples
    --------
    >>> t = np.arange(5000) * 1e-3
    >>> round(band_edge(np.sin(12 * t), 12 * np.cos(12 * t), 1e-3))
    20
    """
    edges = []
    for motion in (velocity, displacement):
        f, lines = power_lines(motion, sample_period)
        grown = np.cumsum(lines)
        if not 0 < grown[-1] < np.inf:
            return np.inf
        edges.append(float(f[min(int(np.searchsorted(grown, policy.carried * grown[-1])), f.size - 1)]))
    fast = max(1.0 / (policy.samples * sample_period), policy.apart * edges[1])
    return min(policy.above * edges[0], fast)


def chatter_of(
    signal: ArrayLike,
    sample_period: float,
    edge: float,
    own: ArrayLike | None = None,
    floor: float = 0.0,
    policy: AssessmentPolicy = ASSESSMENT,
) -> Chatter:
    """Return what of a signal lies above a band.

    Parameters
    ----------
    signal
        A force, or the rate of a command, shape (n,).
    sample_period
        Seconds between samples.
    edge
        Frequency [Hz] where the band ends.
    own
        The same of the structure itself, as a reference gives it: its own power above the band, of impacts
        and high modes, is taken off.
    floor
        Rms that the signal is taken to have at least.
    policy
        How wide an oscillation is.

    Examples
    --------
    >>> t = np.arange(5000) * 1e-3
    >>> found = chatter_of(np.sin(12 * t) + np.sin(700 * t), 1e-3, 20.0)
    >>> round(found.share, 3), round(found.frequency), round(found.lone, 2)
    (0.502, 111, 1.0)
    """
    f, lines = power_lines(signal, sample_period)
    total = max(float(lines.sum()), floor**2)
    above = np.where(f >= edge, lines, 0.0)
    power = float(above.sum())
    if own is not None:
        _, theirs = power_lines(own, sample_period)
        total = max(total, float(theirs.sum()))
        power -= float(theirs[f >= edge].sum())
    if not power > 0 or not total > 0:
        return Chatter(0.0, np.nan, 0.0)
    grown = np.concatenate(([0.0], np.cumsum(above)))
    begin = np.searchsorted(f, (1 - policy.width) * f)
    end = np.searchsorted(f, (1 + policy.width) * f, "right")
    near = grown[end] - grown[begin]
    best = int(np.argmax(np.where(f >= edge, near, 0.0)))
    part = slice(int(begin[best]), int(end[best]))
    frequency = float((f[part] * above[part]).sum() / above[part].sum())
    return Chatter(power / total, frequency, float(near[best] / grown[-1]))
