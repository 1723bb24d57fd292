"""The ranges of parameters in which schemes are stable."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.integrate.structural.base import Scheme

__all__ = ["between", "check_alpha", "check_iterations"]


def between(scheme: Scheme, name: str, value: float, low: float, high: float, remark: str = "") -> None:
    """Refuse a parameter outside its stable range."""
    if not low <= value <= high:
        allowed = f"between {low:g} and {high:g}" if math.isfinite(high) else f"at least {low:g}"
        raise InputError(
            f"{type(scheme).__name__}: {name} must be {allowed} for a stable scheme; found {value:g}{remark}"
        )


def check_alpha(scheme: Scheme, alpha: float) -> None:
    """Refuse an α outside [-1/3, 0], and recognise OpenSees' own."""
    hint = f" (OpenSees' alpha is 1 + ours: give {alpha - 1:g})" if 2 / 3 - 1e-9 <= alpha < 1 else ""
    between(scheme, "alpha", alpha, -1 / 3, 0.0, hint)


def check_iterations(scheme: Scheme, iterations: object, path: object) -> None:
    """Refuse a number of iterations or an order of the path that cannot be."""
    name = type(scheme).__name__
    if not isinstance(iterations, int) or iterations < 1:
        raise InputError(f"{name}: iterations must be a whole number from 1 up; found {iterations!r}")
    if path not in (1, 2):
        raise InputError(
            f"{name}: path must be 1 or 2, the order of the polynomial of commands; found {path!r}"
        )
