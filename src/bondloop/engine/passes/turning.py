"""Turning assignments round: which variable an equation is solved for.

An equation of a program gives one of its variables. To find a variable that nothing gives yet from a value
that is known at the other end, every equation on a path between the two is solved for the next variable of
the path instead. On a bond graph the strokes on that path change.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.ir import (
    Const,
    Expr,
    Op,
    Var,
    evaluate,
    evaluator,
    function,
    partials,
    schedule,
    variables,
)
from bondloop.engine.passes.tick_numbers import generic
from bondloop.errors import SolveError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.engine.ir import Expr


CANCELLED_DERIVATIVE = 1e-12
"""A derivative this small, relative to the terms it is summed from, is rounding."""

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
            known = generic(given)
            value = self._rng.uniform(0.5, 2.0) if known is None else known
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


_TURNED: dict[str, Callable[[Expr], Expr]] = {
    "neg": lambda v: -v,
    "exp": lambda v: function("log", v),
    "log": lambda v: function("exp", v),
    "sinh": lambda v: function("asinh", v),
    "asinh": lambda v: function("sinh", v),
    "atanh": lambda v: function("tanh", v),
    "atan": lambda v: function("tan", v),
    "cbrt": lambda v: v**3,
}
"""Functions with an inverse on their whole range."""


def path_between(
    expr: Expr, unknown: Var, definitions: Mapping[Var, Expr], points: Sequence[GenericPoint]
) -> tuple[Var, ...]:
    """Return the shortest path of variables from an expression to an unknown, each acting on the last.

    At all the points, if there is such a path, else at the first.
    """
    for tried in (points, points[:1]):
        path = _path(expr, unknown, definitions, tried)
        if path:
            return path
    raise SolveError(f"internal: {unknown.name} does not act on {expr}")  # pragma: no cover


def _path(
    expr: Expr, unknown: Var, definitions: Mapping[Var, Expr], points: Sequence[GenericPoint]
) -> tuple[Var, ...]:
    def acting(e: Expr) -> list[Var]:
        first, *others = (p.slopes(e) for p in points)
        return [v for v in first if all(v in slopes for slopes in others)]

    came: dict[Var, Var | None] = dict.fromkeys(acting(expr))
    queue = list(came)
    for v in queue:
        if v is unknown:
            break
        if v in definitions:
            for w in acting(definitions[v]):
                if w not in came:
                    came[w] = v
                    queue.append(w)
    if unknown not in came:
        return ()
    path: list[Var] = []
    at: Var | None = unknown
    while at is not None:
        path.append(at)
        at = came[at]
    return tuple(reversed(path))


def turn_round(
    path: tuple[Var, ...], value: Expr, expr: Expr, definitions: dict[Var, Expr], constants: Container[Var]
) -> None:
    """Solve ``expr = value`` for the last variable of a path; every definition on the path changes."""
    for v in path:
        before = definitions.get(v, v)
        definitions[v] = _solved(v, value, expr, constants)
        value, expr = v, before


def _solved(unknown: Var, value: Expr, expr: Expr, constants: Container[Var]) -> Expr:
    """Solve one equation for one of its variables.

    Where it enters twice, an operation has no inverse, or its factor varies (and may pass zero, while other
    equations still determine it), it gets an implicit definition, which the scheduler solves as a loop.
    """
    whole, first = expr, value
    while not isinstance(expr, Var):
        assert isinstance(expr, Op)
        places = [i for i, a in enumerate(expr.args) if unknown in variables(a)]
        turned = _inverse_operation(expr, places[0], value, constants) if len(places) == 1 else None
        if turned is None:
            return unknown + (first - whole)
        value, expr = turned, expr.args[places[0]]
    return value


def _inverse_operation(op: Op, place: int, value: Expr, constants: Container[Var]) -> Expr | None:
    others = [a for i, a in enumerate(op.args) if i != place]
    if op.name == "add":
        for term in others:
            value = value - term
        return value
    if op.name in _TURNED:
        return _TURNED[op.name](value)
    if op.name in ("mul", "div") and all(v in constants for v in variables(others[0])):
        if op.name == "mul":
            return value / others[0]
        return value * others[0] if place == 0 else others[0] / value
    if op.name == "pow" and place == 0 and isinstance(op.args[1], Const) and op.args[1].value == 3.0:
        return function("cbrt", value)
    return None


def solved_for_rate(
    content: Var,
    rate: Var,
    law: Expr,
    definitions: Mapping[Var, Expr],
    start: Mapping[Var, float],
    parameters: Mapping[Var, float | None],
) -> dict[Var, Expr]:
    """Return a program in which a content is given and its rate is assigned; empty where there is none.

    >>> from bondloop.engine.ir.expr import Var
    >>> p, rate, v, F = Var("p"), Var("d/dt p"), Var("v"), Var("F")
    >>> turned = solved_for_rate(p, rate, 2 * v, {v: F - 3 * rate}, {F: 0.0}, {})
    >>> [f"{w.name} = {e}" for w, e in turned.items()]
    ['v = p/2', 'd/dt p = (-(v - F))/3']
    """
    turned = dict(definitions)
    point = GenericPoint({**start, content: 0.0}, parameters, 1)
    point.extend(turned)
    try:
        path = path_between(law, rate, turned, [point])
    except SolveError:
        return {}
    turn_round(path, content, law, turned, parameters)
    return turned
