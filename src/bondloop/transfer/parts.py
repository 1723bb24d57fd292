"""Parts that several actuators are made of: what clips a command, and the friction of guides."""

from __future__ import annotations

from typing import Any

from bondloop.bondgraph.elements import R
from bondloop.engine.data import NOT_NEGATIVE, POSITIVE, Range


def clipped(value: Any, limit: Any = 1) -> Any:
    """Return a SymPy expression limited to ±limit."""
    import sympy as sp

    return sp.Max(sp.Min(value, limit), -limit)


def unwound(error: Any, total: Any, output: Any, limited: Any) -> Any:
    """Return what to integrate in a controller u = K (e + I/T) whose output may be limited.

    With total = e + I/T it is e - (u - limited)/K, the back-calculation of Fertik and Ross (1967): e while
    nothing is limited, otherwise what leads I to where the output leaves its limit. It is continuous, where
    stopping the integral would chatter, and it is written with the ratio of limited to output, so that the
    gain is not needed a second time.
    """
    import sympy as sp

    tiny = 1e-12
    return error - total * (1 - (sp.Abs(limited) + tiny) / (sp.Abs(output) + tiny))


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
