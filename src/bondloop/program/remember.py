"""What laws remember, renewed at the beginning of a step: statements of a tick.

A law that depends on the displacements it went through (plasticity, a gap that closes for good) has a force
F(x; m) of the displacement x and of what it remembers, m, and a renewal m⁺ = M(x; m). Within a step m stays;
at its beginning it becomes what follows from the displacement then. The force does not jump there if
F(x; M(x; m)) = F(x; m), which every law keeps to. Between two samples the displacement counts as monotonic,
so the force is exact for the displacements of the samples, whatever the step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bondloop.program.expr import Expr, Var, substitute
from bondloop.program.schedule import Assign
from bondloop.program.tick import Step, Update, instantiate

if TYPE_CHECKING:
    from bondloop.program.system_data import SystemData

__all__ = ["remember"]


def remember(system: SystemData, now: Mapping[Var, Expr]) -> tuple[list[Step], dict[Var, Expr]]:
    """Return the statements that renew what a system remembers, at the beginning of a step.

    Parameters
    ----------
    system
        What remembers; its memories are states of the tick.
    now
        What its states and inputs are at the beginning of the step.

    Returns
    -------
    steps, now
        The statements, and by variable what the memories are after them: by its own name a channel would read
        a state as it was before.
    """
    if not system.memories:
        return [], {}
    goals = list(system.memories.values())
    steps: list[Step] = []
    copied, table = instantiate(system.schedule(goals), dict(now), "@renewal")
    steps += copied
    renewed: dict[Var, Expr] = {}
    for memory, goal in system.memories.items():
        # Not a path: the check names regimes by what the force does, not by what is remembered of it.
        target = Var(f"{memory.name}@now", quantity=memory.quantity)
        steps.append(Assign(target, substitute(goal, table)))
        renewed[memory] = target
    return [*steps, Update(tuple(renewed.items()))], renewed
