"""A tick of many tests in two: what all of them share, which is computed once, and the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bondloop.engine.ir import Assign, Channel, Expr, Op, Step, Tick, Update, Var, every, variables

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet


@dataclass(frozen=True)
class Parted:
    """A tick in two.

    Attributes
    ----------
    same
        What all tests share. Its channels are the further inputs of ``rest``, then the channels of the whole
        tick that all tests share.
    rest
        What differs.
    columns
        How many further inputs ``rest`` has.
    """

    same: Tick
    rest: Tick
    columns: int


def parted(tick: Tick, varied: Iterable[Var], states: Iterable[Var] = ()) -> Parted | None:
    """Part a tick in what all tests share and what differs; None where parting it gains nothing.

    Parameters
    ----------
    tick
        Of the tests.
    varied
        Parameters that differ from test to test.
    states
        States that begin differently.

    Examples
    --------
    >>> from bondloop.engine.ir.expr import function
    >>> x, y, t, a = (Var(n) for n in "xyta")
    >>> steps = (Assign(y, function("sin", t)), Update(((x, x + a * y),)))
    >>> whole = Tick("sum", 0.1, t, Var("k"), (), {x: 0.0}, {a: 1.0}, steps, (Channel("x", x),))
    >>> parts = parted(whole, [a])
    >>> [s.target.name for s in parts.same.steps], parts.rest.inputs, len(parts.rest.steps)
    (['y'], (<Var y>,), 1)
    """
    steps = _pieces(tick.steps)
    wide = _wide(steps, {*varied, *states}, tick)
    same = [s for s in steps if _is_same(s, wide)]
    if not any(_is_worth(s) for s in same):
        return None
    mine = [c for c in tick.channels if not wide.isdisjoint(variables(c.value))]
    shared = [c for c in tick.channels if wide.isdisjoint(variables(c.value))]
    read = {v for s in every(steps) if not _is_same(s, wide) for v in s.reads}
    read.update(v for c in mine for v in variables(c.value))
    needed, copies = _through_copies(read - wide, same, tick)
    given = {tick.time, tick.count, *tick.inputs, *tick.parameters}
    columns = [v for v in _in_order(tick, steps) if v in needed and v not in given]
    first = replace(
        tick, measured=(), states={v: x for v, x in tick.states.items() if v not in wide}, steps=tuple(same),
        channels=(*(Channel(f"shared[{i}]", v) for i, v in enumerate(columns)), *shared),
        bounds=_bounds(tick, shared), name=f"{tick.name}_same",
    )  # fmt: skip
    rest = replace(
        tick, measured=(), inputs=(*tick.inputs, *columns),
        states={v: x for v, x in tick.states.items() if v in wide},
        steps=tuple(s for s in steps if not _is_same(s, wide) or id(s) in copies),
        channels=tuple(mine), bounds=_bounds(tick, mine),
    )  # fmt: skip
    return Parted(first, rest, len(columns))


def _through_copies(needed: set[Var], same: Sequence[Step], tick: Tick) -> tuple[set[Var], set[int]]:
    """Return what is needed where plain copies are made again, rather than tabulated; and these copies."""
    needed, copies = set(needed), set()
    for s in reversed(same):
        if (
            isinstance(s, Assign)
            and s.target in needed
            and isinstance(s.expr, Var)
            and s.expr not in tick.states
        ):
            copies.add(id(s))
            needed.discard(s.target)
            needed.add(s.expr)
    return needed, copies


def _bounds(tick: Tick, channels: Sequence[Channel]) -> dict[str, float]:
    return {c.name: tick.bounds[c.name] for c in channels if c.name in tick.bounds}


def _in_order(tick: Tick, steps: Sequence[Step]) -> list[Var]:
    return list(dict.fromkeys([*tick.states, *(v for s in every(steps) for v in s.writes)]))


def _pieces(steps: Iterable[Step]) -> list[Step]:
    """Return statements with updates taken apart where no pair reads what an earlier one of them changes."""
    pieces: list[Step] = []
    for step in steps:
        if isinstance(step, Update):
            changed: set[Var] = set()
            apart = True
            for v, e in step.pairs:
                apart = apart and changed.isdisjoint(variables(e))
                changed.add(v)
            if apart:
                pieces += [Update((pair,)) for pair in step.pairs]
                continue
        pieces.append(step)
    return pieces


def _wide(steps: Sequence[Step], varied: set[Var], tick: Tick) -> set[Var]:
    """Return the variables that differ from test to test, or are to be computed where such are.

    A table has one value of a variable for each tick. So what is written in several places is not tabulated,
    nor is a state that something reads after its update.
    """
    counts = Counter(v for s in every(steps) for v in s.writes)
    wide = varied | {v for v, n in counts.items() if n > 1}
    wide |= {v for s in steps for t in every(s.inner) for v in t.writes if v in tick.states}
    while True:
        before = len(wide)
        changed: set[Var] = set()
        for step in steps:
            inside = list(every([step]))
            if any(not wide.isdisjoint([*s.reads, *s.writes]) for s in inside):
                wide |= {v for s in inside for v in s.writes}
                wide |= {v for s in inside for v in s.reads if v in changed}
            else:
                changed |= {v for s in inside for v in s.writes if v in tick.states}
        if len(wide) == before:
            return wide


def _is_same(step: Step, wide: AbstractSet[Var]) -> bool:
    return all(wide.isdisjoint([*s.reads, *s.writes]) for s in every([step]))


def _is_worth(step: Step) -> bool:
    """Whether it costs more than a look into a table: anything beyond some arithmetic."""
    return _calls(step.expr) if isinstance(step, Assign) else True


def _calls(expr: Expr) -> bool:
    plain = ("add", "mul", "neg", "select", "row")
    return isinstance(expr, Op) and (expr.name not in plain or any(map(_calls, expr.args)))
