"""Bond graphs on paper: half arrows, causal strokes and signals, as SVG, PNG or PDF.

A power bond ends in a half arrow, drawn on its flow side (below a level bond, right of an upright one), and
carries its causal stroke, a short bar, at the end that receives the effort (Karnopp, Margolis and Rosenberg
2012). Where an element has several ports, their names stand beside them. A signal has a full arrow, a vector
bond is a double line with its size. The stroke of a bicausal bond is in two halves (Gawthrop 1995): on its
flow side at the end that gives the flow, on the other side at the end that receives the effort. A box is a
sub-model that is folded. Colour only repeats what the symbols say. A frame is dashed where nodes of other
sub-models had to lie within it. What else is marked is explained below the drawing.
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.bondgraph.drawing.arrangement import place_all
from bondloop.bondgraph.drawing.geometry import (
    FRAME,
    FRAME_IN_FRAME,
    Edge,
    Graph,
    Node,
    clear_of_frames,
    label_lines,
    measure,
    overlap,
    through,
)
from bondloop.errors import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from bondloop.bondgraph.drawing.geometry import Array, Edge, Node, Quality

UNIT = 0.82
"""Inches on paper of one bond."""
SYMBOL, LABEL, SMALL = 13.0, 10.0, 8.5
"""Type sizes in points: symbols, labels of elements, labels of junctions."""
LARGEST_DRAWING = 2000
"""Nodes beyond which a drawing cannot be read."""
CLEAR = 0.055
"""White between a bond and its symbol."""
CAPITAL = 0.66 * SYMBOL / 72 / UNIT
"""Height of a capital."""
STROKE = 0.085
"""Half the length of a causal stroke."""
PORT_HEIGHT, PORT_GAP = 0.13, 0.045
"""Height of the name of a port, and white between it and its bond."""
RING, BOX = 0.055, 0.1
"""White between a symbol and the ring or the box round it, to either side."""
RING_ABOVE = 0.07
"""The same above and below, of a ring."""
LEGEND_LINE, LEGEND_SIZE = 0.2, 8.5
"""Height of a line of the legend, and its type size in points."""
FACE = ["STIXGeneral", "DejaVu Serif", "DejaVu Sans"]
BLUE, RED, GREEN, PURPLE, GREY = "#0b5394", "#b03a0c", "#00664b", "#6a3d9a", "#5a5a5a"
GOLD, MAGENTA, SIGNAL_RED = "#8a6100", "#b0125b", "#d00000"
COLOURS = {"0": "black", "1": "black", "I": BLUE, "C": BLUE, "IC": BLUE, "R": RED, "RS": RED}
COLOURS |= dict.fromkeys(["Se", "Sf", "SS", "MSe", "MSf"], GREEN)
COLOURS |= dict.fromkeys(["TF", "MTF", "GY", "MGY"], PURPLE)
BOND_COLOURS = {"": "black", "loop": MAGENTA, "conflict": SIGNAL_RED}
DASHES: dict[str, Any] = {"": "solid", "loop": (0, (4.0, 1.8)), "conflict": "solid"}
"""How bonds are drawn, by their mark."""


def ring(node: Node) -> Array:
    """Return how much more room a node takes for what is drawn round its symbol."""
    room: Array = np.array([BOX, BOX]) * node.box + np.array([RING, RING_ABOVE]) * bool(node.mark)
    return room


def cross(middle: Array, along: Array, across: Array) -> list[Array]:
    """Return the two strokes that cross out a bond."""
    one, other = 0.08 * (along + across), 0.08 * (along - across)
    return [np.array([middle - one, middle + one]), np.array([middle - other, middle + other])]


def _frame(page: Page, centre: Array, half: Array, mark: str) -> None:
    """Draw the ring of a dependent storage, the square of a conflict or the box of a sub-model."""
    from matplotlib.patches import FancyBboxPatch

    colour = {"dependent": GOLD, "conflict": SIGNAL_RED}.get(mark, "black")
    lo, (w, h) = centre - half, 2 * half
    round_ = min(w, h) / 2 if mark == "dependent" else 0.02
    frame = FancyBboxPatch(lo.tolist(), w, h, boxstyle=f"round,pad=0,rounding_size={round_}")
    frame.set(facecolor="none", edgecolor=colour, linewidth=1.4 if mark == "conflict" else 0.9, zorder=1.5)
    page.axes.add_patch(frame)


def rings(page: Page) -> None:
    """Draw what goes round the symbols."""
    for node, centre, half in zip(page.graph.nodes, page.p, page.half, strict=True):
        if node.box:
            _frame(page, centre, half - np.array([RING, RING_ABOVE]) * bool(node.mark), "")
        if node.mark:
            _frame(page, centre, half, node.mark)
        if node.box or node.mark:
            page.boxes.append((*(centre - half).tolist(), *(centre + half).tolist()))
            page.owner.append(-1)


def legend(page: Page, edges: Sequence[Edge]) -> None:
    """Explain the marks that the drawing has, below it."""
    from matplotlib.collections import LineCollection

    marks = {v.mark for v in page.graph.nodes} | {e.mark for e in edges}
    lines = []
    if "dependent" in marks:
        lines.append(("dependent", "ringed: in derivative causality, it follows other storages or a source"))
    if "loop" in marks:
        lines.append(("loop", "dashed: on an algebraic loop"))
    if "conflict" in marks:
        lines.append(("conflict", "crossed out, squared: causal conflict"))
    if any(e.flow_stroke not in (None, e.stroke) for e in edges):
        lines.append(("bicausal", "half strokes: bicausal, effort and flow go the same way"))
    if any(v.box for v in page.graph.nodes):
        lines.append(("box", "boxed: a sub-model, folded"))
    if not lines:
        return
    texts = np.array(page.boxes)
    left, low = texts[:, 0].min() + 0.05, texts[:, 1].min() - 0.3
    for k, (mark, text) in enumerate(lines):
        at = np.array([left + 0.18, low - k * LEGEND_LINE])
        along = np.array([[-0.16, 0.0], [0.16, 0.0]])
        if mark in ("dependent", "box"):
            _frame(page, at, np.array([0.12, 0.07]), mark)
        else:
            colour = BOND_COLOURS.get(mark, "black")
            line = LineCollection([at + along], colors=colour, linewidths=0.9)
            line.set_linestyle([DASHES.get(mark, "solid")])
            page.axes.add_collection(line)
        if mark == "bicausal":
            up = np.array([0.0, 0.07])
            halves = [np.array([end, end + side]) for end, side in zip(at + along, (up, -up), strict=True)]
            page.axes.add_collection(LineCollection(halves, colors="black", linewidths=1.7))
        if mark == "conflict":
            strokes = cross(at, np.array([1.0, 0.0]), np.array([0.0, 1.0]))
            page.axes.add_collection(LineCollection(strokes, colors=SIGNAL_RED, linewidths=1.7))
        page.write(text, at[0] + 0.28, at[1] - 0.045, LEGEND_SIZE, -2, color=GREY)


def _graph(nodes: Sequence[Node], edges: Sequence[Edge]) -> Graph:
    """Check what is to be drawn, and turn it into arrays."""
    if len(nodes) > LARGEST_DRAWING:
        raise InputError(
            f"a drawing of {len(nodes)} nodes cannot be read; at most {LARGEST_DRAWING} are drawn: "
            "draw one sub-model at a time, or look at the equations instead"
        )
    uses = Counter(v.path for v in nodes)
    faults = [f"path '{name}' is used by {count} nodes" for name, count in uses.items() if count > 1]
    for k, e in enumerate(edges):
        if not (0 <= e.tail < len(nodes) and 0 <= e.head < len(nodes)):
            faults.append(
                f"edge {k} joins nodes {e.tail} and {e.head}; there are nodes 0 to {len(nodes) - 1}"
            )
        elif e.tail == e.head:
            faults.append(f"edge {k} joins '{nodes[e.tail].path}' to itself")
        faults += [
            f"edge {k} has stroke {stroke!r}; expected 'head', 'tail' or None"
            for stroke in (e.stroke, e.flow_stroke)
            if stroke not in (None, "head", "tail")
        ]
    if faults:
        raise InputError("cannot draw this bond graph: " + "; ".join(faults))
    tail, head = (np.array([getattr(e, end) for e in edges], dtype=np.intp) for end in ("tail", "head"))
    return Graph(nodes, tail, head, np.array([e.signal for e in edges], dtype=bool))


def layout(nodes: Sequence[Node], edges: Sequence[Edge]) -> Array:
    """Return a place for each node; the same graph always gets the same places.

    Parameters
    ----------
    nodes, edges
        The bond graph.

    Returns
    -------
    numpy.ndarray
        Positions, shape (n, 2), x to the right and y upwards, in units of one bond.

    Examples
    --------
    >>> nodes = [Node("e", "Se", "V"), Node("i", "1", ""), Node("l", "I", "L"), Node("r", "R", "R")]
    >>> edges = [Edge(0, 1, "head"), Edge(1, 2, "head"), Edge(1, 3, "tail")]
    >>> layout(nodes, edges).tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, -1.0]]
    """
    graph = _graph(nodes, edges)
    return place_all(graph) if nodes else np.zeros((0, 2))


def quality(nodes: Sequence[Node], edges: Sequence[Edge], positions: Array) -> Quality:
    """Count the faults of a layout: crossings, bonds over other nodes' texts, texts over texts.

    Examples
    --------
    >>> nodes = [Node("a", "0", ""), Node("b", "1", ""), Node("c", "0", "")]
    >>> quality(nodes, [Edge(0, 2, None)], np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]))
    Quality(crossings=0, bonds_over_nodes=1, overlaps=0)
    """
    return measure(_graph(nodes, edges), positions)


class Page:
    """A figure whose data unit is one bond, with the boxes and lines already on it."""

    def __init__(self, graph: Graph, p: Array) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.font_manager import FontProperties

        from bondloop.display import Figure

        self.graph, self.p = graph, p
        self.figure = Figure(dpi=100)
        canvas: Any = FigureCanvasAgg(self.figure)  # its renderer has no types
        self.renderer = canvas.get_renderer()
        self.axes = self.figure.add_axes((0, 0, 1, 1), frameon=False, xticks=[], yticks=[])
        self.fonts = {
            (s, i): FontProperties(family=FACE, size=s, style="italic" if i else "normal")
            for s in (SYMBOL, LABEL, SMALL)
            for i in (False, True)
        }
        self.boxes: list[tuple[float, float, float, float]] = []  # left, bottom, right, top of each text
        self.strokes = np.zeros((0, 2, 0))  # both ends of every line, shape (2 ends, 2 coordinates, lines)
        self.owner: list[int] = []  # the node of each box
        self.spans: list[Array] = []  # both ends of each bond
        tall = [0.7 if v.symbol in "∫ƒ" else 0.5 for v in graph.nodes]
        self.half = np.array(
            [[self.width(v.symbol, SYMBOL) / 2, k * CAPITAL] for v, k in zip(graph.nodes, tall, strict=True)]
        )
        self.half += [ring(v) for v in graph.nodes]

    def width(self, text: str, size: float, italic: bool = False) -> float:
        """Return how wide a text is, in bonds."""
        wide = self.renderer.get_text_width_height_descent(text, self.fonts[size, italic], False)[0]
        return float(wide) / 100 / UNIT

    def trim(self, i: int, u: Array) -> float:
        """Return how far from node ``i`` a bond along ``u`` starts, clear of its symbol and other strokes."""
        box = float(((self.half[i] + CLEAR) / np.maximum(np.abs(u), 1e-9)).min())
        d = self.p[self.graph.near[i]] - self.p[i]
        turn = np.abs(np.arctan2(d[:, 0] * u[1] - d[:, 1] * u[0], d @ u))
        least = float(np.min(turn[turn > 1e-6], initial=np.pi / 2))
        return max(box, float(np.clip((STROKE + 0.02) / np.tan(least / 2), 0.17, 0.3)) if len(d) > 1 else 0.0)

    def write(self, text: str, x: float, y: float, size: float, owner: int, **style: Any) -> None:
        """Write one line, its baseline at y, and remember its box."""
        italic = bool(style.pop("italic", False))
        w, em = self.width(text, size, italic), size / 72 / UNIT
        left = x - w * {"left": 0.0, "center": 0.5, "right": 1.0}[style.get("ha", "left")]
        self.boxes.append((left, y - (0.0 if size == SYMBOL else 0.2 * em), left + w, y + 0.68 * em))
        self.owner.append(owner)
        self.axes.text(
            x, y, text, fontproperties=self.fonts[size, italic], va="baseline", parse_math=False, **style
        )

    def symbols(self) -> None:
        """Write the symbols, and the labels of leaves on the far side of their bonds."""
        g = self.graph
        for i, v in enumerate(g.nodes):
            (x, y), colour = self.p[i], COLOURS.get(v.symbol, GREY)
            self.write(v.symbol, x, y - CAPITAL / 2, SYMBOL, i, ha="center", color=colour)
            if not (g.leaf[i] or not g.near[i]) or not v.label:
                continue
            left = self.p[g.anchor[i], 0] - x > 0.2
            sign, side = (-1.0, "right") if left else (1.0, "left")
            colon = x + sign * (self.half[i, 0] + 0.075)
            self.write(":", colon, y - CAPITAL / 2, LABEL, i, ha="center", color=colour)
            lines = label_lines(v.label)
            for k, line in enumerate(lines):
                drop = (k - (len(lines) - 1) / 2) * 0.17
                at = (colon + sign * 0.065, y - 0.38 * CAPITAL - drop)
                self.write(line, *at, LABEL, i, ha=side, color=colour, italic=True)

    def bond(self, edge: Edge, aside: float) -> tuple[list[Array], list[Array]]:
        """Return the thin and the thick lines of one bond; ``aside`` shifts one of several parallel bonds."""
        a, b = self.p[edge.tail], self.p[edge.head]
        length = max(float(np.hypot(*(b - a))), 1e-9)
        u = (b - a) / length
        flow = np.array([u[1], -u[0]])
        if (flow[1] > 0) if abs(u[0]) > 0.2 else (flow[0] < 0):
            flow = -flow
        a, b = a + u * self.trim(edge.tail, u) + flow * aside, b - u * self.trim(edge.head, -u) + flow * aside
        if edge.signal:
            return [np.array([a, b])], []
        tip = b - u * (0.05 if "head" in (edge.stroke, edge.flow_stroke) else 0.0)
        barb = np.array([tip, tip - 0.14 * u + 0.08 * flow])
        thin, thick = [np.array([a, b]), barb], []
        if edge.size > 1:
            thin = [np.array([a, b]) + 0.022 * flow, np.array([a, b]) - 0.022 * flow, barb + 0.022 * flow]
            mid = (a + b) / 2 - flow * (0.14 if abs(u[0]) > 0.2 else 0.1)
            self.write(str(edge.size), mid[0], mid[1] - 0.05, SMALL, -1, ha="center", color="black")
        ends = {"head": b, "tail": a}
        both = edge.flow_stroke in (None, edge.stroke)
        if edge.stroke:
            end = ends[edge.stroke]
            thick.append(np.array([end - STROKE * flow, end + (STROKE if both else 0.0) * flow]))
        if edge.flow_stroke and not both:
            end = ends[edge.flow_stroke]
            thick.append(np.array([end, end + STROKE * flow]))
        if edge.mark == "conflict":
            thick += cross((a + b) / 2, u, flow)
        return thin, thick

    def bonds(self, edges: Sequence[Edge]) -> None:
        """Draw all bonds and signals."""
        from matplotlib.collections import LineCollection, PolyCollection

        pairs = Counter(frozenset((e.tail, e.head)) for e in edges)
        met: Counter[frozenset[int]] = Counter()
        thin, thick, grey, heads, lines = [], [], [], [], []
        styles: list[str] = []
        colours: list[str] = []
        for e in edges:
            pair = frozenset((e.tail, e.head))
            slim, fat = self.bond(e, (met[pair] - (pairs[pair] - 1) / 2) * 0.22)
            lines += slim + fat
            self.spans.append(slim[0])
            met[pair] += 1
            thick += fat
            colours += [BOND_COLOURS[e.mark]] * len(fat)
            if not e.signal:
                thin += slim
                styles += [e.mark] * len(slim)
                continue
            ((a, b),) = slim
            u = (b - a) / max(float(np.hypot(*(b - a))), 1e-9)
            n = np.array([-u[1], u[0]])
            heads.append(np.array([b, b - 0.13 * u + 0.045 * n, b - 0.13 * u - 0.045 * n]))
            grey.append(np.array([a, b - 0.1 * u]))
        if lines:
            self.strokes = np.array(lines).transpose(1, 2, 0)
        slim_colours = [BOND_COLOURS[mark] for mark in styles] or "black"
        dashes: Any = [
            DASHES[mark] for mark in styles
        ] or "solid"  # matplotlib's types leave out lists of dashes
        self.axes.add_collection(
            LineCollection(thin, colors=slim_colours, linestyles=dashes, linewidths=0.9, capstyle="round")
        )
        self.axes.add_collection(
            LineCollection(thick, colors=colours or "black", linewidths=1.7, capstyle="butt")
        )
        self.axes.add_collection(LineCollection(grey, colors=GREY, linewidths=0.8))
        self.axes.add_collection(PolyCollection(heads, facecolors=GREY, edgecolors="none"))

    def freest(self, tried: Sequence[tuple[float, float, float, float]]) -> tuple[float, float, float, float]:
        """Choose the box, first among equals, that covers the fewest texts and lines."""
        box = np.array(tried).T
        lo, hi = box[:2, :, None] - 0.02, box[2:, :, None] + 0.02
        low, high = box[:2].min(1)[:, None] - 0.1, box[2:].max(1)[:, None] + 0.1
        texts = np.array(self.boxes).T
        texts = texts[:, overlap(texts[:2], texts[2:], low, high)][:, None]
        faults = overlap(lo, hi, texts[:2], texts[2:]).sum(1)
        if len(self.strokes):
            a, b = self.strokes
            near = overlap(np.minimum(a, b), np.maximum(a, b), low, high)
            faults = faults + through(a[:, None, near], b[:, None, near], lo, hi).sum(1)
        return tried[int(np.argmin(faults))]

    def labels(self) -> None:
        """Write the labels of junctions, two-ports and blocks in the free corner beside their symbols."""
        corners = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
        middles = [(0, 1), (0, -1), (1, 0), (-1, 0)]
        for i, v in enumerate(self.graph.nodes):
            if self.graph.leaf[i] or not self.graph.near[i] or not v.label:
                continue
            lines, (x, y), (hx, hy) = label_lines(v.label), self.p[i], self.half[i]
            w, h = max(self.width(t, SMALL, True) for t in lines), 0.13 + 0.14 * (len(lines) - 1)
            first = corners + middles if v.symbol in ("0", "1") else middles[:2] + corners + middles[2:]
            tried = []
            for (sx, sy), far in product(first, (0.035, 0.08, 0.13, 0.2)):
                left = x + sx * (hx + (far if sy else far + 0.05)) - w * (1 - sx) / 2
                low = y + sy * (hy + far) - h * (1 - sy) / 2
                tried.append((left, low, left + w, low + h))
            left, low, *_ = self.freest(tried)
            for k, line in enumerate(reversed(lines)):
                self.write(
                    line,
                    left,
                    low + 0.03 + 0.14 * k,
                    SMALL,
                    i,
                    color=COLOURS.get(v.symbol, GREY),
                    italic=True,
                )

    def frames(self) -> None:
        """Draw a faint rounded frame around each sub-model, its name in a free corner."""
        from matplotlib.patches import FancyBboxPatch

        paths = {
            ".".join(v.group.split(".")[: k + 1])
            for v in self.graph.nodes
            if v.group
            for k in range(v.group.count(".") + 1)
        }
        texts, owner = np.array(self.boxes), np.array(self.owner)
        for name in sorted(paths):
            inner = max(q.count(".") for q in paths if q == name or q.startswith(name + ".")) - name.count(
                "."
            )
            inside = [v.group == name or v.group.startswith(name + ".") for v in self.graph.nodes]
            mine = texts[(owner >= 0) & np.array(inside)[owner]]
            pad = FRAME + FRAME_IN_FRAME * inner
            lo, hi = mine[:, :2].min(0) - pad, mine[:, 2:].max(0) + pad
            short = name.rpartition(".")[2]  # the outer frame says the rest
            w = self.width(short, SMALL) + 0.1
            corners = [(x, y, x + w, y + 0.13) for y in (hi[1], lo[1] - 0.13) for x in (lo[0], hi[0] - w)]
            best = self.freest(corners)
            lo[1], hi[1] = (lo[1], hi[1] + 0.17) if best[1] == hi[1] else (lo[1] - 0.17, hi[1])
            others = texts[(owner >= 0) & ~np.array(inside)[owner]].T
            # Guests inside: a dashed frame claims less than a filled one.
            pure = not overlap(others[:2], others[2:], lo[:, None], hi[:, None]).any()
            (w, h), corner = hi - lo, "round,pad=0,rounding_size=0.1"
            frame = FancyBboxPatch((lo[0], lo[1]), w, h, boxstyle=corner, linewidth=0.6)
            frame.set(facecolor="#f4f4f1" if pure else "none", edgecolor="#bdbdb5", zorder=0.1)
            frame.set_linestyle("-" if pure else "--")
            self.axes.add_patch(frame)
            self.write(short, best[0] + 0.05, best[1] + 0.03, SMALL, -2, color="#6b6b64")
            self.boxes.append((*lo, *hi))
            self.owner.append(-3)

    def finish(self, title: str) -> Figure:
        """Cut the paper to the drawing."""
        texts = np.array(self.boxes)
        lo, hi = texts[:, :2].min(0) - 0.15, texts[:, 2:].max(0) + 0.15
        if title:
            size = 12.0
            need = 0.6 * len(title) * size / 72 / UNIT - (hi[0] - lo[0])
            lo[0], hi[0], hi[1] = lo[0] - max(need, 0) / 2, hi[0] + max(need, 0) / 2, hi[1] + 0.4
            self.axes.text(
                (lo[0] + hi[0]) / 2,
                hi[1] - 0.12,
                title,
                family=FACE,
                size=size,
                ha="center",
                va="top",
                parse_math=False,
            )
        self.axes.set(xlim=(lo[0], hi[0]), ylim=(lo[1], hi[1]))
        self.figure.set_size_inches(*((hi - lo) * UNIT))
        return self.figure


def draw(
    nodes: Sequence[Node],
    edges: Sequence[Edge],
    path: str | os.PathLike[str] | None = None,
    *,
    title: str = "",
    frames: bool = True,
    dpi: int = 200,
) -> Figure:
    """Draw a bond graph; save it when a path is given.

    Parameters
    ----------
    nodes, edges
        The bond graph.
    path
        Where to save it; the suffix, ``.svg``, ``.png`` or ``.pdf``, decides the format.
    title
        Written above the drawing.
    frames
        Whether sub-models get a frame with their name.
    dpi
        Dots per inch of a PNG.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, free of pyplot.

    Raises
    ------
    InputError
        For an empty or too large graph, another suffix, or a place that cannot be written.

    Examples
    --------
    >>> nodes = [Node("e", "Se", "V"), Node("r", "R", "load")]
    >>> figure = draw(nodes, [Edge(0, 1, "head")])
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['Se', ':', 'V', 'R', ':', 'load']
    """
    target = None if path is None else Path(path)
    if target is not None and target.suffix.lower() not in (".svg", ".png", ".pdf"):
        raise InputError(
            f"cannot draw to '{target}': the suffix is '{target.suffix}'; use .svg, .png or .pdf"
        )
    if not nodes:
        raise InputError("there is nothing to draw: the model has no elements yet")
    graph, places = _graph(nodes, edges), layout(nodes, edges)
    page = Page(graph, clear_of_frames(graph, places) if frames else places)
    page.symbols()
    rings(page)
    page.bonds(edges)
    port_names(page, edges)
    page.labels()
    if frames:
        page.frames()
    legend(page, edges)
    figure = page.finish(title)
    if target is not None:
        _save(figure, target, dpi)
    return figure


def _save(figure: Figure, target: Path, dpi: int) -> None:
    """Write the figure, the same bytes for the same drawing."""
    from bondloop.display import save

    try:
        save(figure, target, target.suffix.lower()[1:], min(dpi, 60000 / max(figure.get_size_inches())))
    except OSError as error:
        raise InputError(
            f"cannot write the drawing '{target}': {error.strerror or error}; does the folder exist?"
        ) from error


def port_names(page: Page, edges: Sequence[Edge]) -> None:
    """Write the name of each port near its end of the bond, on the side that is free."""
    for edge, (tail, head) in zip(edges, page.spans, strict=True):
        length = max(float(np.hypot(*(head - tail))), 1e-9)
        along = (head - tail) / length
        for name, node, end, u in (
            (edge.tail_port, edge.tail, tail, along),
            (edge.head_port, edge.head, head, -along),
        ):
            if not name:
                continue
            width = page.width(name, SMALL, True)
            half = np.array([width, PORT_HEIGHT]) / 2
            boxes = []
            for far, side in product((0.04, 0.12, 0.2, 0.3), (1.0, -1.0)):
                across = side * np.array([-u[1], u[0]])
                centre = (
                    end + u * (far + abs(u[0]) * half[0]) + across * (PORT_GAP + float(np.abs(across) @ half))
                )
                boxes.append((*(centre - half).tolist(), *(centre + half).tolist()))
            left, low, *_ = page.freest(boxes)
            colour = COLOURS.get(page.graph.nodes[node].symbol, GREY)
            page.write(name, left, low + 0.03, SMALL, node, color=colour, italic=True)
