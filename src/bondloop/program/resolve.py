"""Which mode is in force at a sample: the passes of a system that switches, as statements of a tick.

A pass goes from the contents before all changes (the base) into the modes that are wanted, looks at efforts
and flows there, and applies every rule. Their number is fixed. At first all elements that want to may change;
in the second half only the first one, which finds the mode where it is unique (Murty 1974, least index).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from bondloop.program.expr import Const, Expr, Op, Var, select, substitute, variables
from bondloop.program.schedule import Assign, Statement, schedule
from bondloop.program.switching_rules import REBOUNDING, Look, Rule
from bondloop.program.tick import Repeat, Step, Tick, Update, instantiate, is_trivial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bondloop.program.system import System

__all__ = ["modes_held", "passes", "resolve", "switching_rules"]

ZERO = Const(0.0)

CHANGES = ".changes@"
"""In the names of the variables that say whether a mode changes in a pass, before the pass's number."""


def switching_rules(system: System) -> list[Rule]:
    """Return the rules of all elements that switch."""
    return [rule for part in system.switching for rule in part.rules]


def passes(system: System) -> int:
    """Return how many passes a tick makes at every sample: four for a blow, and two for every element."""
    return 4 + 2 * len(switching_rules(system))


def jump_goals(system: System) -> list[Expr]:
    """Return the contents after a change, then efforts' and flows' impulses, rule by rule."""
    rules = switching_rules(system)
    after = [e for part in system.switching for e in part.after.values()]
    return [*after, *(r.effort_impulse for r in rules), *(r.flow_impulse for r in rules)]


def port_goals(system: System) -> list[Expr]:
    """Return efforts, flows, and what else the rules read."""
    rules = switching_rules(system)
    return [*(r.effort for r in rules), *(r.flow for r in rules), *(t for r in rules for t in r.terms)]


def scheduled(
    system: System, goals: Sequence[Expr], definitions: Mapping[Var, Expr] | None = None
) -> list[Statement]:
    """Order what goals of the switching need; the definitions are the system's with those of the jumps."""
    if definitions is None:
        definitions = all_definitions(system)
    tears = [*(t for part in system.switching for t in part.tears), *system.tears]
    return schedule(definitions, [v for g in goals for v in variables(g)], tears, system.iterations)


def all_definitions(system: System) -> dict[Var, Expr]:
    """Return the assignments of a system, with those of its jumps."""
    jumps = {v: e for part in system.switching for v, e in part.definitions.items()}
    return {**system.definitions, **jumps}


class _Passes:
    """Statements, written pass by pass."""

    def __init__(self, system: System, inputs: Mapping[Var, Expr], window: float) -> None:
        self.system, self.inputs, self.window = system, inputs, Const(window)
        self.rules = switching_rules(system)
        self.jumps, self.ports = jump_goals(system), port_goals(system)
        self.jump_program, self.port_program = scheduled(system, self.jumps), scheduled(system, self.ports)
        self.states = [v for part in system.switching for v in part.after]
        self.carried = [v for part in system.switching for v in part.carried]
        self.base: dict[Var, Expr] = {v: v for v in self.states}
        self.modes: list[Expr] = [r.mode for r in self.rules]
        self.stages: list[Expr] = [ZERO] * len(self.rules)
        self.before: list[Expr] = [ZERO] * len(self.rules)
        self.rebounds: list[Expr] = [ZERO] * len(self.rules)
        self.steps: list[Step] = []
        present = {v: e for part in system.switching for v, e in part.present.items()}
        before = [present[v] for v in self.carried]
        values = self.evaluated(scheduled(system, before), before, {}, "@before")
        for v, value in zip(self.carried, values, strict=True):
            self.base[v] = self.named(value, f"{v.name}@before")

    def named(self, expr: Expr, name: str) -> Expr:
        """Compute an expression once."""
        if is_trivial(expr):
            return expr
        target = Var(name)
        self.steps.append(Assign(target, expr))
        return target

    def evaluated(
        self, program: list[Statement], goals: list[Expr], at: Mapping[Var, Expr], mark: str
    ) -> list[Expr]:
        """Copy a program with other states; return what the goals are in the copy."""
        given: dict[Var, Expr] = {**self.inputs, **at}
        given.update({r.mode: m for r, m in zip(self.rules, self.modes, strict=True)})
        for rule, value in zip(self.rules, self.rebounds, strict=True):
            if rule.rebound is not None:
                given[rule.rebound] = value
        steps, table = instantiate(program, given, mark)
        self.steps += steps
        return [substitute(g, table) for g in goals]

    def jump(self, mark: str) -> tuple[dict[Var, Expr], list[Expr]]:
        """Change from the base into the modes; return the states and the impulses."""
        values = self.evaluated(self.jump_program, self.jumps, self.base, f"{mark}jump")
        count = len(self.states)
        after = [
            self.named(e, f"{v.name}{mark}after") for v, e in zip(self.states, values[:count], strict=True)
        ]
        return dict(zip(self.states, after, strict=True)), values[count:]

    def once(self, number: int, *, one_by_one: bool) -> None:
        """Make one pass."""
        mark, count = f"@{number}", len(self.rules)
        now, impulses = self.jump(mark)
        values = self.evaluated(self.port_program, self.ports, now, f"{mark}port")
        terms = iter(values[2 * count :])
        changed: list[Expr] = []
        wanted: list[Expr] = []
        rebounding: Expr = ZERO
        any_yet: Expr = ZERO
        for i, rule in enumerate(self.rules):
            look = Look(
                self.modes[i],
                self.named(values[i], f"{rule.path}.effort{mark}"),
                self.named(values[count + i], f"{rule.path}.flow{mark}"),
                self.named(impulses[i], f"{rule.path}.effort_impulse{mark}"),
                self.named(impulses[count + i], f"{rule.path}.flow_impulse{mark}"),
                tuple(next(terms) for _ in rule.terms),
                self.stages[i],
                self.before[i],
                self.window,
            )
            wrong: Expr = rule.margin(look) > 0
            if one_by_one:
                wrong = Op("and", (wrong, Op("not", (any_yet,))))
            changes = self.named(wrong, f"{rule.path}{CHANGES}{number}")
            any_yet = changes if any_yet is ZERO else Op("or", (any_yet, changes))
            outcome = rule.outcome(look, changes)
            if rule.rebound is not None and number > 0:
                here = Op("eq", (self.stages[i], Const(REBOUNDING)))
                rebounding = here if rebounding is ZERO else Op("or", (rebounding, here))
            changed.append(changes)
            wanted.append(self.named(outcome.mode, f"{rule.path}.wanted{mark}"))
            self.stages[i] = self.named(outcome.stage, f"{rule.path}.stage{mark}")
            self.before[i] = self.named(outcome.before, f"{rule.path}.before{mark}")
            self.rebounds[i] = self.named(outcome.rebound, f"{rule.path}.rebound{mark}")
        if rebounding is not ZERO:
            for v in self.states:
                self.base[v] = self.named(select(rebounding, now[v], self.base[v]), f"{v.name}{mark}base")
        first = 0
        for number_of_part, part in enumerate(self.system.switching):
            own = slice(first, first + len(part.rules))
            steps, modes = part.permitted(wanted[own], changed[own], f"switching{number_of_part}{mark}")
            self.steps += steps
            for i, (rule, mode) in enumerate(zip(part.rules, modes, strict=True), first):
                self.modes[i] = self.named(mode, f"{rule.path}.mode{mark}")
            first += len(part.rules)


def resolve(system: System, inputs: Mapping[Var, Expr], period: float) -> tuple[list[Step], dict[Var, Expr]]:
    """Return the statements that find the modes of a system at the beginning of a step, and make the jumps.

    Parameters
    ----------
    system
        What switches; its modes and states are states of the tick.
    inputs
        What its inputs are now.
    period
        Of the step, in s: events within it are one instant.

    Returns
    -------
    steps, now
        The statements, and by variable what those states are after them that may have changed: by its own
        name a channel would read a state as it was before.
    """
    if not system.switching:
        return [], {}
    written = _Passes(system, inputs, period)
    total = passes(system)
    for number in range(total):
        written.once(number, one_by_one=number >= total // 2)
    after, _ = written.jump("@last")
    after.update({rule.mode: mode for rule, mode in zip(written.rules, written.modes, strict=True)})
    now = {v: Var(f"{v.name}.now") for v in after if v not in written.carried}
    assigned = [Assign(target, after[v]) for v, target in now.items()]
    return [*written.steps, *assigned, Update(tuple(now.items()))], dict(now)


def modes_held(tick: Tick) -> Tick:
    """Return a tick in which no mode ever changes, so that it can be looked at in any of them."""

    def held(steps: Sequence[Step]) -> tuple[Step, ...]:
        return tuple(
            replace(step, body=held(step.body))
            if isinstance(step, Repeat)
            else Assign(step.target, ZERO)
            if isinstance(step, Assign) and CHANGES in step.target.name
            else step
            for step in steps
        )

    return replace(tick, steps=held(tick.steps))
