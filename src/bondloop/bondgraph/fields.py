"""Equations of fields: N-port storages and resistors with a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bondloop.bondgraph import elements as el
from bondloop.program.expr import Const, Expr, Var
from bondloop.program.matrix_rows import ConstantMatrix, MatrixRow

if TYPE_CHECKING:
    from bondloop.bondgraph.derive import Derivation

__all__ = ["effort_port", "flow_states", "inertia_port", "momentum_of"]


def inertia_port(d: Derivation, node: int) -> None:
    """Row i of mass @ d(flow)/dt = effort; the flow is the state."""
    flat, part, i = d.flat, d.flat.part[node], d.flat.component[node]
    assert isinstance(part, el.Field)
    bond, first = flat.incident[node][0], flat.first[part]
    flow_states(d, part)

    def rate_of(k: int) -> Var:
        state = d.common[first + k]
        assert state is not None
        return d.dots[state] if state in d.dots else d.rate_goals[state]

    own = d.common[node]
    assert own is not None
    if own in d.rate_goals:
        d.definitions[own] = d._sided(bond, node)
        total: Expr = Const(0.0)
        for j, m in _entries(d, part)[i]:
            total = total + m * rate_of(j)
        d._define(d.effort[bond], total)
        d._no_start(node)
        return
    rest: Expr = d.effort[bond]
    mass: Expr = Const(0.0)
    for j, m in _entries(d, part)[i]:
        if j == i:
            mass = m
        else:
            rest = rest - m * rate_of(j)
    # Solved for its own rate: written as rate + (effort - mass @ rates), a small mass would cancel.
    dot = d.dots[own]
    d.definitions[dot] = rest / mass
    d.states[own] = dot
    d._define(d.flow[bond], own if flat.head[bond] == node else -own)
    d._start(node, own)


def flow_states(d: Derivation, part: el.Field) -> list[Var]:
    """Return the flows of an inertia field, with the variables of their rates made when first asked for."""
    flat, first = d.flat, d.flat.first[part]
    states = []
    for node in range(first, first + (part.size or 0)):
        state = d.common[node]
        if state is None:
            state = d.common[node] = Var(f"{flat.path[node]}.flow.state")
            rate = Var(f"d/dt {state.name}")
            if d._gives_effort(flat.incident[node][0], node):  # derivative causality
                d.rate_goals[state] = rate
            else:
                d.dots[state] = rate
        states.append(state)
    return states


def momentum_of(d: Derivation, node: int) -> Expr:
    """Return the momentum at a port of an inertia field, whose states are flows: its row of mass @ flow."""
    part = d.flat.part[node]
    assert isinstance(part, el.Field)
    from bondloop.bondgraph.field_products import is_large

    flows = flow_states(d, part)
    if is_large(part):
        name = f"{d.flat.paths[part]}.{part.word}"
        return MatrixRow(ConstantMatrix(part.matrix, name), d.flat.component[node], tuple(flows))
    total: Expr = Const(0.0)
    for j, m in _entries(d, part)[d.flat.component[node]]:
        total = total + m * flows[j]
    return total


def effort_port(d: Derivation, node: int, word: str) -> None:
    """Write down a port of a compliance or resistor field: effort_i = sum of matrix[i, j] * cause_j."""
    flat, part, i = d.flat, d.flat.part[node], d.flat.component[node]
    assert isinstance(part, el.Field)
    bond, first = flat.incident[node][0], flat.first[part]
    if i == 0 and word:
        for k in range(part.size or 0):
            d.common[first + k] = d.content(f"{flat.path[first + k]}.{word}")

    def cause(k: int) -> Expr:
        if word:
            var = d.common[first + k]
            assert var is not None
            return var
        return d._sided(flat.incident[first + k][0], first + k)

    row: Expr = Const(0.0)
    effort = d.effort[bond]
    rest: Expr = effort
    diagonal: Expr | None = None
    for j, entry in _entries(d, part)[i]:
        row = row + entry * cause(j)
        if j == i:
            diagonal = entry
        else:
            rest = rest - entry * cause(j)
    if d._gives_effort(bond, node):
        d._define(effort, row)
        if word:
            own = cause(i)
            assert isinstance(own, Var)
            d.states[own] = d._sided(bond, node)
            d._start(node, own)
    elif word:
        own = cause(i)
        assert isinstance(own, Var)
        rate = Var(f"d/dt {own.name}")
        d.definitions[own] = own + (effort - row) if diagonal is None else rest / diagonal
        d.rate_goals[own] = rate
        d._no_start(node)
        d._define(d.flow[bond], rate if flat.head[bond] == node else -rate)
    else:
        target = d.flow[bond]
        assert isinstance(target, Var)
        into = flat.head[bond] == node
        if diagonal is None:  # a gyrator-like field: the row does not hold its own flow
            d._define(target, target + (effort - row if into else row - effort))
        else:
            d._define(target, rest / diagonal if into else -(rest / diagonal))


def _entries(d: Derivation, part: el.Field) -> list[list[tuple[int, Expr]]]:
    found = d.entries.get(part)
    if found is None:
        path = d.flat.paths[part]
        found = d.entries[part] = [
            [
                (
                    j,
                    d._parameter(
                        f"{path}.{part.word}[{i},{j}]", _number(v), part.diagonal if i == j else None
                    ),
                )
                for j, v in row
            ]
            for i, row in enumerate(part.entries())
        ]
    return found


def _number(value: Any) -> Any:
    return float(value) if not getattr(value, "free_symbols", None) else value
