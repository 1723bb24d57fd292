"""A tick that measures itself as it runs: sums of what moves at the interfaces, and the use of limits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.ir import Assign, Expr, Role, Update, Var, function, substitute, variables
from bondloop.safety import CAUSE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from bondloop.engine.codegen import BatchResult
    from bondloop.engine.ir import Channel, Tick

    Samples = NDArray[np.float64]


@dataclass(frozen=True)
class MeasuredTick:
    """A tick with measures among its states.

    Attributes
    ----------
    tick
        The tick.
    moving
        Channels of velocities and forces at the interfaces, in whose motion a rehearsal is compared.
    pairs
        Channels of which the second should be as the first: motions, then forces and what is measured.
    limited
        Channels that have a limit.
    """

    tick: Tick
    moving: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    limited: tuple[str, ...]
    sums: tuple[str, ...] = field(repr=False, default=())
    peaks: tuple[str, ...] = field(repr=False, default=())
    last: tuple[str, ...] = field(repr=False, default=())

    @property
    def wanted(self) -> list[str]:
        """States whose values are read."""
        return [*self.last, *self.sums, *self.peaks]

    def moments(self, result: BatchResult) -> tuple[Samples, Samples]:
        """Return sums and sums of squares of what moves, (tests, channels) each."""
        both = np.stack([result[name] for name in self.sums[: 2 * len(self.moving)]], axis=1)
        return both[:, 0::2], both[:, 1::2]

    def errors(self, result: BatchResult) -> Samples:
        """Return for each pair the rms difference over the rms of what should be, (tests, pairs)."""
        names = self.sums[2 * len(self.moving) :]
        if not names:
            return np.zeros((len(result.states), 0))
        both = np.stack([result[name] for name in names], axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.sqrt(both[:, 0::2] / both[:, 1::2])

    def values(self, result: BatchResult) -> Samples:
        """Return what moves, as it is now, (tests, channels)."""
        return np.stack([result[name] for name in self.last[: len(self.moving)]], axis=1)

    def tripped(self, result: BatchResult) -> Samples:
        """Return the cause for which the interlock of each test has tripped by now; 0 for none."""
        return result[self.last[-1]] if self.last[-1] == _CAUSE else np.zeros(len(result.states))

    def use(self, result: BatchResult) -> Samples:
        """Return the largest share of each limit so far, (tests, limits)."""
        if not self.peaks:
            return np.zeros((len(result.states), 0))
        return np.stack([result[name] for name in self.peaks], axis=1)


_CAUSE = "ensemble.cause"


def measured_tick(tick: Tick, bounds: Mapping[str, float]) -> MeasuredTick:
    """Return a tick that measures itself.

    Parameters
    ----------
    tick
        Of a test.
    bounds
        Limits of channels, by name.
    """
    read = _Reading(tick)
    moving = [
        c.name
        for c in tick.channels
        if c.meaning.role in (Role.DESIRED, Role.ACTUAL) and c.meaning.kind in ("flow", "effort")
    ]
    pairs = [*_pairs(tick.channels, "displacement", Role.ACTUAL), *_pairs(tick.channels, "effort")]
    limited = [n for n, b in bounds.items() if n in read.channels and 0 < b < np.inf]
    last: dict[Var, Expr] = {Var(f"ensemble.last.{n}"): read(n) for n in moving}
    if CAUSE in read.channels:
        last[Var(_CAUSE)] = read(CAUSE)
    sums = _sums(read, moving, pairs)
    use = {Var(f"ensemble.use.{n}"): function("fabs", read(n)) / float(bounds[n]) for n in limited}
    updates = {
        **last,
        **{v: v + e for v, e in sums.items()},
        **{v: function("fmax", v, e) for v, e in use.items()},
    }
    whole = replace(
        tick,
        states={**tick.states, **dict.fromkeys(updates, 0.0)},
        steps=(*read.before, *tick.steps, Update(tuple(updates.items()))),
        name=f"{tick.name}_ensemble",
    )
    names = (tuple(v.name for v in each) for each in (sums, use, last))
    return MeasuredTick(whole, tuple(moving), tuple(pairs), tuple(limited), *names)


class _Reading:
    """Reads channels of a tick after its steps; a state in them stands for its value at the beginning."""

    def __init__(self, tick: Tick) -> None:
        self.channels = {c.name: c.value for c in tick.channels}
        self._states, self._at_start = tick.states, dict[Var, Var]()

    def __call__(self, name: str) -> Expr:
        expr = self.channels[name]
        for v in variables(expr):
            if v in self._states:
                self._at_start.setdefault(v, Var(f"{v.name}.at_start"))
        return substitute(expr, dict[Var, Expr](self._at_start))

    @property
    def before(self) -> list[Assign]:
        """Statements that keep what states are at the beginning."""
        return [Assign(copy, v) for v, copy in self._at_start.items()]


def _sums(read: _Reading, moving: Sequence[str], pairs: Sequence[tuple[str, str]]) -> dict[Var, Expr]:
    """Return what is summed up: motions and their squares, errors of pairs and what they should be."""
    sums: dict[Var, Expr] = {}
    for name in moving:
        x = read(name)
        sums |= {Var(f"ensemble.sum.{name}"): x, Var(f"ensemble.square.{name}"): x * x}
    for should, does in pairs:
        x, y = read(should), read(does)
        sums |= {Var(f"ensemble.off.{does}"): (y - x) * (y - x), Var(f"ensemble.size.{does}"): x * x}
    return sums


def _pairs(channels: Sequence[Channel], kind: str, role: Role = Role.MEASURED) -> list[tuple[str, str]]:
    """Return what should be and what is: desired and actual motion, or the force and its reading."""
    first = Role.DESIRED if role is Role.ACTUAL else Role.ACTUAL
    should = {
        c.meaning.interface: c.name for c in channels if (c.meaning.role, c.meaning.kind) == (first, kind)
    }
    does = {c.meaning.interface: c.name for c in channels if (c.meaning.role, c.meaning.kind) == (role, kind)}
    return [(name, does[i]) for i, name in should.items() if i in does]
