"""A tick whose modes cannot change, so that it can be looked at in any of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bondloop.program.expr import Const, variables
from bondloop.program.resolve import CHANGES, MARK
from bondloop.program.schedule import Assign
from bondloop.program.tick import Repeat, Step, Tick, reads

__all__ = ["modes_held"]


def modes_held(tick: Tick) -> Tick:
    """Return a tick in which no mode ever changes, so that it can be looked at in any of them."""

    def held(steps: Sequence[Step]) -> tuple[Step, ...]:
        return tuple(
            replace(step, body=held(step.body))
            if isinstance(step, Repeat)
            else Assign(step.target, Const(0.0))
            if isinstance(step, Assign) and step.target.name.endswith(CHANGES)
            else step
            for step in steps
        )

    return replace(tick, steps=_without_rules(held(tick.steps), tick))


def _without_rules(steps: tuple[Step, ...], tick: Tick) -> tuple[Step, ...]:
    """Leave out of the passes what only the rules read: its kinks are none of the tick's."""
    every = list(_flat(steps))
    needed = {v for c in tick.channels for v in variables(c.value)}
    needed |= reads([s for s in every if not (isinstance(s, Assign) and MARK in s.target.name)])
    count = -1
    while count < len(needed):
        count = len(needed)
        for s in reversed(every):
            if isinstance(s, Assign) and s.target in needed:
                needed.update(variables(s.expr))

    def used(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        return tuple(
            replace(s, body=used(s.body)) if isinstance(s, Repeat) else s
            for s in steps
            if not (isinstance(s, Assign) and MARK in s.target.name) or s.target in needed
        )

    return used(steps)


def _flat(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        yield replace(step, body=()) if isinstance(step, Repeat) else step
        if isinstance(step, Repeat):
            yield from _flat(step.body)
