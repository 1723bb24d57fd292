"""Equations of a resistor, as its causality asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bondloop.bondgraph import elements as el
from bondloop.bondgraph.field_products import field_as_product
from bondloop.bondgraph.fields import effort_port
from bondloop.bondgraph.loop_laws import Choice
from bondloop.program.expr import Expr, Var

if TYPE_CHECKING:
    from bondloop.bondgraph.derive import Derivation

__all__ = ["resistor"]


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
