"""What is asked of a system that switches: its rules, what they read, and the programs that compute it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bondloop.engine.ir import Assign, Const, Expr, Op, Statement, Var, function, schedule, select, variables

if TYPE_CHECKING:
    from bondloop.engine.ir import Rule, Statement, SystemData


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


def with_sizes(statements: Sequence[Statement], goals: Sequence[Expr]) -> tuple[list[Statement], list[Expr]]:
    """Return a program that computes sizes beside values, and the sizes of some expressions of it.

    The size of a variable that is not computed is its magnitude, that of a sum the sum of the sizes.

    >>> a, b, c = Var("a"), Var("b"), Var("c")
    >>> _, (size,) = with_sizes([Assign(c, a - b)], [2 * c])
    >>> print(size)
    2*c.size
    """
    table: dict[Var, Expr] = {}

    def size(e: Expr) -> Expr:
        if isinstance(e, Var):
            return table[e] if e in table else function("fabs", e)
        if isinstance(e, Const):
            return Const(abs(e.value))
        assert isinstance(e, Op)
        if e.name == "add":
            return Op("add", tuple(size(a) for a in e.args))
        if e.name == "neg":
            return size(e.args[0])
        if e.name == "mul":
            return size(e.args[0]) * size(e.args[1])
        if e.name == "div":
            return size(e.args[0]) / function("fabs", e.args[1])
        if e.name == "select":
            return select(e.args[0], size(e.args[1]), size(e.args[2]))
        return function("fabs", e)

    result: list[Statement] = []

    def sized(target: Var, expr: Expr) -> None:
        own = Var(f"{target.name}.size")
        result.append(Assign(own, size(expr)))
        table[target] = own

    for statement in statements:
        result.append(statement)
        for target, expr in statement.defines:  # what is guessed counts with its magnitude
            sized(target, expr)
    return result, [size(g) for g in goals]
