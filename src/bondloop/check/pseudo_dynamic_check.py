"""The check of a pseudo-dynamic test: linearised as it runs, rehearsed dry and disturbed, and judged."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from bondloop.check.checking import Check, check, rehearsed
from bondloop.check.finding import Finding, percent
from bondloop.check.judging import judged
from bondloop.check.judging_stability import COARSE, stability
from bondloop.check.margins import Margins
from bondloop.check.remedy import PARTS, TRIES, Change
from bondloop.check.stepped_loop import SteppedLoop
from bondloop.errors import BondloopError
from bondloop.integrate import SubStep
from bondloop.rehearsal import SCALE

if TYPE_CHECKING:
    from bondloop.check.finding import Level
    from bondloop.check.free_motion import FreeMotion
    from bondloop.engine.analysis.spectrum import OneStep
    from bondloop.hybrid import PseudoDynamicTest


FINER = (2, 4, 8)
"""How many times more sub-steps, or shorter time steps, are tried."""

LITTLE, MUCH = 0.1, 0.5
"""Shares of the run's own motion: what goes on by itself below the one is a converter's last step; above the
other, with no controller to blame, it is the test that is shown, not the structure."""

MANY_TICKS = 100_000
"""Ticks of a test beyond which no change is tried out: each try rehearses it several times."""


def checked_steps(test: PseudoDynamicTest, seconds: float, suggest: bool) -> Check:
    """Analyse a pseudo-dynamic test that can be built.

    Parameters
    ----------
    test
        The test.
    seconds
        Length of the run that the check is for.
    suggest
        Whether to look for a change that makes a refused test pass.
    """
    loop = SteppedLoop(test)
    notes: list[str] = []
    step: OneStep | None = None
    try:
        step = loop.at()
        if step.resting:
            notes.append(
                f"{step.resting} eigenvalues are 1: positions that nothing returns, such as a table's"
            )
    except BondloopError as error:
        notes.append(f"the test cannot be linearised where it starts ({error}); the dry run alone decides")
    so_far = rehearsed(Check(step=step, notes=tuple(notes), name=test.name), test, loop, seconds)
    so_far = _measured(so_far, loop)
    so_far = replace(so_far, findings=judged(so_far, test, seconds, _stability(so_far, test)))
    if so_far.passed or not suggest or seconds / test.period > MANY_TICKS:
        return so_far
    return replace(so_far, change=_smallest_change(test, so_far, seconds))


def _measured(so_far: Check, loop: SteppedLoop) -> Check:
    """Add responses and margins where the test starts.

    Elsewhere a test that is not linear has none: a rig that moves more there is at another point.
    """
    step = so_far.step
    if step is None:
        return so_far
    try:
        so_far = replace(so_far, curves=loop.curves(step))
        if not step.stable:
            return so_far
        worse = so_far.regimes and so_far.regimes[0].step.growth > step.growth + 1e-3 * abs(step.growth)
        if worse:
            words = "margins can be had only where it starts, and it is less stable in a part of its motion"
            return replace(so_far, margins=Margins(left_out=words))
        return replace(so_far, margins=loop.margins(step, "as it starts" if so_far.regimes else ""))
    except BondloopError:  # a slope that does not exist with another size of the motion
        return so_far


# -------------------------------------------------------------------- stability


def _stability(so_far: Check, test: PseudoDynamicTest) -> list[Finding]:
    """Judge by eigenvalues where the test is linear, by its motion where it is not."""
    step = so_far.step
    if step is not None and step.linear and not step.stable:
        return [Finding("stop", _unstable(step), "a motion grows")]
    findings = stability(so_far, test)
    free = so_far.dry_run.free if so_far.dry_run is not None else None
    if free is not None and not any(f.level == "stop" for f in findings):
        findings += _left_over(free)
    coarse = max(so_far.steps, key=lambda s: s.spectral_radius, default=None)
    if coarse is None or coarse.spectral_radius <= COARSE:
        return findings
    return [replace(f, text=_coarse(coarse)) if f.coarse else f for f in findings]


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
    level: Level = "stop" if free.grew or free.lasts or free.last > MUCH else "care"
    return [Finding(level, text, f"the motion {fate}")]


def _unstable(step: OneStep) -> str:
    mode = f"a motion at {step.frequency:.3g} Hz grows at {step.growth:.3g} 1/s"
    return (
        f"{mode} (spectral radius {step.spectral_radius:.6f} of one step of {1e3 * step.period:.3g} ms): the "
        "scheme and this rig are not stable together"
    )


def _coarse(step: OneStep) -> str:
    return (
        f"a motion grows {step.spectral_radius:.3g} times from one step to the next: the time step is too "
        "long for what is stiff (a friction law over a small width, a small mass); this may be the "
        "emulation's fault alone: take more integration_steps of the rig, or a shorter time_step"
    )


# -------------------------------------------------------------------- what would do


def _smallest_change(test: PseudoDynamicTest, refused: Check, seconds: float) -> Change | None:
    """Return the mildest change with which the test passes; each is checked in full."""
    limited = all(f.limit for f in refused.findings if f.level == "stop")
    passes: Change | None = None
    tried = 0
    for words, changes in _less(test) if limited else _finer(test):
        try:  # a change may not even be possible
            changed = test.replaced(**changes)
            if not limited and not SteppedLoop(changed).at().stable:
                continue
        except BondloopError:
            continue
        tried += 1
        answer = check(changed, seconds, suggest=False)
        if answer.passed:
            change = Change(words, changed, answer.verdict)
            if answer.level == "run":
                return change.beside(passes)
            passes = passes or change
        if tried >= TRIES:
            break
    return passes


def _less(test: PseudoDynamicTest) -> Iterator[tuple[str, dict[str, object]]]:
    for part in PARTS:
        value = part * test.scale
        yield f"excitation.scale={value:.3g}", {"values": {**test.overrides, SCALE: value}}


def _finer(test: PseudoDynamicTest) -> Iterator[tuple[str, dict[str, object]]]:
    scheme = test.scheme
    if isinstance(scheme, SubStep):
        for times in FINER:
            more = times * scheme.sub_steps
            yield f"{more} sub-steps", {"scheme": replace(scheme, sub_steps=more)}
    for times in FINER:
        shorter = test.period / times
        yield f"a time step of {1e3 * shorter:.3g} ms", {"time_step": shorter}
