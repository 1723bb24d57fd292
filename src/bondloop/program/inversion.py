"""Inverting a system: the inputs that make its outputs follow given motions.

On a bond graph this is bicausality (Gawthrop 1995; Ngwompo and Scavarda): both variables of the output port
are imposed, both of the input port come out, and the storages on the path between them change to derivative
causality. Here the same is done on the program: the assignments along the path from output to input are
turned round one after the other. A storage met on the way loses its state; its content follows from the
imposed motion, and its rate gives the next equation to turn round. What states remain are the zero dynamics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.errors import SolveError
from bondloop.program.expr import Const, Expr, Op, Var, variables
from bondloop.program.time_derivative import add_rates

if TYPE_CHECKING:
    from bondloop.program.system import System

__all__ = ["Inverse", "invert"]


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
    """

    states: dict[Var, Expr]
    definitions: dict[Var, Expr]
    dependent: tuple[Var, ...]
    order: tuple[int, ...]
    input_rates: dict[Var, Var]


def invert(
    plant: System,
    commands: Sequence[Var],
    outputs: Sequence[Expr],
    imposed: Sequence[Expr],
    imposing: System,
    links: Mapping[Var, Expr],
    *,
    measured: Sequence[Var] = (),
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
    """
    definitions: dict[Var, Expr] = {**imposing.definitions, **plant.definitions, **links}
    states = dict(zip(imposing.state_vars, imposing.rate_exprs, strict=True))
    plant_states = dict(zip(plant.state_vars, plant.rate_exprs, strict=True))
    parameters = {**imposing.parameters_by_var, **plant.parameters_by_var}
    others = [u for u in plant.input_vars if u not in links and u not in commands]
    rates = _Rates(dict(imposing.input_rates), {*measured, *others}, set(imposing.input_vars))
    dependent: list[Var] = []
    order = [0] * len(outputs)
    todo = list(zip(range(len(outputs)), imposed, outputs, strict=True))
    remaining = list(commands)
    while todo:
        number, value, expr = todo.pop(0)
        reach = _reach(expr, definitions)
        direct = [u for u in remaining if u in reach]
        if direct:
            _turn_round(direct[0], value, expr, definitions)
            remaining.remove(direct[0])
            continue
        storages = [s for s in plant_states if s in reach]
        if not storages:
            raise SolveError(
                f"the transfer system cannot be inverted: its output {number + 1} ({expr}) depends neither "
                "on a "
                f"command ({', '.join(u.name for u in remaining) or 'all are used up'}) nor on a storage "
                "that "
                "could follow it"
            )
        # The storage that a command moves at once lies on the shortest path.
        near = [s for s in storages if not _reach(plant_states[s], definitions).isdisjoint(remaining)]
        state = (near or storages)[0]
        rate = plant_states.pop(state)
        _turn_round(state, value, expr, definitions)
        dependent.append(state)
        order[number] += 1
        required = Var(f"d/dt {state.name} (required)")
        inputs = dict.fromkeys((*imposing.input_vars, *others, *remaining, *rates.known.values()))
        _, found = add_rates({state: required}, definitions, {**states, **plant_states}, inputs, parameters)
        rates.take(found, state, definitions)
        todo.append((number, required, rate))
    if remaining:
        names = ", ".join(u.name for u in remaining)
        raise SolveError(f"the transfer system has more commands than outputs; {names} is left over")
    return Inverse({**states, **plant_states}, definitions, tuple(dependent), tuple(order), rates.known)


class _Rates:
    """Rates of inputs that an inversion has come to need: one variable for each input, or a refusal."""

    def __init__(self, known: dict[Var, Var], unknowable: set[Var], inputs: set[Var]) -> None:
        self.known, self.unknowable, self.inputs = known, unknowable, inputs

    def take(self, found: Mapping[Var, Var], state: Var, definitions: dict[Var, Expr]) -> None:
        """Take in the rates that the motion of a storage needs."""
        twice = [u for u, rate in self.known.items() if rate in found]
        if twice:
            raise SolveError(
                f"the transfer system cannot be followed: the motion of {state.name} would need the second "
                "rate "
                f"of {', '.join(u.name for u in twice)}; let it act through a storage of the numerical half"
            )
        bad = [u for u in found if u in self.unknowable or u not in self.inputs]
        if bad:
            raise SolveError(
                f"the transfer system cannot be followed: the motion of {state.name} would need the rate of "
                f"{', '.join(u.name for u in bad)}, which acts on the motion after fewer storages than the "
                "command "
                "does (the shortest causal path of the numerical half, or of the load on the transfer "
                "system, is "
                "shorter than the command's; Gawthrop 2005, assumption 5)"
            )
        for u, rate in found.items():
            if u in self.known:
                definitions[rate] = self.known[u]
            else:
                self.known[u] = rate


def _reach(expr: Expr, definitions: Mapping[Var, Expr]) -> set[Var]:
    """Everything an expression depends on."""
    found: set[Var] = set()
    work = variables(expr)
    while work:
        v = work.pop()
        if v not in found:
            found.add(v)
            if v in definitions:
                work += variables(definitions[v])
    return found


def _turn_round(unknown: Var, value: Expr, expr: Expr, definitions: dict[Var, Expr]) -> None:
    """Solve ``expr = value`` for the unknown by turning round the assignments between them.

    Where the path is not single (the unknown enters twice) or an operation has no inverse, the unknown gets
    an implicit definition, which the scheduler solves as a loop.
    """
    while True:
        if isinstance(expr, Var):
            if expr is unknown:
                definitions[unknown] = value
                return
            inner = definitions[expr]
            definitions[expr] = value
            value, expr = expr, inner
            continue
        assert isinstance(expr, Op)
        places = [i for i, a in enumerate(expr.args) if unknown in _reach(a, definitions)]
        other = [a for i, a in enumerate(expr.args) if i not in places]
        turned = _inverse_operation(expr, places, other, value) if len(places) == 1 else None
        if turned is None:
            definitions[unknown] = unknown + (value - expr)
            return
        value, expr = turned, expr.args[places[0]]


def _inverse_operation(op: Op, places: list[int], other: list[Expr], value: Expr) -> Expr | None:
    (place,) = places
    if op.name == "add":
        for term in other:
            value = value - term
        return value
    if op.name == "neg":
        return -value
    if op.name == "mul":
        return value / other[0]
    if op.name == "div":
        return value * other[0] if place == 0 else other[0] / value
    if op.name == "pow" and place == 0 and isinstance(op.args[1], Const) and op.args[1].value == 3.0:
        return Op("cbrt", (value,))
    return None
