"""Value and slopes of an expression at a point, for the linear analysis of what runs.

The slopes are those of the piece in force: of a `select` the branch that is taken, of ``fmin`` and ``fmax``
the operand that counts. A function that goes in steps has no slope worth the name: ``floor``, the staircase
of a converter, counts with the gain 1 that it has on average, and what jumps (``sign``, a relay) is noted, so
that nobody takes its slope of zero for a loop that is open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Literal

from bondloop.engine.ir import (
    COMPARISONS,
    FUNCTIONS,
    LOGIC,
    Const,
    Expr,
    Op,
    PythonText,
    Var,
    apply,
    evaluate,
    partials,
    variables,
)

Bend = Literal["smooth", "piecewise", "quantiser", "step"]
"""How an expression departs from a straight line: curved, in straight pieces, as a staircase with the right
mean slope, by a jump."""

Pairs = list[tuple[int, float]]
"""Slopes by number; a number may come twice: add them."""

Sloped = tuple[float, Pairs, bool]
"""Value, slopes, and whether it is bent."""


class Slopes:
    """Evaluates expressions with their slopes, and notes what is not linear on the way.

    Parameters
    ----------
    values
        The value of every variable; read, never written.
    columns
        The number of every variable that moves with the states; the others are constants here.
    bent
        Numbers of variables that are not linear in the states.

    Attributes
    ----------
    bends
        How the expressions evaluated since `begin` depart from straight lines.
    branches
        Which piece was in force at every bend of the whole walk, with the statement's name, in order: equal
        lists, equal regimes.
    """

    def __init__(self, values: dict[Var, float], columns: Mapping[Var, int], bent: set[int]) -> None:
        self.values, self.columns, self.bent = values, columns, bent
        self.bends: set[Bend] = set()
        self.branches: list[tuple[str, int]] = []
        self._statement = ""
        self._rules: dict[str, Callable[[Op], Sloped]] = {
            "add": self._sum,
            "neg": self._minus,
            "mul": self._times,
            "div": self._over,
            "select": self._select,
            "row": lambda expr: self.of(expr.written_out()),
        }

    def begin(self, statement: str) -> None:
        """Begin a new statement, by the name of its target."""
        if self.bends:
            self.bends = set()
        self._statement = statement

    def of(self, expr: Expr) -> Sloped:
        """Return value, slopes by number, and whether it is bent."""
        kind = type(expr)
        if kind is Var:
            column = self.columns.get(expr)  # type: ignore[call-overload]
            if column is None:
                return self.values[expr], [], False  # type: ignore[index]
            return self.values[expr], [(column, 1.0)], column in self.bent  # type: ignore[index]
        if kind is Const:
            return expr.value, [], False  # type: ignore[attr-defined]
        return self._rules.get(expr.name, self._function)(expr)  # type: ignore[attr-defined, arg-type]

    def _sum(self, expr: Op) -> Sloped:
        total, first, bent = self.of(expr.args[0])
        pairs = [*first]
        for term in expr.args[1:]:
            value, more, crooked = self.of(term)
            total += value
            pairs += more
            bent = bent or crooked
        return total, pairs, bent

    def _minus(self, expr: Op) -> Sloped:
        value, pairs, bent = self.of(expr.args[0])
        return -value, [(j, -s) for j, s in pairs], bent

    def _times(self, expr: Op) -> Sloped:
        x, dx, bent_x = self.of(expr.args[0])
        y, dy, bent_y = self.of(expr.args[1])
        if dx and dy:
            self.bends.add("smooth")
            return x * y, [*((j, s * y) for j, s in dx), *((j, s * x) for j, s in dy)], True
        pairs = [(j, s * y) for j, s in dx] if dx else [(j, s * x) for j, s in dy]
        return x * y, pairs, bent_x or bent_y

    def _over(self, expr: Op) -> Sloped:
        x, dx, bent_x = self.of(expr.args[0])
        y, dy, bent_y = self.of(expr.args[1])
        value = x / y
        pairs = [(j, s / y) for j, s in dx]
        if dy:
            self.bends.add("smooth")
            return value, pairs + [(j, -s * value / y) for j, s in dy], True
        return value, pairs, bent_x or bent_y

    def _select(self, expr: Op) -> Sloped:
        condition, if_true, if_false = expr.args
        holds = bool(evaluate(condition, self.values))
        value, pairs, bent = self.of(if_true if holds else if_false)
        if not self._moves(condition):
            return value, pairs, bent
        self.branches.append((self._statement, int(holds)))
        jump = not (self._moves(if_true) or self._moves(if_false))
        if jump:  # a relay: two levels, and nothing but a jump between them
            try:
                jump = evaluate(if_true, self.values) != evaluate(if_false, self.values)
            except (ZeroDivisionError, ValueError, OverflowError):
                jump = True
            if not jump:
                return value, pairs, bent
        self.bends.add("step" if jump else "piecewise")
        return value, pairs, True

    def _moves(self, expr: Expr) -> bool:
        """Whether an expression depends on what moves."""
        return any(v in self.columns for v in variables(expr))

    def _function(self, expr: Op) -> Sloped:
        name, operands = expr.name, [self.of(a) for a in expr.args]
        numbers = [value for value, _, _ in operands]
        value = float(apply(name, numbers))
        if not any(pairs for _, pairs, _ in operands):
            return value, [], any(bent for _, _, bent in operands)
        if name == "floor":
            self.bends.add("quantiser")
            return value, operands[0][1], True
        if name in COMPARISONS or name in LOGIC or name == "sign":
            self.branches.append((self._statement, int(value)))
            self.bends.add("step")
            return value, [], True
        if name in ("fmin", "fmax"):
            first = (numbers[0] <= numbers[1]) == (name == "fmin")
            self.branches.append((self._statement, int(first)))
            self.bends.add("piecewise")
            return value, operands[0 if first else 1][1], True
        if name == "fabs":
            side = math.copysign(1.0, numbers[0]) if numbers[0] else 0.0
            self.branches.append((self._statement, int(side)))
            self.bends.add("piecewise")
            return value, [(j, s * side) for j, s in operands[0][1]], True
        self.bends.add("smooth")
        return value, _chain(name, operands), True


def _chain(name: str, operands: Sequence[Sloped]) -> Pairs:
    """Slopes of a curved function by the chain rule and the rules of `engine.ir.causal_order`, at numbers."""
    values = [value for value, _, _ in operands]
    result: Pairs = []
    for i, (_, pairs, _) in enumerate(operands):
        partial = _partial(name, len(operands), i) if pairs else None
        if partial is not None:
            slope = partial(*values)
            result += [(j, slope * s) for j, s in pairs]
    return result


@cache
def _partial(name: str, count: int, place: int) -> Callable[..., float] | None:
    """Return a partial derivative of a function, as a function of all its operands; None where it is zero."""
    operands = tuple(Var(f"operand[{i}]") for i in range(count))
    slopes = partials(Op(name, operands))
    if operands[place] not in slopes:
        return None
    names = {v: f"x{i}" for i, v in enumerate(operands)}
    text = PythonText(names.__getitem__, largest_power=1)(slopes[operands[place]])
    scope: dict[str, Callable[..., float]] = {**FUNCTIONS, "pow": math.pow}
    exec(f"def partial({', '.join(names.values())}):\n    return {text}", scope)  # noqa: S102 - our own text
    function: Callable[..., float] = scope["partial"]
    return function
