"""Which variables of a tick differ from test to test."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bondloop.program.expr import Var, variables
from bondloop.program.schedule import Assign, Loop
from bondloop.program.tick import Delay, Product, every

if TYPE_CHECKING:
    from bondloop.program.tick import Tick

__all__ = ["wide_variables"]


def wide_variables(tick: Tick, varied: Iterable[Var]) -> set[Var]:
    """Return the variables that have a value for each test."""
    wide = {*tick.states, *varied}
    while True:
        before = len(wide)
        for step in every(tick.steps):
            if isinstance(step, Assign):
                if not wide.isdisjoint(variables(step.expr)):
                    wide.add(step.target)
            elif isinstance(step, (Loop, Product, Delay)):
                wide |= set(step.writes)
            elif step.sought:
                wide |= {v for s in every([step]) for v in s.writes}
        if len(wide) == before:
            return wide
