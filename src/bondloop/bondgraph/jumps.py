"""What the storages hold after a change into a mode, derived from the mode's own equations.

With the contents s of independent storages, the contents d = g(s) of dependent ones and rates
``ds/dt = f(s) + N dd/dt`` an impulse leaves s - N d as it was. So ``s⁺ = s⁻ + N (g(s⁺) - d⁻)``: an
algebraic loop like any other. N is never formed: every assignment through which an impulse passes is
differentiated along it. What is finite (springs, resistors, sources) gives no impulse, and so plays no part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.program.calculus import tangent
from bondloop.program.expr import Expr, Var, substitute, variables

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bondloop.bondgraph.derive import Derivation
    from bondloop.bondgraph.parts import Part

__all__ = ["DEPENDENT", "Jump", "jump"]

DEPENDENT = ".dependent"
"""Follows the name of a content where it is assigned: by its own name it is a state of the whole."""


@dataclass(frozen=True)
class Jump:
    """A change into one mode.

    Attributes
    ----------
    after
        By name of a state, what it is afterwards, in terms of all states before.
    effort_impulses, flow_impulses
        Those at the elements that switch, counted into them.
    definitions
        The assignments that these need, besides those of the mode.
    tears
        Where its loops are best cut.
    """

    after: dict[str, Expr]
    effort_impulses: dict[Part, Expr]
    flow_impulses: dict[Part, Expr]
    definitions: dict[Var, Expr]
    tears: list[Var]


def jump(d: Derivation) -> Jump:
    """Write down the change into the mode of a derivation that is finished.

    Its dependent contents are renamed: by their own names they are states of the whole.
    """
    contents = {dependent: Var(dependent.name) for dependent in d.rate_goals}
    for dependent in d.rate_goals:
        dependent.name += DEPENDENT
    program = {v: e for v, e in d.definitions.items() if v not in set(d.rate_goals.values())}
    impulses: dict[Var, Expr] = {
        rate: Var(f"impulse of {contents[dependent].name}") for dependent, rate in d.rate_goals.items()
    }
    reached = _reached(program, impulses)
    impulses.update({v: Var(f"impulse through {v.name}") for v in reached})
    # Where the change is looked at: states with an impulse, and stops, are not what they were.
    after: dict[Var, Expr] = {}
    for s, rate in d.states.items():
        if any(v in impulses for v in variables(rate)):
            after[s] = Var(f"{s.name}.after")
    rebounds = {p.rebound for p in d.switching_ports.values() if p.rebound is not None}
    moved = _reached(program, {*after, *rebounds})
    table: dict[Var, Expr] = {**after, **{v: Var(f"{v.name}.after") for v in moved}}
    definitions: dict[Var, Expr] = {}

    def define(target: Expr, expr: Expr) -> None:
        assert isinstance(target, Var)
        definitions[target] = expr

    def through(expr: Expr) -> Expr:
        return substitute(tangent(expr, impulses), table)

    for v in moved:
        define(table[v], substitute(program[v], table))
    for v in reached:
        define(impulses[v], through(program[v]))
    for s, new in after.items():
        define(new, s + through(d.states[s]))
    for dependent, rate in d.rate_goals.items():
        define(impulses[rate], table.get(dependent, dependent) - contents[dependent])
    ends: dict[str, Expr] = {s.name: after.get(s, s) for s in d.states}
    ends.update({contents[v].name: table.get(v, v) for v in d.rate_goals})
    return Jump(
        ends,
        {part: through(p.effort) for part, p in d.switching_ports.items()},
        {part: through(p.flow) for part, p in d.switching_ports.items()},
        definitions,
        [v for v in (impulses[r] for r in d.rate_goals.values()) if isinstance(v, Var)],
    )


def _reached(program: Mapping[Var, Expr], seeds: Iterable[Var]) -> list[Var]:
    """Return the assigned variables that depend on some others, in the order of the program."""
    readers: dict[Var, list[Var]] = {}
    for v, e in program.items():
        for w in variables(e):
            readers.setdefault(w, []).append(v)
    seen = set(seeds)
    work = list(seen)
    while work:
        for v in readers.get(work.pop(), ()):
            if v not in seen:
                seen.add(v)
                work.append(v)
    return [v for v in program if v in seen]
