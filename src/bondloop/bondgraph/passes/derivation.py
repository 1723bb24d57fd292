"""From a bond graph with its causality assigned to a program of named assignments.

Every bond has an effort and a flow. At a 0-junction all bonds share one effort variable, at a 1-junction one
flow variable, so each junction contributes a single sum and each element a single law: the list of
assignments is as short as the graph. Each law is a function that returns what it contributes; here they are
collected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bondloop.bondgraph.passes.bicausal import turned_round
from bondloop.bondgraph.passes.bound_storages import cancelled
from bondloop.bondgraph.passes.equations import Derivation, Equations, Variables, joined
from bondloop.bondgraph.passes.flat_graph import GY, MATRIX, ONE, SE, SF, SS, TF, ZERO, C, I, R, floating
from bondloop.bondgraph.passes.lookup import Outputs, variable_at, wanted
from bondloop.bondgraph.passes.loop_laws import use_total_laws
from bondloop.bondgraph.passes.measures import by_path, measure
from bondloop.bondgraph.passes.one_port_laws import compliance, inertia, resistor, source, source_sensor
from bondloop.bondgraph.passes.relation_laws import relation_ports
from bondloop.bondgraph.passes.signals import signal_equations
from bondloop.bondgraph.passes.two_port_laws import matrix_port, two_port
from bondloop.engine import System
from bondloop.engine.ir import (
    NEWTON_ITERATIONS,
    Annotations,
    Const,
    Expr,
    Interface,
    Op,
    Program,
    Storage,
    SwitchedModes,
    Var,
)
from bondloop.engine.passes import add_rates
from bondloop.errors import ModelError

if TYPE_CHECKING:
    from bondloop.bondgraph.passes.causality import CausalGraph
    from bondloop.engine.ir import HeldMode


_LAWS: dict[int, Callable[[Variables, int], Equations]] = {
    TF: two_port,
    GY: two_port,
    SE: source,
    SF: source,
    SS: source_sensor,
    I: inertia,
    C: compliance,
    R: resistor,
    MATRIX: matrix_port,
}


def derive(graph: CausalGraph, outputs: Outputs = None, iterations: int | None = None) -> System:
    """Return the system of a causal graph.

    Parameters
    ----------
    graph
        A flat graph whose causality is assigned.
    outputs, iterations
        As for `Model.compile`.

    Examples
    --------
    >>> from bondloop.bondgraph import C, I, Model, One
    >>> from bondloop.bondgraph.passes import assign, flatten
    >>> m = Model("oscillator")
    >>> m.v = One()
    >>> _ = m.v >> [I(mass=2), C(stiffness=8)]
    >>> derive(assign(flatten(m)))
    <System oscillator: 2 states, 0 inputs, 0 outputs, 2 parameters>
    """
    return system_of(derive_equations(graph), outputs, iterations)


def derive_equations(graph: CausalGraph) -> Derivation:
    """Return the equations of a causal graph: all its junctions, elements and signals contribute theirs.

    Parameters
    ----------
    graph
        A flat graph whose causality is assigned.

    Examples
    --------
    >>> from bondloop.bondgraph import I, Model, One, Se
    >>> from bondloop.bondgraph.passes import assign, flatten
    >>> m = Model("pushed")
    >>> m.force, m.v = Se("F"), One()
    >>> _ = m.force >> m.v >> I(mass=2)
    >>> print(derive_equations(assign(flatten(m))))
    I.effort = force.effort
    force.effort = F
    v.flow = I.momentum/I.mass
    d/dt I.momentum = I.effort
    """
    v, flat = Variables(graph), graph.flat
    found = joined(_contributions(v))
    definitions = dict(found.definitions)
    parameters = dict(found.parameters)
    inputs, input_names = _inputs(found)
    held = dict.fromkeys(found.held, 0.0)
    bent = [*use_total_laws(found.choices, definitions, parameters), *found.bent]
    chosen = ((flat.incident[node][0], node) for node in graph.arbitrary)
    d = Derivation(
        v,
        definitions,
        dict(found.states),
        dict(found.initial),
        inputs,
        input_names,
        parameters,
        dict(found.rate_goals),
        dict(found.dots),
        {},
        [v.effort[bond] if v.gives_effort(bond, node) else v.flow[bond] for bond, node in chosen],
        bent,
        dict(found.given),
        dict(found.imposed),
        dict(found.sensed),
        list(found.sought),
        dict(found.holds),
        list(found.divisors),
        dict(found.memories),
        dict(found.quantities),
        held,
        dict(found.switching),
        list(found.unstarted),
    )
    if d.rate_goals:
        more, input_rates = add_rates(
            d.rate_goals,
            d.definitions,
            d.states,
            d.inputs,
            {**d.parameters, **d.held},
            d.dots,
            lambda: cancelled(d),
        )
        d = replace(d, dots={**d.dots, **more}, input_rates=input_rates)
    d = replace(d, tears=[*d.rate_goals.values(), *d.dots.values(), *d.bent, *d.tears])
    measure(d)
    _check_names(d)
    return d


def _contributions(v: Variables) -> Iterator[Equations]:
    flat = v.flat
    yield Equations(
        definitions=tuple(_junction(v, node, kind) for node, kind in enumerate(flat.kind) if kind <= ONE)
    )
    parts = flat.part
    for node, kind in enumerate(flat.kind):
        if kind > ONE and parts[node].relations is None:
            yield _LAWS[kind](v, node)
    for multiport in flat.multiports:
        if multiport.relations is not None:
            yield relation_ports(v, multiport)
    yield signal_equations(v, (part for part in flat.signals if part.is_signal))


def _junction(v: Variables, node: int, kind: int) -> tuple[Var, Expr]:
    """Return the variable that the strong bond of a junction takes, and the sum that it is."""
    flat = v.flat
    strong = v.graph.strong[node]
    variables = v.flow if kind == ZERO else v.effort
    strong_in = flat.head[strong] == node
    terms: list[Expr] = []
    heads = flat.head
    for b in flat.incident[node]:
        if b != strong:
            x = variables[b]
            terms.append(Op("neg", (x,)) if (heads[b] == node) == strong_in else x)
    if not terms:
        return variables[strong], Const(0.0)
    if len(terms) == 1:
        return variables[strong], terms[0]
    if type(terms[0]) is Op:  # a readable sum starts with a positive term
        terms.sort(key=lambda term: type(term) is Op)
    return variables[strong], Op("add", tuple(terms))


def _inputs(found: Equations) -> tuple[dict[Var, float], dict[str, str]]:
    """Return the inputs with their values, and who takes each of them; no name may stand for two."""
    inputs: dict[Var, float] = {}
    names: dict[str, str] = {}
    for var, value, path in found.inputs:
        if var in inputs:
            continue
        if var.name in names:
            raise ModelError(
                f"the input name '{var.name}' is used twice, by {names[var.name]} and {path}; "
                "give the sources different names, or bond both places to one source"
            )
        inputs[var], names[var.name] = value, path
    return inputs, names


def system_of(
    d: Derivation, outputs: Outputs, iterations: int | None, held_modes: Sequence[HeldMode] = ()
) -> System:
    """Return equations as a system; with source-sensors that impose both variables or neither, its inverse.

    Parameters
    ----------
    d
        The equations.
    outputs, iterations
        As for `Model.compile`.
    held_modes
        Of one mode: the elements that would switch.
    """
    flat = d.flat
    system = System(
        flat.title or "model",
        Interface(
            d.states,
            list(d.inputs),
            wanted(d, outputs),
            d.parameters,
            input_defaults=d.inputs,
            quantities=by_path(d),
        ),
        Program(
            d.definitions,
            d.tears,
            NEWTON_ITERATIONS if iterations is None else iterations,
            d.dots,
            d.input_rates,
        ),
        Storage(d.initial, d.memories),
        SwitchedModes(held=held_modes),
        Annotations(
            [flat.path[n] for n in d.graph.derivative if not _is_state(d, n)],
            remarks(d),
            d.divisors,
            lambda path: variable_at(d, path),
        ),
    )
    return turned_round(d, system) if d.imposed or d.sought else system


def _is_state(d: Derivation, node: int) -> bool:
    """Whether the content of a storage is a state all the same."""
    return any(v.name.startswith(d.flat.path[node] + ".") for v in d.states)


def remarks(d: Derivation) -> list[str]:
    """Return what is worth a note: free ends, what has no reference, values that nothing uses."""
    notes = [f"port {path} is left open: a free end, no effort acts there" for path in d.flat.free]
    notes += [
        f"{', '.join(paths)} {'have' if len(paths) > 1 else 'has'} no reference: join one to ground"
        for paths in floating(d.flat)
    ]
    missing = [v.name for v, value in d.parameters.items() if value is None]
    unused = [name for name in d.flat.symbol_values if name not in d.variables.symbols]
    if missing and unused:
        notes.append(
            f"let() gives values to {', '.join(unused)}, which no coefficient uses; "
            f"without a value: {', '.join(missing)}"
        )
    return notes


def _check_names(d: Derivation) -> None:
    """Names that the user chooses (of inputs and symbols) must not stand for two things."""
    chosen = {*d.variables.symbols, *(var.name for var in d.inputs)}
    taken = {v.name: group[v] for group in (d.states, d.definitions) for v in group if v.name in chosen}
    for name in d.variables.symbols:
        if name in d.input_names:
            raise ModelError(
                f"the name '{name}' is used twice, for the input of {d.input_names[name]} and for a "
                "symbol in a coefficient; rename one of them"
            )
        if name in taken:
            raise ModelError(f"the symbol '{name}' has the name of a variable of the model; rename it")
    for var in d.inputs:
        if taken.get(var.name, var) is not var:
            raise ModelError(f"the input '{var.name}' has the name of a variable of the model; rename it")
