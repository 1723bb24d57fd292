"""What the writers of every language need to know of a tick before they write it."""

from __future__ import annotations

import itertools
import keyword
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Container, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from bondloop.engine.codegen import tolerances
from bondloop.engine.ir import (
    LANES,
    Assign,
    Const,
    Delay,
    Expr,
    Factored,
    Loop,
    Op,
    Product,
    Repeat,
    Step,
    Tick,
    Var,
    every,
    loops,
    revised,
    variables,
)
from bondloop.errors import InputError, ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


BEYOND, NOT_A_NUMBER, SINGULAR, UNCONVERGED, UNSETTLED = 1, 2, 4, 8, 16
"""Bits of the status of a run: a channel beyond its bound, one that is NaN, a loop without a unique solution,
a loop that did not converge, and a search for modes that came to no consistent one."""

WORST = 256
"""So many times the number of the worst tear of a loop that did not converge, from 1, is added to them."""


@dataclass(frozen=True)
class Line:
    """The memory of one delay: where it lies in the state, and what it is called."""

    delay: Delay
    name: str
    at: str
    at_index: int
    offset: int


@dataclass(frozen=True)
class Warm:
    """The memory of one loop that is not linear: its last tears, from which it starts again.

    Attributes
    ----------
    loop
        The loop.
    names
        What the places in the state are called, one for each tear.
    index
        Where they begin in the state.
    first
        The number of its first tear among those of all such loops, from 0.
    """

    loop: Loop
    names: list[str]
    index: int
    first: int


@dataclass(frozen=True)
class Sparse:
    """The entries of a matrix that are not zero, row by row."""

    starts: list[int]
    columns: list[int]
    values: list[float]


class Plan:
    """Names, the layout of the state, and which variables outlive the block that computes them.

    The state is one array of doubles: the states, the positions of the delay lines, the last tears of loops
    that are not linear and what was left over of the worst of them, then the lines. So a snapshot holds all
    that the next tick depends on, to the last bit, while the states of the tick are those of its model.
    """

    def __init__(self, tick: Tick) -> None:
        _check_names(tick)
        self._given = tick
        self.names = Names(tick.name)
        self.names.assign(tick.time, "t")
        self.names.assign(tick.count, "k")
        self.states = list(tick.states)
        self.parameters = list(tick.parameters)
        self.names.all([*self.states, *self.parameters, *tick.inputs])
        delays = tick.delays
        self.warm = self._warm(len(self.states) + len(delays))
        self._warm_of = {id(warm.loop): warm for warm in self.warm}
        tears = sum(len(warm.names) for warm in self.warm)
        self.left_over = self.names.fresh("left_over") if self.warm else None
        self.scalars = max(1, len(self.states) + len(delays) + tears + bool(tears))
        self.lines: list[Line] = []
        self.size = self.scalars
        for i, delay in enumerate(delays):
            name = self.names(delay.target)
            line = self.names.fresh(f"{name}_line")
            at = self.names.fresh(f"{name}_line_at")
            self.lines.append(Line(delay, line, at, len(self.states) + i, self.size))
            self.size += delay.length
        self._line_of = {id(line.delay): line for line in self.lines}

    @cached_property
    def _needed(self) -> tuple[Tick, Counter[Var]]:
        return needed(self._given)

    @property
    def tick(self) -> Tick:
        """The tick without what nothing reads: what is written. The layout is that of the whole tick."""
        return self._needed[0]

    @property
    def readers(self) -> Counter[Var]:
        """How often each variable is read; see `needed`."""
        return self._needed[1]

    @cached_property
    def hoisted(self) -> list[Var]:
        """Variables that outlive the block that computes them."""
        return _hoisted(self.tick)

    @cached_property
    def start_copies(self) -> dict[Var, str]:
        """What the values at the beginning of the tick are called of states that are recorded."""
        changed = {v for step in every(self.tick.steps) for v in step.writes if v in self.tick.states}
        recorded = [v for c in self.tick.channels for v in variables(c.value)]
        return {v: self.names.fresh(f"{v.name}_start") for v in dict.fromkeys(recorded) if v in changed}

    def read_outside(self, loop: Loop) -> set[Var]:
        """Return the variables of a loop that anything else reads."""
        own = loop.reads
        return {v for v in loop.writes if self.readers[v] > (v in own)}

    def _warm(self, index: int) -> list[Warm]:
        warm: dict[int, Warm] = {}
        first = 0
        for loop in loops(every(self._given.steps)):
            if not loop.linear and id(loop) not in warm:
                names = [self.names.fresh(f"{t.name}_last") for t in loop.tears]
                warm[id(loop)] = Warm(loop, names, index + first, first)
                first += len(names)
        return list(warm.values())

    def warm_start(self, loop: Loop) -> Warm:
        """Return the memory of a loop."""
        return self._warm_of[id(loop)]

    @property
    def ends(self) -> set[Var]:
        """Variables that say whether a repetition ends, and are read after all of its body."""
        return {v for s in every(self._given.steps) if isinstance(s, Repeat) for v in s.reads}

    @property
    def sought(self) -> list[Var]:
        """What the repetitions that end early look for."""
        return [v for s in every(self._given.steps) for v in s.sought]

    @property
    def warm_names(self) -> list[str]:
        """What the places of all last tears are called, and that of what was left over."""
        names = [name for warm in self.warm for name in warm.names]
        return [*names, *([self.left_over] if self.left_over else [])]

    def line(self, delay: Delay) -> Line:
        """Return the memory of a delay."""
        return self._line_of[id(delay)]

    def initial(self) -> NDArray[np.float64]:
        """Return the state before the first tick."""
        import numpy as np

        state = np.zeros(self.size)
        state[: len(self.states)] = list(self._given.states.values())
        for line in self.lines:
            state[line.offset : line.offset + line.delay.length] = line.delay.initial
        return state

    @property
    def places(self) -> dict[Hashable, slice]:
        """Where in the state everything lies: states, delay lines (position, values) and last tears.

        Ticks that share statements share these keys.
        """
        places: dict[Hashable, slice] = {v: slice(i, i + 1) for i, v in enumerate(self.states)}
        for line in self.lines:
            places["position", id(line.delay)] = slice(line.at_index, line.at_index + 1)
            places["line", id(line.delay)] = slice(line.offset, line.offset + line.delay.length)
        for warm in self.warm:
            places["tears", id(warm.loop)] = slice(warm.index, warm.index + len(warm.names))
        return places

    def bound(self, channel: str) -> float | None:
        """Return the bound of a channel, if it has a finite one; without, NaN alone is outside."""
        bound = self.tick.bounds.get(channel)
        return bound if bound is not None and math.isfinite(bound) else None

    def inside(self, row: str, size: str = "fabs") -> list[str]:
        """Return the test of each channel of a row: that it is a number, and within its bound."""
        bounds = [self.bound(channel.name) for channel in self.tick.channels]
        return [
            f"{row}[{i}] == {row}[{i}]" if bound is None else f"{size}({row}[{i}]) <= {bound!r}"
            for i, bound in enumerate(bounds)
        ]

    @property
    def scalar_names(self) -> list[str]:
        """What the places of the state before the delay lines are called."""
        return [*self.names.all(self.states), *(line.at for line in self.lines), *self.warm_names]


def needed(tick: Tick) -> tuple[Tick, Counter[Var]]:
    """Return the tick without what nothing reads, and how often each variable is read.

    A state is read once more, by the next tick.

    >>> from bondloop.engine.ir.tick import Channel
    >>> x, a, b, c = (Var(n) for n in "xabc")
    >>> steps = (Assign(a, x), Assign(b, a), Assign(c, b), Assign(b, x))
    >>> few, readers = needed(Tick("t", 1.0, Var("t"), Var("k"), (), {x: 0.0}, {}, steps, (Channel("a", a),)))
    >>> [s.target.name for s in few.steps], readers[x]
    (['a'], 2)
    """
    writers: dict[Var, list[Step]] = {}
    for step in every(tick.steps):
        if step.pure:
            for v in step.writes:
                writers.setdefault(v, []).append(step)
    readers = Counter(v for step in every(tick.steps) for v in step.reads)
    readers.update(v for c in tick.channels for v in variables(c.value))
    readers.update(list(tick.states))
    unread = [v for v in writers if not readers[v]]
    gone: set[int] = set()
    while unread:
        for step in writers[unread.pop()]:
            if id(step) in gone or any(readers[v] for v in step.writes):
                continue
            gone.add(id(step))
            for v in step.reads:
                readers[v] -= 1
                if not readers[v] and v in writers:
                    unread.append(v)
    if gone:
        tick = replace(tick, steps=revised(tick.steps, lambda step: None if id(step) in gone else step))
    return tick, readers


def wanted(assigns: Sequence[Assign], by: Container[Var]) -> list[Assign]:
    """Return those of some assignments that lead to what is read."""
    kept: list[Assign] = []
    inner: set[Var] = set()
    for a in reversed(assigns):
        if a.target in by or a.target in inner:
            kept.append(a)
            inner |= a.reads
    return kept[::-1]


def _check_names(tick: Tick) -> None:
    groups = {
        "state": [v.name for v in tick.states],
        "input": [v.name for v in tick.inputs],
        "parameter": [v.name for v in tick.parameters],
        "channel": [c.name for c in tick.channels],
    }
    for kind, names in groups.items():
        twice = sorted({n for n in names if names.count(n) > 1}) if len(set(names)) < len(names) else []
        if twice:
            raise ModelError(
                f"tick '{tick.name}' has more than one {kind} named {', '.join(twice)}; rename one of them"
            )
    if len({id(d) for d in tick.delays}) < len(tick.delays):
        raise ModelError(f"tick '{tick.name}' executes one delay line in two places; give each place its own")
    if not (math.isfinite(tick.period) and tick.period > 0):
        raise InputError(f"tick '{tick.name}' has a period of {tick.period} s; it must be positive")
    for name, bound in tick.bounds.items():
        if not bound >= 0:
            raise InputError(f"the bound of '{name}' is {bound}; it must be a number from 0 up")
    for v, value in tick.states.items():
        if not math.isfinite(value):
            raise InputError(f"state {v.name} begins at {value}; it must be finite")


def _hoisted(tick: Tick) -> list[Var]:
    """Variables computed in one block and needed outside it, or computed more than once."""
    home: dict[Var, tuple[int, ...]] = {}
    found: dict[Var, None] = {}
    nested = False

    def define(v: Var, block: tuple[int, ...]) -> None:
        nonlocal nested
        nested = nested or bool(block)
        if v in home and v not in outside:
            found[v] = None
        home[v] = block

    def use(expr: Expr, block: tuple[int, ...]) -> None:
        for v in variables(expr) if nested else ():  # the outermost block is seen from everywhere
            if v in home and block[: len(home[v])] != home[v]:
                found[v] = None

    def walk(steps: Sequence[Step], block: tuple[int, ...]) -> None:
        for i, step in enumerate(steps):
            inner = (*block, i)
            if isinstance(step, Repeat):
                define(step.counter, inner)
                walk(step.body, inner)
                use(step.until, inner)
                continue
            for expr in step.expressions:
                use(expr, inner)
            scratch = set(step.scratch)
            for v in step.writes:
                define(v, inner if v in scratch else block)

    outside: set[Var] = {tick.time, tick.count, *tick.inputs, *tick.states, *tick.parameters}
    walk(tick.steps, ())
    for channel in tick.channels:
        use(channel.value, ())
    return [v for v in found if v not in outside]


def entries(step: Product) -> list[tuple[int, int, float]]:
    """Return the entries of a matrix that are not zero as (row, column, value), row by row."""
    matrix = step.matrix
    if hasattr(matrix, "tocoo"):
        coordinates = matrix.tocoo()
        found = zip(
            coordinates.row.tolist(), coordinates.col.tolist(), coordinates.data.tolist(), strict=True
        )
        return sorted((i, j, float(value)) for i, j, value in found if value != 0.0)
    rows, columns = matrix.nonzero()
    return [(i, j, float(matrix[i, j])) for i, j in zip(rows.tolist(), columns.tolist(), strict=True)]


def sparse(step: Product) -> Sparse | None:
    """Return the nonzero entries of a matrix that has few of them, else None."""
    found = entries(step)
    if len(found) > tolerances.SPARSE_SHARE * math.prod(step.matrix.shape):
        return None
    counts = [0] * len(step.targets)
    for i, _, _ in found:
        counts[i] += 1
    starts = [0, *itertools.accumulate(counts)]
    return Sparse(starts, [j for _, j, _ in found], [value for _, _, value in found])


def dotted(step: Product) -> bool:
    """Whether a dense matrix has so few and so long rows that dot products beat sums over columns."""
    rows, columns = step.matrix.shape
    return bool(rows <= LANES and columns >= 4 * LANES)


def is_tiny(step: Product) -> bool:
    """Whether a matrix has so few entries that they are written out one by one."""
    matrix = step.matrix
    if isinstance(matrix, Factored):
        return False
    count = matrix.count_nonzero() if hasattr(matrix, "tocoo") else (matrix != 0).sum()
    return bool(count <= tolerances.WRITTEN_ENTRIES)


def unrolled(step: Product, names: Names) -> list[Assign] | None:
    """Return a product with a small matrix as assignments, zeros left out; None for a large one."""
    if not is_tiny(step):
        return None
    assigns: list[Assign] = []
    sources: list[Expr] = []
    for source in step.sources:
        if isinstance(source, Op) or source in step.targets:
            temporary = Var("source")
            names(temporary)
            assigns.append(Assign(temporary, source))
            sources.append(temporary)
        else:
            sources.append(source)
    rows: list[list[Expr]] = [[] for _ in step.targets]
    for i, j, value in entries(step):
        rows[i].append(sources[j] if value == 1.0 else Op("mul", (Const(value), sources[j])))
    for target, terms in zip(step.targets, rows, strict=True):
        assigns.append(Assign(target, Op("add", tuple(terms)) if len(terms) > 1 else [*terms, Const(0.0)][0]))
    return assigns


# Names for generated code: legal in C and in Python, unique, and close to the model's paths.


_RESERVED = """
auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
_Bool _Complex _Imaginary _Alignas _Atomic asm typeof bool true false nullptr constexpr alignas alignof
thread_local static_assert linux unix main NULL

acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor
fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf
nan nearbyint nextafter nexttoward pow remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh
tgamma trunc fpclassify isfinite isinf isnan isnormal signbit isgreater isgreaterequal isless islessequal
islessgreater isunordered gamma drem finite significand signgam scalb j0 j1 jn y0 y1 yn float_t double_t
NAN INFINITY HUGE_VAL HUGE_VALF HUGE_VALL MATH_ERRNO MATH_ERREXCEPT math_errhandling DOMAIN SING OVERFLOW
UNDERFLOW PLOSS TLOSS X_TLOSS HUGE MAXFLOAT

s p t k i j l n m x y z sum in out row status
line lines channels state states parameters inputs record steps first
period every stopped_at stopped_channel sign uniform normal inf float range abs int len zip enumerate
reversed undo total dense dots few solve solve1 record_rows place old value bound change matrix residual run
kept step scale least size good there rounding weight limited refused regular exact converged warm excess
part shorter law low high middle factor work tears worst newton failed LoopFunctions cells taken last
slope promised changed unjudged half held_back
lane given result one
block begin width column known below count whole solution double_numbers int_numbers
"""
RESERVED = frozenset([*_RESERVED.split(), *keyword.kwlist, *keyword.softkwlist])
"""Words of C and Python, functions and macros of ``math.h``, and names that generated code uses itself."""


def identifier(path: str) -> str:
    """Return a path as an identifier; not yet unique.

    >>> identifier("m2.v.flow"), identifier("x[3]"), identifier("d(a.q)/d(b)"), identifier("ω_n")
    ('m2_v_flow', 'x_3', 'd_a_q_d_b', 'omega_n')
    """
    spelt = path if path.isascii() else "".join(c if c.isascii() else _spelt_out(c) for c in path)
    text = re.sub(r"[^0-9A-Za-z]+", "_", spelt).strip("_") or "v"
    return f"v{text}" if text[0].isdigit() else text


def _spelt_out(character: str) -> str:
    """Greek letters by their names; anything else is a gap."""
    name = unicodedata.name(character, "")
    if "LETTER" not in name:
        return "_"
    letter = name.split("LETTER ")[-1].split(" WITH ")[0].replace(" ", "_")
    return letter if "CAPITAL" in name else letter.lower()


class Names:
    """Identifiers of variables, one each.

    >>> from bondloop.engine.ir.expr import Var
    >>> names = Names("demo")
    >>> a, b = Var("m.x"), Var("m_x")
    >>> names(a), names(b), names(a)
    ('m_x', 'm_x_2', 'm_x')
    """

    def __init__(self, model: str) -> None:
        if not (model.isidentifier() and model.isascii()):
            raise InputError(
                f"a tick is named '{model}', which is no C identifier; use letters, digits and '_'"
            )
        self._model = model
        self._taken = set(RESERVED)
        self._of: dict[Var, str] = {}

    def __call__(self, var: Var) -> str:
        """Return the identifier of a variable."""
        found = self._of.get(var)
        if found is None:
            found = self._of[var] = self.fresh(var.name)
        return found

    def assign(self, var: Var, name: str) -> None:
        """Give a variable a fixed name."""
        self._of[var] = name

    def fresh(self, path: str) -> str:
        """Return an identifier that nothing else has."""
        base = identifier(path)
        if base.startswith(
            (f"{self._model}_", "careful_", "MATRIX_", "power")
        ):  # as generated functions are named
            base = f"v_{base}"
        name, i = base, 2
        while name in self._taken:
            name, i = f"{base}_{i}", i + 1
        self._taken.add(name)
        return name

    def all(self, variables: Iterable[Var]) -> list[str]:
        """Return the identifiers of several variables."""
        return [self(v) for v in variables]
