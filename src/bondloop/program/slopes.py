"""Value and slopes of an expression at a point, for the linear analysis of what runs.

The slopes are those of the piece in force: of a `select` the branch that is taken, of ``fmin`` and ``fmax``
the operand that counts. A function that goes in steps has no slope worth the name: ``floor``, the staircase
of a converter, counts with the gain 1 that it has on average, and what jumps (``sign``, a relay) is noted, so
that nobody takes its slope of zero for a loop that is open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from bondloop.program.expr import COMPARISONS, LOGIC, Const, Expr, Op, Var, apply, evaluate
from bondloop.program.slope_forms import Forms, derivatives

__all__ = ["Bend", "Slopes"]

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
    forms
        Expressions that were written out in an earlier walk of the same tick.

    Attributes
    ----------
    bends
        How the expressions evaluated since `begin` depart from straight lines.
    branches
        Which piece was in force at every bend of the whole walk, with the statement's name, in order: equal
        lists, equal regimes.
    """

    def __init__(
        self,
        values: dict[Var, float],
        columns: Mapping[Var, int],
        bent: set[int],
        forms: Forms | None = None,
    ) -> None:
        self.values, self.columns, self.bent = values, columns, bent
        self._forms = Forms() if forms is None else forms
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
        if type(expr) is Var:
            column = self.columns.get(expr)
            if column is None:
                return self.values[expr], [], False
            return self.values[expr], [(column, 1.0)], column in self.bent
        if type(expr) is Const:
            return expr.value, [], False
        assert isinstance(expr, Op)
        known = self._forms.sloped(expr, self.values, self.columns, self.bent)
        if known is None:
            return self._rules.get(expr.name, self._function)(expr)
        sloped, curved = known
        if curved:
            self.bends.add("smooth")
        return sloped

    def _sum(self, expr: Op) -> Sloped:
        total, pairs, bent = self.of(expr.args[0])
        for term in expr.args[1:]:
            value, more, crooked = self.of(term)
            total += value
            pairs = pairs + more
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
        if type(expr) is Var:
            return expr in self.columns
        return isinstance(expr, Op) and any(v in self.columns for v in self._forms.variables(expr))

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
    """Slopes of a curved function by the chain rule and the rules of `program.calculus`, at numbers."""
    variables, slopes = derivatives(name, len(operands))
    values = {v: value for v, (value, _, _) in zip(variables, operands, strict=True)}
    result: Pairs = []
    for v, (_, pairs, _) in zip(variables, operands, strict=True):
        if pairs and v in slopes:
            slope = evaluate(slopes[v], values)
            result += [(j, slope * s) for j, s in pairs]
    return result
