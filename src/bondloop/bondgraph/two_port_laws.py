"""Equations of transformers and gyrators with one modulus, and of a resistor's thermal port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.bondgraph import elements as el
from bondloop.bondgraph.flatten import TF
from bondloop.bondgraph.laws import check_number, linear
from bondloop.bondgraph.modulation import modulated
from bondloop.program.quantity import Quantity
from bondloop.program.system_data import Divisor
from bondloop.units import multiplied

if TYPE_CHECKING:
    from bondloop.bondgraph.derive import Derivation
    from bondloop.bondgraph.flatten import Flat
    from bondloop.program.expr import Expr

__all__ = ["heat_flow", "two_port"]


def two_port(d: Derivation, node: int) -> None:
    """Write down both sides of a transformer or gyrator, as its causality asks."""
    flat, part = d.flat, d.flat.part[node]
    first, second = flat.incident[node]
    if flat.head[first] != node:
        first, second = second, first
    if isinstance(part, (el.MTF, el.MGY)):
        n = modulated(d, part, part.modulation)
    else:
        assert isinstance(part, (el.TF, el.GY))
        name, quantity = f"{flat.path[node]}.{part.word}", _measured(d, part.word, first, second)
        if part.word in part.texts and flat.said[first] and flat.said[second]:
            check_number(part.texts[part.word], name, units=[quantity.unit or "1"])
        n = d._parameter(name, part.coefficient, part.range, quantity)
    form, inverse = ("mul", "div") if part.form == "mul" else ("div", "mul")
    e1, f1, e2, f2 = d.effort[first], d.flow[first], d.effort[second], d.flow[second]
    gives = d._gives_effort(first, node)
    if isinstance(part, (el.MTF, el.MGY)) and (form if gives else inverse) == "div":
        d.divisors.append(Divisor(flat.path[node], part.word, n, _remedy(flat, first, second, node)))
    if flat.kind[node] == TF:
        if gives:
            d._define(e1, linear(form, n, e2))
            d._define(f2, linear(form, n, f1))
        else:
            d._define(e2, linear(inverse, n, e1))
            d._define(f1, linear(inverse, n, f2))
    elif gives:
        d._define(e1, linear(form, n, f2))
        d._define(e2, linear(form, n, f1))
    else:
        d._define(f2, linear(inverse, n, e1))
        d._define(f1, linear(inverse, n, e2))


def _remedy(flat: Flat, first: int, second: int, node: int) -> str:
    """Return which storage would let a two-port multiply, and where, as a clause."""
    before = flat.path[flat.tail[first]]
    after = flat.path[flat.head[second] if flat.tail[second] == node else flat.tail[second]]
    product = flat.part[node].form == "mul"  # type: ignore[attr-defined]
    if flat.kind[node] == TF:
        flow, effort = (before, after) if product else (after, before)
        return f"with an inertia at {flow}, or a compliance at {effort}, it would multiply"
    return f"with {'an inertia' if product else 'a compliance'} at {before} or {after} it would multiply"


def _measured(d: Derivation, word: str, first: int, second: int) -> Quantity:
    """Return what the coefficient of a two-port measures, from the domains on its two sides."""
    before, after = d.flat.domain[first], d.flat.domain[second]
    unit = ""
    if before is not None and after is not None:
        over = {
            "modulus": (after.flow, before.flow),
            "effort_ratio": (after.effort, before.effort),
            "ratio": (before.effort, after.flow),
            "admittance": (after.flow, before.effort),
        }[word]
        unit = multiplied(over[0].unit, over[1].unit, -1)
    return Quantity(word, unit)


def heat_flow(d: Derivation, part: el.RS, out: int) -> Expr:
    """Return what flows out of the thermal port of a resistor, from the power at the other."""
    taken = d.flat.incident[d.flat.first[part]][0]
    power = d.effort[taken] * d.flow[taken]
    return power / d.effort[out] if part.gives == "entropy" else power
