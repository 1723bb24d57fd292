"""Limits of a controller's output, and an integral that knows of them."""

from __future__ import annotations

from typing import Any

__all__ = ["clipped", "unwound"]


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
