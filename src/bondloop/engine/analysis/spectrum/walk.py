"""One execution of a tick with the slopes of every statement, collected as a sparse system.

Every statement that is executed becomes a row ``w = W w + G g``, with ``g`` what moves: the states, what
comes out of the delay lines, and probes. So it is what runs that is differentiated, not a model of it:
updates, repetitions, delay lines, matrix products and algebraic loops as they stand. A delay line of any
length costs as many columns as values leave it in one tick.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.analysis import tolerances
from bondloop.engine.analysis.spectrum.slope_rows import SlopeRows, Tangents
from bondloop.engine.analysis.spectrum.slopes import Bend, Pairs, Sloped, Slopes
from bondloop.engine.ir import (
    Assign,
    Delay,
    Expr,
    Factored,
    Loop,
    LoopFunctions,
    Product,
    Repeat,
    Step,
    Tick,
    Update,
    Var,
    evaluate,
    loop_terms,
    newton,
    shortened,
    unsolved,
)
from bondloop.errors import SolveError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.analysis.spectrum.delayed_step import Matrix


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
        For every delay of the tick, in order, what is in it, oldest first; its initial value where none is
        given.
    inputs
        Values by name of an input; zero where none are given.
    steady
        Whether a delay line of which nothing is given holds what goes into it now, as if that had not
        changed, instead of its initial value.
    """

    count: int = 1
    states: Mapping[str, float] = field(default_factory=dict)
    lines: Sequence[Sequence[float]] = ()
    inputs: Mapping[str, float] = field(default_factory=dict)
    steady: bool = False


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
    values
        Values of all variables after the tick.
    start
        Number of every state before the tick.
    probe_columns
        Number of every probe.
    pops
        (source, delay) of every value that leaves a delay line: the source's place in `pushes`, and how many
        ticks ago it went in.
    pushes
        Numbers of what goes into the delay lines, None for constants.
    popped, pushed
        Their values.
    pop_columns
        Numbers of what leaves the delay lines.
    before, after
        Values of the states before the tick, by variable; number of every state after it, None for constants.
    bends
        By name of a variable, how its statement departs from a straight line.
    steepness
        By name of a variable with a curved statement, the largest slope in it.
    tangents
        What statements in pieces follow.
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
        self.tangents = Tangents()
        self._rows = SlopeRows()
        self._frozen = held
        for v in self.states:
            self.columns[v] = self._rows.new_column()
        self.start = dict(self.columns)
        self.tangents.given = {column: v.name for v, column in self.start.items()}
        self.before = {v: self.values[v] for v in tick.states}
        self._lines: dict[int, _Line] = {}
        self.pops: list[tuple[int, int]] = []
        self.pop_columns: list[int] = []
        self.popped: list[float] = []
        self.pushes: list[int | None] = []
        self.pushed: list[float] = []
        self._open_lines(at)
        self.probe_columns = {v: self._rows.new_column() for v in dict.fromkeys(probes)}
        for v in tick.inputs:
            if v in self.probe_columns:
                self._put(v, self.values[v], [], False)
        self.execute(tick.steps)
        self.after = [self.columns.get(v) for v in self.states]

    def _put(self, v: Var, value: float, pairs: Pairs, bent: bool) -> None:
        """Give a variable its value and its row."""
        self.values[v] = value
        if v in self._frozen:
            return
        probe = self.probe_columns.get(v)
        if probe is not None:
            pairs = [*pairs, (probe, 1.0)]
        if not pairs and not bent:
            self.columns.pop(v, None)
            return
        if len(pairs) == 1 and pairs[0][1] == 1.0 and bent == (pairs[0][0] in self._bent):
            self.columns[v] = pairs[0][0]  # the same thing under another name
            return
        row = self._rows.new_row(v.name)
        self._rows.fill(row, pairs)
        self.tangents.made[row] = (v.name, pairs)
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
                results = [self._of(e, v.name) for v, e in step.pairs]
                for (v, _), result in zip(step.pairs, results, strict=True):
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
                    if step.sought and evaluate(step.until, self.values):
                        break
                else:
                    if step.sought:
                        names = ", ".join(v.name.removesuffix(".mode") for v in step.sought)
                        raise SolveError(f"no consistent mode of {names} was found at this point")

    def _of(self, expr: Expr, name: str) -> Sloped:
        slopes = self.slopes
        slopes.begin(name)
        value, pairs, bent = self._sloped(expr)
        if slopes.bends:
            self.bends.setdefault(name, set()).update(slopes.bends)
            if "smooth" in slopes.bends:
                self.steepness[name] = max([abs(s) for _, s in pairs], default=0.0)
                self.tangents.curves.setdefault(name, pairs)
            else:
                self.tangents.pieces.setdefault(name, pairs)
        return value, pairs, bent

    def _sloped(self, expr: Expr) -> Sloped:
        try:
            return self.slopes.of(expr)
        except (ZeroDivisionError, ValueError, OverflowError) as error:
            raise SolveError(
                f"the slope of '{shortened(expr)}' cannot be computed at this point: {error}"
            ) from error

    def _product(self, step: Product) -> None:
        from scipy import sparse

        sources = [self._of(e, "a product") for e in step.sources]
        values = step.matrix @ np.array([value for value, _, _ in sources])
        moving = np.array([bool(pairs) or bent for _, pairs, bent in sources])
        crooked = np.array([bent for _, _, bent in sources])
        numbers = np.zeros(len(sources), dtype=np.int64)  # of the sources that move; the others are not used
        for j, (value, pairs, bent) in enumerate(sources):
            if moving[j]:
                source = Var("source of a product")
                self._put(source, value, pairs, bent)
                numbers[j] = self.columns[source]
        multiplied = step.matrix
        if isinstance(multiplied, Factored):
            # Substitutions one after the other: what stands before the last of them are sources of the last.
            last = self._substituted(multiplied, moving, numbers)
            moving, crooked = np.full(len(last), moving.any()), np.full(len(last), crooked.any())
            multiplied, numbers = multiplied.last, last
        rows = [self._rows.new_row(v.name) for v in step.targets]
        entries = sparse.coo_array(multiplied)
        kept = moving[entries.col]
        first = rows[0] if rows else 0
        self._rows.fill_block(
            first + entries.row[kept].astype(np.int64), numbers[entries.col[kept]], entries.data[kept]
        )
        if crooked.any():
            self._bent.update((first + np.unique(entries.row[crooked[entries.col]])).tolist())
        for v, row, value in zip(step.targets, rows, values.tolist(), strict=True):
            self.values[v] = value
            self.columns[v] = row
            if v in self.probe_columns:
                self._put(v, value, [(row, 1.0)], row in self._bent)

    def _substituted(
        self, inverse: Factored, moving: NDArray[np.bool_], numbers: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Note both substitutions of a solution with factors; return the rows of the second."""
        n = inverse.shape[0]
        first = np.array([self._rows.new_row("a substitution") for _ in range(n)])
        second = np.array([self._rows.new_row("a substitution") for _ in range(n)])[::-1]
        self._rows.fill_block(first[inverse.into[moving]], numbers[moving], inverse.scales[0][moving])
        lower, upper = inverse.lower.matrix(), inverse.upper.matrix()
        self._rows.fill_block(first[lower.row], first[lower.col], -lower.data)
        self._rows.fill_block(second, first, inverse.over)
        self._rows.fill_block(second[upper.col], second[upper.row], -upper.data)
        return second

    def _loop(self, step: Loop) -> None:
        """Solve a loop by Newton's method as the tick does, then note its equations as they stand."""
        names = tuple(v.name for v in step.tears)

        def residual(*guess: float) -> list[float]:
            self.values.update(zip(step.tears, guess, strict=True))
            for a in step.body:
                self.values[a.target] = evaluate(a.expr, self.values)
            return [evaluate(e, self.values) for e in ends]

        terms = loop_terms(step)
        (assigns, totals), entries, ends = terms.sizes, terms.matrix, terms.residuals

        def rows_of(*guess: float) -> list[float]:
            residual(*guess)
            for a in step.tangents:
                self.values[a.target] = evaluate(a.expr, self.values)
            return [evaluate(e, self.values) for row in entries for e in row]

        def sizes_of(*guess: float) -> list[float]:
            self.values.update(zip(step.tears, guess, strict=True))
            for a in assigns:
                self.values[a.target] = evaluate(a.expr, self.values)
            return [evaluate(e, self.values) for e in totals]

        def law(expr: Expr, tear: Var) -> Callable[[float], float]:
            return lambda x: evaluate(expr, {**self.values, tear: x})

        laws = [(c.tear, law(c.law, t), law(c.slope, t)) for c in terms.curves for t in [step.tears[c.tear]]]
        functions = LoopFunctions(residual, rows_of, sizes_of, laws)
        # A linear loop is solved by one step, and known to be by a second one.
        solution = newton(functions, [0.0] * len(names), max(step.iterations, 2))
        if solution.singular or not (solution.converged or step.linear):
            raise SolveError(unsolved(solution, residual, names, step.iterations))
        guess = solution.tears
        rows = [self._rows.new_row(v.name) for v in step.tears]
        for v, row, value in zip(step.tears, rows, guess, strict=True):
            self.values[v] = value
            self.columns[v] = row
        for a in step.body:
            self._put(a.target, *self._of(a.expr, a.target.name))
        definitions = [self._of(e, v.name) for v, e in zip(step.tears, step.definitions, strict=True)]
        for row, (_, pairs, _) in zip(rows, definitions, strict=True):
            self._rows.fill(row, pairs)
        if any(bent for _, _, bent in definitions):  # and so is what was computed from the tears before
            self._bent.update(range(rows[0], len(self._rows.names)))
        self._rows.tears += rows

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
            columns = [self._rows.new_column() for _ in first]
            for j in range(len(first)):
                ticks = -(-(delay.length - j) // each)
                self.pops.append((base + j - delay.length + ticks * each, ticks))
            steady = range(len(self.popped), len(self.popped) + len(first) if at.steady and not kept else 0)
            self.popped += first
            self.pop_columns += columns
            self._lines[id(delay)] = _Line(base, list(zip(first, columns, strict=True)), steady)

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
        came, number = line.places[line.count - 1]
        if line.count <= len(line.steady):
            self.popped[line.steady[line.count - 1]] = came = value
        value = came
        pairs = [] if number is None else [(number, 1.0)]
        self._put(step.target, value, pairs, number in self._bent)

    # ---------------------------------------------------------------- the result

    def rows(self, numbers: Sequence[int | None], roots: Iterable[int | None] | None = None) -> Matrix:
        """Return what has these numbers per column; see `SlopeRows.solved`.

        Parameters
        ----------
        numbers
            Of what is wanted.
        roots
            Numbers of what matters in the end; columns on which none of these ever depends are left at zero.
        """
        if roots is None or self._rows.columns < tolerances.MANY_COLUMNS:
            return self._rows.solved(numbers)
        onward = {self.start[v]: later for v, later in zip(self.states, self.after, strict=True)}
        onward |= {
            column: self.pushes[source]
            for column, (source, _) in zip(self.pop_columns, self.pops, strict=True)
        }
        reached = self._rows.reached(roots, onward)
        reached[[-1 - column for column in self.probe_columns.values()]] = True
        return self._rows.solved(numbers, reached)

    def outputs(self, exprs: Iterable[Expr]) -> list[tuple[int | None, float]]:
        """Return number and value of expressions in channels: a state stands for what it was before."""
        columns, values = dict(self.columns), dict(self.values)
        self.columns.update(self.start)
        self.values.update(self.before)
        results: list[tuple[int | None, float]] = []
        for expr in exprs:
            output = Var("output")
            self._put(output, *self._sloped(expr))
            results.append((self.columns.get(output), self.values[output]))
        # In place: the slopes look at the same two tables.
        self.columns.clear()
        self.columns.update(columns)
        self.values.clear()
        self.values.update(values)
        return results

    def is_bent(self, number: int | None) -> bool:
        """Whether what has this number is not linear in the states."""
        return number in self._bent


@dataclass
class _Line:
    """A delay line during the walk: what is in it (the part that can come out), and how much has gone in.

    `steady` are the places among all that comes out of delay lines that take the value that goes in.
    """

    base: int
    places: list[tuple[float, int | None]]
    steady: range
    count: int = 0


def _pushes(steps: Sequence[Step], times: int) -> Iterable[tuple[int, int]]:
    """How often every statement is executed in one tick."""
    for step in steps:
        yield id(step), times
        yield from _pushes(step.inner, times * step.times)
