"""Whether the output comes before the input, as it does when the two are swapped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import BondloopError
from bondloop.identify.spectra import power_spectrum, spectral_response
from bondloop.units import is_of_kind

if TYPE_CHECKING:
    from numpy.typing import NDArray


def leading(
    u: NDArray[np.float64], y: NDArray[np.float64], period: float, names: tuple[str, str], unit: str = ""
) -> list[str]:
    """Return a sentence where the output leads the input more and more over most of the excited band.

    A velocity leads as well, by 90° and less with frequency, for every rig is late: the lead has to grow. So
    does that of a force which a spring and a dashpot make of a motion: nothing is said of forces.

    Parameters
    ----------
    u, y, period
        Input and output without holes, and the seconds between samples.
    names, unit
        What the two are called, and the unit of the output.

    Examples
    --------
    >>> u = np.random.default_rng(1).normal(size=4000).cumsum()
    >>> leading(u[9:], u[:-9], 1e-3, ("command", "position"))
    []
    >>> print(leading(u[:-9], u[9:], 1e-3, ("command", "position"))[0][:53])
    the output 'position' leads the input 'command' by 17
    """
    shortest = 256  # samples of a segment: fewer make lines too coarse for a delay
    if u.size < 2 * shortest or _is_force(unit):
        return []
    segments = int(np.clip(u.size // (2 * shortest), 2, 32))
    found = spectral_response(u, y, period, segments=segments)
    power = power_spectrum(u, period, segments=segments, window="hann", overlap=0.5).density[1:]
    counts = (found.coherence >= 0.8) & (power >= 1e-4 * power.max())  # lines that are excited and clear
    f = found.frequency[counts]
    if f.size < 5 or f[-1] < 2.0 * f[0]:  # no curve: one sine cannot tell
        return []
    phase = np.unwrap(np.angle(found.h1[counts]))
    rise = float(np.polyfit(f, phase, 1)[0] * (f[-1] - f[0]))
    lead = np.radians(10.0)  # at the median and gained over the band, below which nothing is said
    if rise < lead or float(np.median(phase)) < lead or float((phase > 0).mean()) < 0.8:
        return []
    k = int(np.argmin(np.abs(phase - np.median(phase))))
    said = (
        f"the output '{names[1]}' leads the input '{names[0]}' by {np.degrees(phase[k]):.0f}° at "
        f"{f[k]:.3g} Hz, and more at higher frequencies, as no actuator's motion can: are input and output "
        "(-u and -y) swapped?"
    )
    return [said]


def _is_force(unit: str) -> bool:
    """Whether a unit of a file, which may be any text, is one of force."""
    try:
        return bool(unit) and is_of_kind(f"1 {unit}", "N")
    except BondloopError:
        return False
