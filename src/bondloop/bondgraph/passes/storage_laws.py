"""Equations of inertias and compliances: a state in integral causality, a rate in derivative causality.

Equations of a resistor, as its causality asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.bondgraph import elements as el
from bondloop.bondgraph.passes.fields import effort_port, field_as_product, inertia_port
from bondloop.bondgraph.passes.loop_laws import Choice
from bondloop.program.expr import Expr, Var

if TYPE_CHECKING:
    from collections.abc import Callable

    from bondloop.bondgraph.passes.derive import Derivation

__all__ = ["compliance", "inertia", "resistor"]


def inertia(d: Derivation, node: int) -> None:
    """Write down the flow by the momentum, or the effort as the momentum's rate."""
    part = d.flat.part[node]
    if isinstance(part, el.Field):
        if not field_as_product(d, node, "flow"):
            inertia_port(d, node)
        return
    bond = d.flat.incident[node][0]
    law, inverse = d._law(node)
    momentum = d.holds[node] = d.content(d.flat.path[node] + ".momentum")
    into = d.flat.head[bond] == node
    if d._gives_effort(bond, node):  # derivative causality
        rate = Var(f"d/dt {momentum.name}")
        d.definitions[momentum] = inverse(d._sided(bond, node), momentum)
        d.rate_goals[momentum] = rate
        d._define(d.effort[bond], rate)
        d._no_start(node)
    else:
        flow = law(momentum)
        d._define(d.flow[bond], flow if into else -flow)
        d.states[momentum] = d.effort[bond]
        d._start(node, momentum)


def compliance(d: Derivation, node: int) -> None:
    """Write down the effort by the displacement, or the flow as the displacement's rate."""
    part = d.flat.part[node]
    if isinstance(part, el.Field):
        if not field_as_product(d, node, "displacement"):
            effort_port(d, node, "displacement")
        return
    bond = d.flat.incident[node][0]
    law, inverse = d._law(node)
    displacement = d.holds[node] = d.content(d.flat.path[node] + ".displacement")
    if d._gives_effort(bond, node):
        d._define(d.effort[bond], law(displacement))
        d.states[displacement] = d._sided(bond, node)
        d._start(node, displacement)
    else:  # derivative causality
        rate = Var(f"d/dt {displacement.name}")
        d.definitions[displacement] = inverse(d.effort[bond], displacement)
        d.rate_goals[displacement] = rate
        d._define(d.flow[bond], rate if d.flat.head[bond] == node else -rate)
        d._no_start(node)


def resistor(d: Derivation, node: int) -> None:
    """Write down the effort by the flow, or the flow by the effort."""
    part = d.flat.part[node]
    if isinstance(part, el.Field):
        if not field_as_product(d, node, ""):
            effort_port(d, node, "")
        return
    bond = d.flat.incident[node][0]
    law, inverse = d._law(node)
    flow = d._sided(bond, node)
    gives = d._gives_effort(bond, node)
    taken = d.flow[bond] if gives else d.effort[bond]
    bent = isinstance(part, el.OnePort) and part.coefficient is None
    if bent and isinstance(taken, Var):
        d.bent.append(taken)
    target = d.effort[bond] if gives else d.flow[bond]
    assert isinstance(target, Var)
    if gives:
        d._define(target, law(flow))
    elif d.flat.head[bond] == node:
        d._define(target, inverse(d.effort[bond], target))
    else:
        inner = Var(d.flat.path[node] + ".flow_in")
        d.definitions[inner] = inverse(d.effort[bond], inner)
        d._define(target, -inner)
        target = inner
    if bent:
        other: Callable[[Var], Expr] = (lambda e: inverse(e, e)) if gives else law
        d.choices.append(Choice(d.flat.path[node], target, flow if gives else taken, other))
