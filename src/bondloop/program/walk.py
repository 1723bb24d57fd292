"""One execution of a tick with the slopes of every statement, collected as a sparse system.

Every statement that is executed becomes a row ``w = W w + G g``, with ``g`` what moves: the states, what comes
out of the delay lines, and probes. So it is what runs that is differentiated, not a model of it: updates,
repetitions, delay lines, matrix products and algebraic loops as they stand. A delay line of any length costs as
many columns as values leave it in one tick.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bondloop.errors import SolveError
from bondloop.program.expr import Expr, Var, evaluate
from bondloop.program.linear import nilpotent_solve, with_tears
from bondloop.program.schedule import Assign, Loop
from bondloop.program.slopes import Bend, Slopes
from bondloop.program.tick import Delay, Product, Repeat, Step, Tick, Update

__all__ = ["Point", "Walk"]

SMALL = 600
"""Columns up to which the rows are solved densely."""


@dataclass(frozen=True)
class Point:
    """Where a tick is linearised.

    Attributes
    ----------
    count
        The number of the tick; the time is this many periods.
    states
        Values by name of a state; the initial ones where none are given.
    lines
        For every delay of the tick, in order, what is in it, oldest first; its initial value where none is given.
    inputs
        Values by name of an input; zero where none are given.
    """

    count: int = 1
    states: Mapping[str, float] = field(default_factory=dict)
    lines: Sequence[Sequence[float]] = ()
    inputs: Mapping[str, float] = field(default_factory=dict)


class Walk:
    """Executes a tick once, at a point.

    Parameters
    ----------
    tick
        What to execute.
    at
        Where.
    parameters
        Values by name instead of the tick's own.
    probes
        Variables to which a disturbance is added where they are computed (or read, for inputs).
    frozen
        States that count as constants: the coefficients of an adaptive controller.

    Attributes
    ----------
    states
        The states that move, in the tick's order.
    pops
        (source, delay) of every value that leaves a delay line: the source's place in `pushes`, and how many
        ticks ago it went in.
    pushes
        Numbers of what goes into the delay lines, None for constants.
    popped, pushed
        Their values.
    before, after
        Values of the states before the tick, by variable; number of every state after it, None for constants.
    bends
        By name of a variable, how its statement departs from a straight line.
    steepness
        By name of a variable with a curved statement, the largest slope in it.
    """

    def __init__(
        self,
        tick: Tick,
        at: Point,
        parameters: Mapping[str, float],
        probes: Iterable[Var],
        frozen: Iterable[Var],
    ) -> None:
        self.tick = tick
        held = set(frozen)
        self.states = [v for v in tick.states if v not in held]
        self.values: dict[Var, float] = {tick.time: at.count * tick.period, tick.count: float(at.count)}
        self.values.update({v: float(at.inputs.get(v.name, 0.0)) for v in tick.inputs})
        self.values.update({v: float(parameters.get(v.name, x)) for v, x in tick.parameters.items()})
        self.values.update({v: float(at.states.get(v.name, x)) for v, x in tick.states.items()})
        self.columns: dict[Var, int] = {}
        self._bent: set[int] = set()
        self.slopes = Slopes(self.values, self.columns, self._bent)
        self.bends: dict[str, set[Bend]] = {}
        self.steepness: dict[str, float] = {}
        self._names: list[str] = []  # of the rows
        self._i: list[int] = []
        self._j: list[int] = []
        self._v: list[float] = []
        self._blocks: list[tuple[Any, Any, Any]] = []
        self._tears: list[int] = []
        self._g = 0
        self._probes = {v: -1 for v in probes}
        self._frozen = held
        for v in self.states:
            self.columns[v] = self._column()
        self.start = dict(self.columns)
        self.before = {v: self.values[v] for v in tick.states}
        self._lines: dict[int, _Line] = {}
        self.pops: list[tuple[int, int]] = []
        self.pushes: list[int | None] = []
        self.pushed: list[float] = []
        self._open_lines(at)
        for v in self._probes:
            self._probes[v] = self._column()
        self.probe_columns = dict(self._probes)
        for v in tick.inputs:
            if v in self._probes:
                self._put(v, self.values[v], [], False)
        self.execute(tick.steps)
        self._close_lines()
        self.after = [self.columns.get(v) for v in self.states]

    # ---------------------------------------------------------------- numbers

    # A column of g has a negative number, -1 - its place; a row has its own place.

    def _column(self) -> int:
        self._g += 1
        return -self._g

    def _row(self, name: str) -> int:
        self._names.append(name)
        return len(self._names) - 1

    def _put(self, v: Var, value: float, pairs: list[tuple[int, float]], bent: bool) -> None:
        """Give a variable its value and its row."""
        self.values[v] = value
        if v in self._frozen:
            return
        probe = self._probes.get(v)
        if probe is not None:
            pairs = [*pairs, (probe, 1.0)]
        if not pairs and not bent:
            self.columns.pop(v, None)
            return
        if len(pairs) == 1 and pairs[0][1] == 1.0 and bent == (pairs[0][0] in self._bent):
            self.columns[v] = pairs[0][0]  # the same thing under another name
            return
        row = self._row(v.name)
        self._i += [row] * len(pairs)
        self._j += [j for j, _ in pairs]
        self._v += [s for _, s in pairs]
        if bent:
            self._bent.add(row)
        self.columns[v] = row

    # ---------------------------------------------------------------- statements

    def execute(self, steps: Sequence[Step]) -> None:
        """Execute statements."""
        for step in steps:
            if isinstance(step, Assign):
                self._put(step.target, *self._of(step.expr, step.target.name))
            elif isinstance(step, Update):
                found = [self._of(e, v.name) for v, e in step.pairs]
                for (v, _), result in zip(step.pairs, found, strict=True):
                    self._put(v, *result)
            elif isinstance(step, Product):
                self._product(step)
            elif isinstance(step, Delay):
                self._delay(step)
            elif isinstance(step, Loop):
                self._loop(step)
            else:
                assert isinstance(step, Repeat)
                for i in range(step.count):
                    self.values[step.counter] = float(i)
                    self.columns.pop(step.counter, None)
                    self.execute(step.body)

    def _of(self, expr: Expr, name: str) -> tuple[float, list[tuple[int, float]], bool]:
        self.slopes.begin(name)
        try:
            found = self.slopes.of(expr)
        except (ZeroDivisionError, ValueError, OverflowError) as error:
            raise SolveError(f"the slope of '{expr}' cannot be computed at this point: {error}") from error
        if self.slopes.bends:
            self.bends.setdefault(name, set()).update(self.slopes.bends)
            if "smooth" in self.slopes.bends:
                self.steepness[name] = max((abs(s) for _, s in found[1]), default=0.0)
        return found

    def _product(self, step: Product) -> None:
        from scipy import sparse

        found = [self._of(e, "a product") for e in step.sources]
        values = step.matrix @ np.array([value for value, _, _ in found])
        sources: list[int] = []
        for value, pairs, bent in found:  # name every source that moves
            if not pairs and not bent:
                sources.append(len(self._names))  # no row: never used below
                continue
            temporary = Var("source of a product")
            self._put(temporary, value, pairs, bent)
            sources.append(self.columns[temporary])
        moving = np.array([bool(pairs) or bent for _, pairs, bent in found])
        first = len(self._names)
        self._names += [v.name for v in step.targets]
        entries = sparse.coo_array(step.matrix)
        kept = moving[entries.col]
        numbers = np.array(sources, dtype=np.int64)
        self._blocks.append((first + entries.row[kept], numbers[entries.col[kept]], entries.data[kept]))
        if any(b for _, _, b in found):
            crooked = np.array([b for _, _, b in found])
            self._bent.update((first + np.unique(entries.row[crooked[entries.col]])).tolist())
        for i, (v, value) in enumerate(zip(step.targets, values.tolist(), strict=True)):
            self.values[v] = value
            self.columns[v] = first + i
            if v in self._probes:
                self._put(v, value, [(first + i, 1.0)], first + i in self._bent)

    def _loop(self, step: Loop) -> None:
        """Solve a loop by Newton's method as the tick does, then note its equations as they stand."""
        guess = np.zeros(len(step.tears))
        try:
            for _ in range(step.iterations):
                self.values.update(zip(step.tears, guess.tolist(), strict=True))
                for a in (*step.body, *step.tangents):
                    self.values[a.target] = evaluate(a.expr, self.values)
                wanted = np.array([evaluate(e, self.values) for e in step.definitions])
                slopes = np.array([[evaluate(e, self.values) for e in row] for row in step.jacobian])
                guess = guess + np.linalg.solve(np.eye(len(guess)) - slopes, wanted - guess)
        except np.linalg.LinAlgError:
            raise SolveError(_singular(step)) from None
        except (ZeroDivisionError, ValueError, OverflowError) as error:
            raise SolveError(f"{_singular(step)}: {error}") from error
        rows = [self._row(v.name) for v in step.tears]
        for v, row, value in zip(step.tears, rows, guess.tolist(), strict=True):
            self.values[v] = value
            self.columns[v] = row
        for a in step.body:
            self._put(a.target, *self._of(a.expr, a.target.name))
        found = [self._of(e, v.name) for v, e in zip(step.tears, step.definitions, strict=True)]
        bent = any(b for _, _, b in found)
        for row, (_, pairs, _) in zip(rows, found, strict=True):
            self._i += [row] * len(pairs)
            self._j += [j for j, _ in pairs]
            self._v += [s for _, s in pairs]
        if bent:  # what was computed from the tears before this was known is bent too
            self._bent.update(range(rows[0], len(self._names)))
        self._tears += rows

    # ---------------------------------------------------------------- delay lines

    def _open_lines(self, at: Point) -> None:
        pushes = dict(_pushes(self.tick.steps, 1))
        for number, delay in enumerate(self.tick.delays):
            each = pushes[id(delay)]
            kept = list(at.lines[number]) if number < len(at.lines) else []
            first = [*kept, *[delay.initial] * delay.length][: min(each, delay.length)]
            base = len(self.pushes)
            self.pushes += [None] * each
            self.pushed += [0.0] * each
            columns = []
            for j in range(len(first)):
                ticks = -(-(delay.length - j) // each)
                self.pops.append((base + j - delay.length + ticks * each, ticks))
                columns.append(self._column())
            self._lines[id(delay)] = _Line(base, list(zip(first, columns, strict=True)))

    def _delay(self, step: Delay) -> None:
        line = self._lines[id(step)]
        value, pairs, bent = self._of(step.source, step.target.name)
        pushed = Var(f"{step.target.name}.pushed")
        self._put(pushed, value, pairs, bent)
        column = self.columns.get(pushed)
        self.pushes[line.base + line.count] = column
        self.pushed[line.base + line.count] = value
        line.count += 1
        # What went in during this tick comes out again in it only where the line is shorter than the tick.
        line.places.append((value, column))
        value, number = line.places[line.count - 1]
        pairs = [] if number is None else [(number, 1.0)]
        self._put(step.target, value, pairs, number in self._bent)

    def _close_lines(self) -> None:
        opened = [place for line in self._lines.values() for place in line.places[: line.opened]]
        self.popped, self.pop_columns = [v for v, _ in opened], [c for _, c in opened]

    # ---------------------------------------------------------------- the result

    def rows(self, wanted: Sequence[int | None]) -> Any:
        """Return d(wanted)/dg, one row for each number, a row of zeros for None; sparse where there are many columns."""
        from scipy import sparse

        n, g = len(self._names), self._g
        full = self._matrix()
        if g <= SMALL:
            return self._dense_rows(full, wanted)
        W, G = full[:, g:].tocsr(), full[:, :g].tocsr()
        picked = [(r, k) for r, k in enumerate(wanted) if k is not None]
        places = [(r, k + g if k >= 0 else -1 - k) for r, k in picked]
        choose = sparse.coo_array(
            (np.ones(len(places)), ([r for r, _ in places], [c for _, c in places])),
            shape=(len(wanted), g + n),
        ).tocsr()
        return sparse.csr_array(choose[:, g:] @ self._solved(W, G) + choose[:, :g])

    def _dense_rows(self, full: Any, wanted: Sequence[int | None]) -> Any:
        from scipy import sparse
        from scipy.sparse.linalg import splu

        n, g = len(self._names), self._g
        known = np.vstack([np.eye(g), np.zeros((1, g))])
        if n:
            left = (sparse.eye_array(n, format="csr") - full[:, g:]).tocsc()
            # Without loops it is triangular as it stands: nothing to pivot, nothing to fill in.
            options = {} if self._tears else {"DiagPivotThresh": 0.0}
            order = "COLAMD" if self._tears else "NATURAL"
            try:
                factors = splu(left, permc_spec=order, options=options)
            except RuntimeError:
                names = ", ".join(self._names[t] for t in self._tears)
                raise SolveError(f"the algebraic loop of {names} has no unique solution") from None
            known = np.vstack([known, factors.solve(full[:, :g].toarray())])
        return known[[g if k is None else g + 1 + k if k >= 0 else -1 - k for k in wanted]]

    def _matrix(self) -> Any:
        """Return [G W], a row for every executed statement."""
        from scipy import sparse

        g = self._g
        i = [np.array(self._i, dtype=np.int64)]
        j = [np.array(self._j, dtype=np.int64)]
        v = [np.array(self._v, dtype=float)]
        for rows, columns, values in self._blocks:
            i.append(rows)
            j.append(columns)
            v.append(values)
        columns = np.concatenate(j)
        columns = np.where(columns < 0, -1 - columns, columns + g)
        values = np.concatenate(v)
        if not np.isfinite(values).all():
            raise SolveError("a slope is not finite at this point")
        shape = (len(self._names), g + len(self._names))
        return sparse.coo_array((values, (np.concatenate(i), columns)), shape=shape).tocsr()

    def _solved(self, W: Any, G: Any) -> Any:
        from scipy import sparse

        n, g = W.shape[0], G.shape[1]
        if self._tears:
            G = sparse.hstack([G, W[:, self._tears]]).tocsr()
            keep = np.ones(n)
            keep[self._tears] = 0.0
            W = (W @ sparse.diags_array(keep)).tocsr()
        return with_tears(nilpotent_solve(W, G), self._tears, g, [self._names[t] for t in self._tears])

    def output(self, expr: Expr) -> tuple[int | None, float]:
        """Return number and value of an expression as a channel has it: a state stands for what it was before."""
        now = dict(self.columns), dict(self.values)
        self.columns.update(self.start)
        self.values.update(self.before)
        wanted = Var("output")
        self._put(wanted, *self.slopes.of(expr))
        number, value = self.columns.get(wanted), self.values[wanted]
        for kept, before in zip((self.columns, self.values), now, strict=True):
            kept.clear()  # type: ignore[attr-defined]
            kept.update(before)  # type: ignore[attr-defined]
        return number, value

    def is_bent(self, number: int | None) -> bool:
        """Whether what has this number is not linear in the states."""
        return number in self._bent


@dataclass
class _Line:
    """A delay line during the walk: what is in it (the part that can come out), and how much has gone in."""

    base: int
    places: list[tuple[float, int | None]]
    count: int = 0

    def __post_init__(self) -> None:
        self.opened = len(self.places)


def _pushes(steps: Sequence[Step], times: int) -> Iterable[tuple[int, int]]:
    """How often every delay is executed in one tick."""
    for step in steps:
        if isinstance(step, Delay):
            yield id(step), times
        elif isinstance(step, Repeat):
            yield from _pushes(step.body, times * step.count)


def _singular(step: Loop) -> str:
    names = ", ".join(v.name for v in step.tears)
    return f"the algebraic loop of {names} has no unique solution"
