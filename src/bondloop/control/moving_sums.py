"""Sums over a moving window, as statements of a tick."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from bondloop.program.block import Applied
from bondloop.program.expr import Const, Expr, Op, Var, function, select
from bondloop.program.schedule import Assign
from bondloop.program.tick import Step, Update

if TYPE_CHECKING:
    from bondloop.program.block import Context

__all__ = ["BLOCKS", "moving_sums"]

BLOCKS = 4
"""Parts of a window."""


def moving_sums(
    values: Sequence[Expr], samples: int, context: Context, word: str
) -> tuple[Applied, list[Var]]:
    """Sum values over the newest samples, without drift.

    The window is made of `BLOCKS` parts; when the newest part is full, the oldest is dropped. So it is
    between three quarters of the wanted length and the whole of it. Adding what comes in and subtracting what
    goes out would keep its rounding errors for ever, and one large value would spoil it.

    Parameters
    ----------
    values
        What is summed.
    samples
        Length of the window, rounded to a multiple of `BLOCKS`.
    context
        Names and period.
    word
        A name.
    """
    block = max(1, round(samples / BLOCKS))
    starts = Var(f"{context.name}.{word}.starts")
    left = context.count - block * function("floor", (context.count + 0.5) / block)
    steps: list[Step] = [Assign(starts, Op("lt", (left, Const(0.5))))]
    states: dict[Var, float] = {}
    sums: list[Var] = []
    for i, value in enumerate(values):
        parts = [Var(f"{context.name}.{word}[{i}].part[{j}]") for j in range(BLOCKS)]
        states.update(dict.fromkeys(parts, 0.0))
        newest = Var(f"{context.name}.{word}[{i}].newest")
        steps.append(Assign(newest, select(starts > 0.5, 0, parts[0]) + value))
        shifted = [select(starts > 0.5, a, b) for a, b in pairwise(parts)]
        steps.append(Update(((parts[0], newest), *zip(parts[1:], shifted, strict=True))))
        total: Expr = parts[0]
        for part in parts[1:]:
            total = total + part
        sums.append(Var(f"{context.name}.{word}[{i}]"))
        steps.append(Assign(sums[-1], total))
    return Applied(steps, sums[0], states), sums
