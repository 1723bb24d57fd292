"""What a drawing shows of a model: its parts as nodes, its bonds with strokes as edges."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bondloop.bondgraph.drawing.geometry import Edge, Node
from bondloop.bondgraph.elements import multiport, one_ports
from bondloop.bondgraph.graph import named_by_kind
from bondloop.bondgraph.passes.causality import assign
from bondloop.bondgraph.passes.derivation import derive_equations, directions, system_of
from bondloop.bondgraph.passes.flat_graph import FlatGraph, flatten
from bondloop.engine.ir import Statement, loops
from bondloop.errors import BondloopError, CausalityError, InputError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bondloop.bondgraph.graph import Graph
    from bondloop.bondgraph.parts import Part
    from bondloop.bondgraph.passes.equations import Derivation

FOLDED = 80
"""A model with more parts than this has its sub-models folded, unless it is said otherwise."""


def sketch(
    model: Graph, fold: bool | None = None, unfold: Sequence[str] = ()
) -> tuple[list[Node], list[Edge]]:
    """Return nodes and edges of a model; where causality is in conflict, that is marked.

    Parameters
    ----------
    model
        What to draw.
    fold
        Whether sub-models are boxes; None: those of a large model are.
    unfold
        Paths of sub-models that are not folded; those within them are.
    """
    flat = flatten(model)
    view = _view(flat)
    nodes: list[Node] = []
    number: dict[Part, int] = {}
    for part, path in flat.paths.items():
        if part in flat.first or part.is_signal:
            number[part] = len(nodes)
            group, _, name = path.rpartition(".")
            nodes.append(Node(path, part.symbol, _label(part, name), group, view.marks.get(part, "")))
    names: dict[Edge, list[tuple[str, str]]] = {}
    ends = {1: "head", -1: "tail", 0: None}
    for bond, (t, h) in enumerate(zip(flat.tail, flat.head, strict=True)):
        # The flow's half stroke stands at the end that gives it.
        stroke, flow_stroke = ends[view.effort[bond]], ends[-view.flow[bond]]
        edge = Edge(
            number[flat.part[t]],
            number[flat.part[h]],
            stroke,
            flow_stroke=None if flow_stroke == stroke else flow_stroke,
            mark="conflict" if bond in view.conflict else "loop" if bond in view.loops else "",
        )
        names.setdefault(edge, []).append((_port(flat, t), _port(flat, h)))
    edges = []
    for edge, ends_of in names.items():
        tails, heads = (", ".join(filter(None, side)) for side in zip(*ends_of, strict=True))
        edges.append(replace(edge, size=len(ends_of), tail_port=tails, head_port=heads))
    for part, sources in flat.signals.items():
        edges += [Edge(number[source], number[part], None, signal=True) for source, _, _ in sources]
    if unfold or (len(nodes) > FOLDED if fold is None else fold):
        return _folded(nodes, edges, unfold)
    return nodes, edges


@dataclass
class _View:
    """What there is to show of a flat graph's causality.

    Attributes
    ----------
    effort, flow
        For every bond where its effort and its flow go: 1 to the head, -1 to the tail, 0 unknown.
    marks
        Parts that are marked.
    loops, conflict
        Bonds on algebraic loops, and those whose causality is in conflict.
    """

    effort: Sequence[int]
    flow: Sequence[int]
    marks: dict[Part, str] = field(default_factory=dict)
    loops: set[int] = field(default_factory=set)
    conflict: frozenset[int] = frozenset()


def _view(flat: FlatGraph) -> _View:
    try:
        causality = assign(flat)
    except CausalityError as error:
        view = _View(error.to_head, [-way for way in error.to_head], conflict=frozenset(error.bonds))
        view.marks = {flat.part[n]: "conflict" for n in error.nodes}
        return view
    view = _View(causality.to_head, [-way for way in causality.to_head])
    dependent: Iterable[str] = [flat.path[n] for n in causality.derivative]
    try:
        derivation = derive_equations(causality)
        system = system_of(derivation, None, None)
        view.effort, view.flow = directions(derivation, system)
        dependent = system.dependent
        view.loops = _on_loops(derivation, system.schedule(list(system.definitions)))
    except BondloopError:
        pass  # equations that cannot be derived have no loops to show; the strokes are right all the same
    follows = set(dependent)
    view.marks = {p: "dependent" for p, path in zip(flat.part, flat.path, strict=True) if path in follows}
    return view


def _on_loops(d: Derivation, statements: Iterable[Statement]) -> set[int]:
    """Bonds both of whose variables, or rates of them, are members of one algebraic loop."""
    bonds: set[int] = set()
    for loop in loops(statements):
        names = {v.name.rpartition("dt ")[2] for v, _ in loop.defines}
        for bond, pair in enumerate(zip(d.variables.effort, d.variables.flow, strict=True)):
            if all(v.name in names for v in pair):
                bonds.add(bond)
    return bonds


def _folded(
    nodes: Sequence[Node], edges: Sequence[Edge], unfold: Sequence[str]
) -> tuple[list[Node], list[Edge]]:
    """Put one box for every sub-model that is not unfolded, and leave out what is within."""
    groups = {p for v in nodes for p in _within(v.group)}
    for path in unfold:
        if path not in groups:
            raise InputError(unknown_name("sub-model", path, sorted(groups)))
    opened = {p for path in unfold for p in _within(path)}
    kept: list[Node] = []
    place: dict[str, int] = {}
    number: list[int] = []
    for v in nodes:
        box = next((p for p in _within(v.group) if p not in opened), None)
        path = v.path if box is None else box
        if path not in place:
            place[path] = len(kept)
            group, _, name = path.rpartition(".")
            kept.append(v if box is None else Node(path, name, "", group, box=True))
        number.append(place[path])
        if box is not None and (v.mark == "conflict" or not kept[place[path]].mark):
            kept[place[path]] = replace(kept[place[path]], mark=v.mark)
    outer = [
        replace(
            e,
            tail=number[e.tail],
            head=number[e.head],
            tail_port="" if kept[number[e.tail]].box else e.tail_port,
            head_port="" if kept[number[e.head]].box else e.head_port,
        )
        for e in edges
    ]
    signals = dict.fromkeys(e for e in outer if e.signal and e.tail != e.head)  # one arrow says it
    return kept, [*(e for e in outer if not e.signal and e.tail != e.head), *signals]


def _within(path: str) -> list[str]:
    """All sub-models that a path lies in, outermost first, itself last."""
    words = path.split(".") if path else []
    return [".".join(words[: k + 1]) for k in range(len(words))]


def _port(flat: FlatGraph, node: int) -> str:
    """Return the name of an element's port, where it has several that are named."""
    part = flat.part[node]
    if isinstance(part, multiport.Multiport) and len(part.port_names) > 1:
        return part.port_names[flat.component[node]]
    return ""


def _label(part: Part, name: str) -> str:
    """Return what the equations call a part, where its symbol does not say it already; and its letter."""
    if isinstance(part, one_ports.Source) and part.input_name:
        return part.input_name
    label = "" if name == part.symbol else name
    coefficient = getattr(part, "coefficient", None)
    value = coefficient[1] if isinstance(coefficient, tuple) else coefficient
    if named_by_kind(part) and getattr(value, "free_symbols", None):
        return f"{label} ({value})" if label else str(value)
    return label
