"""A tick whose modes cannot change, so that it can be looked at in any of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bondloop.program.expr import Const, variables
from bondloop.program.resolve import CHANGES, MARK
from bondloop.program.schedule import Assign
from bondloop.program.tick import Step, Tick, every, revised

__all__ = ["modes_held"]


def modes_held(tick: Tick) -> Tick:
    """Return a tick in which no mode ever changes, so that it can be looked at in any of them."""

    def held(step: Step) -> Step:
        changes = isinstance(step, Assign) and step.target.name.endswith(CHANGES)
        return Assign(step.writes[0], Const(0.0)) if changes else step

    return replace(tick, steps=_without_rules(revised(tick.steps, held), tick))


def _without_rules(steps: Sequence[Step], tick: Tick) -> tuple[Step, ...]:
    """Leave out of the passes what only the rules read: its kinks are none of the tick's."""

    def of_rules(step: Step) -> bool:
        return isinstance(step, Assign) and MARK in step.target.name

    needed = {v for c in tick.channels for v in variables(c.value)}
    needed.update(v for step in every(steps) if not of_rules(step) for v in step.reads)
    count = -1
    while count < len(needed):
        count = len(needed)
        for step in reversed(list(every(steps))):
            if not needed.isdisjoint(step.writes):
                needed |= step.reads
    return revised(steps, lambda step: None if of_rules(step) and needed.isdisjoint(step.writes) else step)
