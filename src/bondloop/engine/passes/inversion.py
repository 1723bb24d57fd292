"""Inverting a system: the inputs that make its outputs follow given motions.

On a bond graph this is bicausality (Gawthrop 1995; Ngwompo and Scavarda): both variables of the output port
are imposed, both of the input port come out, and the storages on the path between them change to derivative
causality. Here the same is done on the program: the assignments along the path from output to input are
turned round one after the other. A storage met on the way loses its state; its content follows from the
imposed motion, and its rate gives the next equation to turn round. What states remain are the zero dynamics.
With several outputs this is the structure algorithm (Silverman 1969; for what is not linear Singh 1981): an
output whose inputs all serve others already goes on to its next rate.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from bondloop.engine.ir import (
    Const,
    Expr,
    Interface,
    Inversion,
    Op,
    SystemData,
    Turn,
    Var,
    components,
    quantity_of,
    substitute,
)
from bondloop.engine.passes.time_derivative import add_rates, rate_variable
from bondloop.engine.passes.turning import GenericPoint, path_between, reach, turn_round
from bondloop.errors import InputError, SolveError, unknown_name

if TYPE_CHECKING:
    from bondloop.engine.ir import Expr


S = TypeVar("S", bound=SystemData)


def inverse_system(system: S, outputs: Sequence[str], inputs: Sequence[str]) -> S:
    """Return the system whose inputs are the named outputs, and whose outputs are the named inputs.

    Parameters
    ----------
    system
        What to invert.
    outputs
        Paths of the variables that are to follow given motions.
    inputs
        As many inputs, which are to be found.
    """
    system.refuse_switching("an inverse")
    system.refuse_memory("an inverse")
    outputs, inputs = _names("output", outputs), _names("input", inputs)
    by_name = {u.name: u for u in system.input_vars}
    for name in inputs:
        if name not in by_name:
            raise InputError(unknown_name("input", name, by_name, where=system.name))
    commands = [by_name[name] for name in inputs]
    imposed = {path: system.expression(path) for path in outputs}
    others = {n: e for n, e in system.output_exprs.items() if n not in imposed and n not in by_name}
    return invert_for(system, imposed, commands, {**dict(zip(inputs, commands, strict=True)), **others})


def _names(kind: str, given: str | Sequence[str]) -> list[str]:
    names = [given] if isinstance(given, str) else list(given)
    if not names or len(set(names)) < len(names):
        raise InputError(f"inverse: expected the name of at least one {kind}, each once; found {names}")
    return names


def invert_for(
    system: S, imposed: Mapping[str, Expr], commands: Sequence[Var], outputs: Mapping[str, Expr]
) -> S:
    """Invert for expressions by name.

    Parameters
    ----------
    system
        What to invert.
    imposed
        What is to follow given motions, by the names that these get.
    commands
        The inputs that are to be found.
    outputs
        The outputs of the inverse.
    """
    if len(imposed) != len(commands):
        raise SolveError(
            f"{system.name} cannot be inverted: {len(imposed)} outputs ({', '.join(imposed)}) are to be "
            f"imposed by {len(commands)} inputs ({', '.join(u.name for u in commands)}); it takes one input "
            "for each output"
        )
    # An input whose rate acts (it drives a storage in derivative causality) is found through its rate.
    rated = {u: r for u, r in system.input_rates.items() if u in commands}
    plant = system
    if rated:
        states: dict[Var, Expr] = dict(zip(system.state_vars, system.rate_exprs, strict=True))
        plant = system.replaced(
            states=states | dict(rated),
            inputs=[*(u for u in system.input_vars if u not in rated), *rated.values()],
            initial={**system.initial_by_var, **{u: system.input_defaults.get(u.name, 0.0) for u in rated}},
            input_rates={u: r for u, r in system.input_rates.items() if u not in rated},
        )
    sought = [rated.get(u, u) for u in commands]
    _check_paths(plant, imposed, sought)
    motions = {name: Var(name, quantity=quantity_of(e)) for name, e in imposed.items()}
    imposing = SystemData("motions", Interface(inputs=list(motions.values())))
    result = invert(
        plant, sought, list(imposed.values()), list(motions.values()), imposing, {},
        all_rates=True, what=system.name,
    )  # fmt: skip
    return _finished(plant, result, imposed, motions, sought, outputs)


def _check_paths(system: SystemData, imposed: Mapping[str, Expr], commands: Sequence[Var]) -> None:
    """Refuse an output that no input acts on, and an input that acts on none of the outputs."""
    flows = {**system.definitions, **dict(zip(system.state_vars, system.rate_exprs, strict=True))}
    reached = {name: reach([expr], flows) for name, expr in imposed.items()}
    for name, behind in reached.items():
        if not any(u in behind for u in commands):
            raise SolveError(
                f"{system.name} cannot be inverted: there is no path from "
                f"{', '.join(u.name for u in commands)} to {name}; choose an input that acts on it"
            )
    for u in commands:
        if not any(u in behind for behind in reached.values()):
            raise SolveError(
                f"{system.name} cannot be inverted: there is no path from {u.name} to "
                f"{', '.join(imposed)}; choose an output that it acts on"
            )


def _finished(
    system: S,
    result: Inverse,
    imposed: Mapping[str, Expr],
    motions: Mapping[str, Var],
    sought: Sequence[Var],
    outputs: Mapping[str, Expr],
) -> S:
    """Assemble the inverse; all rates that it needs are inputs."""
    others = [u for u in system.input_vars if u not in sought]
    # A variable that is imposed under its own name is the input itself.
    same: dict[Var, Expr] = {
        motion: v for motion, v in zip(motions.values(), imposed.values(), strict=True)
        if isinstance(v, Var) and v.name == motion.name and result.definitions[v] is motion
    }  # fmt: skip
    original = {*system.definitions, *system.state_vars, *sought}
    needed = reach([*result.states.values(), *outputs.values(), *original], result.definitions)
    definitions, copies = merged(
        {
            v: substitute(e, same)
            for v, e in result.definitions.items()
            if v in needed and v not in same.values()
        },
        original,
    )
    same |= copies
    sources = [*motions.values(), *others]
    rates = _rates(sources, result.input_rates)
    motion_inputs = [same.get(m, m) for m in motions.values()]
    return system.replaced(
        name=f"{system.name}.inverse",
        states={s: substitute(e, same) for s, e in result.states.items()},
        inputs=[v for v in (*motion_inputs, *others, *(r for r, _ in rates)) if isinstance(v, Var)],
        outputs={name: substitute(e, same) for name, e in outputs.items()},
        definitions=definitions,
        tears=[*system.tears, *result.dependent],
        initial={s: x for s, x in system.initial_by_var.items() if s in result.states},
        memories={},
        dots={},
        input_rates={},
        input_defaults={u: system.input_defaults.get(u.name, 0.0) for u in others},
        dependent=[*system.dependent, *(s.name.rpartition(".")[0] for s in result.dependent)],
        remarks=[*system.remarks, *_singular(result)],
        divisors=(),  # what was divided by may be what the inverse multiplies by
        switching=(),
        held=(),  # what would switch there is not what is imposed here
        inversion=Inversion(
            {u.name: sum(of is u for _, of in rates) for u in sources},
            result.turns,
            result.singular,
            tuple(held.rule for held in system.modes.held),
        ),
    )


def _singular(result: Inverse) -> list[str]:
    if not result.singular:
        return []
    names = ", ".join(result.singular)
    return [f"at the start the inverse is singular: {names} cannot be found there; start it elsewhere"]


def _rates(sources: Sequence[Var], rates: Mapping[Var, Var]) -> list[tuple[Var, Var]]:
    """Return the rates of inputs, first ones first, each with the input."""
    result: list[tuple[Var, Var]] = []
    level = [(u, u) for u in sources]
    while level:
        level = [(rates[at], u) for at, u in level if at in rates]
        result += level
    return result


def merged(definitions: Mapping[Var, Expr], kept: Container[Var]) -> tuple[dict[Var, Expr], dict[Var, Expr]]:
    """Return the definitions without repetitions, and what stands for each variable left out.

    Parameters
    ----------
    definitions
        A program.
    kept
        Variables that stay, whatever they are equal to.
    """
    same: dict[Var, Expr] = {}
    known: dict[Hashable, Var] = {}
    result: dict[Var, Expr] = {}
    for component in components(definitions, definitions):
        for v in component:
            expr = substitute(definitions[v], same)
            key = _key(expr)
            if v in kept or len(component) > 1:
                known.setdefault(key, v)
            elif isinstance(expr, Var):
                same[v] = expr
                continue
            elif key in known:
                same[v] = known[key]
                continue
            known.setdefault(key, v)
            result[v] = expr
    return {v: substitute(result[v], same) for v in definitions if v in result}, same


def _key(expr: Expr) -> Hashable:
    """Return what two expressions have in common exactly if they are the same."""
    if isinstance(expr, Op):
        return (expr.identity, *map(_key, expr.args))
    return expr.value if isinstance(expr, Const) else expr


@dataclass(frozen=True)
class Inverse:
    """Result of an inversion: a program without the inverted system's inputs.

    Attributes
    ----------
    states
        Remaining states with their rates: the imposing system's, then the zero dynamics.
    definitions
        The program; the former inputs are now assigned.
    dependent
        States that became assigned: storages that changed to derivative causality.
    order
        For every output the number of storages on its path: its relative degree.
    input_rates
        Inputs of the imposing system whose rates the commands need, with the variables of those rates.
    turns
        What was turned round, in order.
    singular
        Commands and states that cannot be found where the model starts, though elsewhere they can.
    """

    states: dict[Var, Expr]
    definitions: dict[Var, Expr]
    dependent: tuple[Var, ...]
    order: tuple[int, ...]
    input_rates: dict[Var, Var]
    turns: tuple[Turn, ...]
    singular: tuple[str, ...]


def invert(  # noqa: PLR0913 - two systems, and how they are joined
    plant: SystemData,
    commands: Sequence[Var],
    outputs: Sequence[Expr],
    imposed: Sequence[Expr],
    imposing: SystemData,
    links: Mapping[Var, Expr],
    *,
    measured: Sequence[Var] = (),
    all_rates: bool = False,
    what: str = "the transfer system",
) -> Inverse:
    """Find the commands with which the plant's outputs equal the imposed motions.

    Parameters
    ----------
    plant
        The system to invert.
    commands
        Its inputs that are to be found, as many as outputs.
    outputs
        Expressions of the plant that must equal ...
    imposed
        ... these expressions of the imposing system, whose rates are taken from its own equations.
    imposing
        The system that prescribes the motion.
    links
        What the plant's other inputs are.
    measured
        Inputs of the imposing system whose rates cannot be known; those of the others may be used once.
    all_rates
        Whether rates of all inputs, of any order, may be used.
    what
        What the plant is called when it cannot be inverted.
    """
    return _Inversion(plant, commands, imposing, links, measured, all_rates, what).run(outputs, imposed)


class _Inversion:
    def __init__(
        self,
        plant: SystemData,
        commands: Sequence[Var],
        imposing: SystemData,
        links: Mapping[Var, Expr],
        measured: Sequence[Var],
        all_rates: bool,
        what: str,
    ) -> None:
        self.definitions: dict[Var, Expr] = {**imposing.definitions, **plant.definitions, **links}
        self.states = dict(zip(imposing.state_vars, imposing.rate_exprs, strict=True))
        self.plant_states = dict(zip(plant.state_vars, plant.rate_exprs, strict=True))
        self.parameters = {**imposing.parameters_by_var, **plant.parameters_by_var}
        self.others = [u for u in plant.input_vars if u not in links and u not in commands]
        self.inputs = [*imposing.input_vars, *self.others]
        self.remaining = list(commands)
        self.original = {*self.definitions, *self.plant_states, *commands}
        self.what = what
        unknowable = set() if all_rates else {*measured, *self.others}
        known = {**imposing.input_rates, **(plant.input_rates if all_rates else {})}
        self.rates = NeededRates(
            known,
            unknowable,
            set(self.inputs if all_rates else imposing.input_vars),
            what,
            any_order=all_rates,
        )
        start = {s: x.initial_by_var.get(s, 0.0) for x in (imposing, plant) for s in x.state_vars}
        start |= {u: x.input_defaults.get(u.name, 0.0) for x in (imposing, plant) for u in x.input_vars}
        start = {v: value for v, value in start.items() if v not in links}
        self.points = [
            GenericPoint(start, self.parameters, 1),
            GenericPoint(start, self.parameters, 2, other_constants=True),
        ]
        self.start = GenericPoint(start, self.parameters, 3, at_start=True)
        self.singular: list[str] = []

    def run(self, outputs: Sequence[Expr], imposed: Sequence[Expr]) -> Inverse:
        """Work off the outputs, and the rates of what they leave undecided."""
        dependent: list[Var] = []
        turns: list[Turn] = []
        order = [0] * len(outputs)
        todo: list[tuple[int, Var | None, Expr, Expr]] = [
            (i, None, value, expr) for i, (value, expr) in enumerate(zip(imposed, outputs, strict=True))
        ]
        while todo:
            followed: dict[Var, tuple[int, Expr]] = {}
            for number, storage, value, expr in todo:
                unknown, turn = self._turned(number, storage, outputs[number], value, expr)
                turns.append(turn)
                if unknown in self.remaining:
                    self.remaining.remove(unknown)
                else:
                    followed[unknown] = number, self.plant_states.pop(unknown)
                    order[number] += 1
            # All at once: rates taken one by one would not know of each other's equations.
            required = self._required(list(followed))
            dependent += followed
            todo = [(number, s, required[s], rate) for s, (number, rate) in followed.items()]
        if self.remaining:
            names = ", ".join(u.name for u in self.remaining)
            raise SolveError(f"{self.what} has more commands than outputs; {names} is left over")
        states = {**self.states, **self.plant_states}
        return Inverse(
            states,
            self.definitions,
            tuple(dependent),
            tuple(order),
            self.rates.known,
            tuple(turns),
            tuple(self.singular),
        )

    def _turned(
        self, number: int, storage: Var | None, output: Expr, value: Expr, expr: Expr
    ) -> tuple[Var, Turn]:
        """Turn one equation round; return the command or state that it gives now."""
        for point in (*self.points, self.start):
            point.extend(self.definitions)
        command, value, expr = self._command(number, output, value, expr)
        unknown = self._storage(number, output, value, expr) if command is None else command
        if not self.start.acts(expr - value, self.definitions, [unknown]):
            self.singular.append(unknown.name)
        if unknown not in reach([expr], self.definitions):  # it acts on what is required alone
            value, expr = Const(0.0), expr - value
        path = path_between(expr, unknown, self.definitions, [self.points[0], self.start])
        turn_round(path, value, expr, self.definitions, self.parameters)
        return unknown, Turn(number, storage, path)

    def _acting(self, goal: Expr, candidates: Sequence[Var]) -> list[set[Var]]:
        return [p.acts(goal, self.definitions, candidates) for p in self.points]

    def _command(self, number: int, output: Expr, value: Expr, expr: Expr) -> tuple[Var | None, Expr, Expr]:
        """Choose the command that an equation gives, if one acts on it; what cancels is taken out."""
        here, elsewhere = self._acting(expr - value, self.remaining)
        if here:
            ready = self.start.acts(expr - value, self.definitions, self.remaining) & here or here
            return next(u for u in self.remaining if u in ready), value, expr
        if elsewhere:
            names = ", ".join(u.name for u in self.remaining if u in elsewhere)
            raise SolveError(
                f"{self.what} cannot be inverted: with these values of its parameters {names} has no effect "
                f"on its output {number + 1} ({output}) where for others it has, so the relative degree is "
                "not defined; remove what has the coefficient zero, or change the values that cancel"
            )
        ghosts = [u for u in self.remaining if u in reach([expr, value], self.definitions)]
        if ghosts:  # whatever they are, they make no difference: leave them out, with their rates
            value, expr = (_without(e, ghosts, self.definitions) for e in (value, expr))
            for point in (*self.points, self.start):
                point.extend(self.definitions)
        return None, value, expr

    def _storage(self, number: int, output: Expr, value: Expr, expr: Expr) -> Var:
        """Choose the storage whose content an equation gives."""
        here = self._acting(expr - value, list(self.plant_states))[0]
        storages = [s for s in self.plant_states if s in here]
        if not storages:
            left = ", ".join(u.name for u in self.remaining)
            raise SolveError(
                f"{self.what} cannot be inverted: its output {number + 1} ({output}) depends neither on a "
                f"command that is left ({left or 'all are used up'}) nor on a storage that could follow it: "
                "there is no path between them, or another output has taken it"
            )
        # At the start, where the model rests, some may not act: what turns a lever that stands still.
        ready = self.start.acts(expr - value, self.definitions, storages)
        storages = [s for s in storages if s in ready] or storages
        # The storage that a command moves at once lies on the shortest path.
        wanted = set(self.remaining)
        near = [s for s in storages if wanted & set(reach([self.plant_states[s]], self.definitions))]
        return (near or storages)[0]

    def _required(self, followed: Sequence[Var]) -> dict[Var, Var]:
        """Return the variables of the rates that the contents of storages must have."""
        required = {state: rate_variable(state) for state in followed}
        if not required:
            return {}
        inputs = dict.fromkeys((*self.inputs, *self.remaining, *self.rates.known.values()))
        _, needed = add_rates(
            required, self.definitions, {**self.states, **self.plant_states}, inputs, self.parameters
        )
        self.rates.take(needed, followed, self.definitions)
        # Rates that have been taken before would double the program with every round.
        kept = {*self.original, *required.values()}
        live = reach(kept, self.definitions)
        definitions, _ = merged({v: e for v, e in self.definitions.items() if v in live}, kept)
        self.definitions.clear()
        self.definitions.update(definitions)
        return required


def _without(expr: Expr, ghosts: Sequence[Var], definitions: dict[Var, Expr]) -> Expr:
    """Copy what leads from some variables to an expression, with zero in their place."""
    copies: dict[Var, Expr] = dict.fromkeys(ghosts, Const(0.0))
    touched = [
        v
        for v in reach([expr], definitions)
        if v in definitions and not reach([definitions[v]], definitions).keys().isdisjoint(ghosts)
    ]
    copies |= {v: Var(f"{v.name} (without {', '.join(u.name for u in ghosts)})") for v in touched}
    for v in touched:
        copy = copies[v]
        assert isinstance(copy, Var)
        definitions[copy] = substitute(definitions[v], copies)
    return substitute(expr, copies)


class NeededRates:
    """Rates of inputs that an inversion has come to need: one variable for each input, or a refusal."""

    def __init__(
        self,
        known: dict[Var, Var],
        unknowable: set[Var],
        inputs: set[Var],
        what: str,
        *,
        any_order: bool,
    ) -> None:
        self.known, self.unknowable, self.inputs, self.what = known, unknowable, inputs, what
        self.any_order = any_order

    def take(self, needed: Mapping[Var, Var], states: Sequence[Var], definitions: dict[Var, Expr]) -> None:
        """Take in the rates that the motions of storages need."""
        names = ", ".join(s.name for s in states)
        twice = [u for u, rate in self.known.items() if rate in needed]
        if twice and not self.any_order:
            raise SolveError(
                f"{self.what} cannot be followed: the motion of {names} would need the second rate "
                f"of {', '.join(u.name for u in twice)}; let it act through a storage of the numerical half"
            )
        allowed = {*self.inputs, *(self.known.values() if self.any_order else ())}
        bad = [u for u in needed if u in self.unknowable or u not in allowed]
        if bad:
            raise SolveError(
                f"{self.what} cannot be followed: the motion of {names} would need the rate of "
                f"{', '.join(u.name for u in bad)}, which acts on the motion after fewer storages than the "
                "command "
                "does (the shortest causal path of the numerical half, or of the load on the transfer "
                "system, is "
                "shorter than the command's; Gawthrop 2005, assumption 5)"
            )
        for u, rate in needed.items():
            if u in self.known:
                definitions[rate] = self.known[u]
            else:
                self.known[u] = rate
