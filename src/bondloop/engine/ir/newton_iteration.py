"""Newton's method for the tears of an algebraic loop that is not linear: the one text for every target.

Python executes it as it stands. The C of every other target is translated from it, statement by statement
(`engine.codegen.c_newton`), so it keeps to numbers, arrays of numbers, loops and conditions.

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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import cbrt, fabs, inf, nan

from bondloop.engine.ir.tolerances import (
    BISECTIONS,
    LAST_STEP,
    PATIENCE,
    ROUNDING,
    SHORTEST,
    STEP_TOLERANCE,
    TINY,
)

Vector = list[float]
"""Numbers that a function may change; a matrix is one, row by row."""


def scratch(n: int) -> Vector:
    """Return memory that is written before it is read."""
    return [0.0] * n


def eliminate(n: int, a: Vector, b: Vector) -> bool:
    """Solve n equations in place by elimination with partial pivoting; false at a zero pivot.

    >>> b = [4.0, 5.0]
    >>> eliminate(2, [0.0, 2.0, 1.0, 1.0], b), b
    (True, [3.0, 2.0])
    """
    for c in range(n):
        pivot: int = c * n
        best: int = c
        largest: float = fabs(a[pivot + c])
        for i in range(c + 1, n):
            size: float = fabs(a[i * n + c])
            if size > largest:
                best = i
                largest = size
        if largest == 0.0:
            return False
        if best != c:
            right: float = b[c]
            b[c] = b[best]
            b[best] = right
            for j in range(c, n):
                entry: float = a[pivot + j]
                a[pivot + j] = a[best * n + j]
                a[best * n + j] = entry
        for i in range(c + 1, n):
            row: int = i * n
            ratio: float = a[row + c] / a[pivot + c]
            if ratio == 0.0:  # most of a large loop is zeros
                continue
            for j in range(c + 1, n):
                a[row + j] -= ratio * a[pivot + j]
            b[i] -= ratio * b[c]
    for i in range(n - 1, -1, -1):
        rest: float = b[i]
        for j in range(i + 1, n):
            rest -= a[i * n + j] * b[j]
        b[i] = rest / a[i * n + i]
    return True


def beyond_rounding(n: int, residual: Vector, rounding: Vector, weight: Vector) -> float:
    """Return how far equations are from being fulfilled; not a number where they cannot be computed."""
    total: float = 0.0
    for m in range(n):
        over: float = fabs(residual[m]) - rounding[m]
        if not over <= 0.0:
            total += over * weight[m]
    return total


def tangent_step(
    n: int,
    matrix: Vector,
    residual: Vector,
    tears: Vector,
    work: Vector,
    change: Vector,
    step: Vector,
    weight: Vector,
) -> bool:
    """Find the step to where the tangents are fulfilled, and how much each equation weighs.

    The rows are brought to one size first. Where there is no such step, it is the residual.
    """
    regular: bool = True
    for i in range(n):
        row: int = i * n
        size: float = 0.0
        for j in range(n):
            entry: float = fabs(matrix[row + j])
            if not entry <= size:
                size = entry
        if size > 0.0 and size < inf:
            for j in range(n):
                work[row + j] = matrix[row + j] / size
            change[i] = residual[i] / size
        else:
            regular = False
    if regular:
        regular = eliminate(n, work, change)
    if regular:
        moves: bool = False
        for m in range(n):
            moves = moves or change[m] != 0.0
            regular = regular and change[m] - change[m] == 0.0
        regular = regular and moves
    for m in range(n):  # how far each tear reaches, where its step will be
        step[m] = fabs(change[m]) + fabs(tears[m]) if regular else 0.0
    for i in range(n):
        total: float = 0.0 if regular else fabs(residual[i])
        if regular:
            first: int = i * n
            for j in range(n):
                total += fabs(matrix[first + j]) * step[j]
        # An equation whose tears rest at zero has no size yet: whatever comes of the others is no reason to
        # hold them back.
        weight[i] = 1.0 / total if total > TINY else 0.0
    for m in range(n):
        step[m] = change[m] if regular else residual[m]
    return regular


def vanishes(n: int, residual: Vector) -> bool:
    """Whether all equations are fulfilled as they stand."""
    for m in range(n):  # noqa: SIM110 - C has no `all`
        if residual[m] != 0.0:
            return False
    return True


def within_rounding(n: int, residual: Vector, size: Vector, rounding: Vector) -> bool:
    """Find the rounding of each equation from the size of its terms; whether nothing else is left of it."""
    within: bool = True
    for m in range(n):
        rounding[m] = ROUNDING * size[m] if size[m] - size[m] == 0.0 else 0.0
        within = within and fabs(residual[m]) <= rounding[m]
    return within


def make_shorter(n: int, step: Vector, part: Vector) -> None:
    """Leave a part of each step."""
    for m in range(n):
        step[m] *= part[m]


def shortened(least: float, excess: float) -> float:
    """Return the factor by which a step is made shorter: less where it went far beyond."""
    if not (least < inf and excess < inf):
        return 0.5
    factor: float = cbrt(least / excess)
    if factor < SHORTEST:
        return SHORTEST
    return 0.5 if factor > 0.5 else factor  # noqa: FURB136 - as C has it


def make_all_shorter(n: int, step: Vector, factor: float) -> None:
    """Leave the same part of all steps."""
    for m in range(n):
        step[m] *= factor


def make_zero(n: int, tears: Vector, kept: Vector, step: Vector) -> None:
    """Begin from zero."""
    for m in range(n):
        tears[m] = kept[m] = step[m] = 0.0


def is_less(n: int, part: Vector) -> bool:
    """Whether some part is less than the whole."""
    less: bool = False
    for m in range(n):
        less = less or part[m] < 1.0
    return less


def left_over(n: int, regular: bool, residual: Vector, rounding: Vector, weight: Vector) -> float:
    """Return how far equations are from being fulfilled, where there were tangents to weigh them."""
    return beyond_rounding(n, residual, rounding, weight) if regular else inf


def is_settled(n: int, limited: bool, regular: bool, step: Vector, tears: Vector, tolerance: float) -> bool:
    """Whether a whole step by the tangents changes no tear by more than a part of it."""
    settled: bool = regular and not limited
    for m in range(n):
        settled = settled and fabs(step[m]) <= tolerance * fabs(tears[m])
    return settled


def worst(n: int, tears: Vector, residual: Vector) -> int:
    """Return the number of the tear that is farthest from its definition, relative to both."""
    number: int = 0
    largest: float = -1.0
    for m in range(n):
        off: float = fabs(residual[m]) / (fabs(tears[m]) + fabs(tears[m] + residual[m]) + TINY)
        if not off <= largest:
            number = m
            largest = off
            if off - off != 0.0:  # what is not a number is the worst
                return number
    return number


KERNELS = (
    eliminate,
    beyond_rounding,
    tangent_step,
    vanishes,
    within_rounding,
    make_shorter,
    shortened,
    make_all_shorter,
    make_zero,
    is_less,
    left_over,
    is_settled,
    worst,
)
"""What all loops share, in the order in which C wants it."""


def allowed(
    start: float, way: float, law_of: Callable[[float], float], slope_of: Callable[[float], float]
) -> float:
    """Return how much of its step a tear may go before a law changes twice as much as its slope says.

    A law that is flat, or has no slope there, may change by twice what it is.
    """
    law: float = law_of(start)
    slope: float = slope_of(start)
    promised: float = fabs(slope * way)
    bound: float = 2.0 * ((promised if promised < inf else 0.0) + fabs(law))
    low: float = 0.0
    high: float = 1.0
    middle: float = 1.0
    for j in range(BISECTIONS):  # noqa: B007 - C has no other way to repeat
        if not (bound > 0.0 and bound < inf):
            low = 1.0
            break
        changed: float = law_of(start + middle * way)
        if fabs(changed - law) <= bound:
            low = middle
        else:
            high = middle
        if low > 0.9 * high:
            break
        # A step may be many decades too long (1 A by the slope of 1e-13 S): these first, then halves.
        middle = 0.5 * (low + high) if low > 0.0 else high / 16.0
    return low


def solve_loop(  # noqa: C901, PLR0912, PLR0915 - C has it where the loop stands
    n: int,
    iterations: int,
    tears: Vector,
    residuals: Callable[[Vector, Vector], None],
    tangents: Callable[[Vector, Vector], None],
    sizes: Callable[[Vector, Vector], None],
    laws: Callable[[Vector, Vector, Vector], None],
) -> tuple[bool, bool]:
    """Move the tears from a start to where their equations are fulfilled.

    After half of the iterations it begins again from zero, if the start leads nowhere.

    Parameters
    ----------
    n, iterations
        How many tears there are, and how often their equations are evaluated at most.
    tears
        The start; at the end the solution.
    residuals, tangents, sizes
        Given the tears, they fill in what must vanish, the matrix of the tangents, and the sizes of the terms
        of each equation.
    laws
        Given the tears and a step, it fills in which part of it each tear may go.

    Returns
    -------
    converged, regular
        Whether they are fulfilled, and whether the last tangents had a unique solution.
    """
    kept: Vector = [0.0] * n
    there: Vector = [0.0] * n
    step: Vector = [0.0] * n
    rounding: Vector = [0.0] * n
    weight: Vector = [1.0] * n
    residual: Vector = scratch(n)
    matrix: Vector = scratch(n * n)
    work: Vector = scratch(n * n)
    change: Vector = scratch(n)
    size: Vector = scratch(n)
    part: Vector = scratch(n)
    least: float = inf
    limited: bool = True
    regular: bool = True
    unjudged: bool = False  # whether the rounding of the terms where the step began is still to be found
    converged: bool = False
    warm: bool = not vanishes(n, tears)
    half: int = iterations // 2 if warm else -1
    refused: int = 0
    for m in range(n):
        kept[m] = tears[m]
    for turn in range(iterations):
        if turn == half:
            make_zero(n, tears, kept, step)
            least = inf
            limited = True
            unjudged = False
        residuals(tears, residual)
        if vanishes(n, residual):
            converged = True
            break
        excess: float = beyond_rounding(n, residual, rounding, weight)
        taken: bool = excess < least
        last: bool = turn + 1 == iterations or turn + 1 == half
        if taken:
            for m in range(n):
                kept[m] = tears[m]
                there[m] = residual[m]
                rounding[m] = 0.0
            limited = False
            unjudged = True
            refused = 0
            tangents(kept, matrix)
            regular = tangent_step(n, matrix, residual, kept, work, change, step, weight)
            least = left_over(n, regular, residual, rounding, weight)
            if not regular:
                laws(kept, step, part)
                make_shorter(n, step, part)
        if last or not taken:
            if unjudged:
                sizes(kept, size)
                unjudged = False
                converged = within_rounding(n, there, size, rounding) and regular
                excess = beyond_rounding(n, residual, rounding, weight)
                least = left_over(n, regular, there, rounding, weight)
            # Else it was only rounding, and the next evaluation takes it.
            if not converged and not taken and not excess < least:
                if excess == 0.0:  # nothing is left, here or before, that is more than the smallest numbers
                    converged = True
                else:
                    held_back: bool = False
                    if not limited:
                        laws(kept, step, part)
                        held_back = is_less(n, part)
                    limited = True
                    if held_back:
                        least = inf
                        make_shorter(n, step, part)
                    else:
                        make_all_shorter(n, step, shortened(least, excess))
                        refused += 1
                        if refused >= PATIENCE:
                            least = inf
        for m in range(n):
            tears[m] = kept[m] + step[m]
        converged = converged or is_settled(n, limited, regular, step, tears, STEP_TOLERANCE)
        if converged:
            break
    # A step that is the residual, for want of a slope, says nothing about how far the solution is.
    converged = converged or is_settled(n, limited, regular, step, tears, LAST_STEP)
    return converged, regular


# What follows is for Python alone: functions of the tears, which may fail, around the method.

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
    matrix: Callable[..., list[float]]
    sizes: Callable[..., list[float]]
    curves: Sequence[tuple[int, Callable[[float], float], Callable[[float], float]]]

    def residuals(self, tears: Vector, values: Vector) -> None:
        """Fill in the residuals; what cannot be computed is not a number."""
        _fill(values, self.residual, tears)

    def tangents(self, tears: Vector, values: Vector) -> None:
        """Fill in the matrix."""
        _fill(values, self.matrix, tears)

    def term_sizes(self, tears: Vector, values: Vector) -> None:
        """Fill in the sizes of the terms."""
        _fill(values, self.sizes, tears)

    def laws(self, tears: Vector, step: Vector, part: Vector) -> None:
        """Fill in which part of its step each tear may go."""
        part[:] = [1.0] * len(part)
        for m, law, slope in self.curves:
            part[m] = min(part[m], allowed(tears[m], step[m], _safe(law), _safe(slope)))


def _fill(values: Vector, function: Callable[..., list[float]], tears: Vector) -> None:
    try:
        values[:] = function(*tears)
    except FAILURES:
        values[:] = [nan] * len(values)


def _safe(function: Callable[[float], float]) -> Callable[[float], float]:
    def safe(x: float) -> float:
        try:
            return function(x)
        except FAILURES:
            return nan

    return safe


@dataclass(frozen=True)
class Solution:
    """The tears, whether they fulfil the equations, and whether the last tangents had no unique solution."""

    tears: list[float]
    converged: bool
    singular: bool


def newton(loop: LoopFunctions, start: Sequence[float], iterations: int) -> Solution:
    """Return the tears of a loop, from a start; from zero after half of the iterations if it leads nowhere.

    >>> cube = LoopFunctions(lambda x: [8.0 - x**3], lambda x: [3 * x * x], lambda x: [8.0 + abs(x) ** 3], [])
    >>> newton(cube, [1.0], 40)
    Solution(tears=[2.0], converged=True, singular=False)
    """
    tears = [float(x) for x in start]
    functions = loop.residuals, loop.tangents, loop.term_sizes, loop.laws
    converged, regular = solve_loop(len(tears), iterations, tears, *functions)
    return Solution(tears, converged, not (converged or regular))
