"""Ticks: one step of a test as an ordered list of statements over named states.

A tick is what runs at every sample instant: in a rehearsal, compiled into a loop; in a real-time test, on a
clock. It holds only assignments, loops with a fixed number of iterations, delay lines, constant matrix
products and repetitions with a largest count, so its work is bounded and it allocates nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bondloop.errors import InputError, ModelError
from bondloop.program.expr import Const, Expr, Op, Var, substitute, variables
from bondloop.program.matrix_rows import gathered
from bondloop.program.quantity import NOTHING, Meaning, Quantity, Role
from bondloop.program.schedule import Assign, Loop

__all__ = [
    "Channel",
    "Delay",
    "Product",
    "Repeat",
    "Step",
    "Tick",
    "Update",
    "identifier",
    "instantiate",
    "reads",
    "statements",
    "targets",
]

ZERO = Const(0.0)


@dataclass(frozen=True)
class Update:
    """Give states their next values, all at once."""

    pairs: tuple[tuple[Var, Expr], ...]


@dataclass(frozen=True)
class Delay:
    """A delay line: ``target`` is what ``source`` was ``length`` executions ago (``initial`` before that)."""

    target: Var
    source: Expr
    length: int
    initial: float = 0.0


@dataclass(frozen=True)
class Product:
    """A constant matrix times a vector: ``targets = matrix @ sources``, summed column by column."""

    targets: tuple[Var, ...]
    matrix: Any
    sources: tuple[Expr, ...]


@dataclass(frozen=True)
class Repeat:
    """Execute statements a fixed number of times; ``counter`` runs from 0.

    Where something is sought, it ends early once ``until`` holds after the body, and where that never holds
    the status of the run says so: ``sought`` are the variables whose values were looked for.
    """

    count: int
    counter: Var
    body: tuple[Step, ...]
    until: Expr = ZERO
    sought: tuple[Var, ...] = ()


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

    def __post_init__(self) -> None:
        if self.measured and self.inputs[-len(self.measured) :] != self.measured:
            found = ", ".join(v.name for v in self.inputs) or "none"
            raise InputError(f"tick '{self.name}' must have its measured inputs last; found {found}")
        known: set[Var] = {self.time, self.count, *self.inputs, *self.states, *self.parameters}
        _check(self.steps, known, set(self.states))
        for channel in self.channels:
            for v in variables(channel.value):
                if v not in known:
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
        found: list[Delay] = []

        def look(steps: Sequence[Step]) -> None:
            for step in steps:
                if isinstance(step, Delay):
                    found.append(step)
                elif isinstance(step, Repeat):
                    look(step.body)

        look(self.steps)
        return found


def targets(step: Step) -> list[Var]:
    """Variables that a step computes."""
    if isinstance(step, (Assign, Delay)):
        return [step.target]
    if isinstance(step, Loop):
        return [*step.tears, *(a.target for a in step.body), *(a.target for a in step.tangents)]
    if isinstance(step, Product):
        return list(step.targets)
    if isinstance(step, Repeat):
        return [v for s in step.body for v in targets(s)]
    return []


def reads(steps: Sequence[Step]) -> set[Var]:
    """Variables that steps read, at any depth; parameters built into matrices are not among them."""
    found: set[Var] = set()
    for step in steps:
        if isinstance(step, Repeat):
            found |= reads(step.body)
            found.update(variables(step.until))
            continue
        exprs: list[Expr] = []
        if isinstance(step, Assign):
            exprs = [step.expr]
        elif isinstance(step, Delay):
            exprs = [step.source]
        elif isinstance(step, Product):
            exprs = list(step.sources)
        elif isinstance(step, Update):
            exprs = [e for _, e in step.pairs]
        else:
            exprs = [a.expr for a in (*step.body, *step.tangents)]
            exprs += [*step.definitions, *(e for row in step.jacobian for e in row)]
        for e in exprs:
            found.update(variables(e))
    return found


def statements(steps: Sequence[Step]) -> int:
    """Return how many statements there are, each repetition counted once: what a compiler has to read."""
    return sum(
        statements(s.body) if isinstance(s, Repeat) else len(s.pairs) if isinstance(s, Update) else 1
        for s in steps
    )


def identifier(name: str, otherwise: str) -> str:
    """Return a name as a C identifier; ``otherwise`` goes before one that does not begin with a letter.

    >>> identifier("first test", "test_"), identifier("2nd", "test_")
    ('first_test', 'test_2nd')
    """
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    return plain if plain[:1].isalpha() else f"{otherwise}{plain}"


def _check(steps: Sequence[Step], known: set[Var], states: set[Var]) -> None:
    """Every variable is computed before it is used; only states are updated."""

    def need(expr: Expr, what: str) -> None:
        for v in variables(expr):
            if v not in known:
                raise ModelError(f"{what} needs {v.name}, which is not computed before it")

    for step in steps:
        if isinstance(step, Assign):
            need(step.expr, step.target.name)
        elif isinstance(step, Delay):
            need(step.source, step.target.name)
            if step.length < 1:
                raise InputError(
                    f"the delay of {step.target.name} must be at least one step; found {step.length}"
                )
        elif isinstance(step, Product):
            _check_product(step)
            for e in step.sources:
                need(e, "a matrix product")
        elif isinstance(step, Loop):
            _check_loop(step, known, need)
        elif isinstance(step, Update):
            for v, e in step.pairs:
                need(e, v.name)
                if v not in states:
                    raise ModelError(f"{v.name} is updated but is not a state")
        else:
            known.add(step.counter)
            _check(step.body, known, states)
            need(step.until, "the end of a repetition")
        known.update(targets(step))


def _check_loop(loop: Loop, known: set[Var], need: Callable[[Expr, str], None]) -> None:
    known.update(loop.tears)
    for a in (*loop.body, *loop.tangents):
        need(a.expr, a.target.name)
        known.add(a.target)
    for e in (*loop.definitions, *(e for row in loop.jacobian for e in row)):
        need(e, f"the algebraic loop through {', '.join(t.name for t in loop.tears)}")


def _check_product(step: Product) -> None:
    if step.matrix.shape != (len(step.targets), len(step.sources)):
        raise ModelError(f"a matrix of shape {step.matrix.shape} does not fit {len(step.targets)} targets")


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
        if isinstance(step, Assign):
            expr = put(step.expr)
            result.append(Assign(fresh(step.target), expr))
            continue
        if isinstance(step, tuple):
            rows, product = step
            sources = tuple(put(a) for a in product.args)
            chosen = [r.expr.index for r in rows]  # type: ignore[attr-defined]
            targets = tuple(fresh(r.target) for r in rows)
            result.append(Product(targets, product.matrix.values[chosen], sources))
            continue
        tears = tuple(fresh(t) for t in step.tears)
        body = []
        for a in step.body:
            expr = put(a.expr)
            body.append(Assign(fresh(a.target), expr))
        tangents = []
        for a in step.tangents:
            expr = put(a.expr)
            tangents.append(Assign(fresh(a.target), expr))
        result.append(
            Loop(
                tears,
                tuple(body),
                tuple(put(d) for d in step.definitions),
                tuple(tangents),
                tuple(tuple(put(e) for e in row) for row in step.jacobian),
                step.linear,
                step.iterations,
            )
        )
    return result, table


def is_trivial(expr: Expr) -> bool:
    """Whether an expression is a leaf, so that naming it anew gains nothing."""
    return not isinstance(expr, Op)
