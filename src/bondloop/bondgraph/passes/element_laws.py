"""Equations of elements with one port (sources, storages, resistors, switches), of transformers and gyrators.

A transformer with a matrix, for any causality that its rank allows: with f_o = M f_b and e_b = Mᵀ e_o between
the ports b of one side and o of the other, flows are imposed at some ports F of b and I of o, efforts at the
rest J and O. Then M_IJ is square and regular:

    f_J = M_IJ⁻¹ (f_I - M_IF f_F),    f_O = M_OJ f_J + M_OF f_F,
    e_I = M_IJ⁻ᵀ (e_J - M_OJᵀ e_O),   e_F = M_IFᵀ e_I + M_OFᵀ e_O.

The inverse is never formed. Each row is solved for one of its unknowns; where several rows need each other,
they are a linear loop, which is solved as every other loop is. Only where numbers cancel (rows that depend on
each other) the product with the inverse is formed, and its entries are constants: the zeros that come out of
it say which flows do not depend on which, and loops among rows could not know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bondloop.bondgraph.elements import fields, one_ports, signals, two_ports
from bondloop.bondgraph.elements.laws import BoundLaw, check_number, linear
from bondloop.bondgraph.passes.algebraic_loops import Choice
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
from bondloop.bondgraph.passes.flat_graph import SE, TF, I
from bondloop.bondgraph.passes.measures import expect_unit_of_domain, of_parameter
from bondloop.bondgraph.passes.signals import inverted, modulated, modulated_matrix
from bondloop.engine.ir import Const, Divisor, Expr, Quantity, Var, function
from bondloop.units import multiplied

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from bondloop.bondgraph.passes.flat_graph import FlatGraph
    from bondloop.bondgraph.passes.foresight import PortRanks
    from bondloop.engine.ir import Expr


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
    if isinstance(part, one_ports.OnePort) and part.coefficient is not None:
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
    if isinstance(part, signals.MR):
        factor = modulated(draft, part, part.modulation)
        if part.form == "mul":
            return _Law(lambda x: factor * x, lambda y, _: y / factor, (), draft)
        return _Law(lambda x: x / factor, lambda y, _: factor * y, (), draft)
    if isinstance(part, signals.MC):
        return _Law(lambda x: modulated(draft, part, part.modulation, x), inverted(draft, part), (), draft)
    assert isinstance(part, one_ports.OnePort)
    law = part.law
    assert law is not None
    bond = flat.incident[node][0]
    domain = flat.domain[bond]
    parameters = {
        n: draft.parameter(f"{path}.{n}", x, r := part.range_of(n), of_parameter(n, None, r, moved=domain))
        for n, x in law.parameters.items()
    }
    bound = BoundLaw(law, path, parameters, draft.symbol)
    # What the law is solved for where only its inverse is given; an inertia's law gives the flow.
    unknown = v.effort[bond] if flat.kind[node] != I and v.gives_effort(bond, node) else None
    return _Law(lambda x: bound.forward(x, unknown), bound.backward, (), draft)


def storage(v: Variables, node: int) -> Equations:
    """Return what a storage gives by its content; or in derivative causality the content, and its rate.

    An inertia gives its flow by its momentum, whose rate is the effort; a compliance its effort by its
    displacement, whose rate is the flow.
    """
    flat = v.flat
    inertia = flat.kind[node] == I
    word = "momentum" if inertia else "displacement"
    if isinstance(flat.part[node], fields.Field):
        return field_law(v, node, "flow" if inertia else word)
    bond = flat.incident[node][0]
    law, content = _law(v, node), v.content(f"{flat.path[node]}.{word}")
    effort, flow, into = v.effort[bond], v.flow[bond], flat.head[bond] == node
    if v.gives_effort(bond, node) != inertia:
        given = law.forward(content)
        own = Equations(
            ((flow, given if into else -given) if inertia else (effort, given),),
            ((content, effort if inertia else v.sided(bond, node)),),
            start_of(v, node, content),
            law.parameters,
            holds=((node, content),),
        )
        return own if law.draft is None else law.with_own(own)
    rate = Var(f"d/dt {content.name}")  # derivative causality
    cause = v.sided(bond, node) if inertia else effort
    return law.with_own(
        Equations(
            definitions=(
                (content, law.backward(cause, content)),
                (effort, rate) if inertia else (flow, rate if into else -rate),
            ),
            parameters=law.parameters,
            rate_goals=((content, rate),),
            holds=((node, content),),
            unstarted=refused_start(v, node),
        )
    )


def resistor(v: Variables, node: int) -> Equations:
    """Return the effort by the flow, or the flow by the effort."""
    flat, part = v.flat, v.flat.part[node]
    if isinstance(part, fields.Field):
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
    if not (isinstance(part, one_ports.OnePort) and part.coefficient is None):
        own = Equations(definitions, parameters=law.parameters)
        return own if law.draft is None else law.with_own(own)
    other: Callable[[Var], Expr] = (lambda e: law.backward(e, e)) if gives else law.forward
    choice = Choice(flat.path[node], target, flow if gives else taken, other)
    return law.with_own(Equations(definitions=definitions, bent=(taken,), choices=(choice,)))


def source(v: Variables, node: int) -> Equations:
    """Return what a source imposes: an input, a constant, a signal; or the port of what switches."""
    flat, part = v.flat, v.flat.part[node]
    if isinstance(part, one_ports.Switching):
        return _switching_port(v, node)
    bond, draft = flat.incident[node][0], Draft(v)
    target = v.effort[bond] if flat.kind[node] == SE else v.flow[bond]
    if isinstance(part, one_ports.RS):
        return Equations(definitions=((target, heat_flow(v, part, bond)),))
    if isinstance(part, (signals.MSe, signals.MSf)):
        draft.define(target, modulated(draft, part, part.modulation))
        return draft.equations()
    assert isinstance(part, one_ports.Source)
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
    assert isinstance(part, one_ports.SS)
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
    assert isinstance(part, one_ports.Switching)
    draft, bond = Draft(v), flat.incident[node][0]
    mode, rebound = Var(f"{path}.mode"), None
    if flat.is_domain_known[bond]:
        for n, within in part.ranges.items():
            expect_unit_of_domain(part, n, within, flat.domain[bond], path)
    terms = [
        draft.parameter(f"{path}.{n}", x, part.ranges[n], of_parameter(n, None, part.ranges[n]))
        for n, x in part.parameters.items()
    ]
    flow = v.sided(bond, node)
    if isinstance(part, one_ports.Stop):
        displacement = v.content(f"{path}.displacement")
        draft.states.append((displacement, flow))
        draft.initial.append((displacement, part.start))
        terms.insert(0, displacement)
        rebound = Var(f"{path}.rebound")
    elif isinstance(part, one_ports.Switch):
        terms.insert(0, _command(draft, part, path))
    elif isinstance(part, one_ports.Clutch) and part.modulation is not None:
        # A capacity below zero would drive what it is to brake.
        terms.append(function("fmax", Const(0.0), modulated(draft, part, part.modulation)))
    if flat.kind[node] == SE:
        draft.define(v.effort[bond], mode * terms[0] if isinstance(part, one_ports.Clutch) else Const(0.0))
    else:
        imposed: Expr = rebound if rebound is not None else Const(0.0)
        draft.define(v.flow[bond], imposed if flat.head[bond] == node else -imposed)
    port = SwitchingPort(v.effort[bond], flow, mode, rebound, tuple(terms))
    held = (mode,) if rebound is None else (mode, rebound)
    return draft.equations()._replace(held=held, switching=((part, port),))


def _command(draft: Draft, part: one_ports.Switch, path: str) -> Expr:
    if part.input_name is None:
        return modulated(draft, part, None)
    owner = path.rpartition(".")[0]
    command = Var((f"{owner}." if owner else "") + part.input_name)
    draft.inputs.append((command, 0.0, path))
    return command


def two_port(v: Variables, node: int) -> Equations:
    """Return the equations of both sides of a transformer or gyrator, as its causality asks."""
    draft, flat, part = Draft(v), v.flat, v.flat.part[node]
    first, second = flat.incident[node]
    if flat.head[first] != node:
        first, second = second, first
    if isinstance(part, (two_ports.MTF, two_ports.MGY)):
        n = modulated(draft, part, part.modulation)
    else:
        assert isinstance(part, (two_ports.TF, two_ports.GY))
        name, quantity = f"{flat.path[node]}.{part.word}", _measured(flat, part.word, first, second)
        if part.word in part.texts and flat.is_domain_known[first] and flat.is_domain_known[second]:
            check_number(part.texts[part.word], name, units=[quantity.unit or "1"])
        n = draft.parameter(name, part.coefficient, part.range, quantity)
    form, inverse = ("mul", "div") if part.form == "mul" else ("div", "mul")
    e1, f1, e2, f2 = v.effort[first], v.flow[first], v.effort[second], v.flow[second]
    gives = v.gives_effort(first, node)
    if isinstance(part, (two_ports.MTF, two_ports.MGY)) and (form if gives else inverse) == "div":
        draft.divisors.append(Divisor(flat.path[node], part.word, n, _remedy(flat, first, second, node)))
    if flat.kind[node] == TF:
        if gives:
            draft.define(e1, linear(form, n, e2))
            draft.define(f2, linear(form, n, f1))
        else:
            draft.define(e2, linear(inverse, n, e1))
            draft.define(f1, linear(inverse, n, f2))
    elif gives:
        draft.define(e1, linear(form, n, f2))
        draft.define(e2, linear(form, n, f1))
    else:
        draft.define(f2, linear(inverse, n, e1))
        draft.define(f1, linear(inverse, n, e2))
    return draft.equations()


def _remedy(flat: FlatGraph, first: int, second: int, node: int) -> str:
    """Return which storage would let a two-port multiply, and where, as a clause."""
    before = flat.path[flat.tail[first]]
    after = flat.path[flat.head[second] if flat.tail[second] == node else flat.tail[second]]
    product = flat.part[node].form == "mul"  # type: ignore[attr-defined]
    if flat.kind[node] == TF:
        flow, effort = (before, after) if product else (after, before)
        return f"with an inertia at {flow}, or a compliance at {effort}, it would multiply"
    return f"with {'an inertia' if product else 'a compliance'} at {before} or {after} it would multiply"


def _measured(flat: FlatGraph, word: str, first: int, second: int) -> Quantity:
    """Return what the coefficient of a two-port measures, from the domains on its two sides."""
    before, after = flat.domain[first], flat.domain[second]
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


def heat_flow(v: Variables, part: one_ports.RS, out: int) -> Expr:
    """Return what flows out of the thermal port of a resistor, from the power at the other."""
    taken = v.flat.incident[v.flat.first[part]][0]
    power = v.effort[taken] * v.flow[taken]
    return power / v.effort[out] if part.gives == "entropy" else power


def matrix_port(v: Variables, node: int) -> Equations:
    """Return the equations of all ports of a matrix transformer at its first node, and none at the others."""
    draft, flat, part = Draft(v), v.flat, v.flat.part[node]
    if flat.component[node]:
        return draft.equations()
    assert isinstance(part, (two_ports.TF, two_ports.MTF))
    ranks = v.graph.ranks[part]
    bonds = [flat.incident[n][0] for n in ranks.nodes]
    taken = [v.gives_effort(b, n) for b, n in zip(bonds, ranks.nodes, strict=True)]  # its flow is imposed
    flows, efforts = [v.flow[b] for b in bonds], [v.effort[b] for b in bonds]
    imposed = [k for k, flow in enumerate(taken) if flow]
    if isinstance(part, two_ports.TF) and not any(getattr(v, "free_symbols", None) for v in part.matrix.flat):
        reduced = ranks.reduced(imposed)
        if reduced is not None:
            _constants(draft, ranks, imposed, reduced, flows, efforts)
            return draft.equations()
    entries = modulated_matrix(draft, part)
    if part.form == "div":
        entries = {(j, i): entry for (i, j), entry in entries.items()}
    turned = {(j, i): entry for (i, j), entry in entries.items()}
    m = ranks.count
    columns, rows = range(m), range(len(ranks.nodes) - m)
    J = [j for j in columns if not taken[j]]
    I = [i for i in rows if taken[m + i]]
    pairs = _paired(ranks, I, J)
    modulated = isinstance(part, two_ports.MTF)
    _solve(draft, entries, pairs, flows[m:], flows[:m], modulated)
    _solve(draft, turned, [(j, i, alone) for i, j, alone in pairs], efforts[:m], efforts[m:], modulated)
    for i in rows:
        if i not in I:
            draft.define(flows[m + i], _sum(entries, i, flows[:m]))
    for j in columns:
        if j not in J:
            draft.define(efforts[j], _sum(turned, j, efforts[m:]))
    return draft.equations()


def _constants(
    draft: Draft,
    ranks: PortRanks,
    imposed: Sequence[int],
    reduced: NDArray[np.float64],
    flows: Sequence[Expr],
    efforts: Sequence[Expr],
) -> None:
    """Write down f_R = K f_F, and the efforts that conserve the power."""
    rest = [k for k in range(len(flows)) if k not in imposed]
    for r, row in zip(rest, reduced, strict=True):
        total: Expr = Const(0.0)
        for f, value in zip(imposed, row, strict=True):
            total = total + Const(float(value)) * flows[f]
        draft.define(flows[r], total)
    for f, column in zip(imposed, reduced.T, strict=True):
        total = Const(0.0)
        for r, value in zip(rest, column, strict=True):
            same_side = (r < ranks.count) == (f < ranks.count)
            total = total + Const(float(-value if same_side else value)) * efforts[r]
        draft.define(efforts[f], total)


def _sum(entries: Mapping[tuple[int, int], Expr], row: int, values: Sequence[Expr], but: int = -1) -> Expr:
    total: Expr = Const(0.0)
    for j, value in enumerate(values):
        if j != but and (row, j) in entries:
            total = total + entries[row, j] * value
    return total


def _solve(
    draft: Draft,
    entries: Mapping[tuple[int, int], Expr],
    pairs: Sequence[tuple[int, int, bool]],
    left: Sequence[Expr],
    right: Sequence[Expr],
    modulated: bool,
) -> None:
    """Define the unknown of each pair (row, unknown, alone) by its row of left = entries @ right."""
    for row, unknown, alone in pairs:
        target = right[unknown]
        assert isinstance(target, Var)
        if alone or not modulated:
            rest = left[row] - _sum(entries, row, right, unknown)
            draft.define(target, rest / entries[row, unknown])
            continue
        # One entry of a modulated row may pass zero while the matrix stays regular: no entry is divided by.
        # Scaled by the row, so that the slope 1 - entry/size is not rounded where all entries are small.
        size: Expr = Const(0.0)
        for _, j, _ in pairs:
            if (row, j) in entries:
                size = size + function("fabs", entries[row, j])
        draft.define(target, target + (left[row] - _sum(entries, row, right)) / size)


def _paired(ranks: PortRanks, rows: Sequence[int], columns: Sequence[int]) -> list[tuple[int, int, bool]]:
    """Pair each row with the unknown it is solved for, and say whether it is alone or one of a loop.

    The product of the entries divided by is the largest there is (a matching); rows that need each other are
    the strong components of the matrix with its rows in that order.
    """
    if not rows:
        return []
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse.csgraph import connected_components

    block = np.abs(ranks.values[np.ix_(rows, columns)])
    size = block.max()
    cost = -np.log(np.where(block > 0, block / size, np.finfo(float).tiny))
    chosen, order = linear_sum_assignment(cost)
    _, group = connected_components(block[:, order] > 0, connection="strong")
    counts = np.bincount(group)
    return [
        (rows[int(i)], columns[int(j)], bool(counts[g] == 1))
        for i, j, g in zip(chosen, order, group, strict=True)
    ]
