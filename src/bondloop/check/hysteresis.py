"""Smooth laws that yield: lead-rubber and elastomeric bearings, Bouc and Wen, magnetorheological dampers.

Such a law has no branches. It yields by a state of its own, the hysteretic one: at rest that follows the
motion, so that the element is as stiff as it ever is, and where the element yields it follows no more. So
the slope of that state per motion, against the one at rest, is the element's regime, and the tangent of an
element that has yielded altogether is the one with the state held.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bondloop.check.regime_words import element_of
from bondloop.engine.analysis.spectrum import within
from bondloop.errors import BondloopError

if TYPE_CHECKING:
    from bondloop.check.dry_run import DryRun
    from bondloop.check.running_loop import RunningLoop
    from bondloop.engine.analysis.spectrum import OneStep, Point
    from bondloop.engine.ir import Tick
    from bondloop.rehearsal import Rehearsal


YIELDS = 0.5
"""Share of the slope at rest below which an element yields: half of what the hysteresis adds to its stiffness
is gone."""

PARTS = 96
"""Parts of the stretch about the largest motion in which it is looked for where an element yields most, and
least."""

CREEP = 0.05
"""Share of the largest motion in one part below which a part tells nothing: where the motion turns."""


def slopes_of(step: OneStep, names: Sequence[str]) -> dict[str, float]:
    """Return how much each of some states follows what moves its element."""
    slopes = {}
    for name in names:
        inner = partial(_of_element, element_of(name))
        followed = step.tangents.of(name, inner)
        slopes[name] = abs(sum(s for v, s in followed.items() if not inner(v)))
    return slopes


def _of_element(element: str, variable: str) -> bool:
    return element_of(variable) == element


def displacements(tick: Tick) -> dict[str, str]:
    """Return the state that is the displacement of each element which has one, by the element's path."""
    return {
        element_of(v.name): v.name
        for v in tick.states
        if v.quantity is not None and v.quantity.kind == "displacement"
    }


def elastic_slopes(loop: RunningLoop, step: OneStep) -> dict[str, float]:
    """Return the hysteretic states of smooth laws, each with its slope per motion where the test starts.

    They follow the motion at rest. States that only wear (energy, temperature) do not: at rest nothing wears.

    Parameters
    ----------
    loop, step
        The loop, and one step of it where it starts.
    """
    states, moved = set(step.states), displacements(loop.tick)
    names = [
        n
        for n, kinds in step.bends.items()
        if n in states
        and "smooth" in kinds
        and within(n, "rig", "numerical")
        # of an element that is moved, and not that motion itself
        and moved.get(element_of(n), n) != n
    ]
    return {name: slope for name, slope in slopes_of(step, names).items() if slope > 0}


def yields(step: OneStep, elastic: Mapping[str, float]) -> dict[str, bool]:
    """Return for each hysteretic state whether its element yields at a step."""
    slopes = slopes_of(step, list(elastic))
    return {name: slopes[name] < YIELDS * slope for name, slope in elastic.items()}


def turning_points(rehearsal: Rehearsal, ran: DryRun, names: Sequence[str]) -> tuple[Point, ...]:
    """Return where, about the largest motion of the dry run, each hysteretic state follows least, and most.

    Parameters
    ----------
    rehearsal, ran
        The dry run, and its tick.
    names
        The hysteretic states.
    """
    if not names:
        return ()
    length = max(1, round(ran.window / rehearsal.tick.period))
    start = int(np.argmax(ran.windows.max(axis=1))) * length
    part = max(1, length // PARTS)
    if not rehearsal.to(start):
        return ()
    points, rows = [], []
    moved_by = displacements(rehearsal.tick)
    pairs = [(name, moved_by[element_of(name)]) for name in names]
    while rehearsal.runner.count < min(start + length, rehearsal.steps - 1):
        state = rehearsal.runner.state
        points.append(rehearsal.runner.count)
        rows.append([(state[z], state[x]) for z, x in pairs])
        if not rehearsal.run(part).finished:
            break
    if len(rows) < 3:
        return ()
    moved = np.abs(np.diff(np.array(rows), axis=0))
    chosen: set[int] = set()
    for dz, dx in moved.transpose(1, 2, 0):
        lively = np.flatnonzero(dx > CREEP * dx.max(initial=0.0))
        if len(lively):
            followed = dz[lively] / dx[lively]
            chosen |= {points[lively[followed.argmin()]], points[lively[followed.argmax()]]}
    return tuple(rehearsal.point() for k in sorted(chosen) if rehearsal.to(k))


def yielded(loop: RunningLoop, names: Sequence[str]) -> OneStep | None:
    """Return one step of the loop with hysteretic states held; None where that cannot be had."""
    held = copy.copy(loop)
    held.adapted = (*loop.adapted, *(v for v in loop.tick.states if v.name in names))
    try:
        step = held.at()
        _ = step.spectrum
    except BondloopError:
        return None
    return step
