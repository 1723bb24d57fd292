"""Ticks: one step of a test as an ordered list of statements over named states.

A tick is what runs at every sample instant: in a rehearsal, compiled into a loop; in a real-time test, on a
clock. It holds only assignments, loops with a fixed number of iterations, delay lines, constant matrix
products and repetitions with a largest count, so its work is bounded and it allocates nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bondloop.engine.data import Described, common_unit, number, state_unit, stated_units
from bondloop.engine.ir.expr import Call, Const, Expr, Op, Var, substitute, variables
from bondloop.engine.ir.matrices import ConstantMatrix, SolvedMatrix, gathered
from bondloop.engine.ir.quantity import NOTHING, Meaning, Quantity, Role
from bondloop.engine.ir.statement import Assign, Known, Loop, Stated
from bondloop.errors import InputError, ModelError
from bondloop.units import multiplied

# Which parameters of a test may be changed while it runs: between which values, and how fast.


@dataclass(frozen=True)
class Tunable(Described, family="tunable", alone=True):
    """What a parameter may be changed to while the test runs.

    Parameters
    ----------
    least, most
        Between which values; None where the parameter's own range, or that of a limit the limit itself, is
        all there is.
    rate
        Largest change a second, kept by the tick itself, so that it is rehearsed too; None: at once.
    description
        What it does, for the operator.

    Examples
    --------
    >>> Tunable(least=0, most="120 %", rate=0.5)
    Tunable(least=0.0, most=1.2, rate=0.5, description='')
    >>> Tunable(least=2, most=1)
    Traceback (most recent call last):
    bondloop.errors.InputError: Tunable: expected least at most as large as most; found 2 and 1
    """

    least: float | str | None = None
    most: float | str | None = None
    rate: float | str | None = None
    description: str = ""

    def __post_init__(self) -> None:
        for name in ("least", "most", "rate"):
            value: float | str | None = getattr(self, name)
            if value is not None:
                state_unit(self, name, value)
                object.__setattr__(self, name, number(value, f"Tunable({name})"))
        _ = self.unit  # refused here where they differ
        if self.low > self.high:
            raise InputError(
                f"Tunable: expected least at most as large as most; found {self.low:g} and {self.high:g}"
            )
        if self.rate is not None and not float(self.rate) > 0:
            raise InputError(f"Tunable(rate): expected a positive number; found {self.rate}")
        if not isinstance(self.description, str):
            raise InputError(f"Tunable(description): expected a text; found {self.description!r:.60}")

    @property
    def unit(self) -> str:
        """Unit of the values, as they were given; empty for plain numbers."""
        units = stated_units(self).items()
        return common_unit(
            {f"Tunable({n})": (multiplied(unit, "s") or "1") if n == "rate" else unit for n, unit in units}
        )

    @property
    def low(self) -> float:
        """The least value; minus infinity where none is stated."""
        return -math.inf if self.least is None else float(self.least)

    @property
    def high(self) -> float:
        """The largest value; infinity where none is stated."""
        return math.inf if self.most is None else float(self.most)


ZERO = Const(0.0)

NOT_IN_FILES = "not in files"
"""Marks a field that a file with a tick does not hold: who runs it elsewhere decides that anew."""


@dataclass(frozen=True)
class Update(Stated):
    """Give states their next values, all at once.

    Attributes
    ----------
    pairs
        Each state with its next value.
    """

    pairs: tuple[tuple[Var, Expr], ...]

    @property
    def defines(self) -> Sequence[tuple[Var, Expr]]:
        """The states with their next values."""
        return self.pairs

    @property
    def size(self) -> int:
        """One for each state."""
        return len(self.pairs)

    def check(self, known: Known) -> None:
        """Only states are updated."""
        for v, e in self.pairs:
            known.need(e, v.name)
            if v not in known.states:
                raise ModelError(f"{v.name} is updated but is not a state")


@dataclass(frozen=True)
class Delay(Stated):
    """A delay line: ``target`` is what ``source`` was ``length`` executions ago (``initial`` before that)."""

    target: Var
    source: Expr
    length: int
    initial: float = 0.0

    @property
    def defines(self) -> Sequence[tuple[Var, Expr]]:
        """The target with what it will be equal to."""
        return ((self.target, self.source),)

    def check(self, known: Known) -> None:
        """Check the length too."""
        super().check(known)
        if self.length < 1:
            raise InputError(
                f"the delay of {self.target.name} must be at least one step; found {self.length}"
            )


@dataclass(frozen=True)
class Product(Stated):
    """A constant matrix times a vector: ``targets = matrix @ sources``, summed column by column.

    Attributes
    ----------
    targets, matrix, sources
        The product.
    worked_in
        Names of the parameters whose values the matrix was made of: to change one of them afterwards would
        change nothing here.
    """

    targets: tuple[Var, ...]
    matrix: Any
    sources: tuple[Expr, ...]
    worked_in: frozenset[str] = field(default=frozenset(), compare=False, metadata={NOT_IN_FILES: True})

    @property
    def expressions(self) -> Sequence[Expr]:
        """The vector."""
        return self.sources

    @property
    def writes(self) -> Sequence[Var]:
        """The product."""
        return self.targets

    @property
    def pure(self) -> bool:
        """It is."""
        return True

    def check(self, known: Known) -> None:
        """Check that the matrix fits."""
        if self.matrix.shape != (len(self.targets), len(self.sources)):
            raise ModelError(
                f"a matrix of shape {self.matrix.shape} does not fit {len(self.targets)} targets"
            )
        for e in self.sources:
            known.need(e, "a matrix product")
        known.variables.update(self.targets)


@dataclass(frozen=True)
class Repeat(Stated):
    """Execute statements a fixed number of times; ``counter`` runs from 0.

    Where something is sought, it ends early once ``until`` holds after the body, and where that never holds
    the status of the run says so: ``sought`` are the variables whose values were looked for.
    """

    count: int
    counter: Var
    body: tuple[Step, ...]
    until: Expr = ZERO
    sought: tuple[Var, ...] = ()

    @property
    def expressions(self) -> Sequence[Expr]:
        """Whether it ends."""
        return (self.until,)

    @property
    def writes(self) -> Sequence[Var]:
        """The counter."""
        return (self.counter,)

    @property
    def inner(self) -> Sequence[Step]:
        """The body."""
        return self.body

    @property
    def times(self) -> int:
        """The count."""
        return self.count

    @property
    def size(self) -> int:
        """None beside its body."""
        return 0

    def check(self, known: Known) -> None:
        """Check the body in its order, then its end."""
        known.variables.add(self.counter)
        for step in self.body:
            step.check(known)
        known.need(self.until, "the end of a repetition")


Step = Assign | Loop | Update | Delay | Product | Repeat


@dataclass(frozen=True)
class Channel:
    """A value that is recorded at every tick.

    Attributes
    ----------
    name
        For people and files; what the channel is does not follow from it.
    value
        What is recorded.
    unit
        In SI, as text; empty where it has none or none is known.
    meaning
        What it is: its role in the test, what it measures, at which interface.
    """

    name: str
    value: Expr
    unit: str = ""
    meaning: Meaning = NOTHING

    @classmethod
    def of(
        cls,
        name: str,
        value: Expr,
        quantity: Quantity | None,
        role: Role = Role.OTHER,
        interface: int | None = None,
        counterpart: str = "",
    ) -> Channel:
        """Return a channel with unit and meaning from what it measures (None: not known) and its role."""
        words = ("", "", "") if quantity is None else (quantity.unit, quantity.name, quantity.kind)
        return cls(name, value, words[0], Meaning(role, words[1], words[2], interface, counterpart))


@dataclass(frozen=True)
class Tick:
    """One step of a test.

    Attributes
    ----------
    name
        A C identifier.
    period
        Seconds between ticks.
    time, count
        Variables of the time (``count * period``) and of the number of the tick, given at each tick.
    inputs
        Variables read anew at each tick: tabulated signals, measured values.
    states
        Variables that keep their value from tick to tick, with their initial values.
    parameters
        Constants by variable; they can be changed without compiling anew.
    steps
        What is executed, in order.
    channels
        What is recorded. Values are those at the end of the tick's steps, except that a state named in a
        channel stands for its value at the beginning of the tick.
    bounds
        For some channel names the largest allowed magnitude; beyond it (or at NaN) the run stops.
    measured
        Those of the inputs that the rig's sensors give; they come last.
    tunable
        Parameters that may be changed while it runs on a clock, by name; None: all of them, in their ranges.
    """

    name: str
    period: float
    time: Var
    count: Var
    inputs: tuple[Var, ...]
    states: Mapping[Var, float]
    parameters: Mapping[Var, float]
    steps: tuple[Step, ...]
    channels: tuple[Channel, ...]
    bounds: Mapping[str, float] = field(default_factory=dict)
    measured: tuple[Var, ...] = ()
    tunable: Mapping[str, Tunable] | None = field(default=None, metadata={NOT_IN_FILES: True})

    def __post_init__(self) -> None:
        if self.measured and self.inputs[-len(self.measured) :] != self.measured:
            found = ", ".join(v.name for v in self.inputs) or "none"
            raise InputError(f"tick '{self.name}' must have its measured inputs last; found {found}")
        begin = (self.time, self.count, *self.inputs, *self.states, *self.parameters)
        known = Known(begin, self.states)
        for step in self.steps:
            step.check(known)
        for channel in self.channels:
            for v in variables(channel.value):
                if v not in known.variables:
                    raise ModelError(
                        f"channel '{channel.name}' needs {v.name}, which the tick does not compute"
                    )
        names = [c.name for c in self.channels]
        for name in self.bounds:
            if name not in names:
                raise InputError(f"a bound is given for '{name}', which is not a channel")

    @property
    def delays(self) -> list[Delay]:
        """All delay lines, in order, at any depth."""
        return delays(self.steps)

    @property
    def worked_in(self) -> frozenset[str]:
        """Names of the parameters that are worked into matrices: what is set later has no effect there."""
        return frozenset().union(*(s.worked_in for s in every(self.steps)))


def every(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield steps at any depth, a repetition before its body."""
    for step in steps:
        yield step
        yield from every(step.inner)


def delays(steps: Iterable[Step]) -> list[Delay]:
    """Return the delay lines among steps, in order, at any depth."""
    return [step for step in every(steps) if isinstance(step, Delay)]


def reads(steps: Iterable[Step]) -> set[Var]:
    """Variables that steps read, at any depth; parameters built into matrices are not among them."""
    return {v for step in every(steps) for v in step.reads}


def calls(tick: Tick, *, in_python: bool = False) -> dict[str, Callable[..., float]]:
    """Return the functions whose results a tick takes as they are, by label.

    Parameters
    ----------
    tick
        The tick.
    in_python
        Only those that there is no C of.
    """
    found = [e for s in every(tick.steps) for e in s.expressions if isinstance(e, Call)]
    return {e.label: e.function for e in found if not (in_python and e.source)}


def revised(steps: Iterable[Step], change: Callable[[Step], Step | None]) -> tuple[Step, ...]:
    """Return steps with each changed at any depth; what is None after it is left out."""
    changed = (
        replace(s, body=revised(s.body, change)) if isinstance(s, Repeat) else change(s) for s in steps
    )
    return tuple(s for s in changed if s is not None)


def statements(steps: Iterable[Step]) -> int:
    """Return how many statements there are, each repetition counted once: what a compiler has to read."""
    return sum(s.size for s in every(steps))


def identifier(name: str, otherwise: str) -> str:
    """Return a name as a C identifier; ``otherwise`` goes before one that does not begin with a letter.

    >>> identifier("first test", "test_"), identifier("2nd", "test_")
    ('first_test', 'test_2nd')
    """
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    return plain if plain[:1].isalpha() else f"{otherwise}{plain}"


def instantiate(
    steps: Sequence[Assign | Loop], given: Mapping[Var, Expr], suffix: str
) -> tuple[list[Assign | Loop | Product], dict[Var, Expr]]:
    """Copy a program with other names: a stage of an integrator.

    Parameters
    ----------
    steps
        The scheduled program.
    given
        What its free variables (states, inputs) are in the copy.
    suffix
        Added to the names of the copies.

    Returns
    -------
    steps, table
        The copy, and what every variable of the original is in it.
    """
    table: dict[Var, Expr] = dict(given)

    def fresh(v: Var) -> Var:
        copy = Var(v.name + suffix)
        table[v] = copy
        return copy

    def put(e: Expr) -> Expr:
        return substitute(e, table)

    result: list[Assign | Loop | Product] = []
    for step in gathered(steps):
        if isinstance(step, tuple):
            rows, product = step
            sources = tuple(put(a) for a in product.args)
            result += _products(product.matrix, {r.expr.index: fresh(r.target) for r in rows}, sources)  # type: ignore[attr-defined]
        else:
            result.append(step.copied(put, fresh))
    return result, table


def _products(matrix: ConstantMatrix, rows: dict[int, Var], sources: tuple[Expr, ...]) -> list[Product]:
    """Return the product that gives some rows of a matrix; two where solving with factors is less work."""
    inverse = matrix.inverse if isinstance(matrix, SolvedMatrix) else None
    if inverse is None:
        return [Product(tuple(rows.values()), matrix.values[list(rows)], sources)]
    assert isinstance(matrix, SolvedMatrix)
    each = range(inverse.shape[0])
    right = tuple(Var(f"{matrix.name}[{i}].right") for i in each)
    solution = tuple(rows[i] if i in rows else Var(f"{matrix.name}[{i}].solution") for i in each)
    return [Product(right, matrix.right, sources), Product(solution, inverse, right)]


def is_trivial(expr: Expr) -> bool:
    """Whether an expression is a leaf, so that naming it anew gains nothing."""
    return not isinstance(expr, Op)
