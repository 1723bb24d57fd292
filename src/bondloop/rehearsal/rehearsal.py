"""A test's tick, compiled and run in parts: on, over again, or back to where it stood."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.codegen import Runner
from bondloop.engine.data import number
from bondloop.engine.ir import Const, Expr, Meaning, Role, Var
from bondloop.errors import InputError
from bondloop.rigs import MEASURED
from bondloop.safety import CAUSE
from bondloop.signals import tabulated_inputs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.control import Design
    from bondloop.engine import System
    from bondloop.engine.analysis.spectrum import Point
    from bondloop.engine.codegen import Result, Snapshot
    from bondloop.hybrid import Checkable
    from bondloop.rigs import RigSystem


def loop_links(design: Design, rig: RigSystem, *, feedback: bool = True) -> dict[Var, Expr]:
    """Return what drives what when computer and rig are joined directly, without sampling."""
    links: dict[Var, Expr] = dict(zip(rig.commands, design.commands, strict=True))
    for effort, force in zip(design.efforts, rig.forces, strict=True):
        links[effort] = force if feedback else Const(0.0)
    links.update(zip(design.displacements, rig.displacements, strict=False))
    links.update(zip(design.velocities, rig.velocities, strict=False))
    return links


DIVERGED = 1e9
"""A motion beyond this magnitude (SI units) has diverged, whatever the limits."""

OVERFLOWING = 1e18
"""The same for all else: a bulk modulus or an estimated stiffness may well be beyond 1e9."""

POWER = "excitation.power"
"""Channel of the power [W] that all sources of the numerical half supply."""


def role_of(system: System, value: Expr) -> Role:
    """Return the role of a variable that is recorded by its path: a state, or nothing in particular."""
    return Role.STATE if isinstance(value, Var) and value in system.state_vars else Role.OTHER


def limit_word(meaning: Meaning) -> str:
    """Return the limit that holds for a channel, by its name in `Limits`; empty where there is none.

    >>> limit_word(Meaning(Role.ACTUAL, "velocity", "flow", 0)), limit_word(Meaning(Role.DESIRED))
    ('velocity', '')
    """
    if meaning.role is Role.COMMAND:
        return "command"
    words = {**{kind: word for word, kind in MEASURED.items()}, "acceleration": "acceleration"}
    return words.get(meaning.kind, "") if meaning.role is Role.ACTUAL else ""


def diverged(meaning: Meaning) -> float:
    """Return the magnitude beyond which a channel has diverged, whatever the limits."""
    moves = meaning.kind in ("displacement", "flow")
    return DIVERGED if moves and meaning.role not in (Role.ESTIMATE, Role.GAIN) else OVERFLOWING


CHUNK = 16384
"""Ticks that are run and looked at together, so that a long test needs no more memory than a short one."""

OFTEN, KEPT = 512, 4_000_000
"""Ticks after which it is kept where a run stands; and numbers that may be kept of it, from which on it is
less often."""

MOST = 10**9
"""Ticks of a run: eleven days at 1 kHz, and minutes to hours of a rehearsal."""


def run_length(seconds: float | str) -> float:
    """Return the length of a run in s.

    Parameters
    ----------
    seconds
        As a number, or as text.

    Examples
    --------
    >>> run_length("2 min")
    120.0
    >>> run_length(0)
    Traceback (most recent call last):
    bondloop.errors.InputError: the length of a run must be positive and finite; found 0 s
    """
    endless = isinstance(seconds, float) and not np.isfinite(seconds)
    length = float(seconds) if endless else number(seconds, "seconds", "s")
    if not 0 < length < np.inf:
        raise InputError(f"the length of a run must be positive and finite; found {length:g} s")
    return length


def steps_of(seconds: float | str, period: float) -> int:
    """Return the ticks of a run, the first and the last included.

    Parameters
    ----------
    seconds
        Its length, as `run_length` takes it.
    period
        Seconds between ticks.

    Examples
    --------
    >>> steps_of(2.0, 1e-3)
    2001
    >>> steps_of(1e300, 1e-3)
    Traceback (most recent call last):
    bondloop.errors.InputError: a run of 1e+300 s has 1e+303 ticks of 0.001 s; at most 1,000,000,000 are ...
    """
    length = run_length(seconds)
    ticks = length / period
    if not ticks < MOST:
        raise InputError(
            f"a run of {length:g} s has {ticks:g} ticks of {period:g} s; at most {MOST:,} are executed: "
            "make it shorter, or the rate lower"
        )
    if ticks < 1 - 1e-6:
        raise InputError(
            f"a run of {length:g} s is shorter than a sample of {period:g} s: make it longer, or the rate "
            "higher"
        )
    return round(ticks) + 1


def refuse_beyond_memory(steps: int, signals: int, channels: int, every: int = 1) -> None:
    """Refuse a run whose record, or whose tabulated signals, cannot be held.

    Parameters
    ----------
    steps
        Ticks of the run.
    signals
        That are tabulated.
    channels
        That are recorded; 0 where nothing is kept.
    every
        Ticks of which one is recorded.
    """
    samples = steps // max(every, 1) + 1 if channels else 0
    needed = 8 * (2 * signals * steps + (channels + 1) * samples)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**36
    if needed > memory:
        remedy = ", or record only every so many samples (every=...)" if channels else ""
        raise InputError(
            f"{steps:,} samples of {channels or signals} channels need {needed / 1e9:,.3g} GB, and this "
            f"machine has {memory / 1e9:,.3g} GB: make the run shorter{remedy}"
        )


class Rehearsal:
    """Runs a test's tick in parts, with its tabulated signals.

    Parameters
    ----------
    test
        The test.
    steps
        Ticks of the whole test.
    runner
        Its tick, ready to run; it is made where none is given.

    Attributes
    ----------
    runner
        The tick.
    inputs
        Its tabulated signals, a row a tick; None where it has none.
    motions
        What was recorded of the whole run at its interfaces, by channel; None where that was not kept.
    """

    def __init__(self, test: Checkable, steps: int, runner: Runner | None = None) -> None:
        self.tick, self.steps = test.tick, steps
        self.runner = runner or Runner(test.tick)
        self._kept: list[Snapshot] = [self.runner.snapshot()]
        tables = test.tables
        refuse_beyond_memory(steps, len(tables), 0)
        self.inputs = tabulated_inputs(tables.values(), steps, test.period) if tables else None
        self.motions: dict[str, NDArray[np.float64]] | None = None

    def run(self, count: int, parameters: Mapping[str, float] | None = None) -> Result:
        """Go on, at most to the end of the test."""
        k = self.runner.count
        count = min(count, self.steps - k)
        return self.runner.run(count, self._rows(k, count), parameters)

    def run_and_keep(self, count: int, parameters: Mapping[str, float] | None = None) -> Result:
        """Go on, and keep often where the run stands, so that it need not be run again up to there."""
        k = self.runner.count
        count = min(count, self.steps - k)
        often = max(OFTEN, self.steps * len(self._kept[0].state) // KEPT)

        def keep_some(*_: int) -> None:
            if self.runner.count >= self._kept[-1].count + often:  # asked more often where ticks are slow
                self.keep()

        result = self.runner.run(count, self._rows(k, count), parameters, progress=keep_some, within=often)
        if not result.finished and self._kept[-1].count == self.runner.count:
            self._kept.pop()  # from a tick that failed nothing goes on
        return result

    def keep(self) -> None:
        """Keep where the run stands, so that it need not be run again up to here."""
        if self._kept[-1].count != self.runner.count:
            self._kept.append(self.runner.snapshot())

    def to(self, k: int) -> bool:
        """Go to a tick of the test, from the last place kept before it; False where it ends before."""
        self.runner.restore(max((s for s in self._kept if s.count <= k), key=lambda s: s.count))
        while self.runner.count < k:
            n = min(CHUNK, k - self.runner.count)
            if not self.run(n).finished:
                return False
        return True

    def point(self) -> Point:
        """Return where the run stands."""
        rows = self._rows(self.runner.count, 1)
        inputs = {} if rows is None or not len(rows) else dict(zip(self.tick.inputs, rows[0], strict=True))
        return self.runner.point({v: float(x) for v, x in inputs.items()})

    def _rows(self, k: int, count: int) -> NDArray[np.float64] | None:
        return None if self.inputs is None else self.inputs[k : k + count]


def trip(
    time: NDArray[np.float64], channels: Mapping[str, NDArray[np.float64]]
) -> tuple[float, float] | None:
    """Return when an interlock tripped in a part of a run, in s, and the cause; None where it did not."""
    cause = channels.get(CAUSE)
    if cause is None or not cause.any():
        return None
    k = int(np.argmax(cause != 0))
    return float(time[k]), float(cause[k])
