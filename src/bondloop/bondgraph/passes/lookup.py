"""Variables by path: element, port, junction, either side of a two-port, free end, signal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bondloop.bondgraph import elements as el
from bondloop.bondgraph.parts import Reading
from bondloop.bondgraph.passes.equations import Draft
from bondloop.bondgraph.passes.field_laws import momentum_of
from bondloop.bondgraph.passes.flat_graph import GY, ONE, SE, TF, ZERO
from bondloop.engine.ir import Const, Expr
from bondloop.errors import InputError, ModelError, UnknownNameError

if TYPE_CHECKING:
    from bondloop.bondgraph.passes.equations import Derivation


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
    if node is not None and isinstance(storage, el.IField) and storage.relations is None:
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
        detectors = (p for p in flat.signals if isinstance(p, (el.De, el.Df)))
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
        if flat.head[bond] != node and isinstance(flat.part[flat.head[bond]], (el.C, el.CField))
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
