"""Equations of transformers and gyrators with one modulus, and of a resistor's thermal port.

Equations of a transformer with a matrix, for any causality that its rank allows.

With f_o = M f_b and e_b = Mᵀ e_o between the ports b of one side and o of the other, flows are imposed at
some ports F of b and I of o, efforts at the rest J and O. Then M_IJ is square and regular:

    f_J = M_IJ⁻¹ (f_I - M_IF f_F),    f_O = M_OJ f_J + M_OF f_F,
    e_I = M_IJ⁻ᵀ (e_J - M_OJᵀ e_O),   e_F = M_IFᵀ e_I + M_OFᵀ e_O.

The inverse is never formed. Each row is solved for one of its unknowns; where several rows need each other,
they are a linear loop, which is solved as every other loop is. Only where numbers cancel (rows that depend on
each other) the product with the inverse is formed, and its entries are constants: the zeros that come out of
it say which flows do not depend on which, and loops among rows could not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import elements as el
from bondloop.bondgraph.elements.laws import check_number, linear
from bondloop.bondgraph.passes.equations import Draft, Equations, Variables
from bondloop.bondgraph.passes.flat_graph import TF
from bondloop.bondgraph.passes.signals import modulated, modulated_matrix
from bondloop.engine.ir import Const, Divisor, Expr, Quantity, Var, function
from bondloop.units import multiplied

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from bondloop.bondgraph.passes.flat_graph import FlatGraph
    from bondloop.bondgraph.passes.port_ranks import PortRanks
    from bondloop.engine.ir import Expr


def two_port(v: Variables, node: int) -> Equations:
    """Return the equations of both sides of a transformer or gyrator, as its causality asks."""
    draft, flat, part = Draft(v), v.flat, v.flat.part[node]
    first, second = flat.incident[node]
    if flat.head[first] != node:
        first, second = second, first
    if isinstance(part, (el.MTF, el.MGY)):
        n = modulated(draft, part, part.modulation)
    else:
        assert isinstance(part, (el.TF, el.GY))
        name, quantity = f"{flat.path[node]}.{part.word}", _measured(flat, part.word, first, second)
        if part.word in part.texts and flat.said[first] and flat.said[second]:
            check_number(part.texts[part.word], name, units=[quantity.unit or "1"])
        n = draft.parameter(name, part.coefficient, part.range, quantity)
    form, inverse = ("mul", "div") if part.form == "mul" else ("div", "mul")
    e1, f1, e2, f2 = v.effort[first], v.flow[first], v.effort[second], v.flow[second]
    gives = v.gives_effort(first, node)
    if isinstance(part, (el.MTF, el.MGY)) and (form if gives else inverse) == "div":
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


def heat_flow(v: Variables, part: el.RS, out: int) -> Expr:
    """Return what flows out of the thermal port of a resistor, from the power at the other."""
    taken = v.flat.incident[v.flat.first[part]][0]
    power = v.effort[taken] * v.flow[taken]
    return power / v.effort[out] if part.gives == "entropy" else power


def matrix_port(v: Variables, node: int) -> Equations:
    """Return the equations of all ports of a matrix transformer at its first node, and none at the others."""
    draft, flat, part = Draft(v), v.flat, v.flat.part[node]
    if flat.component[node]:
        return draft.equations()
    assert isinstance(part, (el.TF, el.MTF))
    ranks = v.graph.ranks[part]
    bonds = [flat.incident[n][0] for n in ranks.nodes]
    taken = [v.gives_effort(b, n) for b, n in zip(bonds, ranks.nodes, strict=True)]  # its flow is imposed
    flows, efforts = [v.flow[b] for b in bonds], [v.effort[b] for b in bonds]
    imposed = [k for k, flow in enumerate(taken) if flow]
    if isinstance(part, el.TF) and not any(getattr(v, "free_symbols", None) for v in part.matrix.flat):
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
    modulated = isinstance(part, el.MTF)
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
