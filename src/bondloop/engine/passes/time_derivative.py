"""Rates of assigned variables: what a storage in derivative causality needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from bondloop.engine.ir import Const, Expr, Quantity, SystemData, Var, tangent, variables
from bondloop.engine.passes.turning import solved_for_rate
from bondloop.errors import InputError, SolveError, unknown_name
from bondloop.units import multiplied

S = TypeVar("S", bound=SystemData)


def sensitivity_system(system: S, parameters: Sequence[str]) -> S:
    """Return the system with its sensitivities as further states and outputs.

    Parameters
    ----------
    system
        What does not switch and remembers nothing.
    parameters
        Their names; an unknown one is refused.
    """
    system.refuse_switching("sensitivities")
    system.refuse_memory("a sensitivity")
    by_name = {v.name: v for v in system.parameters_by_var}
    states = dict(zip(system.state_vars, system.rate_exprs, strict=True))
    outputs = dict(system.output_exprs)
    definitions = dict(system.definitions)
    tears = list(system.tears)
    dots = dict(system.dots)
    for path in parameters:
        if path not in by_name:
            raise InputError(unknown_name("parameter", path, by_name, where=system.name))
        p = by_name[path]
        affected = _affected(system, p)
        seeds: dict[Var, Expr] = {p: Const(1.0)}
        for v in [*system.state_vars, *(v for v in system.definitions if v in affected)]:
            seeds[v] = Var(f"d({v.name})/d({path})", quantity=_ratio(v, p))
        for v in system.definitions:
            if v in affected:
                target = seeds[v]
                assert isinstance(target, Var)
                definitions[target] = tangent(system.definitions[v], seeds)
        for state, rate in zip(system.state_vars, system.rate_exprs, strict=True):
            target = seeds[state]
            assert isinstance(target, Var)
            states[target] = tangent(rate, seeds)
            dot = system.dots.get(state)
            if dot is not None and dot in affected:
                dot_target = seeds[dot]
                assert isinstance(dot_target, Var)
                dots[target] = dot_target
        for t in system.tears:
            if t in affected:
                companion = seeds[t]
                assert isinstance(companion, Var)
                tears.append(companion)
        for name, expr in system.output_exprs.items():
            outputs[f"d({name})/d({path})"] = tangent(expr, seeds)
    return system.replaced(
        name=f"{system.name}_sensitivity",
        states=states,
        outputs=outputs,
        definitions=definitions,
        tears=tears,
        dots=dots,
    )


def _ratio(v: Var, parameter: Var) -> Quantity | None:
    """Return what the sensitivity of a variable measures; None where one of the two is not known."""
    over, under = v.quantity, parameter.quantity
    if over is None or under is None or not under.unit:
        return None
    return Quantity(f"{over.name} per {under.name}", multiplied(over.unit, under.unit, -1))


def _affected(system: SystemData, parameter: Var) -> set[Var]:
    """Return the assigned variables that depend on a state or on the parameter."""
    users: dict[Var, list[Var]] = {}
    for target, expr in system.definitions.items():
        for v in variables(expr):
            users.setdefault(v, []).append(target)
    found: set[Var] = set()
    work = [*system.state_vars, parameter]
    while work:
        for user in users.get(work.pop(), ()):
            if user not in found:
                found.add(user)
                work.append(user)
    return found


_AGAIN = re.compile(r"d(\d*)/dt(\d*) (.*)", re.DOTALL)


def rate_name(name: str) -> str:
    """Return the name of a variable's rate; that of a rate is the second rate.

    >>> rate_name("tip.flow"), rate_name("d/dt tip.flow"), rate_name("d2/dt2 tip.flow")
    ('d/dt tip.flow', 'd2/dt2 tip.flow', 'd3/dt3 tip.flow')
    """
    again = _AGAIN.fullmatch(name)
    if again is None:
        return f"d/dt {name}"
    order = int(again[1] or 1) + 1
    return f"d{order}/dt{order} {again[3]}"


def rate_variable(v: Var) -> Var:
    """Return a new variable for the rate of another."""
    return Var(rate_name(v.name), quantity=None if v.quantity is None else v.quantity.rate)


def add_rates(
    goals: dict[Var, Var],
    definitions: dict[Var, Expr],
    states: dict[Var, Expr],
    inputs: Mapping[Var, object],
    parameters: Mapping[Var, float | None],
    known: Mapping[Var, Var] | None = None,
    cancelled: Callable[[], Collection[Var]] = tuple,
) -> tuple[dict[Var, Var], dict[Var, Var]]:
    """Define the rate of each goal, adding the rates of everything it depends on.

    A goal that depends on its own rate is no function of the states: it becomes a state itself, whose rate is
    the one at which its definition gives what it holds.

    Parameters
    ----------
    goals
        Assigned variables (the energy variables of dependent storages) with the variables that are to
        become their rates. Those that become states are taken out.
    definitions
        The program; extended in place.
    states, inputs, parameters
        The states with their rates (extended in place), the inputs, and what is constant.
    known
        For states whose rate is a variable of the program already: that variable.
    cancelled
        Says which goals depend on rates by their formulas, but not by numbers: what they take in one way
        they give back another. Asked only if one depends on rates.

    Returns
    -------
    dots, input_rates
        The variables introduced for rates of states and of inputs.
    """
    dots: dict[Var, Var] = {}
    input_rates: dict[Var, Var] = {}
    rated = _reached(goals.values(), definitions).intersection(goals)
    if rated:
        rated.difference_update(cancelled())
        while followers := _followers(rated, goals, definitions):
            goal = followers[0]
            rated.remove(goal)
            rate = goals.pop(goal)
            law = definitions.pop(goal)
            dots[goal] = rate
            given = {**dict.fromkeys(states, 0.0), **dict.fromkeys(inputs, 0.0)}
            turned = solved_for_rate(goal, rate, law, definitions, given, parameters) if followers[1:] else {}
            # What else is bound to it is no state beside it: it follows from what now follows from the goal.
            bound = rated.difference(_reached(goals.values(), turned)) if turned else set()
            if bound:
                definitions.update(turned)
                rated -= bound
            else:
                definitions[rate] = rate + (law - goal)
            states[goal] = rate
    if rated:
        names = ", ".join(sorted(goal.name for goal in rated))
        raise SolveError(
            f"{names} follow from the rates of other storages, and their own rates are needed: "
            "the model has index above one; add a small compliance or inertia between them"
        )
    second = {*goals.values(), *dots.values()}
    rates: dict[Var, Expr] = {**goals, **dots}
    work = list(goals)
    seen = {*goals, *dots}
    order: list[Var] = []
    while work:
        var = work.pop()
        order.append(var)
        for v in variables(definitions[var]):
            if v in seen or v in parameters or v in second:  # what comes of second rates cancels
                continue
            seen.add(v)
            if known and v in known:
                rates[v] = known[v]
            elif v in states:
                dots[v] = rate_variable(v)
                definitions[dots[v]] = states[v]
                rates[v] = dots[v]
            elif v in inputs:
                input_rates[v] = rate_variable(v)
                rates[v] = input_rates[v]
            elif v in definitions:
                rates[v] = rate_variable(v)
                work.append(v)
    for var in order:
        target = rates[var]
        assert isinstance(target, Var)
        definitions[target] = tangent(definitions[var], rates)
    return dots, input_rates


def _followers(
    rated: Collection[Var], goals: Mapping[Var, Var], definitions: Mapping[Var, Expr]
) -> list[Var]:
    """Return the goals that depend on their own rate, be it through the rates of others."""
    onward = {**definitions, **{rate: goal for goal, rate in goals.items()}}
    return [goal for goal in goals if goal in rated and goal in _reached([goals[goal]], onward)]


def _reached(start: Iterable[Var], definitions: Mapping[Var, Expr]) -> set[Var]:
    """Return what depends on some variables."""
    users: dict[Var, list[Var]] = {}
    for var, expr in definitions.items():
        for v in variables(expr):
            users.setdefault(v, []).append(var)
    work = list(start)
    reached: set[Var] = set()
    while work:
        for user in users.get(work.pop(), []):
            if user not in reached:
                reached.add(user)
                work.append(user)
    return reached
