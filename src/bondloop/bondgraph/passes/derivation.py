"""From a bond graph with its causality assigned to a program of named assignments.

Every bond has an effort and a flow. At a 0-junction all bonds share one effort variable, at a 1-junction one
flow variable, so each junction contributes a single sum and each element a single law: the list of
assignments is as short as the graph. Each law is a function that returns what it contributes; here they are
collected, and their variables found by path.

Source-sensors that impose both variables of a bond, or neither, are bicausal. The equations are derived with
ordinary causality first and turned round along the path between the two. On that path effort and flow go the
same way, and the causal stroke falls apart into two halves (Gawthrop 1995): that of the effort at the end
that receives the effort, that of the flow at the end that gives the flow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bondloop.bondgraph.elements import fields, one_ports, signals
from bondloop.bondgraph.parts import Reading
from bondloop.bondgraph.passes.algebraic_loops import cancelled, use_total_laws
from bondloop.bondgraph.passes.element_laws import (
    matrix_port,
    resistor,
    source,
    source_sensor,
    storage,
    two_port,
)
from bondloop.bondgraph.passes.equations import Derivation, Draft, Equations, Variables, joined
from bondloop.bondgraph.passes.field_laws import momentum_of
from bondloop.bondgraph.passes.flat_graph import GY, MATRIX, ONE, SE, SF, SS, TF, ZERO, C, I, R, floating
from bondloop.bondgraph.passes.measures import by_path, measure
from bondloop.bondgraph.passes.relation_laws import relation_ports
from bondloop.bondgraph.passes.signals import signal_equations
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
from bondloop.engine.passes import add_rates, invert_for
from bondloop.errors import CausalityError, InputError, ModelError, UnknownNameError

if TYPE_CHECKING:
    from bondloop.bondgraph.passes.causality import CausalGraph
    from bondloop.engine.ir import HeldMode


def turned_round(d: Derivation, system: System) -> System:
    """Find what the source-sensors that impose neither must give for what the others impose."""
    if len(d.imposed) != len(d.sought):
        raise CausalityError(
            f"{len(d.imposed)} source-sensors impose both effort and flow ({_list(d, 'both')}) and "
            f"{len(d.sought)} impose neither ({_list(d, 'neither')}); there must be as many of the one as of "
            "the other"
        )
    return invert_for(system, d.imposed, d.sought, system.output_exprs)


def _list(d: Derivation, imposes: str) -> str:
    flat = d.flat
    paths = [flat.path[n] for n in _bicausal_nodes(d, imposes)]
    return ", ".join(paths) or "none"


def _bicausal_nodes(d: Derivation, imposes: str) -> list[int]:
    return [n for n, p in enumerate(d.flat.part) if isinstance(p, one_ports.SS) and p.imposes == imposes]


def directions(d: Derivation, system: System) -> tuple[list[int], list[int]]:
    """Return for every bond where its effort goes and where its flow goes: 1 to the head, -1 to the tail."""
    to_head = d.graph.to_head
    if system.inversion is None:
        return list(to_head), [-way for way in to_head]
    flat = d.flat
    owner: dict[Var, int] = {}  # the node whose law gives each variable
    for variables, kind, sign in ((d.variables.effort, ZERO, 1), (d.variables.flow, ONE, -1)):
        for b, v in enumerate(variables):
            giver = flat.tail[b] if sign * to_head[b] > 0 else flat.head[b]
            if flat.kind[giver] != kind and isinstance(v, Var):
                owner[v] = giver
    sources = _bicausal_nodes(d, "both")
    for turn in system.inversion.turns:
        at: int | None = sources[turn.output]
        if turn.storage is not None:
            at = d.nodes_by_path.get(turn.storage.name.rpartition(".")[0])
        for v in turn.path:
            before = owner.get(v)
            if at is not None:
                owner[v] = at
            at = before
    return _ways(d, d.variables.effort, ZERO, owner), _ways(d, d.variables.flow, ONE, owner)


def _ways(d: Derivation, variables: Sequence[Expr], shared_by: int, owner: dict[Var, int]) -> list[int]:
    """Follow each variable from the node that gives it, through the junctions that share it."""
    flat = d.flat
    carried: dict[Var, list[int]] = {}
    for b, v in enumerate(variables):
        if isinstance(v, Var):
            carried.setdefault(v, []).append(b)
    ways = [0] * len(variables)
    for v, bonds in carried.items():
        at: dict[int, list[int]] = {}
        for b in bonds:
            at.setdefault(flat.tail[b], []).append(b)
            at.setdefault(flat.head[b], []).append(b)
        queue = deque([owner[v]] if v in owner else [])
        while queue:
            node = queue.popleft()
            for b in at.get(node, ()):
                if not ways[b]:
                    ways[b] = 1 if flat.tail[b] == node else -1
                    other = flat.head[b] if ways[b] > 0 else flat.tail[b]
                    if flat.kind[other] == shared_by:
                        queue.append(other)
    return ways


Outputs = Sequence[str | Reading] | str | Reading | None
"""What may be asked for as outputs: paths, or readings of storages; all detectors if None."""


def variable_at(d: Derivation, path: str) -> Expr:
    """Return the expression of a variable by its path, or raise with suggestions."""
    owner, _, word = path.rpartition(".")
    if word in ("effort", "flow"):
        found = _of_bond(d, owner, word)
        if found is not None:
            return found
    part = d.signals_by_path.get(path)
    if part is not None:
        return d.variables.signal(part)
    quantity = d.quantities.get(path)
    if quantity is not None:
        return quantity
    var = d.variables_by_name.get(path)
    if var is not None:
        return var
    node = d.nodes_by_path.get(owner)
    storage = None if node is None or word != "momentum" else d.flat.part[node]
    if node is not None and isinstance(storage, fields.IField) and storage.relations is None:
        return momentum_of(Draft(d.variables), node)
    if node is not None and word == "displacement":
        elongation = _elongation(d, node)
        if elongation is not None:
            return elongation
    raise UnknownNameError("variable", path, _known(d), d.flat.title or "the model")


def wanted(d: Derivation, outputs: Outputs) -> dict[str, Expr]:
    """Return outputs by name: those asked for, or all detectors and source-sensors."""
    flat = d.flat
    if outputs is None:
        detectors = (p for p in flat.signals if isinstance(p, (signals.De, signals.Df)))
        return {**{flat.paths[p]: d.variables.signal(p) for p in detectors}, **d.sensed}
    return {path: variable_at(d, path) for path in output_paths(d, outputs)}


def output_paths(d: Derivation, outputs: Sequence[str | Reading] | str | Reading) -> list[str]:
    """Return the paths of outputs: texts, or readings of storages."""
    asked = [outputs] if isinstance(outputs, (str, Reading)) else outputs
    return [_read_path(d, o) if isinstance(o, Reading) else o for o in asked]


def _read_path(d: Derivation, output: Reading) -> str:
    """Return the path of what a reading reads."""
    node = d.flat.first.get(output.part)
    if node is None:
        raise ModelError(f"{output} is not part of this model, so it is no output of it")
    return f"{d.flat.path[node + (output.index or 0)]}.{output.word}"


def _of_bond(d: Derivation, owner: str, word: str) -> Expr | None:
    """Effort or flow of a free end, a port, a junction, a one-port, or one side of a two-port."""
    flat = d.flat
    plain, component = _split_index(owner)
    for name, index in ((owner, 0), (plain, component)):
        if name in flat.free:
            first = flat.first[flat.free[name]]
            return Const(0.0) if word == "effort" else d.variables.junction(first + index)
    bond = flat.through.get(owner)
    node = d.nodes_by_path.get(owner)
    if bond is None and node is not None:
        if flat.kind[node] <= ONE:
            return _of_junction(d, node, word)
        bonds = flat.incident[node]
        if len(bonds) > 1:
            raise InputError(
                f"{owner}.{word} is ambiguous: {owner} has two bonds; "
                f"use {owner}.in.{word} or {owner}.out.{word}"
            )
        bond = bonds[0]
    stem, _, side = owner.rpartition(".")
    if bond is None and side in ("in", "out"):
        node = d.nodes_by_path.get(stem)
        if node is not None and flat.kind[node] in (TF, GY):
            bond = next(b for b in flat.incident[node] if (flat.head[b] == node) == (side == "in"))
    if bond is None:
        return None
    return d.variables.effort[bond] if word == "effort" else d.variables.flow[bond]


def _elongation(d: Derivation, node: int) -> Expr | None:
    """Return how far a 1-junction has moved: the state of a spring between it and the ground."""
    flat = d.flat
    if flat.kind[node] != ONE:
        return None
    springs = (
        d.variables_by_name.get(f"{flat.path[flat.head[bond]]}.displacement")
        for bond in flat.incident[node]
        if flat.head[bond] != node and isinstance(flat.part[flat.head[bond]], (one_ports.C, fields.CField))
    )
    return next((state for state in springs if state is not None), None)


def _of_junction(d: Derivation, node: int, word: str) -> Expr:
    if (word == "effort") == (d.flat.kind[node] == ZERO):
        return d.variables.junction(node)
    path, common = d.flat.path[node], "flow" if word == "effort" else "effort"
    raise InputError(
        f"{path} is a {d.flat.part[node].symbol}-junction: it has one {common}, but a different {word} on "
        "each bond; name an element or port instead"
    )


def _known(d: Derivation) -> list[str]:
    names = {v.name for group in (d.states, d.inputs, d.definitions) for v in group}
    names |= d.quantities.keys()
    names |= {f"{p}.{w}" for p in d.flat.through for w in ("effort", "flow")}
    for node, path in enumerate(d.flat.path):
        if d.flat.kind[node] >= SE:
            names |= {f"{path}.effort", f"{path}.flow"}
        elif d.flat.kind[node] in (ZERO, ONE):
            names.add(f"{path}.{'effort' if d.flat.kind[node] == ZERO else 'flow'}")
            if _elongation(d, node) is not None:
                names.add(f"{path}.displacement")
    return sorted(names)


def _split_index(path: str) -> tuple[str, int]:
    """Split ``right[1]`` into ``right`` and 1."""
    name, bracket, rest = path.rpartition("[")
    return (name, int(rest[:-1])) if bracket and rest[:-1].isdigit() else (path, 0)


_LAWS: dict[int, Callable[[Variables, int], Equations]] = {
    TF: two_port,
    GY: two_port,
    SE: source,
    SF: source,
    SS: source_sensor,
    I: storage,
    C: storage,
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
