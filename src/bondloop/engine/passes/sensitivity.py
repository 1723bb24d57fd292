"""Sensitivity equations, one assignment at a time.

Each assignment ``w = phi(v, p)`` gets a companion ``dw = sum(dphi/dv dv) + dphi/dp``. Together they are the
sensitivity bond graph (Gawthrop 2000, doi:10.1016/S0016-0032(00)00052-1): same structure, same causality.
Loops need no special care: the companions of a loop form a linear loop of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from bondloop.engine.ir import Const, Expr, Quantity, SystemData, Var, tangent, variables
from bondloop.errors import InputError, unknown_name
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
