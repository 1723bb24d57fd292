"""Equations of inertias and compliances: a state in integral causality, a rate in derivative causality."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.bondgraph import elements as el
from bondloop.bondgraph.field_products import field_as_product
from bondloop.bondgraph.fields import effort_port, inertia_port
from bondloop.program.expr import Var

if TYPE_CHECKING:
    from bondloop.bondgraph.derive import Derivation

__all__ = ["compliance", "inertia"]


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
