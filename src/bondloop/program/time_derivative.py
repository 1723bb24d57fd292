"""Rates of assigned variables: what a storage in derivative causality needs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bondloop.errors import SolveError
from bondloop.program.calculus import tangent
from bondloop.program.expr import Expr, Var, variables

__all__ = ["add_rates", "rate_name"]

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


def add_rates(
    goals: Mapping[Var, Var],
    definitions: dict[Var, Expr],
    states: Mapping[Var, Expr],
    inputs: Mapping[Var, object],
    parameters: Mapping[Var, object],
) -> tuple[dict[Var, Var], dict[Var, Var]]:
    """Define the rate of each goal, adding the rates of everything it depends on.

    Parameters
    ----------
    goals
        Assigned variables (the energy variables of dependent storages) with the variables that are to
        become their rates.
    definitions
        The program; extended in place.
    states, inputs, parameters
        The states with their rates, the inputs, and what is constant.

    Returns
    -------
    dots, input_rates
        The variables introduced for rates of states and of inputs.
    """
    dots: dict[Var, Var] = {}
    input_rates: dict[Var, Var] = {}
    rates: dict[Var, Expr] = {}
    unsolvable = {rate: goal for goal, rate in goals.items()}
    work = list(goals)
    seen = set(goals)
    rates.update(goals)
    order: list[Var] = []
    while work:
        var = work.pop()
        order.append(var)
        for v in variables(definitions[var]):
            if v in unsolvable:
                raise SolveError(
                    f"the storages {unsolvable[v].name} and {var.name} depend on each other's rates: "
                    "the model has index above one; add a small compliance or inertia between them"
                )
            if v in seen or v in parameters:
                continue
            seen.add(v)
            if v in states:
                dots[v] = Var(rate_name(v.name))
                definitions[dots[v]] = states[v]
                rates[v] = dots[v]
            elif v in inputs:
                input_rates[v] = Var(rate_name(v.name))
                rates[v] = input_rates[v]
            elif v in definitions:
                rates[v] = Var(rate_name(v.name))
                work.append(v)
    for var in order:
        target = rates[var]
        assert isinstance(target, Var)
        definitions[target] = tangent(definitions[var], rates)
    return dots, input_rates
