"""The check before a test: it is built, linearised as it runs, rehearsed dry and disturbed, and judged."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from bondloop.errors import BondloopError, InputError
from bondloop.hybrid.dry_run import DryRun, Rehearsal, disturbed, dry_run, knock
from bondloop.hybrid.free_motion import free_motion, repeated
from bondloop.hybrid.judging import Finding, judged
from bondloop.hybrid.lags import Lag, away_from_origin, closed_loop, lags, structure, unstable
from bondloop.hybrid.linear_run import HEAVY, linear_run
from bondloop.hybrid.margins import Curves, Margins, curves_of, margins
from bondloop.hybrid.regimes import Regime, regimes
from bondloop.hybrid.remedy import Change, smallest_change
from bondloop.hybrid.running_loop import RunningLoop
from bondloop.program.tick import statements
from bondloop.rigs.rig_tick import MEASURED
from bondloop.substructure.assumptions import Assumptions, check_assumptions

if TYPE_CHECKING:
    from pathlib import Path

    from bondloop.hybrid.test import HybridTest
    from bondloop.program.one_step import OneStep

__all__ = ["Check", "Lag", "check"]

Level = Literal["run", "care", "stop"]

LENGTH = 10.0
"""Seconds of dry run of a test whose length is not said and whose excitation has no end."""

INSTANTS = 12
"""Instants of the dry run at which a loop that is not linear is linearised, besides the extreme ones."""

LARGE = 600
"""States beyond which the loop is not explained by its poles without sampling, and no change is tried out."""

LONG = 50_000
"""Ticks of a test that is long enough by itself to show whether a controller holds what it has learnt."""

GENTLE = 0.05
"""Share of the knock for a controller that adapts. One whose gains are products of measured motions (MCS) gets none:
it would take a blow a thousand times harder than the structure does."""

VERDICTS = {"run": "Run it", "care": "Run it with care", "stop": "Do not run this test on a rig"}


@dataclass(frozen=True)
class Check:
    """Whether this cut, this actuator and this controller may be run, with reasons.

    Attributes
    ----------
    findings
        Everything that was found, in words with a level each; the worst decides.
    assumptions
        The five assumptions of Gawthrop 2005; None where the test could not be built.
    step
        One step of the test as it will run, sampling, hold and latency included, linearised where it starts.
    regimes
        The same in each regime of a loop that is not linear, the least stable first.
    dry_run
        The rehearsal of the whole test; None where it could not be built.
    margins
        Distances from the borders of stability; None where the loop is not stable.
    curves
        Open loop and tracking over frequency; None where the coupling is continuous.
    poles, lags, own
        Poles of the loop without sampling in rad/s, the effect of each transfer system's lag, and unstable
        poles that the structure has in one piece: they explain. Empty where they do not apply.
    change
        The smallest change that was tried and makes the test pass; None where none is needed or was found.
    notes
        What is worth knowing and speaks neither for nor against.
    """

    findings: tuple[Finding, ...] = ()
    assumptions: Assumptions | None = None
    step: OneStep | None = None
    regimes: tuple[Regime, ...] = ()
    dry_run: DryRun | None = None
    margins: Margins | None = None
    curves: Curves | None = None
    poles: tuple[complex, ...] = ()
    lags: tuple[Lag, ...] = ()
    own: tuple[complex, ...] = ()
    change: Change | None = None
    notes: tuple[str, ...] = ()
    name: str = field(default="test", compare=False)

    @cached_property
    def level(self) -> Level:
        """``"run"``, ``"care"`` or ``"stop"``."""
        levels = {f.level for f in self.findings}
        return "stop" if "stop" in levels else "care" if "care" in levels else "run"

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against running; what is near is another matter: see `level`."""
        return self.level != "stop"

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that speaks against running, in words."""
        return tuple(f.text for f in self.findings if f.level == "stop")

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is near, or not as one would wish, in words."""
        return tuple(f.text for f in self.findings if f.level == "care")

    @property
    def verdict(self) -> str:
        """The outcome in one sentence."""
        why = "; ".join(dict.fromkeys(f.short for f in self.findings if f.level == self.level))
        return f"{VERDICTS[self.level]}: {why}." if why else f"{VERDICTS[self.level]}."

    def __str__(self) -> str:
        from bondloop.hybrid.check_text import check_text

        return check_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for JSON."""
        from bondloop.hybrid.check_text import check_dict

        return check_dict(self)

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw open loop with margins, predicted tracking, eigenvalues of one step, dry run; save as ``path``."""
        from bondloop.hybrid.check_figure import draw_check

        return draw_check(self, path)


def check(test: HybridTest, seconds: float | None = None, *, suggest: bool = True) -> Check:
    """Analyse a test before anything moves.

    Parameters
    ----------
    test
        The test.
    seconds
        The length of the run it is meant for: that of the excitation where none is given, or 10 s.
    suggest
        Whether to look for a change that makes a refused test pass.
    """
    if seconds is not None and not 0 < seconds < math.inf:
        raise InputError(f"the length of a test must be positive and finite; found {seconds} s")
    try:
        _ = test.tick  # what cannot be built cannot run
        return _checked(test, seconds or length(test), suggest)
    except BondloopError as error:
        words = f"the test cannot be built: {error}"
        return Check((Finding("stop", words, "it cannot be built"),), name=test.name)


def length(test: HybridTest) -> float:
    """Return the length of a test whose run is not said: as long as its excitation, or 10 s without end."""
    ends = [s.duration for s in test.excitation.values()]
    longest = max(ends, default=math.inf)
    return max(longest, 100 * test.period) if 0 < longest < math.inf else LENGTH


def _checked(test: HybridTest, seconds: float, suggest: bool) -> Check:
    notes = _still_sensors(test)
    closed = test
    if test.switches is not None or test.interlock is not None:
        switches = None if test.switches is None else test.switches.closed()
        closed = test.replaced(switches=switches, interlock=None)
        if switches is not None:
            notes.append("the loop is analysed with both switches closed")
    loop = RunningLoop(closed)
    found = Check(assumptions=_assumptions(test), name=test.name)
    if not test.feedback:
        notes.append("the measured force is not fed back; there is no loop to be unstable")
    step: OneStep | None = None
    try:
        step = loop.at()
        _ = step.spectrum
    except BondloopError as error:
        notes.append(f"the loop cannot be linearised where it starts ({error}); the dry run alone decides")
        step = None
    curved = step is None or not step.linear or bool(loop.adapted)
    rehearsal: Rehearsal | None = None
    if not curved and closed is test and statements(test.tick.steps) > HEAVY:
        ran = linear_run(loop, seconds)
    else:
        ran, rehearsal = dry_run(test, seconds, instants=INSTANTS if curved else 0)
        if step is not None and ran.completed and test.feedback:
            ran = replace(ran, disturbances=disturbed(test, rehearsal, ran, step, loop.forces))
    found = replace(found, step=step, dry_run=ran, notes=tuple(notes))
    if curved and rehearsal is not None:
        found = _moved(replace(found, regimes=regimes(loop, ran.points)), test, loop, rehearsal)
    found = _explained(found, closed)
    if step is not None:
        found = replace(found, curves=curves_of(loop, step))
        if step.stable:
            found = replace(found, margins=margins(loop, step, found.curves))
    found = replace(found, findings=judged(found, closed))
    if not found.passed and suggest and len(test.tick.states) <= LARGE:
        found = replace(found, change=smallest_change(test, found, seconds))
    return found


def _moved(found: Check, test: HybridTest, loop: RunningLoop, rehearsal: Rehearsal) -> Check:
    """Add what becomes of motions as large as the test's own, for a loop that is not linear."""
    ran, step = found.dry_run, found.step
    assert ran is not None
    if not ran.completed or ran.tripped is not None:
        return found
    steps = [s for s in (step, *(r.step for r in found.regimes)) if s is not None]
    push = {} if step is None else knock(test, step, loop.forces)
    peak = float(ran.windows.max(initial=0.0)) or 1e-6
    growths = tuple(s.growth for s in steps)
    frequency = max(steps, key=lambda s: s.growth).frequency if steps else 5.0
    slow = min((s.slowest for s in steps), default=1.0)
    gentle = 0.0 if test.design.gains else GENTLE if loop.adapted else 1.0
    free = free_motion(test, rehearsal, push, peak, growths, slow, frequency, gentle)
    if free.ended:  # a limit in the way of the knock says nothing of growth: once more with a small one
        free = free_motion(test, rehearsal, push, peak, growths, slow, frequency, 0.1 * gentle)
    if free.ended:  # and a structure that nothing holds may drift out of its limits: once more without them
        unbounded = test.replaced(limits=None, interlock=None)
        again = Rehearsal(unbounded, rehearsal.steps)
        free = free_motion(unbounded, again, push, peak, growths, slow, frequency, gentle)
    ran = replace(ran, free=free)
    if loop.adapted and rehearsal.steps <= LONG:
        levels, why = repeated(test, rehearsal)
        ran = replace(ran, repetitions=levels, given_up=why)
    return replace(found, dry_run=ran)


def _explained(found: Check, test: HybridTest) -> Check:
    """Add poles without sampling, lags, and what the structure itself does: where they can be had."""
    shaky = [s for s in (found.step, *(r.step for r in found.regimes)) if s is not None and not s.stable]
    own: tuple[complex, ...] = ()
    try:
        if shaky and len(test.tick.states) <= LARGE:
            own = tuple(unstable(structure(test).poles()))
        large = len(test.tick.states) > LARGE
        if (
            test.controller.sampled
            or test.controller.adapts
            or test.design.channels
            or not test.feedback
            or large
        ):
            return replace(found, own=own)
        poles = tuple(complex(p) for p in closed_loop(test).poles())
        worst = max(away_from_origin(poles), key=lambda s: s.real)
        return replace(found, own=own, poles=poles, lags=lags(test, test.transfers, worst))
    except BondloopError:
        return replace(found, own=own)


def _assumptions(test: HybridTest) -> Assumptions | None:
    try:
        return check_assumptions(test.numerical, test.rig.physical, test.transfers)
    except BondloopError:
        return None  # an actuator of a form that the method does not speak of


def _still_sensors(test: HybridTest) -> list[str]:
    """Say so where an interlock would take the rest of a sensor without noise for a fault."""
    if test.interlock is None or test.interlock.stale is None:
        return []
    still = [w for w in MEASURED if not (w in test.rig.sensors and test.rig.sensors[w].streams)]
    if not still:
        return []
    words = (
        f"the interlock trips when a value repeats {test.interlock.stale} times, and the emulated sensors of "
        f"{' and '.join(still)} have no noise, so they repeat at rest; give them some"
    )
    return [words]
