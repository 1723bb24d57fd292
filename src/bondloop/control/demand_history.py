"""The history of a demand, as statements of a tick."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bondloop.program.block import Applied, named
from bondloop.program.expr import Const, Expr, Var, select
from bondloop.program.schedule import Assign
from bondloop.program.tick import Delay, Step, Update

if TYPE_CHECKING:
    from bondloop.program.block import Context

__all__ = ["earlier", "from_first", "late", "weighted"]


def from_first(value: Expr, context: Context) -> tuple[Applied, Var]:
    """Measure a demand from its first sample.

    A history that begins with zeros would see a jump where a test begins away from zero, and a derivative or
    a prediction makes a blow of it. The deviation from the first sample begins at zero by itself.

    Returns
    -------
    applied, origin
        Its value is the deviation; ``origin`` is the first sample, to be added back.
    """
    steps, now = named(value, context, "demand")
    first, origin = Var(f"{context.name}.first_demand"), Var(f"{context.name}.origin")
    deviation = Var(f"{context.name}.deviation")
    result: list[Step] = [
        *steps,
        Assign(origin, select(context.count < 0.5, now, first)),
        Assign(deviation, now - origin),
        Update(((first, origin),)),
    ]
    return Applied(result, deviation, {first: 0.0}), origin


def earlier(value: Expr, ticks: Sequence[int], context: Context, word: str) -> tuple[list[Step], list[Expr]]:
    """Return a value as it was some ticks ago, for rising numbers of ticks; 0 is now."""
    steps, now = named(value, context, f"{word}_now")
    result: list[Expr] = []
    at, before = 0, now
    for n in ticks:
        if n > at:
            late = Var(f"{context.name}.{word}_{n}_ago")
            steps.append(Delay(late, before, n - at))
            at, before = n, late
        result.append(before)
    return steps, result


def late(value: Expr, samples: float, context: Context, word: str) -> tuple[list[Step], Expr]:
    """Return a value as it was some samples ago, straight between samples."""
    whole = math.floor(samples)
    part = samples - whole
    steps, past = earlier(value, range(whole, whole + 1 + (part > 0)), context, word)
    return steps, weighted([1 - part, part], past) if part else past[0]


def weighted(weights: Sequence[float], values: Sequence[Expr]) -> Expr:
    """Return the sum of values with constant weights, in their order."""
    total: Expr = Const(0.0)
    for w, v in zip(weights, values, strict=True):
        total = total + Const(float(w)) * v
    return total
