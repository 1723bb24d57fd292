"""Units on axes: the prefix that makes the numbers short."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


_PREFIXABLE = re.compile(r"(m|N|Pa|W|J|V|A)(?![A-Za-z0-9^*²³])(.*)")
_PREFIXES = ((1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_METRES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_POWERS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def scaled(unit: str, signals: Iterable[NDArray[np.float64]]) -> tuple[float, str]:
    """Return the factor and the unit in which the greatest value lies between about 1 and 1000.

    A unit that cannot take a prefix stays as it is.

    Examples
    --------
    >>> scaled("m", [np.array([0.012, -0.03])])
    (1000.0, 'mm')
    >>> scaled("N", [np.array([25_000.0])])
    (0.001, 'kN')
    >>> scaled("m/s^2", [np.array([3.0])])
    (1.0, 'm/s²')
    """
    written = pretty(unit)
    match = _PREFIXABLE.fullmatch(unit)
    peak = max((_finite_peak(signal) for signal in signals), default=0.0)
    if not match or peak == 0:
        return 1.0, written
    for size, prefix in _METRES if match[1] == "m" else _PREFIXES:
        if peak >= 0.999 * size:
            return float(f"{1 / size:.12g}"), prefix + written
    return 1.0, written


def pretty(unit: str) -> str:
    """Return a unit with its powers raised.

    Examples
    --------
    >>> pretty("m/s^2"), pretty("kg*m**2"), pretty("")
    ('m/s²', 'kg·m²', '')
    """
    raised = re.sub(r"(?:\^|\*\*)(-?\d+)", lambda found: found[1].translate(_POWERS), unit)
    return raised.replace("*", "·")


def labelled(text: str, unit: str) -> str:
    """Return an axis label with its unit in brackets.

    Examples
    --------
    >>> labelled("velocity", "mm/s"), labelled("gain", "")
    ('velocity [mm/s]', 'gain')
    """
    return f"{text} [{unit}]" if text and unit else text or (f"[{unit}]" if unit else "")


def quantity_of(unit: str) -> str:
    """Return what a unit measures, for an axis without a better name.

    Examples
    --------
    >>> quantity_of("m"), quantity_of("m/s"), quantity_of("kg")
    ('displacement', 'velocity', '')
    """
    return {
        "m": "displacement", "m/s": "velocity", "m/s^2": "acceleration", "m/s²": "acceleration", "N": "force",
        "rad": "rotation", "rad/s": "angular velocity", "N m": "moment", "N*m": "moment",
        "J": "energy", "W": "power", "Pa": "pressure", "V": "voltage", "A": "current",
    }.get(unit, "")  # fmt: skip


def _finite_peak(signal: NDArray[np.float64]) -> float:
    return float(np.abs(np.where(np.isfinite(signal), signal, 0.0)).max(initial=0.0))
