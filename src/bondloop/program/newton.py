"""Newton's method for the tears of an algebraic loop that is not linear; `compile.c_newton` writes it as C.

A step leads from a point, where the equations are replaced by their tangents, to where these are fulfilled.

- A step that brings the equations nearer to being fulfilled is taken. How far they are from it is measured by
  what the tangents say the tears add to each, since tears have units of their own; what is rounding of the
  terms that are summed counts as nothing.
- One that does not is too long, and a law is the reason: the current of a diode grows tenfold every 60 mV.
  Each tear then goes only so far that the laws of it change by about what their slopes promise (as circuit
  simulators limit the voltage of a junction), and that step is taken whether it helps at once or not.
- Where no law asks for that, the step is made shorter until it helps; after `PATIENCE` times it is taken.
- Where the slope is infinite or the matrix singular (a root at zero), the step is the residual, or as much of
  it as the laws allow: the two have different units.

The last step is one that is small, or one that begins where all residuals are rounding and does not help, or
after which there is no other. The work is bounded by the number of evaluations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bondloop.program.solving import eliminate

__all__ = [
    "BISECTIONS",
    "LAST_STEP",
    "PATIENCE",
    "ROUNDING",
    "SHORTEST",
    "STEP_TOLERANCE",
    "TINY",
    "LoopFunctions",
    "Solution",
    "newton",
    "worst",
]

ROUNDING = 1e-14
"""Disagreement between a tear and its definition, relative to the terms that are summed, that is rounding."""
STEP_TOLERANCE = 1e-10
"""A Newton step that changes every tear by less than this, relatively, is the last one: the next would be
its square."""
LAST_STEP = 1e-6
"""Largest last step, relative to the tear, when the steps are used up."""
PATIENCE = 5
"""How often a step is shortened before it is taken as it is: residuals may have to grow on the way."""
SHORTEST = 1e-3
"""Smallest factor by which a step is shortened at once."""
BISECTIONS = 40
"""Evaluations of a law, at most, that find how far a tear may go."""
TINY = 1e-300
"""Keeps a division by zero away."""

FAILURES = (ZeroDivisionError, ValueError, OverflowError)


@dataclass(frozen=True)
class LoopFunctions:
    """The equations of a loop as functions of its tears.

    Attributes
    ----------
    residual
        What each definition gives, less the tear.
    matrix
        I - J, row by row.
    sizes
        The sizes of the terms that make up each residual.
    curves
        For every law of a single tear: the number of the tear, the law, its slope.
    """

    residual: Callable[..., list[float]]
    matrix: Callable[..., list[list[float]]]
    sizes: Callable[..., list[float]]
    curves: Sequence[tuple[int, Callable[[float], float], Callable[[float], float]]]


@dataclass(frozen=True)
class Solution:
    """The tears, whether they fulfil the equations, and whether the last tangents had no unique solution."""

    tears: list[float]
    converged: bool
    singular: bool


def newton(loop: LoopFunctions, start: Sequence[float], iterations: int) -> Solution:
    """Return the tears of a loop, from a start; from zero after half of the iterations if it leads nowhere.

    >>> cube = LoopFunctions(
    ...     lambda x: [8.0 - x**3], lambda x: [[3 * x * x]], lambda x: [8.0 + abs(x) ** 3], []
    ... )
    >>> newton(cube, [1.0], 40)
    Solution(tears=[2.0], converged=True, singular=False)
    """
    n = len(start)
    tears = kept = there = list(start)
    step, rounding, weight = [0.0] * n, [0.0] * n, [1.0] * n
    least, limited, refused, singular, warm = math.inf, True, 0, False, any(start)
    exact = False  # whether the rounding of the terms is known where the step began
    for i in range(iterations):
        if warm and i == iterations // 2:
            tears, kept, step, least, limited = [0.0] * n, [0.0] * n, [0.0] * n, math.inf, True
        residual = _values(loop.residual, tears)
        if not any(residual):
            return Solution(tears, True, False)
        excess = _excess(residual, rounding, weight)
        taken, last = excess < least, i + 1 == iterations or (warm and i + 1 == iterations // 2)
        if taken:
            kept, there, limited, refused, exact = tears, residual, False, 0, False
            rounding = [0.0] * n
            step, weight, singular = _step(loop, tears, residual)
            least = math.inf if singular else _excess(residual, rounding, weight)
            if singular:
                step = [d * p for d, p in zip(step, _parts(loop, kept, step), strict=True)]
        if last or not taken:
            if not (limited or exact):
                exact, rounding = True, _rounding(loop, kept)
                if not singular and all(abs(r) <= e for r, e in zip(there, rounding, strict=True)):
                    return Solution([t + d for t, d in zip(kept, step, strict=True)], True, False)
                excess = _excess(residual, rounding, weight)
                least = math.inf if singular else _excess(there, rounding, weight)
            if not (taken or excess < least):  # else it was only rounding, and the next evaluation takes it
                if excess == 0.0:  # nothing is left, here or before, that is more than the smallest numbers
                    return Solution(tears, True, False)
                part = [1.0] * n if limited else _parts(loop, kept, step)
                limited = True
                if min(part) < 1.0:
                    least = math.inf
                else:
                    part = [_shorter(least, excess)] * n
                    refused += 1
                    if refused >= PATIENCE:
                        least = math.inf
                step = [d * p for d, p in zip(step, part, strict=True)]
        tears = [t + d for t, d in zip(kept, step, strict=True)]
        if not limited and not singular and _small(step, tears, STEP_TOLERANCE):
            return Solution(tears, True, False)
    # A step that is the residual, for want of a slope, says nothing about how far the solution is.
    small = not (limited or singular) and _small(step, tears, LAST_STEP)
    return Solution(tears, small, singular)


def worst(tears: Sequence[float], residual: Sequence[float]) -> int:
    """Return the number of the tear that is farthest from its definition, relative to both."""
    number, largest = 0, -1.0
    for k, (t, r) in enumerate(zip(tears, residual, strict=True)):
        off = abs(r) / (abs(t) + abs(t + r) + TINY)
        if not off <= largest:
            number, largest = k, off
            if off - off != 0.0:  # what is not a number is the worst
                break
    return number


def _values(function: Callable[..., list[float]], tears: Sequence[float]) -> list[float]:
    try:
        return function(*tears)
    except FAILURES:
        return [math.nan] * len(tears)


def _excess(residual: Sequence[float], rounding: Sequence[float], weight: Sequence[float]) -> float:
    """Return how far the equations are from being fulfilled; NaN where they cannot be computed."""
    total = 0.0
    for r, e, w in zip(residual, rounding, weight, strict=True):
        over = abs(r) - e
        if not over <= 0.0:
            total += over * w
    return total


def _rounding(loop: LoopFunctions, tears: Sequence[float]) -> list[float]:
    return [ROUNDING * s if s - s == 0.0 else 0.0 for s in _values(loop.sizes, tears)]


def _step(
    loop: LoopFunctions, tears: list[float], residual: list[float]
) -> tuple[list[float], list[float], bool]:
    """Return the step to where the tangents are fulfilled, weights, and whether there was no such step."""
    try:
        matrix = loop.matrix(*tears)
    except FAILURES:
        change = None
    else:
        change = _solved(matrix, residual)
    if change is None:
        return residual, [1.0 / abs(r) if abs(r) > TINY else 0.0 for r in residual], True
    return change, _weights(matrix, change, tears), False


def _solved(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float] | None:
    """Return the solution, rows brought to one size first; None where there is none."""
    if len(right) == 1:  # the most common loop: the same number without the lists
        entry = matrix[0][0]
        one = right[0] / entry if 0.0 < abs(entry) < math.inf else 0.0
        return [one] if one and one - one == 0.0 else None
    rows, b = [], []
    for row, r in zip(matrix, right, strict=True):
        size = 0.0
        for entry in row:
            if not abs(entry) <= size:
                size = abs(entry)
        if not 0.0 < size < math.inf:
            return None
        rows.append([entry / size for entry in row])
        b.append(r / size)
    change = eliminate(rows, b)
    good = change is not None and any(change) and all(d - d == 0.0 for d in change)
    return change if good else None


def _weights(matrix: list[list[float]], step: list[float], tears: list[float]) -> list[float]:
    weights = []
    for row in matrix:
        total = 0.0
        for entry, d, t in zip(row, step, tears, strict=True):
            total += abs(entry) * (abs(d) + abs(t))
        # An equation whose tears rest at zero has no size yet: whatever comes of the others is no reason to
        # hold them back.
        weights.append(1.0 / total if total > TINY else 0.0)
    return weights


def _parts(loop: LoopFunctions, kept: Sequence[float], step: Sequence[float]) -> list[float]:
    """Return how much of its step each tear may go before a law changes twice as much as its slope says.

    A law that is flat, or has no slope there, may change by twice what it is.
    """
    parts = [1.0] * len(kept)
    for k, law, slope in loop.curves:
        try:
            value = law(kept[k])
        except FAILURES:
            continue
        bound = 2.0 * (_promised(slope, kept[k], step[k]) + abs(value))
        if not 0.0 < bound < math.inf:
            continue
        low, high, part = 0.0, 1.0, 1.0
        for _ in range(BISECTIONS):
            try:
                within = abs(law(kept[k] + part * step[k]) - value) <= bound
            except FAILURES:
                within = False
            if within:
                low = part
            else:
                high = part
            if low > 0.9 * high:
                break
            # A step may be many decades too long (1 A by the slope of 1e-13 S): these first, then halves.
            part = 0.5 * (low + high) if low > 0.0 else high / 16.0
        parts[k] = min(parts[k], low)
    return parts


def _promised(slope: Callable[[float], float], at: float, step: float) -> float:
    """Return by how much a law changes in a step as its slope says; zero where it has none."""
    try:
        change = abs(slope(at) * step)
    except FAILURES:
        return 0.0
    return change if change < math.inf else 0.0


def _shorter(least: float, excess: float) -> float:
    """Return the factor by which a step is made shorter: less where it went far beyond."""
    if not (least < math.inf and excess < math.inf):
        return 0.5
    return min(0.5, max(SHORTEST, math.cbrt(least / excess)))


def _small(step: Sequence[float], tears: Sequence[float], tolerance: float) -> bool:
    return all(abs(d) <= tolerance * abs(t) for d, t in zip(step, tears, strict=True))
