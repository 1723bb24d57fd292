"""A system that switches as functions of numbers: its equations in one mode, its jumps, its rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from bondloop.engine.ir import Const, Expr, Look, Var, evaluator
from bondloop.engine.passes import (
    all_definitions,
    folded,
    jump_goals,
    port_goals,
    scheduled,
    switching_rules,
    with_sizes,
)

if TYPE_CHECKING:
    from bondloop.engine.ir import SystemData


Key = tuple[float, ...]


class ModeFunctions:
    """The functions of a system in each of its modes, made when they are first asked for.

    Loops in them start from their last solution.

    In one mode only what it needs is computed, so that a law that has no value in another does no harm.
    """

    def __init__(self, system: SystemData) -> None:
        self.system = system
        self.rules = switching_rules(system)
        self.places = [system.state_vars.index(r.mode) for r in self.rules]
        self.rebounds = tuple(r.rebound for r in self.rules if r.rebound is not None)
        self.jump_goals, self.port_goals = jump_goals(system), port_goals(system)
        self.size_goals = [r.sized for r in self.rules]
        self.carried = tuple(v for part in system.switching for v in part.carried)
        self.present_goals = [part.present[v] for part in system.switching for v in part.after]
        self.definitions = all_definitions(system)
        self._programs: dict[Key, dict[Var, Expr]] = {}
        self._functions: dict[tuple[Key, str], Callable[..., list[float]]] = {}

    def of(self, x: Sequence[float]) -> Key:
        """Return the modes among the states."""
        return tuple(float(round(x[i])) for i in self.places)

    def function(self, modes: Key, goals: Sequence[Expr], key: str) -> Callable[..., list[float]]:
        """Return a function ``f(x, u, input_rates, parameters)`` of expressions in some modes."""
        known = self._functions.get((modes, key))
        if known is None:
            known = self._functions[modes, key] = partial(self.made(modes, goals), memory={})
        return known

    def made(self, modes: Key, goals: Sequence[Expr], *, sizes: bool = False) -> Callable[..., list[float]]:
        """Make a function of expressions in some modes, or of their sizes.

        That of the jumps takes the rebounds and the contents that are no states, too.
        """
        system = self.system
        constants: dict[Var, Expr] = {r.mode: Const(m) for r, m in zip(self.rules, modes, strict=True)}
        program = self._programs.get(modes)
        if program is None:
            program = {v: folded(e, constants) for v, e in self.definitions.items()}
            self._programs[modes] = program
        ends = [folded(g, constants) for g in goals]
        arguments = [
            system.state_vars,
            system.input_vars,
            tuple(system.input_rates.values()),
            tuple(system.parameters_by_var),
        ]
        if goals is self.jump_goals:
            arguments += [self.rebounds, self.carried]
        statements = scheduled(system, ends, program)
        if sizes:
            statements, ends = with_sizes(statements, ends)
        return evaluator(statements, arguments, ends)

    def sizes(self, modes: Key) -> Callable[..., list[float]]:
        """Return a function of the sizes of what the rules compare, three numbers a rule."""
        return self._sizes(modes, [g for three in self.size_goals for g in three], "sizes")

    def jump_sizes(self, modes: Key) -> Callable[..., list[float]]:
        """Return a function of the sizes of what the jumps compute; its arguments are theirs."""
        return self._sizes(modes, self.jump_goals, "jump sizes")

    def _sizes(self, modes: Key, goals: Sequence[Expr], key: str) -> Callable[..., list[float]]:
        known = self._functions.get((modes, key))
        if known is None:
            known = partial(self.made(modes, goals, sizes=True), memory={})
            self._functions[modes, key] = known
        return known


class RuleFunctions:
    """The rules as functions of numbers: margins, and what follows from a pass."""

    def __init__(self, system: SystemData) -> None:
        self.rules = switching_rules(system)
        words = ("mode", "effort", "flow", "effort_impulse", "flow_impulse", "stage", "before")
        slacks = ("effort_slack", "flow_slack", "term_slack")
        window = Var("window")
        arguments: list[Sequence[Var]] = [(window,)]
        margins: list[Expr] = []
        edges: list[Expr] = []
        self.owners: list[int] = []  # the place of each edge's rule
        results: list[Expr] = []
        changes = [Var(f"{rule.path}.changes") for rule in self.rules]
        for place, (rule, change) in enumerate(zip(self.rules, changes, strict=True)):
            named = {w: Var(f"{rule.path}.{w}") for w in (*words, *slacks)}
            terms = tuple(Var(f"{rule.path}.term{i}") for i in range(len(rule.terms)))
            look = Look(**named, terms=terms, window=window)
            arguments.append((*named.values(), *terms))
            margins.append(rule.margin(look))
            edges += rule.edges(look)
            self.owners += [place] * len(rule.edges(look))
            outcome = rule.outcome(look, change)
            results += [outcome.mode, outcome.stage, outcome.before, outcome.rebound]
        self._margins = evaluator([], arguments, margins)
        self._edges = evaluator([], arguments, edges)
        self._outcomes = evaluator([], [*arguments, changes], results)
        self._permitted = []
        first = 0
        for number, part in enumerate(system.switching):
            modes = [Var(f"{r.path}.wanted") for r in part.rules]
            own = changes[first : first + len(part.rules)]
            steps, permitted = part.permitted(modes, own, f"switching{number}")
            self._permitted.append(evaluator(steps, [modes, own], permitted))
            first += len(part.rules)
        self.slices = []
        first = 0
        for part in system.switching:
            self.slices.append(slice(first, first + len(part.rules)))
            first += len(part.rules)

    def margins(self, window: float, looks: list[list[float]]) -> list[float]:
        """Return how wrong each mode is."""
        return self._margins([window], *looks)

    def edges(self, window: float, looks: list[list[float]]) -> list[float]:
        """Return the edges, rule by rule."""
        return self._edges([window], *looks)

    def outcomes(
        self, window: float, looks: list[list[float]], changes: list[float]
    ) -> tuple[list[float], list[float], list[float], list[float]]:
        """Return modes (those permitted), stages, flows before blows, and rebounds."""
        values = self._outcomes([window], *looks, changes)
        modes, stages, before, rebounds = (values[i::4] for i in range(4))
        for own, permitted in zip(self.slices, self._permitted, strict=True):
            modes[own] = permitted(modes[own], changes[own])
        return modes, stages, before, rebounds
