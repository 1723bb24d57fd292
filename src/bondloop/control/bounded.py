"""Expressions that keep adapted parameters within bounds, whatever the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.program.expr import as_expr, select

if TYPE_CHECKING:
    from bondloop.program.expr import Expr, Number

__all__ = ["clipped", "moved"]


def clipped(value: Expr, least: Expr | Number, most: Expr | Number, otherwise: Expr | Number) -> Expr:
    """Return a value within bounds; ``otherwise`` where it is not a number.

    A comparison with NaN is false, so the order of the questions decides what NaN becomes.

    >>> from bondloop.program.expr import Var, evaluate
    >>> x = Var("x")
    >>> [evaluate(clipped(x, 0, 1, 0.5), {x: v}) for v in (-2.0, 0.3, 7.0, float("nan"))]
    [0.0, 0.3, 1.0, 0.5]
    """
    lower, upper = as_expr(least), as_expr(most)
    return select(
        value >= lower, select(value <= upper, value, upper), select(value < lower, lower, otherwise)
    )


def moved(parameter: Expr, target: Expr, least: Expr | Number, most: Expr | Number, step: float) -> Expr:
    """Return a parameter moved towards a target by at most a step, and kept within bounds."""
    wanted = clipped(target, least, most, parameter)
    up, down = parameter + step, parameter - step
    near = select(wanted > up, up, select(wanted < down, down, wanted))
    return clipped(near, least, most, least)
