"""Equations of elements with one port: sources, storages, resistors, and what switches."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from bondloop.bondgraph import elements as el
from bondloop.bondgraph.elements.laws import linear
from bondloop.bondgraph.passes.equations import (
    Draft,
    Equations,
    SwitchingPort,
    Variables,
    joined,
    refused_start,
    start_of,
)
from bondloop.bondgraph.passes.field_laws import field_law
from bondloop.bondgraph.passes.flat_graph import SE, I
from bondloop.bondgraph.passes.loop_laws import Choice
from bondloop.bondgraph.passes.measures import expect_at_home, of_parameter
from bondloop.bondgraph.passes.signals import inverted, modulated
from bondloop.bondgraph.passes.two_port_laws import heat_flow
from bondloop.engine.ir import Const, Expr, Var, function


class _Law(NamedTuple):
    """The law of a one-port and its inverse, as functions of expressions.

    What they read is in ``draft``, or in ``parameters`` where that is all of it, as in nearly all of a large
    model.
    """

    forward: Callable[[Expr], Expr]
    backward: Callable[[Expr, Var], Expr]
    parameters: tuple[tuple[Var, float | None], ...]
    draft: Draft | None

    def with_own(self, own: Equations) -> Equations:
        """Return the element's own equations after those that its law reads."""
        return own if self.draft is None else joined((self.draft.equations(), own))


def _law(v: Variables, node: int) -> _Law:
    flat, part, path = v.flat, v.flat.part[node], v.flat.path[node]
    if isinstance(part, el.OnePort) and part.coefficient is not None:
        name, value, form = part.coefficient
        if isinstance(value, list):
            value = value[flat.component[node]]
        domain, within = flat.domain[flat.incident[node][0]], part.range_of(name)
        inverse, measured = "div" if form == "mul" else "mul", of_parameter(name, domain)
        if type(value) is float:
            k: Expr = (parameter := Var(f"{path}.{name}", within, measured))
            own: tuple[tuple[Var, float | None], ...] = ((parameter, value),)
            return _Law(lambda x: linear(form, k, x), lambda y, _: linear(inverse, k, y), own, None)
        draft = Draft(v)
        k = draft.parameter(f"{path}.{name}", value, within, measured)
        return _Law(lambda x: linear(form, k, x), lambda y, _: linear(inverse, k, y), (), draft)
    draft = Draft(v)
    if isinstance(part, el.MR):
        factor = modulated(draft, part, part.modulation)
        if part.form == "mul":
            return _Law(lambda x: factor * x, lambda y, _: y / factor, (), draft)
        return _Law(lambda x: x / factor, lambda y, _: factor * y, (), draft)
    if isinstance(part, el.MC):
        return _Law(lambda x: modulated(draft, part, part.modulation, x), inverted(draft, part), (), draft)
    assert isinstance(part, el.OnePort)
    law = part.law
    assert law is not None
    bond = flat.incident[node][0]
    domain = flat.domain[bond]
    parameters = {
        n: draft.parameter(f"{path}.{n}", x, r := part.range_of(n), of_parameter(n, None, r, moved=domain))
        for n, x in law.parameters.items()
    }
    bound = law.bound(path, parameters, draft.symbol)
    # What the law is solved for where only its inverse is given; an inertia's law gives the flow.
    unknown = v.effort[bond] if flat.kind[node] != I and v.gives_effort(bond, node) else None
    return _Law(lambda x: bound.forward(x, unknown), bound.backward, (), draft)


def inertia(v: Variables, node: int) -> Equations:
    """Return the flow by the momentum, or the effort as the momentum's rate."""
    flat = v.flat
    if isinstance(flat.part[node], el.Field):
        return field_law(v, node, "flow")
    bond = flat.incident[node][0]
    law = _law(v, node)
    momentum = v.content(flat.path[node] + ".momentum")
    if v.gives_effort(bond, node):  # derivative causality
        rate = Var(f"d/dt {momentum.name}")
        return law.with_own(
            Equations(
                definitions=(
                    (momentum, law.backward(v.sided(bond, node), momentum)),
                    (v.effort[bond], rate),
                ),
                parameters=law.parameters,
                rate_goals=((momentum, rate),),
                holds=((node, momentum),),
                unstarted=refused_start(v, node),
            )
        )
    flow = law.forward(momentum)
    own = Equations(
        ((v.flow[bond], flow if flat.head[bond] == node else -flow),),
        ((momentum, v.effort[bond]),),
        start_of(v, node, momentum),
        law.parameters,
        holds=((node, momentum),),
    )
    return own if law.draft is None else law.with_own(own)


def compliance(v: Variables, node: int) -> Equations:
    """Return the effort by the displacement, or the flow as the displacement's rate."""
    flat = v.flat
    if isinstance(flat.part[node], el.Field):
        return field_law(v, node, "displacement")
    bond = flat.incident[node][0]
    law = _law(v, node)
    displacement = v.content(flat.path[node] + ".displacement")
    if v.gives_effort(bond, node):
        own = Equations(
            ((v.effort[bond], law.forward(displacement)),),
            ((displacement, v.sided(bond, node)),),
            start_of(v, node, displacement),
            law.parameters,
            holds=((node, displacement),),
        )
        return own if law.draft is None else law.with_own(own)
    rate = Var(f"d/dt {displacement.name}")  # derivative causality
    return law.with_own(
        Equations(
            definitions=(
                (displacement, law.backward(v.effort[bond], displacement)),
                (v.flow[bond], rate if flat.head[bond] == node else -rate),
            ),
            parameters=law.parameters,
            rate_goals=((displacement, rate),),
            holds=((node, displacement),),
            unstarted=refused_start(v, node),
        )
    )


def resistor(v: Variables, node: int) -> Equations:
    """Return the effort by the flow, or the flow by the effort."""
    flat, part = v.flat, v.flat.part[node]
    if isinstance(part, el.Field):
        return field_law(v, node, "")
    bond = flat.incident[node][0]
    law = _law(v, node)
    flow, gives = v.sided(bond, node), v.gives_effort(bond, node)
    taken = v.flow[bond] if gives else v.effort[bond]
    target = v.effort[bond] if gives else v.flow[bond]
    if gives:
        definitions: tuple[tuple[Var, Expr], ...] = ((target, law.forward(flow)),)
    elif flat.head[bond] == node:
        definitions = ((target, law.backward(v.effort[bond], target)),)
    else:
        inner = Var(flat.path[node] + ".flow_in")
        definitions = ((inner, law.backward(v.effort[bond], inner)), (target, -inner))
        target = inner
    if not (isinstance(part, el.OnePort) and part.coefficient is None):
        own = Equations(definitions, parameters=law.parameters)
        return own if law.draft is None else law.with_own(own)
    other: Callable[[Var], Expr] = (lambda e: law.backward(e, e)) if gives else law.forward
    choice = Choice(flat.path[node], target, flow if gives else taken, other)
    return law.with_own(Equations(definitions=definitions, bent=(taken,), choices=(choice,)))


def source(v: Variables, node: int) -> Equations:
    """Return what a source imposes: an input, a constant, a signal; or the port of what switches."""
    flat, part = v.flat, v.flat.part[node]
    if isinstance(part, el.Switching):
        return _switching_port(v, node)
    bond, draft = flat.incident[node][0], Draft(v)
    target = v.effort[bond] if flat.kind[node] == SE else v.flow[bond]
    if isinstance(part, el.RS):
        return Equations(definitions=((target, heat_flow(v, part, bond)),))
    if isinstance(part, (el.MSe, el.MSf)):
        draft.define(target, modulated(draft, part, part.modulation))
        return draft.equations()
    assert isinstance(part, el.Source)
    if part.value is not None and not isinstance(part.value, float):  # symbols: a constant of the model
        draft.define(target, draft.parameter(f"{flat.path[node]}.{part.word}", part.value))
        return draft.equations()
    if part.value == 0.0 and part.input_name is None:
        return Equations(definitions=((target, Const(0.0)),))
    if part.input_name is None:
        name = flat.path[node]
    else:
        owner = flat.paths[part].rpartition(".")[0]
        suffix = flat.path[node][len(flat.paths[part]) :]
        name = (f"{owner}." if owner else "") + part.input_name + suffix
    given = Var(name)
    return Equations(
        definitions=((target, given),),
        inputs=((given, part.value if part.value is not None else 0.0, flat.path[node]),),
        given=((given, target),),
    )


def source_sensor(v: Variables, node: int) -> Equations:
    """Return what a source-sensor imposes, an input, and what it senses."""
    flat, part = v.flat, v.flat.part[node]
    assert isinstance(part, el.SS)
    bond, path, gives = flat.incident[node][0], flat.path[node], v.gives_effort(flat.incident[node][0], node)
    target, sensed = (v.effort[bond], v.flow[bond]) if gives else (v.flow[bond], v.effort[bond])
    name = f"{path}.{'effort' if gives else 'flow'}"
    alone = target.name == name  # a variable of this bond alone is the input itself
    given = target if alone else Var(name)
    own = Equations(
        definitions=() if alone else ((target, given),),
        inputs=((given, 0.0, path),),
        given=() if alone else ((given, target),),
    )
    other = f"{path}.{'flow' if gives else 'effort'}"
    if part.imposes == "both":
        return own._replace(imposed=((other, sensed),))
    if part.imposes == "neither":
        return own._replace(sought=(given,), sensed=((name, target), (other, sensed)))
    return own._replace(sensed=((other, sensed),))


def _switching_port(v: Variables, node: int) -> Equations:
    """Return the equations of what switches: it imposes its effort or its flow."""
    flat, part, path = v.flat, v.flat.part[node], v.flat.path[node]
    assert isinstance(part, el.Switching)
    draft, bond = Draft(v), flat.incident[node][0]
    mode, rebound = Var(f"{path}.mode"), None
    if flat.said[bond]:
        for n, within in part.ranges.items():
            expect_at_home(part, n, within, flat.domain[bond], path)
    terms = [
        draft.parameter(f"{path}.{n}", x, part.ranges[n], of_parameter(n, None, part.ranges[n]))
        for n, x in part.parameters.items()
    ]
    flow = v.sided(bond, node)
    if isinstance(part, el.Stop):
        displacement = v.content(f"{path}.displacement")
        draft.states.append((displacement, flow))
        draft.initial.append((displacement, part.start))
        terms.insert(0, displacement)
        rebound = Var(f"{path}.rebound")
    elif isinstance(part, el.Switch):
        terms.insert(0, _command(draft, part, path))
    elif isinstance(part, el.Clutch) and part.modulation is not None:
        # A capacity below zero would drive what it is to brake.
        terms.append(function("fmax", Const(0.0), modulated(draft, part, part.modulation)))
    if flat.kind[node] == SE:
        draft.define(v.effort[bond], mode * terms[0] if isinstance(part, el.Clutch) else Const(0.0))
    else:
        imposed: Expr = rebound if rebound is not None else Const(0.0)
        draft.define(v.flow[bond], imposed if flat.head[bond] == node else -imposed)
    port = SwitchingPort(v.effort[bond], flow, mode, rebound, tuple(terms))
    held = (mode,) if rebound is None else (mode, rebound)
    return draft.equations()._replace(held=held, switching=((part, port),))


def _command(draft: Draft, part: el.Switch, path: str) -> Expr:
    if part.input_name is None:
        return modulated(draft, part, None)
    owner = path.rpartition(".")[0]
    command = Var((f"{owner}." if owner else "") + part.input_name)
    draft.inputs.append((command, 0.0, path))
    return command
