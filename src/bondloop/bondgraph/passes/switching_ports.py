"""What an element that switches adds to the equations of one mode, and what its rule needs to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.bondgraph.elements import Clutch, Diode, Stop, Switch, Switching
from bondloop.bondgraph.passes.flatten import SE
from bondloop.bondgraph.passes.measures import expect_at_home, of_parameter
from bondloop.bondgraph.passes.modulation import modulated
from bondloop.program.expr import Const, Expr, Var, function
from bondloop.program.switching_rules import ClutchRule, DiodeRule, Rule, StopRule, SwitchRule

if TYPE_CHECKING:
    from bondloop.bondgraph.passes.derive import Derivation

__all__ = ["RULES", "SwitchingPort", "switching_port"]

RULES: dict[type[Switching], type[Rule]] = {
    Switch: SwitchRule,
    Diode: DiodeRule,
    Stop: StopRule,
    Clutch: ClutchRule,
}


@dataclass(frozen=True)
class SwitchingPort:
    """An element that switches, in the equations of one mode.

    Attributes
    ----------
    effort, flow
        Into the element.
    mode, rebound
        Variables that the equations hold constant: its mode, and the flow that a stop imposes.
    terms
        What its rule reads besides.
    """

    effort: Expr
    flow: Expr
    mode: Var
    rebound: Var | None
    terms: tuple[Expr, ...]


def switching_port(d: Derivation, node: int) -> None:
    """Write down the bond of an element that switches: it imposes its effort or its flow."""
    flat, part, path = d.flat, d.flat.part[node], d.flat.path[node]
    assert isinstance(part, Switching)
    bond = flat.incident[node][0]
    mode, rebound = Var(f"{path}.mode"), None
    d.held[mode] = 0.0
    if flat.said[bond]:
        for n, within in part.ranges.items():
            expect_at_home(part, n, within, flat.domain[bond], path)
    terms = [
        d._parameter(f"{path}.{n}", v, part.ranges[n], of_parameter(n, None, part.ranges[n]))
        for n, v in part.parameters.items()
    ]
    flow = d._sided(bond, node)
    if isinstance(part, Stop):
        displacement = d.content(f"{path}.displacement")
        d.states[displacement] = flow
        d.initial[displacement] = part.start
        terms.insert(0, displacement)
        rebound = Var(f"{path}.rebound")
        d.held[rebound] = 0.0
    elif isinstance(part, Switch):
        terms.insert(0, _command(d, part, path))
    elif isinstance(part, Clutch) and part.modulation is not None:
        # A capacity below zero would drive what it is to brake.
        terms.append(function("fmax", Const(0.0), modulated(d, part, part.modulation)))
    if flat.kind[node] == SE:
        d._define(d.effort[bond], mode * terms[0] if isinstance(part, Clutch) else Const(0.0))
    else:
        imposed: Expr = rebound if rebound is not None else Const(0.0)
        d._define(d.flow[bond], imposed if flat.head[bond] == node else -imposed)
    d.switching_ports[part] = SwitchingPort(d.effort[bond], flow, mode, rebound, tuple(terms))


def _command(d: Derivation, part: Switch, path: str) -> Expr:
    if part.input_name is None:
        return modulated(d, part, None)
    owner = path.rpartition(".")[0]
    return d._input((f"{owner}." if owner else "") + part.input_name, path)
