"""What a drawing shows of a model: its parts as nodes, its bonds with strokes as edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.bondgraph import elements as el
from bondloop.bondgraph.causality import assign
from bondloop.bondgraph.drawing import Edge, Node
from bondloop.bondgraph.flatten import flatten
from bondloop.bondgraph.parts import Junction, Part
from bondloop.errors import CausalityError

if TYPE_CHECKING:
    from bondloop.bondgraph.model import Model

__all__ = ["sketch"]


def sketch(model: Model) -> tuple[list[Node], list[Edge]]:
    """Return nodes and edges of a model; where causality is in conflict, strokes are left out."""
    flat = flatten(model)
    try:
        to_head = assign(flat).to_head
    except CausalityError:
        to_head = [0] * len(flat.tail)
    nodes: list[Node] = []
    number: dict[Part, int] = {}
    for part, path in flat.paths.items():
        if part in flat.first or part.is_signal:
            number[part] = len(nodes)
            group, _, name = path.rpartition(".")
            nodes.append(Node(path, part.symbol, _label(part, name), group))
    sizes: dict[tuple[int, int, str | None], int] = {}
    for bond, (t, h) in enumerate(zip(flat.tail, flat.head, strict=True)):
        stroke = {1: "head", -1: "tail", 0: None}[to_head[bond]]
        key = (number[flat.part[t]], number[flat.part[h]], stroke)
        sizes[key] = sizes.get(key, 0) + 1
    edges = [Edge(t, h, stroke, size=n) for (t, h, stroke), n in sizes.items()]
    for part, sources in flat.signals.items():
        edges += [Edge(number[source], number[part], None, signal=True) for source, _ in sources]
    return nodes, edges


def _label(part: Part, name: str) -> str:
    if isinstance(part, Junction):
        return name if name not in ("One", "Zero") else ""
    if isinstance(part, el._Source) and part.input_name:
        return part.input_name
    if isinstance(part, el._OnePort) and name.rstrip("0123456789") == type(part).__name__:
        if part.coefficient is not None:
            word, value, _ = part.coefficient
            return str(value) if getattr(value, "free_symbols", None) else word
        return "law"
    return "" if name.rstrip("0123456789") == type(part).__name__ else name
