"""The one-step matrix of a tick, d(state after)/d(state before), from its own statements' derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import SolveError
from bondloop.program.calculus import partials
from bondloop.program.expr import Const, Expr, Op, Var, evaluate, variables
from bondloop.program.schedule import Assign, Loop
from bondloop.program.tick import Delay, Product, Step, Tick, Update

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["OneStep", "one_step"]

REST = 1e-5
"""Eigenvalues closer to 1 than this belong to motions that nothing returns, such as a table's position."""

MARGIN = 1e-9
"""Growth per step that is taken for rounding."""


@dataclass(frozen=True)
class OneStep:
    """One step of a tick, linearised.

    Attributes
    ----------
    matrix
        Shape (n, n); exact where the tick is linear.
    states
        Names of the states, then of the places in delay lines.
    period
        Seconds.
    linear
        Whether every statement is linear in the states, so that the matrix holds for any motion.
    """

    matrix: NDArray[np.float64]
    states: tuple[str, ...]
    period: float
    linear: bool

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Eigenvalues, the largest first; those at rest, within 1e-5 of 1, are left out."""
        found = np.linalg.eigvals(self.matrix).astype(complex)
        moving = found[np.abs(found - 1) > REST]
        return np.asarray(moving[np.argsort(-np.abs(moving), kind="stable")])

    @property
    def resting(self) -> int:
        """How many eigenvalues are at 1: states that keep their value, or drift, whatever happens."""
        return len(self.states) - len(self.eigenvalues)

    @property
    def spectral_radius(self) -> float:
        """Largest magnitude of the eigenvalues that are not at rest; above 1 the test is unstable."""
        moving = self.eigenvalues
        return float(abs(moving[0])) if len(moving) else 0.0

    @property
    def frequency(self) -> float:
        """Frequency [Hz] of the motion that grows most, or decays least."""
        moving = self.eigenvalues
        return float(abs(np.angle(moving[0]))) / (2 * np.pi * self.period) if len(moving) else 0.0

    @property
    def growth(self) -> float:
        """Rate of that motion [1/s]: its envelope goes as exp(growth t)."""
        radius = self.spectral_radius
        return float(np.log(radius)) / self.period if radius else -np.inf

    @property
    def stable(self) -> bool:
        """Whether nothing grows."""
        return self.spectral_radius <= 1 + MARGIN


def one_step(
    tick: Tick, parameters: Mapping[str, float] | None = None, beside: str = "reference."
) -> OneStep:
    """Return the one-step matrix of a tick.

    Every statement is differentiated as it stands, with the partial derivatives of `program.calculus`, and
    the rows d(variable)/d(states) are carried from statement to statement in the order of execution: through
    updates, repetitions, delay lines, matrix products and algebraic loops. So it is the matrix of what runs,
    not of a model of it. Where a statement is not linear in the states (`OneStep.linear` is then False) the
    derivatives are those at the initial state, at time 0 and with tabulated inputs at zero.

    Parameters
    ----------
    tick
        What to differentiate.
    parameters
        Values by name instead of the tick's own.
    beside
        States whose names begin so only run beside the test; they are left out if nothing else depends on
        them.

    Examples
    --------
    >>> x, v = Var("x"), Var("v")
    >>> swing = Update(((x, x + 0.1 * v), (v, v - 0.4 * x)))
    >>> tick = Tick("swing", 0.1, Var("t"), Var("k"), (), {x: 0.0, v: 1.0}, {}, (swing,), ())
    >>> found = one_step(tick)
    >>> found.matrix.tolist(), round(found.spectral_radius**2, 12), found.stable
    ([[1.0, 0.1], [-0.4, 1.0]], 1.04, False)
    """
    walk = _Walk(tick, dict(parameters or {}))
    walk.execute(tick.steps)
    rows = [walk.rows.get(v, walk.zero) for v in tick.states]
    lines = [place for delay in tick.delays for place in walk.lines[id(delay)]]
    names = [v.name for v in tick.states]
    for delay in tick.delays:
        names += [f"{delay.target.name}.line[{i}]" for i in range(delay.length)]
    matrix = np.array([*rows, *(row for _, row, _ in lines)]).reshape(len(names), len(names))
    bent = [*(v in walk.bent for v in tick.states), *(curved for _, _, curved in lines)]
    kept = [i for i, name in enumerate(names) if not name.startswith(beside)]
    others = [i for i in range(len(names)) if i not in set(kept)]
    if np.any(matrix[np.ix_(kept, others)]):
        kept = list(range(len(names)))
    linear = not any(bent[i] for i in kept)
    return OneStep(matrix[np.ix_(kept, kept)], tuple(names[i] for i in kept), tick.period, linear)


class _Walk:
    """Values of all variables, and their derivatives with respect to the states, as the tick is executed."""

    def __init__(self, tick: Tick, parameters: dict[str, float]) -> None:
        n = len(tick.states) + sum(d.length for d in tick.delays)
        unit = np.eye(n)
        self.zero = np.zeros(n)
        self.bent: set[Var] = set()
        self.values: dict[Var, float] = {tick.time: 0.0, tick.count: 0.0}
        self.values.update(dict.fromkeys(tick.inputs, 0.0))
        self.values.update({v: float(parameters.get(v.name, x)) for v, x in tick.parameters.items()})
        self.values.update(tick.states)
        self.rows: dict[Var, Any] = {v: unit[i] for i, v in enumerate(tick.states)}
        self.lines: dict[int, list[tuple[float, Any, bool]]] = {}
        place = len(tick.states)
        for delay in tick.delays:
            self.lines[id(delay)] = [(delay.initial, unit[place + i], False) for i in range(delay.length)]
            place += delay.length
        self._partials: dict[int, tuple[Expr, list[tuple[Var, Expr]]]] = {}
        self._names: dict[int, tuple[Expr, list[Var]]] = {}

    def execute(self, steps: Sequence[Step]) -> None:
        """Execute statements."""
        for step in steps:
            if isinstance(step, Assign):
                self._put(step.target, *self.of(step.expr))
            elif isinstance(step, Update):
                found = [self.of(e) for _, e in step.pairs]
                for (v, _), result in zip(step.pairs, found, strict=True):
                    self._put(v, *result)
            elif isinstance(step, Product):
                self._product(step)
            elif isinstance(step, Delay):
                line = self.lines[id(step)]
                line.append(self.of(step.source))
                self._put(step.target, *line.pop(0))
            elif isinstance(step, Loop):
                self._loop(step)
            else:
                for i in range(step.count):
                    self.values[step.counter] = float(i)
                    self.rows.pop(step.counter, None)
                    self.execute(step.body)

    def _put(self, v: Var, value: float, row: Any, bent: bool) -> None:
        self.values[v] = value
        if row.any():
            self.rows[v] = row
        else:  # what does not depend on the states has no row
            self.rows.pop(v, None)
        (self.bent.add if bent else self.bent.discard)(v)

    def of(self, expr: Expr) -> tuple[float, Any, bool]:
        """Return value and row of an expression, and whether it is not linear in the states."""
        if isinstance(expr, Var):
            return self.values[expr], self.rows.get(expr, self.zero), expr in self.bent
        if isinstance(expr, Const):
            return expr.value, self.zero, False
        try:
            value = evaluate(expr, self.values)
            row = self.zero
            if not self._moves(expr):
                return value, row, False
            for v, d in self._derivatives(expr):
                if v in self.rows:
                    row = row + evaluate(d, self.values) * self.rows[v]
        except (ZeroDivisionError, ValueError, OverflowError) as error:
            raise SolveError(
                f"the slope of '{expr}' cannot be computed at the initial state: {error}"
            ) from error
        return value, row, any(v in self.bent for v in self._variables(expr)) or not self._is_affine(expr)

    # What is kept of an expression is kept beside it, so that its id stays its own.

    def _derivatives(self, expr: Expr) -> list[tuple[Var, Expr]]:
        known = self._partials.get(id(expr))
        if known is None:
            known = self._partials[id(expr)] = (expr, list(partials(expr).items()))
        return known[1]

    def _variables(self, expr: Expr) -> list[Var]:
        known = self._names.get(id(expr))
        if known is None:
            known = self._names[id(expr)] = (expr, variables(expr))
        return known[1]

    def _moves(self, expr: Expr) -> bool:
        """Whether an expression depends on the states."""
        return any(v in self.rows or v in self.bent for v in self._variables(expr))

    def _is_affine(self, expr: Expr) -> bool:
        """Whether an expression is linear in the states, plus anything that does not depend on them."""
        if not isinstance(expr, Op) or not self._moves(expr):
            return True
        if expr.name in ("add", "neg"):
            return all(self._is_affine(a) for a in expr.args)
        if expr.name == "mul":
            a, b = expr.args
            return (not self._moves(a) and self._is_affine(b)) or (not self._moves(b) and self._is_affine(a))
        if expr.name == "div":
            return not self._moves(expr.args[1]) and self._is_affine(expr.args[0])
        if expr.name == "select":
            return not self._moves(expr.args[0]) and all(self._is_affine(a) for a in expr.args[1:])
        return False

    def _product(self, step: Product) -> None:
        found = [self.of(e) for e in step.sources]
        values = step.matrix @ np.array([value for value, _, _ in found])
        rows = step.matrix @ np.array([row for _, row, _ in found])
        bent = any(b for _, _, b in found)
        for v, value, row in zip(step.targets, values.tolist(), rows, strict=True):
            self._put(v, value, row, bent)

    def _loop(self, step: Loop) -> None:
        """Solve a loop by Newton's method; its derivative follows from those of its definitions."""
        n, m = len(self.zero), len(step.tears)
        guess = np.array([self.values.get(v, 0.0) for v in step.tears])
        outer, self.zero = self.zero, np.zeros(n + m)
        rows = {v: np.append(row, np.zeros(m)) for v, row in self.rows.items()}
        kept, bent = self.rows, False
        for _ in range(step.iterations):
            self.rows = dict(rows)
            for i, v in enumerate(step.tears):
                self._put(v, float(guess[i]), np.append(np.zeros(n), np.eye(m)[i]), False)
            for a in step.body:
                self._put(a.target, *self.of(a.expr))
            found = [self.of(e) for e in step.definitions]
            bent = any(b for _, _, b in found)
            slopes = np.array([row for _, row, _ in found])
            left = np.eye(m) - slopes[:, n:]
            try:
                guess = guess + np.linalg.solve(left, np.array([v for v, _, _ in found]) - guess)
                tears = np.linalg.solve(left, slopes[:, :n])
            except np.linalg.LinAlgError:
                names = ", ".join(v.name for v in step.tears)
                raise SolveError(f"the algebraic loop of {names} has no unique solution") from None
        self.rows, self.zero = kept, outer
        for v, value, row in zip(step.tears, guess.tolist(), tears, strict=True):
            self._put(v, value, row, bent)
        for a in step.body:
            self._put(a.target, *self.of(a.expr))
