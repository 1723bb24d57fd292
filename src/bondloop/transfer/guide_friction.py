"""Friction of seals, bearings and guides as one resistor."""

from __future__ import annotations

from typing import Any

from bondloop.bondgraph import R
from bondloop.data.ranges import NOT_NEGATIVE, POSITIVE, Range

__all__ = ["guide_friction"]


def guide_friction(viscous: Any, coulomb: Any, width: Any) -> R:
    """Return viscous flow + coulomb tanh(flow/width).

    The width, a velocity, keeps the slope at rest finite: viscous + coulomb/width. Divided by the moving mass
    it is a rate that the integrator's step must resolve.
    """
    ranges = {
        "viscous": NOT_NEGATIVE & Range(units=("N s/m",)),
        "coulomb": NOT_NEGATIVE & Range(units=("N",)),
        "width": POSITIVE & Range(units=("m/s",)),
    }
    return R(_law, ranges=ranges, viscous=viscous, coulomb=coulomb, width=width)


def _law(flow: Any, viscous: Any, coulomb: Any, width: Any) -> Any:
    import sympy as sp

    return viscous * flow + coulomb * sp.tanh(flow / width)
