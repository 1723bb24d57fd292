"""The modes of a test whose parts switch: which one a step was in, and the loop kept in one."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from bondloop.engine.passes import modes_held

if TYPE_CHECKING:
    from bondloop.check.linear.running_loop import RunningLoop
    from bondloop.engine.analysis.spectrum import OneStep, Point
    from bondloop.engine.ir import Rule
    from bondloop.hybrid import Checkable


Modes = tuple[tuple[str, int], ...]
"""The number of the mode of each element that switches, with its path."""


def _rules(test: Checkable) -> list[Rule]:
    return [rule for part in test.switching for rule in part.rules]


def modes_of(test: Checkable, step: OneStep) -> Modes:
    """Return the modes in which a step was made."""
    assert step.at is not None
    values = dict(zip(step.states, step.at.after.tolist(), strict=True))
    return tuple((r.path, round(values[r.mode.name])) for r in _rules(test) if r.mode.name in values)


def held(
    loop: RunningLoop, point: Point, modes: Modes, parameters: Mapping[str, float] | None = None
) -> OneStep:
    """Return one step of the loop at a point, with its parts in some modes and kept there.

    The contents of storages are those after a change into the modes. In a step in which a mode changes the
    slopes are those of the jump, which says nothing of how the loop goes on.
    """
    names = {r.path: r.mode.name for r in _rules(loop.test)}
    still = copy.copy(loop)
    still.tick = modes_held(loop.tick)
    states = {**point.states, **{names[path]: float(m) for path, m in modes}}
    return still.at(replace(point, states=states), parameters)
