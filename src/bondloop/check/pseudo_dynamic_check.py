"""The check of a pseudo-dynamic test: linearised as it runs, rehearsed, and judged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bondloop.check.checking import Check, rehearsed
from bondloop.check.linear.margins import Margins
from bondloop.check.linear.stepped_loop import SteppedLoop
from bondloop.check.policy import DEFAULT
from bondloop.errors import BondloopError

if TYPE_CHECKING:
    from bondloop.check.policy import CheckPolicy
    from bondloop.engine.analysis.spectrum import OneStep
    from bondloop.hybrid import PseudoDynamicTest


def checked_steps(test: PseudoDynamicTest, seconds: float, policy: CheckPolicy = DEFAULT) -> Check:
    """Analyse a pseudo-dynamic test that can be built.

    Parameters
    ----------
    test
        The test.
    seconds
        Length of the run that the check is for.
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
    return _measured(so_far, loop).judged(test)


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
        growth = max((i.step.growth for i in so_far.instants), default=-np.inf)
        worse = growth > step.growth + 1e-3 * abs(step.growth)
        if worse:
            words = "margins can be had only where it starts, and it is less stable in a part of its motion"
            return replace(so_far, margins=Margins(left_out=words))
        return replace(so_far, margins=loop.margins(step, "as it starts" if so_far.instants else ""))
    except BondloopError:  # a slope that does not exist with another size of the motion
        return so_far
