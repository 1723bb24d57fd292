"""A tick as Python: the twin of the C code, for machines without a compiler and for comparison.

Every statement is the one that the C writer writes, over floats. Python raises an exception where C gives an
infinity or NaN (a division by zero, the square root of a negative number); the tick is then taken back and
executed again by a second copy of its statements, which gives what C gives. So the usual tick pays nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from bondloop.engine.codegen.backend import one_by_one
from bondloop.engine.codegen.plan import (
    BEYOND,
    NOT_A_NUMBER,
    SINGULAR,
    UNCONVERGED,
    UNSETTLED,
    WORST,
    Plan,
    Sparse,
    dotted,
    sparse,
    unrolled,
)
from bondloop.engine.ir import (
    FUNCTIONS,
    LANES,
    LARGEST_POWER,
    Assign,
    Delay,
    Factored,
    Loop,
    LoopFunctions,
    Product,
    PythonText,
    Repeat,
    Solution,
    Step,
    Tick,
    Update,
    calls,
    eliminate,
    linear_lines,
    loop_functions,
    newton,
    normal,
    total,
    uniform,
    worst,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bondloop.engine.codegen.backend import BatchLoop, ScalarLoop
    from bondloop.engine.ir import Var

    Tables = dict[str, NDArray[np.float64] | Sparse | Factored]


@dataclass(frozen=True)
class PythonBackend:
    """Ticks in Python, which needs no compiler and may call any function.

    Examples
    --------
    >>> import numpy as np
    >>> from bondloop.engine.ir.expr import Var
    >>> from bondloop.engine.ir.tick import Channel
    >>> x = Var("x")
    >>> tick = Tick(
    ...     "halve", 0.1, Var("t"), Var("k"), (), {x: 1.0}, {}, (Update(((x, x / 2),)),), (Channel("x", x),)
    ... )
    >>> state, record = np.array([[1.0], [16.0]]), np.zeros((2, 3, 1))  # two tests
    >>> PythonBackend().load(tick)(3, 0, None, state, np.zeros((2, 1)), record, 1).code.tolist()
    [0, 0]
    >>> record[:, :, 0].tolist(), state.tolist()
    ([[1.0, 0.5, 0.25], [16.0, 8.0, 4.0]], [[0.125], [2.0]])
    """

    chunk = 50

    def obstacle(self, tick: Tick) -> str:  # noqa: ARG002 - every tick can be read as Python
        """Return nothing: it can execute every tick."""
        return ""

    def load(self, tick: Tick, *, quick: bool = False) -> BatchLoop:  # noqa: ARG002 - it is ready at once
        """Write a tick as Python, and compile that."""
        source, tables = write_python(tick)
        names = {**scope(), **tables, **calls(tick)}
        exec(compile(source, f"<tick {tick.name}>", "exec"), names)  # noqa: S102 - our own text
        return one_by_one(cast("ScalarLoop", names["run"]), tick.period)


def write_python(tick: Tick) -> tuple[str, Tables]:
    """Return the source of a tick's run loop, and the matrices that it names."""
    plan = Plan(tick)
    name = plan.names
    states = name.all(plan.states)
    tables: Tables = {}
    quick = _Body(plan, tables, careful=False).write()
    tables.clear()
    careful = _Body(plan, tables, careful=True).write()
    positions = [line.at for line in plan.lines]
    warm = {plan.scalars - len(plan.warm_names) + i: v for i, v in enumerate(plan.warm_names)}
    kept = [*states, *positions, *warm.values()]
    began = [name.fresh(f"{v}_began") for v in kept]
    lines = ["def run(steps, first, period, inputs, state, parameters, record, every):"]
    lines += [f"    {v} = float(state[{i}])" for i, v in enumerate(states)]
    lines += [f"    {v} = float(state[{i}])" for i, v in warm.items()]
    lines += [f"    {v} = float(parameters[{i}])" for i, v in enumerate(name.all(plan.parameters))]
    for line in plan.lines:
        lines.append(f"    {line.at} = int(state[{line.at_index}])")
        lines.append(f"    {line.name} = state[{line.offset}:{line.offset + line.delay.length}].tolist()")
    lines += ["    status, stopped_at, stopped_channel, record_rows = [0], -1, -1, []"]
    if tick.inputs:
        lines.append("    inputs = inputs[:steps].tolist()")
    lines += ["    for i in range(first, first + steps):", "        k = float(i)", "        t = k*period"]
    if tick.inputs:
        lines.append(f"        {', '.join(name.all(tick.inputs))}, = inputs[i - first]")
    lines += [f"        {b} = {v}" for v, b in zip(kept, began, strict=True)]
    lines += [f"        {copy} = {name(v)}" for v, copy in plan.start_copies.items()]
    if plan.lines:
        lines.append("        undo = []")
    lines += ["        try:", *(f"            {line}" for line in quick)]
    lines.append("        except (ZeroDivisionError, ValueError, OverflowError):")
    lines += [f"            {v} = {b}" for v, b in zip(kept, began, strict=True)]
    lines.append("            status[0] = 0")
    if plan.lines:
        lines += ["            for line, place, old in reversed(undo):", "                line[place] = old"]
    lines += [f"            {line}" for line in careful]
    lines += ["        if i % every == 0:", "            record_rows.append(row)"]
    lines += [*_checks(plan), "        if status[0]:", "            stopped_at = i", "            break"]
    lines += [f"    state[{i}] = {v}" for i, v in (*enumerate(states), *warm.items())]
    for line in plan.lines:
        lines.append(f"    state[{line.at_index}] = {line.at}")
        lines.append(f"    state[{line.offset}:{line.offset + line.delay.length}] = {line.name}")
    if tick.channels:
        lines.append("    record[:len(record_rows)] = record_rows or record[:0]")
    lines.append("    return status[0], stopped_at, stopped_channel")
    return "\n".join(lines) + "\n", tables


def _checks(plan: Plan) -> list[str]:
    tests = []
    for i, channel in enumerate(plan.tick.channels):
        bound = plan.tick.bounds.get(channel.name, float("inf"))
        tests.append(f"-{bound!r} <= row[{i}] <= {bound!r}")
    if not tests:
        return []
    numbers = [
        f"({', '.join(repr(plan.tick.bounds.get(c.name, float('inf'))) for c in plan.tick.channels)},)"
    ]
    return [
        f"        if not ({' and '.join(tests)}):",
        f"            for stopped_channel, (value, bound) in enumerate(zip(row, {numbers[0]})):",
        "                if not -bound <= value <= bound:",
        "                    break",
        f"            status[0] |= {NOT_A_NUMBER} if value != value else {BEYOND}",
    ]


class _Body:
    """The statements of one copy of the tick."""

    def __init__(self, plan: Plan, tables: Tables, careful: bool) -> None:
        self.plan, self.tables = plan, tables
        self.careful = careful
        self._places: dict[Var, str] = {}
        self.text = PythonText(self._place, careful=careful)

    def _place(self, v: Var) -> str:
        return self._places.get(v) or self.plan.names(v)

    def write(self) -> list[str]:
        """Return the lines of the body, without indentation."""
        lines = [f"{self._place(v)} = 0.0" for v in self.plan.hoisted]
        lines += self.steps(self.plan.tick.steps)
        self._places = dict(self.plan.start_copies)
        values = [self.text(c.value) for c in self.plan.tick.channels]
        return [*lines, f"row = ({', '.join(values)}{',' if values else ''})"]

    def steps(self, steps: tuple[Step, ...]) -> list[str]:
        return [line for step in steps for line in self._step(step)]

    def _step(self, step: Step) -> list[str]:
        if isinstance(step, Assign):
            return [self.text.assign(step)]
        if isinstance(step, Update):
            names = "".join(f"{self._place(v)}, " for v, _ in step.pairs)
            values = "".join(f"{self.text(e)}, " for _, e in step.pairs)
            return [f"{names}= {values}"] if step.pairs else []
        if isinstance(step, Delay):
            return self._delay(step)
        if isinstance(step, Product):
            return self._product(step)
        if isinstance(step, Loop):
            return self._loop(step)
        return self._repeat(step)

    def _delay(self, step: Delay) -> list[str]:
        line = self.plan.line(step)
        return [
            f"{self._place(step.target)} = {line.name}[{line.at}]",
            f"undo.append(({line.name}, {line.at}, {self._place(step.target)}))",
            f"{line.name}[{line.at}] = {self.text(step.source)}",
            f"{line.at} = {line.at} + 1 if {line.at} < {step.length - 1} else 0",
        ]

    def _product(self, step: Product) -> list[str]:
        import numpy as np

        assigns = unrolled(step, self.plan.names)
        if assigns is not None:
            return self.steps(tuple(assigns))
        table = f"MATRIX_{len(self.tables)}"
        solved = isinstance(step.matrix, Factored)
        few = None if solved else sparse(step)
        if solved:
            self.tables[table] = step.matrix
        elif few is None:
            matrix = step.matrix.toarray() if hasattr(step.matrix, "toarray") else step.matrix
            self.tables[table] = np.ascontiguousarray(np.asarray(matrix, dtype=float).T)
        else:
            self.tables[table] = few
        sources = "".join(f"{self.text(e)}, " for e in step.sources)
        targets = "".join(f"{self._place(v)}, " for v in step.targets)
        how = "solution" if solved else "few" if few is not None else "dots" if dotted(step) else "dense"
        return [f"{targets}= {how}({table}, ({sources}))"]

    def _repeat(self, step: Repeat) -> list[str]:
        i = self.plan.names.fresh("turn")
        return [
            f"for {i} in range({step.count}):",
            f"    {self._place(step.counter)} = float({i})",
            *(f"    {line}" for line in self.steps(step.body)),
            *self._until(step),
        ]

    def _until(self, step: Repeat) -> list[str]:
        if not step.sought:
            return []
        return [f"    if {self.text(step.until)}:", "        break", "else:", f"    status[0] |= {UNSETTLED}"]

    def _loop(self, loop: Loop) -> list[str]:
        """Newton's method, as in C."""
        tears = [self._place(t) for t in loop.tears]
        if loop.linear:
            how = "solve1" if len(tears) == 1 else "solve"
            return linear_lines(loop, self.text, how, "status")
        warm = self.plan.warm_start(loop)
        last = ", ".join(warm.names)
        return [
            *loop_functions(loop, self.text),
            f"solution_ = newton(functions_, [{last}], {loop.iterations})",
            f"{', '.join(tears)}, = {last}, = solution_.tears",
            "if not solution_.converged:",
            f"    {self.plan.left_over} = failed(solution_, residual_, {warm.first}, status)",
            *map(self.text.assign, loop.body),
        ]


# Functions that generated Python calls: C's, with C's results where Python would raise an exception.


def _sign(x: float) -> float:
    return float((x > 0.0) - (x < 0.0))


def _fmin(x: float, y: float) -> float:
    return x if x < y or y != y else y  # noqa: PLR0124 - NaN


def _fmax(x: float, y: float) -> float:
    return x if x > y or y != y else y  # noqa: PLR0124 - NaN


def _floor(x: float) -> float:
    return float(math.floor(x)) or x * 0.0  # keeps the sign of a zero


def _divide(x: float, y: float) -> float:
    return x / y


def _power(n: int) -> Callable[[float], float]:
    def product(x: float) -> float:
        result = x
        for _ in range(n - 1):
            result *= x
        return result

    return product


def _careful(function: Callable[..., float], name: str) -> Callable[..., float]:
    """Give the value that IEEE 754 and C99 give at poles and outside domains."""
    import numpy as np

    inverse = f"arc{name[1:]}" if name.startswith("a") else name
    ufunc = getattr(np, {"pow": "power", "div": "divide"}.get(name, inverse))

    def guarded(*args: float) -> float:
        try:
            return function(*args)
        except (ZeroDivisionError, ValueError, OverflowError):
            with np.errstate(all="ignore"):
                return float(ufunc(*args))

    return guarded


_PLAIN: dict[str, Callable[..., float]] = {
    "sign": _sign,
    "fmin": _fmin,
    "fmax": _fmax,
    "fabs": math.fabs,
    "normal": normal,
    "uniform": uniform,
    **{f"power{n}": _power(n) for n in range(2, LARGEST_POWER + 1)},
}
"""Functions that never raise an exception."""

_RAISING: dict[str, Callable[..., float]] = {
    **{name: getattr(math, name) for name in FUNCTIONS if name not in _PLAIN},
    "pow": math.pow,
    "floor": _floor,
    "div": _divide,
}


def _solve1(a: float, b: float, status: list[int]) -> float:
    if a == 0.0:
        status[0] |= SINGULAR
        return math.nan
    return b / a


def _solve(a: list[list[float]], b: list[float], status: list[int]) -> list[float]:
    """Eliminate as C does."""
    if eliminate(len(b), [entry for row in a for entry in row], b):
        return b
    status[0] |= SINGULAR
    return [math.nan] * len(b)


def _failed(solution: Solution, residual: Callable[..., list[float]], first: int, status: list[int]) -> float:
    """Note that a loop did not converge, and its worst tear; return what is left over of that."""
    left = residual(*solution.tears)
    number = worst(len(left), solution.tears, left)
    status[0] |= SINGULAR if solution.singular else UNCONVERGED
    if status[0] < WORST:
        status[0] += WORST * (first + 1 + number)
    return left[number]


def _dense(columns: NDArray[np.float64], x: Sequence[float]) -> list[float]:
    import numpy as np

    result = np.zeros(columns.shape[1])
    with np.errstate(all="ignore"):
        for column, value in zip(columns, x, strict=True):
            result += column * value
    values: list[float] = result.tolist()
    return values


def _dots(columns: NDArray[np.float64], x: Sequence[float]) -> list[float]:
    """Dot products in the partial sums of the C code."""
    import numpy as np

    m, n = columns.shape
    with np.errstate(all="ignore"):
        terms = np.zeros((-(-m // LANES) * LANES, n))
        terms[:m] = columns * np.asarray(x)[:, None]
        lanes = np.add.accumulate(terms.reshape(-1, LANES, n))[-1]
        values: list[float] = np.add.accumulate(lanes)[-1].tolist()
    return values


def _few(matrix: Sparse, x: Sequence[float]) -> list[float]:
    result = []
    for i in range(len(matrix.starts) - 1):
        total = 0.0
        for j in range(matrix.starts[i], matrix.starts[i + 1]):
            total += matrix.values[j] * x[matrix.columns[j]]
        result.append(total)
    return result


def _solution(inverse: Factored, x: Sequence[float]) -> list[float]:
    values: list[float] = (inverse @ x).tolist()
    return values


def scope() -> dict[str, object]:
    """Return the names that a generated function can use."""
    names: dict[str, object] = {"inf": math.inf, "nan": math.nan, "total": total}
    names |= {"newton": newton, "LoopFunctions": LoopFunctions, "failed": _failed}
    names |= {
        "solve1": _solve1,
        "solve": _solve,
        "dense": _dense,
        "dots": _dots,
        "few": _few,
        "solution": _solution,
    }
    for name, function in _PLAIN.items():
        names[name] = names[f"careful_{name}"] = function
    for name, function in _RAISING.items():
        names[name], names[f"careful_{name}"] = function, _careful(function, name)
    return names
