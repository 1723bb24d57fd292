"""The family of the safety blocks, and conditions that fail safely: what is asked is whether all is well."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from bondloop.display import brief
from bondloop.engine.data import Described
from bondloop.engine.ir import Const, Expr, Op, select


class SafetyBlock(Described, family="safety"):
    """Base of switches, trips and interlocks: frozen values whose steps run in the tick."""

    __repr__ = brief


def safety_from(description: Mapping[str, Any]) -> SafetyBlock:
    """Return the block of a description, the inverse of ``block.describe()``.

    Parameters
    ----------
    description
        As ``block.describe()`` returns it.

    Examples
    --------
    >>> safety_from({"safety": "PowerTrip", "threshold": "20 W"})
    PowerTrip(threshold=20.0, cutoff=1.0)
    """
    return SafetyBlock.from_description(description)


LARGEST = sys.float_info.max


def no(condition: Expr) -> Expr:
    """Return the contrary of a condition."""
    return Op("not", (condition,))


def both(*conditions: Expr) -> Expr:
    """Return whether all conditions hold."""
    result = conditions[0]
    for c in conditions[1:]:
        result = Op("and", (result, c))
    return result


def either(*conditions: Expr) -> Expr:
    """Return whether any condition holds; constants that do not are left out.

    >>> from bondloop.engine.ir.expr import Var
    >>> print(either(Const(0.0), Var("a") > 1))
    (a > 1)
    """
    result: Expr = Const(0.0)
    for c in conditions:
        if isinstance(c, Const):
            if c.value == 0.0:
                continue
            return Const(1.0)
        result = c if isinstance(result, Const) else Op("or", (result, c))
    return result


def equal(a: Expr, b: Expr) -> Expr:
    """Return whether two values are the same."""
    return Op("eq", (a, b))


def finite(value: Expr) -> Expr:
    """Return whether a value is neither infinite nor NaN.

    >>> from bondloop.engine.ir.expr import Var, evaluate
    >>> x = Var("x")
    >>> [evaluate(finite(x), {x: v}) for v in (1.0, float("nan"), float("-inf"))]
    [1.0, 0.0, 0.0]
    """
    return abs(value) <= LARGEST


def outside(value: Expr, limit: Expr | float) -> Expr:
    """Return whether a magnitude is beyond a limit, or is NaN."""
    return no(abs(value) <= limit)


def limited(value: Expr, low: float, high: float) -> Expr:
    """Return a value between limits; NaN gives the lower one."""
    return select(value >= high, high, select(value > low, value, low))
