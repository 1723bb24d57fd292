"""What is asked of a system that switches: its rules, what they read, and the programs that compute it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bondloop.program.causal_order import schedule
from bondloop.program.expr import Expr, Var, variables

if TYPE_CHECKING:
    from bondloop.program.schedule import Statement
    from bondloop.program.switching_rules import Rule
    from bondloop.program.system_data import SystemData

__all__ = ["all_definitions", "jump_goals", "port_goals", "scheduled", "switching_rules"]


def switching_rules(system: SystemData) -> list[Rule]:
    """Return the rules of all elements that switch."""
    return [rule for part in system.switching for rule in part.rules]


def jump_goals(system: SystemData) -> list[Expr]:
    """Return the contents after a change, then efforts' and flows' impulses, rule by rule."""
    rules = switching_rules(system)
    after = [e for part in system.switching for e in part.after.values()]
    return [*after, *(r.effort_impulse for r in rules), *(r.flow_impulse for r in rules)]


def port_goals(system: SystemData) -> list[Expr]:
    """Return efforts, flows, and what else the rules read."""
    rules = switching_rules(system)
    return [*(r.effort for r in rules), *(r.flow for r in rules), *(t for r in rules for t in r.terms)]


def scheduled(
    system: SystemData, goals: Sequence[Expr], definitions: Mapping[Var, Expr] | None = None
) -> list[Statement]:
    """Order what goals of the switching need; the definitions are the system's with those of the jumps."""
    if definitions is None:
        definitions = all_definitions(system)
    tears = [*(t for part in system.switching for t in part.tears), *system.tears]
    return schedule(definitions, [v for g in goals for v in variables(g)], tears, system.iterations)


def all_definitions(system: SystemData) -> dict[Var, Expr]:
    """Return the assignments of a system, with those of its jumps."""
    jumps = {v: e for part in system.switching for v, e in part.definitions.items()}
    return {**system.definitions, **jumps}
