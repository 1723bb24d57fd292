"""A system that switches as functions of numbers, and which mode is in force at an instant."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from bondloop.engine.analysis import tolerances
from bondloop.engine.analysis.simulation.inputs import Inputs
from bondloop.engine.ir import (
    IMPULSE_SLACK,
    SLACK,
    Blow,
    Const,
    Expr,
    RuleInputs,
    StopRule,
    Var,
    evaluator,
)
from bondloop.engine.passes import (
    all_definitions,
    folded,
    jump_goals,
    port_goals,
    scheduled,
    switching_rules,
    with_sizes,
)
from bondloop.errors import InputError, SolveError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bondloop.engine.ir import Switching, SystemData

# A system that switches as functions of numbers: its equations in one mode, its jumps, its rules.


T = TypeVar("T")

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


def by_part(system: SystemData, values: Sequence[T]) -> Iterator[tuple[Switching, Sequence[T]]]:
    """Yield each part of a system that switches, with what belongs to its rules."""
    first = 0
    for part in system.switching:
        yield part, values[first : first + len(part.rules)]
        first += len(part.rules)


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
            look = RuleInputs(**named, terms=terms, window=window)
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
        for number, (part, own) in enumerate(by_part(system, changes)):
            modes = [Var(f"{r.path}.wanted") for r in part.rules]
            steps, permitted = part.permitted(modes, own, f"switching{number}")
            self._permitted.append(evaluator(steps, [modes, own], permitted))
        self.slices = [slice(p[0], p[-1] + 1) for _, p in by_part(system, range(len(self.rules)))]

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


# Which mode holds at a point of a system that switches, where nothing has moved yet.


def mode_at(run: Settling, x: list[float], t: float = 0.0) -> list[float]:
    """Return states in the mode that holds at a point, whatever mode they came with.

    A simulation learns by a motion that a stop is met. At a point without a motion it is met where its gap is
    used up and something presses on it; short of the gap it is free.
    """
    x = list(x)
    stops = [i for i, rule in enumerate(run.rules.rules) if isinstance(rule, StopRule)]
    if not stops:
        return run.settle(t, x).x
    run.learn(t, x)
    terms = run.ports(t, x)[2]
    for i in stops:
        if x[run.modes.places[i]] == 0 and terms[i][0] < terms[i][1] - run.slacks[i][2]:
            x[run.modes.places[i]] = 1.0
    x = run.settle(t, x).x
    for _ in stops:
        pressed = next((after for i in stops if (after := _closed(run, t, x, i)) is not None), None)
        if pressed is None:
            break
        x = run.settle(t, pressed).x
    return x


def _closed(run: Settling, t: float, x: list[float], i: int) -> list[float] | None:
    """Return the states with one more stop closed, if it is free, met, and pressed once it is closed."""
    place = run.modes.places[i]
    if x[place] == 0:
        return None
    _, flows, terms = run.ports(t, x)
    _, flow_slack, slack = run.slacks[i]
    if terms[i][0] < terms[i][1] - slack or abs(flows[i]) > flow_slack:
        return None
    modes = list(run.modes.of(x))
    modes[i] = 0.0
    if not run.exists(modes):
        return None
    after = run.entered(t, x, tuple(modes))
    run.learn(t, after)
    return after if run.ports(t, after)[0][i] > run.slacks[i][0] else None


def check_gaps(run: Settling, x: list[float], t: float = 0.0) -> None:
    """Refuse a start at which a stop is beyond its gap."""
    terms = run.ports(t, x)[2]
    for rule, of_rule in zip(run.rules.rules, terms, strict=True):
        if not isinstance(rule, StopRule):
            continue
        displacement, gap = of_rule[:2]
        if displacement - gap > tolerances.GAP_EXCESS * (1 + abs(gap)):
            raise InputError(
                f"{run.system.name}: {rule.path} would start {displacement - gap:.6g} beyond its gap of "
                f"{gap:.6g}, at a displacement of {displacement:.6g}; give a larger gap, or a lower "
                f"displacement with initial={{...}}"
            )


def starting_states(system: SystemData) -> dict[Var, float]:
    """Return the states at which a tick of a system starts, stops that are pressed then closed.

    Inputs count as the model says, or as zero; the first tick opens a stop that they pull at.
    """
    states = {v: system.initial_by_var.get(v, 0.0) for v in system.state_vars}
    if not system.switching:
        return states
    inputs = Inputs.constant(system, system.operating_inputs().tolist())
    run = Settling(system, inputs, list(system.values().values()), 1e-8)
    try:
        check_gaps(run, list(states.values()))
        settled = mode_at(run, list(states.values()))
    except (SolveError, ArithmeticError):
        return states  # of inputs that are not the model's own nothing is known yet
    for rule, place in zip(run.rules.rules, run.modes.places, strict=True):
        if isinstance(rule, StopRule):
            states[rule.mode] = settled[place]
    return states


@dataclass
class Settled:
    """What a search for the modes ends with."""

    x: list[float]
    struck: list[int]
    """Elements that were hit."""


class Settling:
    """Finds the modes of a system at any instant, and the functions that hold in them.

    Parameters
    ----------
    system
        What switches.
    inputs
        Its inputs as functions of time.
    parameters
        Values of all its parameters.
    window
        Seconds within which events are one instant.
    """

    def __init__(
        self,
        system: SystemData,
        inputs: Inputs,
        parameters: list[float],
        window: float,
    ) -> None:
        self.system, self.inputs, self.parameters, self.window = system, inputs, parameters, window
        self.failure: SolveError | None = None  # the last one of a step that was tried
        self.evaluations_left: float = math.inf
        self.modes, self.rules = ModeFunctions(system), RuleFunctions(system)
        self.count = len(self.rules.rules)
        contents = [v for part in system.switching for v in part.after]
        places = {v: i for i, v in enumerate(system.state_vars)}
        self.jumping = [(i, places[v]) for i, v in enumerate(contents) if v in places]
        self.carried = [contents.index(v) for v in self.modes.carried]
        self.contents = len(contents)
        self.slacks = [[0.0, 0.0, 0.0] for _ in range(self.count)]  # of effort, flow and first term
        # Only passes by the rules send a stop's flow back: where there are stops, more of them.
        stops = bool(self.modes.rebounds)
        self.most_passes = 16 + 4 * (min(2**self.count, 256) if stops else self.count)

    def rates(self, modes: Key) -> Callable[[float, NDArray[np.float64]], list[float]]:
        """Return the rates of the states in some modes, for a solver."""
        f = self.modes.function(modes, self.system.rate_exprs, "rates")

        def rates(t: float, x: NDArray[np.float64]) -> list[float]:
            self.evaluations_left -= 1
            if self.evaluations_left < 0:
                raise SolveError(f"too many steps are needed, t = {t:.6g} s was reached")
            try:
                return f(x.tolist(), *self.inputs(t), self.parameters)
            except SolveError as error:
                # A step that is tried may lead where no solution can be written: the solver takes a shorter
                # one then; where none is short enough, this error is the reason.
                self.failure = SolveError(f"{self.system.name} at t = {t:.6g} s: {error}")
                return [math.nan] * len(x)

        return rates

    def ports(self, t: float, x: list[float]) -> tuple[list[float], list[float], list[list[float]]]:
        """Return efforts, flows and terms of the elements that switch."""
        n = self.count
        f = self.modes.function(self.modes.of(x), self.modes.port_goals, "ports")
        values = f(x, *self.inputs(t), self.parameters)
        terms, at = [], 2 * n
        for rule in self.rules.rules:
            terms.append(values[at : at + len(rule.terms)])
            at += len(rule.terms)
        return values[:n], values[n : 2 * n], terms

    def rule_inputs(
        self,
        x: list[float],
        ports: tuple[list[float], list[float], list[list[float]]],
        impulses: Sequence[float],
        stages: Sequence[float],
        before: Sequence[float],
    ) -> list[list[float]]:
        """Return what each rule sees, as `RuleFunctions` takes it."""
        n = self.count
        modes, slacks = self.modes.of(x), self.slacks
        efforts, flows, terms = ports
        columns = zip(modes, efforts, flows, impulses[:n], impulses[n:], stages, before, strict=True)
        return [[*seen, *slacks[i], *terms[i]] for i, seen in enumerate(columns)]

    def margins(self, t: float, x: list[float]) -> list[float]:
        """Return how wrong each mode is as the motion goes on."""
        return self.rules.margins(self.window, self._moving(t, x))

    def edges(self, t: float, x: list[float]) -> list[float]:
        """Return the edges of all rules as the motion goes on."""
        return self.rules.edges(self.window, self._moving(t, x))

    def edges_at_zero(self, x: list[float]) -> list[float]:
        """Return the edges in the modes of a point where efforts, flows and terms are all zero."""
        none = [0.0] * self.count
        nothing = none, none, [[0.0] * len(rule.terms) for rule in self.rules.rules]
        return self.rules.edges(self.window, self.rule_inputs(x, nothing, 2 * none, none, none))

    def _moving(self, t: float, x: list[float]) -> list[list[float]]:
        none = [0.0] * self.count
        return self.rule_inputs(x, self.ports(t, x), 2 * none, none, none)

    def learn(self, t: float, x: list[float]) -> None:
        """Take note of how large efforts, flows and displacements are, before they cancel."""
        sizes = self.modes.sizes(self.modes.of(x))(x, *self.inputs(t), self.parameters)
        for i, slacks in enumerate(self.slacks):
            for j, size in enumerate(sizes[3 * i : 3 * i + 3]):
                slacks[j] = max(slacks[j], SLACK * size)

    def present(self, t: float, x: list[float]) -> list[float]:
        """Return states whose dependent contents follow from the others, as they do in the present modes.

        What integration has left between the two would otherwise count as an impulse.
        """
        values = self._contents(t, x)
        x = list(x)
        for i, place in self.jumping:
            x[place] = values[i]
        return x

    def _contents(self, t: float, x: list[float]) -> list[float]:
        f = self.modes.function(self.modes.of(x), self.modes.present_goals, "present")
        return f(x, *self.inputs(t), self.parameters)

    def settle(self, t: float, x: list[float]) -> Settled:
        """Find the modes in force, and make the jumps that lead there."""
        base, now = list(x), list(x)
        values = self._contents(t, x)
        carried = [values[i] for i in self.carried]
        stages, before, rebounds = ([0.0] * self.count for _ in range(3))
        struck: set[int] = set()
        stop_places = [i for i, r in enumerate(self.rules.rules) if r.rebound is not None]
        for number in range(self.most_passes):
            modes = self.modes.of(now)
            jump = self.modes.function(modes, self.modes.jump_goals, "jump")
            sent_back = [rebounds[i] for i in stop_places]
            values = jump(base, *self.inputs(t), self.parameters, sent_back, carried)
            for i, place in self.jumping:
                now[place] = values[i]
            if number:  # at first by the slacks with which the event was located
                self.learn(t, now)
            looks = self.rule_inputs(now, self.ports(t, now), values[self.contents :], stages, before)
            wrong = [float(m > 0) for m in self.rules.margins(self.window, looks)]
            busy = any(Blow.QUIET < s < Blow.HIT for s in stages)
            if not any(wrong) and not busy:
                return Settled(now, sorted(struck))
            if number >= self.most_passes // 2 and any(wrong):
                wrong = [float(i == wrong.index(1.0)) for i in range(self.count)]
            if Blow.REBOUNDING in stages:
                base, carried = list(now), [values[i] for i in self.carried]
            new, stages, before, rebounds = self.rules.outcomes(self.window, looks, wrong)
            struck |= {i for i, s in enumerate(stages) if s > Blow.QUIET}
            for place, mode in zip(self.modes.places, new, strict=True):
                now[place] = base[place] = mode
        found = self._search(t, x, base, carried)
        if found is None:
            raise SolveError(self._unsettled(t, now))
        return Settled(found, sorted(struck))

    def _search(
        self, t: float, x: list[float], base: list[float], carried: list[float]
    ) -> list[float] | None:
        """Try every combination of modes that has a causality, those first that change least.

        Where some combinations have none, the passes may go in circles; see `mode_resolution`.
        """
        n, none, known = self.count, [0.0] * self.count, self.slacks
        for modes in self._combinations(self.modes.of(x)):
            now, values, sizes = self._changed(t, base, carried, modes)
            self.slacks = [list(of_rule) for of_rule in known]
            self.learn(t, now)
            seen = self.slacks
            # What rounding leaves of an impulse is no impulse.
            spread = [IMPULSE_SLACK * size / self.window for size in sizes[self.contents :]]
            self.slacks = [[e + spread[i], f + spread[n + i], d] for i, (e, f, d) in enumerate(seen)]
            looks = self.rule_inputs(now, self.ports(t, now), values[self.contents :], none, none)
            if max(self.rules.margins(self.window, looks)) <= 0:
                self.slacks = seen
                return now
        self.slacks = known
        return None

    def _changed(
        self, t: float, base: list[float], carried: list[float], modes: Key
    ) -> tuple[list[float], list[float], list[float]]:
        """Change into some modes; return the states, what the jump computes, and the sizes of that."""
        now = list(base)
        for place, mode in zip(self.modes.places, modes, strict=True):
            now[place] = mode
        arguments = (now, *self.inputs(t), self.parameters, [0.0] * len(self.modes.rebounds), carried)
        values = self.modes.function(modes, self.modes.jump_goals, "jump")(*arguments)
        sizes = self.modes.jump_sizes(modes)(*arguments)
        after = list(now)
        for i, place in self.jumping:
            after[place] = values[i]
        return after, values, sizes

    def entered(self, t: float, x: list[float], modes: Key) -> list[float]:
        """Return the states after a change into some modes, whether or not they hold."""
        values = self._contents(t, x)
        return self._changed(t, x, [values[i] for i in self.carried], modes)[0]

    def exists(self, modes: Sequence[float]) -> bool:
        """Whether modes have a causality."""
        parts = by_part(self.system, modes)
        return not any(tuple(int(m != 0) for m in own) in part.refused for part, own in parts)

    def _combinations(self, old: Key) -> list[Key]:
        """Return the combinations of modes that have a causality, those first that change least."""
        parts = [
            [
                modes
                for modes in itertools.product(*(map(float, rule.words) for rule in part.rules))
                if tuple(int(m != 0) for m in modes) in part.modes
            ]
            for part in self.system.switching
        ]
        every = (tuple(itertools.chain(*of_parts)) for of_parts in itertools.product(*parts))
        several = list(itertools.islice(every, tolerances.MODE_COMBINATIONS))
        return sorted(several, key=lambda modes: sum(a != b for a, b in zip(modes, old, strict=True)))

    def _unsettled(self, t: float, x: list[float]) -> str:
        words, reasons = [], []
        for part, own in by_part(self.system, self.modes.of(x)):
            words.append(part.in_words(own))
            reasons += [f"{part.in_words(bits)}: {why}" for bits, why in list(part.refused.items())[:1]]
        why = f"; a mode that has no causality is {reasons[0]}" if reasons else ""
        return (
            f"{self.system.name}: no consistent mode was found at t = {t:.9g} s "
            f"(last tried: {', '.join(words)}){why}; look for sources that are joined "
            "with neither a resistor nor a storage between them"
        )
