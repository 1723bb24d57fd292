"""The check of a pseudo-dynamic test: linearised as it runs, rehearsed dry and disturbed, and judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from bondloop.check.checking import Check, check, rehearsed
from bondloop.check.margins import Margins
from bondloop.check.policy import DEFAULT
from bondloop.check.remedy import PARTS, TRIES, Change
from bondloop.check.stepped_loop import SteppedLoop
from bondloop.errors import BondloopError
from bondloop.integrate import SubStep
from bondloop.rehearsal import SCALE

if TYPE_CHECKING:
    from bondloop.check.policy import CheckPolicy
    from bondloop.engine.analysis.spectrum import OneStep
    from bondloop.hybrid import PseudoDynamicTest


FINER = (2, 4, 8)
"""How many times more sub-steps, or shorter time steps, are tried."""

MANY_TICKS = 100_000
"""Ticks of a test beyond which no change is tried out: each try rehearses it several times."""


def checked_steps(
    test: PseudoDynamicTest, seconds: float, suggest: bool, policy: CheckPolicy = DEFAULT
) -> Check:
    """Analyse a pseudo-dynamic test that can be built.

    Parameters
    ----------
    test
        The test.
    seconds
        Length of the run that the check is for.
    suggest
        Whether to look for a change that makes a refused test pass.
    policy
        The limits in force.
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
    so_far = Check(
        step=step, notes=tuple(notes), seconds=seconds, stepped=True, policy=policy, name=test.name
    )
    so_far = rehearsed(so_far, test, loop, seconds)
    so_far = _measured(so_far, loop).judged(test)
    if so_far.level != "stop" or not suggest or seconds / test.period > MANY_TICKS:
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


# -------------------------------------------------------------------- what would do


def _smallest_change(test: PseudoDynamicTest, refused: Check, seconds: float) -> Change | None:
    """Return the mildest change with which the test passes; each is checked in full."""
    limited = refused.limited
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
        answer = check(changed, seconds, suggest=False, policy=refused.policy)
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
