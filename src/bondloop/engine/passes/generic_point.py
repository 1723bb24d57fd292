"""What depends on what, judged by numbers at a point of no special kind.

That a variable occurs on the way to another does not mean that it acts on it: two paths may cancel, a
coefficient may be zero. Whether it acts shows in the derivative at a point that nobody chose.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bondloop.engine.ir import (
    CANCELLED_DERIVATIVE,
    Expr,
    Var,
    evaluate,
    evaluator,
    partials,
    schedule,
    variables,
)
from bondloop.errors import SolveError

_FAILURES = (ZeroDivisionError, ValueError, OverflowError, SolveError)


def reach(exprs: Iterable[Expr], definitions: Mapping[Var, Expr]) -> dict[Var, None]:
    """Everything that expressions depend on, in the order met."""
    result: dict[Var, None] = {}
    work = [v for e in exprs for v in variables(e)]
    while work:
        v = work.pop()
        if v not in result:
            result[v] = None
            if v in definitions:
                work += variables(definitions[v])
    return result


class GenericPoint:
    """Numbers for all variables of a program: drawn for those that are free, computed for the others.

    Parameters
    ----------
    start
        What the numbers are drawn near: initial states, default inputs.
    constants
        The parameters; one without a value gets one.
    seed
        Of the drawing.
    other_constants
        Whether the parameters are drawn too, near their values: what vanishes here as well vanishes for all.
    at_start
        Whether nothing is drawn: the point is the start itself, at rest, which may be special.
    """

    def __init__(
        self,
        start: Mapping[Var, float],
        constants: Mapping[Var, float | None],
        seed: int,
        *,
        other_constants: bool = False,
        at_start: bool = False,
    ) -> None:
        self._at_start = at_start
        self._rng = random.Random(seed)  # noqa: S311 - no secret
        self.values: dict[Var, float] = {}
        for v, given in constants.items():
            value = self._rng.uniform(0.5, 2.0) if given is None else given
            if other_constants:
                value = value * self._rng.uniform(0.9, 1.1) if value else self._rng.uniform(0.1, 0.2)
            self.values[v] = value
        for v, near in start.items():
            self.values[v] = (
                near if at_start else near * self._rng.uniform(0.9, 1.1) if near else self._drawn()
            )

    def _drawn(self) -> float:
        return 0.0 if self._at_start else self._rng.uniform(0.2, 0.6)

    def extend(self, definitions: Mapping[Var, Expr]) -> None:
        """Compute what has no number yet; what cannot be computed gets one all the same."""
        new = {v: e for v, e in definitions.items() if v not in self.values}
        for v in reach(new.values(), new):
            if v not in new and v not in self.values:
                self.values[v] = self._drawn()
        known = tuple(self.values)
        goals = list(new)
        try:
            numbers = evaluator(schedule(new, goals), [known], goals)(list(self.values.values()))
        except _FAILURES:
            numbers = [self._drawn() for _ in goals]
        self.values.update(zip(goals, numbers, strict=True))

    def slopes(self, expr: Expr) -> dict[Var, float]:
        """Partial derivatives of one expression, those that are not zero here."""
        result: dict[Var, float] = {}
        for v, d in partials(expr).items():
            try:
                slope = evaluate(d, self.values)
            except _FAILURES:
                slope = 1.0  # not to be had here; it is there all the same
            if slope:
                result[v] = slope
        return result

    def acts(self, goal: Expr, definitions: Mapping[Var, Expr], of: Sequence[Var]) -> set[Var]:
        """Which of some free variables the goal depends on, all paths and loops between them counted.

        The derivatives follow from one solution of (I - W)' a = c, with W those of the definitions and c
        those of the goal: a is what the goal gains from each variable.
        """
        from scipy.sparse import coo_array, eye_array
        from scipy.sparse.linalg import splu

        cone = reach([goal], definitions)
        number = {v: i for i, v in enumerate(cone)}
        entries = [
            (number[w], i, slope)
            for v, i in number.items()
            if v in definitions
            for w, slope in self.slopes(definitions[v]).items()
        ]
        count = len(cone)
        right = np.zeros(count)
        for v, slope in self.slopes(goal).items():
            right[number[v]] = slope
        free = [v for v in of if v in number]
        if not free:
            return set()
        rows, columns, slopes = zip(*entries, strict=True) if entries else ((), (), ())
        W = coo_array((np.array(slopes, dtype=float), (rows, columns)), shape=(count, count))
        try:
            gain = splu((eye_array(count) - W).tocsc()).solve(right)
        except RuntimeError:  # a loop that has no solution here: leave it to the structure
            return set(free)
        sizes = np.abs(gain) * np.array([max(abs(self.values[v]), 1e-6) for v in cone])
        if not np.isfinite(sizes).all():
            return set(free)
        return {v for v in free if sizes[number[v]] > CANCELLED_DERIVATIVE * sizes.max()}
