"""Whether a loop that is not linear is stable: judged by its motion."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from bondloop.check.finding import Finding, percent
from bondloop.check.free_motion import GROWN, HARMLESS
from bondloop.check.lags import TINY, away_from_origin
from bondloop.check.regime_words import FLAT, element_of
from bondloop.check.repeated_run import unheld
from bondloop.engine.ir import Role
from bondloop.safety import DISPLACEMENT_SWITCH

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.check.dry_run import DryRun
    from bondloop.check.free_motion import FreeMotion
    from bondloop.engine.analysis.spectrum import Bend, OneStep
    from bondloop.hybrid import Checkable


HIDDEN = 3.0
"""Ratio of a disturbance's last part to its first from which it has grown. Motions that beat with one another
do not come near it."""

AGAIN = 5.0
"""How many times larger in the course of the run a disturbance must become, where the loop is unstable at
rest, to count as growth."""

COARSE = 2.0
"""Growth in one sample from which it is the integration that is unstable, not the loop."""

STILL = 1e-9
"""Motion in m below which a controller has nothing to learn from."""

IDLE = 0.9
"""Tracking error from which gains that adapt have not begun to move the rig."""

OFTEN, FOLDS = 0.3, 3.0
"""Share of a run in which the gains that adapt may make a loop that grows by itself, and from how many
e-folds in the length of the run that counts as growth."""

LITTLE, MUCH = 0.1, 0.5
"""Shares of the run's own motion: what goes on by itself below the one is a converter's last step; above the
other, with no controller to blame, it is the test that is shown, not the structure."""

TOO_LONG = ("the time step is too long", "the time step is too long where it sticks")
"""In short, of a time step that does not resolve what is stiff."""

LOUDER = 1.5
"""Ratio of a free motion's last part to its first from which a controller that adapts has not held it."""


def moving(check: Check, test: Checkable) -> list[Finding]:
    """Judge a loop that is not linear: the first reason to stop, or everything that asks for care.

    Parameters
    ----------
    check
        All but its findings.
    test
        The test.
    """
    step, ran = check.step, check.dry_run
    if ran is None or (step is not None and step.linear and not check.regimes):
        return []
    findings = _moving(check, test, ran)
    if not check.stepped:
        return findings
    if ran.free is not None and not any(f.level == "stop" for f in findings):
        findings += _left_over(ran.free)
    coarse = max(check.steps, key=lambda s: s.spectral_radius, default=None)
    if coarse is None or coarse.spectral_radius <= COARSE:
        return findings
    return [replace(f, text=_coarse_step(coarse)) if f.short in TOO_LONG else f for f in findings]


def _moving(check: Check, test: Checkable, ran: DryRun) -> list[Finding]:
    step = check.step
    if ran.free is None:  # the dry run did not go to its end
        if step is None or step.stable:
            return []
        return [Finding("BL591", "stop", _unstable(check, test, step), "the loop is unstable")]
    against = (
        _unlearnt(test, ran)
        or _unstable_gains(check, test, ran)
        or _too_coarse(check, test, ran.free)
        or _not_to_rest(check, test, ran, ran.free)
        or _not_held(ran)
    )
    if against is not None:
        return [against]
    return [
        *_not_longer(ran),
        *_restless(test, ran.free),
        *_bounded(check, test, ran.free),
        *_unvisited(check),
    ]


def _unlearnt(test: Checkable, ran: DryRun) -> Finding | None:
    """Judge gains that start from zero by whether they have grown to where the rig follows."""
    if not test.has_adaptive_gains or all(error < IDLE for error in ran.error):
        return None
    worst = max(ran.error, key=lambda error: (math.isnan(error), error))
    if ran.peaks.get(DISPLACEMENT_SWITCH, 1.0) < 1:
        text = (
            "the displacement switch has not closed by the end of the dry run, so nothing is known of the "
            "loop that the gains close then; check a longer run, or close it sooner"
        )
        return Finding("BL591", "stop", text, "the displacement switch does not close in the dry run")
    fact = "nothing moves" if math.isnan(worst) else f"the rig follows with an error of {percent(worst)}"
    if _largest(ran, Role.ACTUAL) > _largest(ran, Role.DESIRED):
        text = (
            f"in the dry run {fact}, and moves more than it should: the gains have learnt something else; "
            "try smaller weights, or order=1, gains on displacement alone, where an actuator is told "
            "its position"
        )
        return Finding("BL591", "stop", text, "the controller has learnt something else")
    text = (
        f"in the dry run {fact}: the gains have not learnt to move the rig, so nothing is known of the loop "
        "that they will close when they have; give a larger or longer excitation, or larger adaptive weights"
    )
    return Finding("BL591", "stop", text, "the controller has not learnt to move the rig")


def _unstable_gains(check: Check, test: Checkable, ran: DryRun) -> Finding | None:
    """Judge gains that adapt by the loops that they close along the run, each held as it was."""
    loose = [r for r in check.regimes if r.step.growth * ran.seconds > FOLDS]
    share = sum(r.share for r in loose)
    if not test.has_adaptive_gains or check.own or share <= OFTEN:
        return None
    worst = max((r.step for r in loose), key=lambda step: step.growth)
    text = (
        f"in {percent(share)} of the instants looked at the gains of that instant make an unstable loop (a "
        f"mode at {worst.frequency:.3g} Hz grows at {worst.growth:.3g} 1/s); only their further change has "
        "held it; smaller adaptive weights, or a smaller delay of the rig"
    )
    return Finding("BL591", "stop", text, "the gains that were learnt make an unstable loop")


def _too_coarse(check: Check, test: Checkable, free: FreeMotion) -> Finding | None:
    """Judge whether the time step resolves what is stiff."""
    coarse = max(check.steps, key=lambda s: s.spectral_radius, default=None)
    if coarse is None or not coarse.spectral_radius > COARSE:
        return None
    if _chatters(check, free) and (free.fades or not _adapts(check, test)):
        return None
    text = _coarse(coarse)
    return Finding("BL591", "stop", text, TOO_LONG[0])


def _coarse(step: OneStep) -> str:
    return (
        f"a motion grows {step.spectral_radius:.3g} times from one sample to the next: the time step "
        "of the numerical "
        "half or of the emulated rig is too long for what is stiff in it (a friction law over a "
        "small width, a small "
        "mass); this may be the emulation's fault alone: take more substeps, Emulated(substeps=...), "
        "or sample faster"
    )


def _not_to_rest(check: Check, test: Checkable, ran: DryRun, free: FreeMotion) -> Finding | None:
    """Judge what becomes of the motion after the excitation has ended."""
    step, steps = check.step, check.steps
    nowhere = bool(steps) and not any(s.stable for s in steps)
    # Below one step of a converter nothing comes back: there a loop rests that is unstable on average.
    fading = _bends(check, "quantiser") and free.last < 0.25 * free.first and free.last < 0.25
    learns = _adapts(check, test) and ran.peak > STILL
    fading = fading or (free.fades and learns)  # it has adapted itself out of it
    # What adapts can hold a loop that is unstable where it starts, if the test moves it at all; and has not
    # held it where more is left at the end than at the beginning.
    idle, louder = _adapts(check, test) and not learns, free.last > LOUDER * free.first
    unheld = nowhere and (idle or not _chatters(check, free))
    unheld = unheld or (free.last > HARMLESS and (louder or not _adapts(check, test)))
    # Little is left of this motion, but of a somewhat other one much more may be.
    ratios = [d.ratio for d in ran.disturbances]
    grows = not free.fades and max(ratios, default=0.0) > AGAIN
    unheld = (unheld or grows) and step is not None and not step.stable and not check.own and not fading
    loose = [r for r in check.regimes if not r.step.stable]
    mostly = sum(r.share for r in loose) > 0.5
    # Two runs that part along the way, every time: it may come to rest, but not in the run.
    parts = min(ratios, default=0.0) > HIDDEN
    mostly = mostly and (parts or (free.last > HARMLESS and max(ratios, default=0.0) > 1.2))
    # Gains that are never at rest hunt for ever where there is friction; for them the excited motion counts.
    far = bool(free.ended) or free.most > GROWN
    wanders = (free.grew or free.lasts) and (not test.has_adaptive_gains or far)
    if not (wanders or unheld or (mostly and not check.own)):
        return None
    fate = "grows" if free.grew else "goes on by itself"
    text = (
        f"after the excitation has ended the motion {fate}: {percent(free.last)} of the run's own after "
        f"{free.seconds:.3g} s"
    )
    if free.ended:
        text = f"after the excitation has ended a knock makes the motion run away: {free.ended}"
    if not wanders and free.last < HARMLESS:
        fate = "does not forget a disturbance" if parts or grows else "is held by nothing that can be seen"
        text = "it dies away after the dry run, but no instant that was looked at would make it do so"
        if parts:
            text = f"the least disturbance grows {_times(min(ratios))} in the run, wherever it comes"
        elif grows:
            text = f"a small disturbance grows {_times(max(ratios))} in the course of the run"
    suspects = [s for s in (step, *(r.step for r in loose)) if s is not None]
    worst = max(suspects, key=lambda s: s.growth, default=None)
    if worst is not None and not worst.stable:
        text = f"{_unstable(check, test, worst)}; {text}"
    return Finding("BL591", "stop", text, f"the motion {fate}")


def _not_held(ran: DryRun) -> Finding | None:
    """Judge a controller that adapts by repetitions of the excitation."""
    levels = ran.repetitions
    along = levels if len(levels) > 1 else (_fastest(ran), *levels)
    if not unheld(along, given_up=bool(ran.given_up), diverged=ran.diverged):
        return None
    larger = max(levels) / max(along[0], TINY)
    text = (
        "the controller does not hold what it has learnt: when the excitation is repeated the motion "
        + ("runs away" if math.isinf(larger) else f"grows to {larger:.3g} times the first")
        + (f" ({ran.given_up})" if ran.given_up else "")
    )
    return Finding("BL591", "stop", text, "the motion grows from repetition to repetition")


def _fastest(ran: DryRun) -> float:
    """Return the largest velocity of an interface, in m/s."""
    return max(_largest(ran, role) for role in (Role.ACTUAL, Role.DESIRED))


def _largest(ran: DryRun, role: Role) -> float:
    """Return the largest velocity of a role, of all interfaces."""
    return max(ran.peaks[n] for n in ran.channels_of(role, kind="flow"))


def _not_longer(ran: DryRun) -> list[Finding]:
    if not ran.given_up:
        return []
    return [
        Finding(
            "BL592", "care", f"if the excitation goes on: {ran.given_up}", "it would not hold a longer test"
        )
    ]


def _restless(test: Checkable, free: FreeMotion) -> list[Finding]:
    """Say where something keeps the rig moving after the test."""
    if not (free.grew or free.lasts or free.stays):
        return []
    why = "a converter's steps, play or a specimen that bends keep it up where the test happens to rest"
    if test.has_adaptive_gains:
        why = "gains that adapt hunt where friction holds the rig"
    text = (
        f"after the excitation has ended the motion goes on by itself: {why}; {percent(free.last)} of the "
        f"run's own motion was left after {free.seconds:.3g} s. End the test by switching the rig off, not "
        "by waiting"
    )
    return [Finding("BL592", "care", text, "it does not come to rest by itself")]


def _bounded(check: Check, test: Checkable, free: FreeMotion) -> list[Finding]:
    """Say where a loop is unstable that is held all the same."""
    step = check.step
    loose = [r for r in check.regimes if not r.step.stable]
    if check.own and check.unbounded:
        assert step is not None
        return [Finding("BL591", "stop", _unstable(check, test, step), "the structure itself is unstable")]
    if check.own:
        text = (
            "the structure itself is unstable at rest: a mode grows at "
            f"{max(p.real for p in check.own):.3g} 1/s in one piece too; the loop adds no unstable mode"
        )
        return [Finding("BL592", "care", text, "the structure itself is unstable at rest")]
    if step is not None and step.spectral_radius > COARSE:
        text = f"where it starts {_coarse(step)}"
        return [Finding("BL592", "care", text, TOO_LONG[1])]
    if step is not None and not step.stable:
        until = "until the controller has adapted" if test.adapts else "until something bounds it"
        text = (
            f"where it starts the loop is unstable: a mode at {step.frequency:.3g} Hz grows at "
            f"{step.growth:.3g} 1/s {until}; after the dry run {percent(free.last)} of the run's own motion "
            "was left"
        )
        return [Finding("BL592", "care", text, "unstable where it starts")]
    if not loose:
        return []
    r = loose[0]
    where = f"with {r.words}" if r.words else f"as at t = {r.time:.3g} s"
    text = (
        f"{where} the loop by itself is unstable ({r.step.growth:.3g} 1/s at {r.step.frequency:.3g} Hz), in "
        f"{100 * sum(x.share for x in loose):.0f} % of the instants looked at; the rest holds it, with this "
        "excitation: a larger one may not be held"
    )
    return [Finding("BL592", "care", text, "unstable in a part of its motion")]


def _unvisited(check: Check) -> list[Finding]:
    """Say where a loop is unstable in a mode that the dry run did not visit, if nowhere else."""
    loose = [r for r in check.unvisited if not r.step.stable]
    if not loose or not all(s.stable for s in check.steps):
        return []
    r = loose[0]
    text = (
        f"with {r.words}, as it was at no instant that was looked at, the loop is unstable: a mode at "
        f"{r.step.frequency:.3g} Hz grows at {r.step.growth:.3g} 1/s as long as that lasts"
    )
    return [Finding("BL592", "care", text, "unstable in a mode that was not looked at in the dry run")]


def _bends(check: Check, kind: Bend) -> bool:
    """Whether a statement of the loop departs from a straight line in some way."""
    return any(kind in kinds for s in check.steps for kinds in s.bends.values())


def _chatters(check: Check, free: FreeMotion) -> bool:
    """Whether what is left may be dry friction that chatters within its own width, which is no harm."""
    if not _bends(check, "smooth") or free.last >= HARMLESS:
        return False
    # What was larger than the run's own motion before it stuck has not chattered, but grown until it stuck.
    return not (free.first > 1 and _slides_unstably(check))


def _slides_unstably(check: Check) -> bool:
    """Whether the loop is unstable where friction slides too, most of the time, and not only where it sticks.

    What chatters where it sticks may hold itself there; what grows while it slides is held by nothing.
    """
    steepest: dict[str, float] = {}
    for regime in check.regimes:
        for name, slope in regime.step.steepness.items():
            steepest[name] = max(steepest.get(name, 0.0), slope)
    sliding = [
        r for r in check.regimes
        if any(s < FLAT * steepest[n] for n, s in r.step.steepness.items() if element_of(n) in r.elements)
    ]  # fmt: skip
    return sum(r.share for r in sliding if not r.step.stable) > 0.5


def _adapts(check: Check, test: Checkable) -> bool:
    """Whether the controller changes as it runs, so that how it starts is not how it stays."""
    return test.adapts and bool(check.regimes)


def _times(ratio: float) -> str:
    return "beyond all bounds" if math.isinf(ratio) else f"{ratio:.3g} times"


def _unstable(check: Check, test: Checkable, step: OneStep) -> str:
    """Say that a loop is unstable, and what makes it so as far as that is known."""
    if step.spectral_radius > COARSE:
        return _coarse(step)
    mode = f"a mode at {step.frequency:.3g} Hz grows at {step.growth:.3g} 1/s"
    if check.own:
        return f"{mode}: the structure itself is unstable, in one piece too; nothing holds it"
    if not test.feedback:
        return f"the numerical half, the controller or the rig is unstable by itself: {mode}"
    radius = f"spectral radius {step.spectral_radius:.6f} of one step"
    if test.compensates:
        return f"the loop is unstable: {mode} ({radius}); the compensator does not fit the rig"
    if check.poles and max(p.real for p in away_from_origin(check.poles)) <= 0:
        return (
            f"sampling and latency make the loop unstable: {mode} ({radius}), though without them it would "
            "be stable; sample faster, or reduce the latency"
        )
    why = "; ".join(str(lag) for lag in check.lags if lag.damping < -max(lag.structure, TINY))
    return f"the loop is unstable: {mode}" + (f", because {why}" if why else "")


def _left_over(free: FreeMotion) -> list[Finding]:
    """Judge what goes on by itself though it should have faded: a coarse converter, play, friction."""
    n = len(free.levels)
    middle = float(free.levels[3 * n // 8 : 5 * n // 8 + 1].mean()) if n else 0.0
    faded = math.exp(0.18 * free.expected * free.seconds) if math.isfinite(free.expected) else 0.0
    still = free.last > max(0.9, faded) * middle
    if not (free.grew or free.lasts or (still and free.last > LITTLE)):
        return []
    fate = "grows" if free.grew else "goes on by itself"
    text = (
        f"after the excitation has ended the motion {fate}: {percent(free.last)} of the run's own after "
        f"{free.seconds:.3g} s"
    )
    if free.grew or free.lasts or free.last > MUCH:
        return [Finding("BL591", "stop", text, f"the motion {fate}")]
    return [Finding("BL592", "care", text, f"the motion {fate}")]


def _coarse_step(step: OneStep) -> str:
    return (
        f"a motion grows {step.spectral_radius:.3g} times from one step to the next: the time step is too "
        "long for what is stiff (a friction law over a small width, a small mass); this may be the "
        "emulation's fault alone: take more integration_steps of the rig, or a shorter time_step"
    )
