"""Bond graphs drawn at random: trees, meshes, fields, modulated, nonlinear, mixed domains, all at once.

A `Graph` is plain data. ``model()`` makes bondloop's model of it, `tableau.Tableau` its equations without
bondloop. Whatever is drawn comes from a ``random.Random``: a seeded one (`drawn`), or one of hypothesis.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # for drawn_kinds.py

import drawn_kinds as kinds
from drawn_kinds import Formula, Junction, Kind, symbolic

from bondloop.bondgraph import De, Df, Function, Input, Model, SignalIntegrator

if TYPE_CHECKING:
    from collections.abc import Callable

DOMAINS = {"electricity": (100.0, 1.0), "translation": (1e3, 0.1), "hydraulics": (1e6, 1e-4)}
"""Usual efforts and flows: V and A, N and m/s, Pa and m³/s."""

FAMILIES = ("tree", "mesh", "fields", "modulated", "nonlinear", "mixed domains", "all at once")


@dataclass
class Bond:
    """A bond: node and port at its tail, node and port at its head."""

    tail: int
    tail_port: int
    head: int
    head_port: int


@dataclass
class Signal:
    """A signal: of a junction (``detector``), of other signals, or an input.

    ``what`` is ``"detector"``, ``"integral"``, ``"function"`` or ``"input"``.
    """

    what: str
    source: int = -1
    formula: Formula | None = None
    name: str = ""

    @property
    def late(self) -> bool:
        """Whether it follows from states and inputs alone."""
        return self.what != "detector"


@dataclass
class Graph:
    """A drawn bond graph: parts, bonds, signals, and which signals each part takes."""

    nodes: list[Kind] = field(default_factory=list)
    bonds: list[Bond] = field(default_factory=list)
    signals: list[Signal] = field(default_factory=list)
    takes: dict[int, list[int]] = field(default_factory=dict)

    def add(self, kind: Kind) -> int:
        self.nodes.append(kind)
        return len(self.nodes) - 1

    def bond(self, tail: tuple[int, int] | int, head: tuple[int, int] | int) -> None:
        ends = []
        for end in (tail, head):
            if isinstance(end, tuple):
                ends.append(end)
                continue
            node = self.nodes[end]
            port = 0
            if isinstance(node, Junction):  # it takes as many as come
                port = node.ports
                node.ports += 1
            ends.append((end, port))
        self.bonds.append(Bond(*ends[0], *ends[1]))

    def listen(self, signal: Signal) -> int:
        self.signals.append(signal)
        return len(self.signals) - 1

    @property
    def inputs(self) -> list[str]:
        """Names of the inputs, in the order of the parts, then of the signals."""
        names = [n.name for n in self.nodes if n.is_input]  # type: ignore[attr-defined]
        return [*names, *(s.name for s in self.signals if s.what == "input")]

    def model(self) -> Model:
        """Return the graph as bondloop has it: parts p0, p1, ... and signals s0, s1, ..."""
        model = Model("drawn")
        parts: list[Any] = [kind.part() for kind in self.nodes]
        for i, part in enumerate(parts):
            setattr(model, f"p{i}", part)
        for bond in self.bonds:
            tail, head = (
                self.nodes[n].terminal(parts[n], p)
                for n, p in ((bond.tail, bond.tail_port), (bond.head, bond.head_port))
            )
            tail >> head
        signals: list[Any] = []
        for i, signal in enumerate(self.signals):
            if signal.what == "detector":
                kind = self.nodes[signal.source]
                part = De() if kind.zero else Df()  # type: ignore[attr-defined]
                source = parts[signal.source]
            else:
                source = signals[signal.source] if signal.source >= 0 else None
                part = {
                    "integral": SignalIntegrator,
                    "function": lambda s=signal: Function(symbolic(s.formula)),
                    "input": lambda s=signal: Input(s.name),
                }[signal.what]()
            setattr(model, f"s{i}", part)
            signals.append(part)
            if source is not None:
                source >> part
        for node, numbers in self.takes.items():
            for number in numbers:
                signals[number] >> parts[node]
        return model

    def script(self) -> str:
        """Return the graph as text, to look at."""
        lines = [f"p{i} = {kind}" for i, kind in enumerate(self.nodes)]
        lines += [f"s{i} = {signal}" for i, signal in enumerate(self.signals)]
        lines += [f"p{b.tail}[{b.tail_port}] >> p{b.head}[{b.head_port}]" for b in self.bonds]
        lines += [f"s{s} >> p{n}" for n, all_ in self.takes.items() for s in all_]
        return "\n".join(lines)


# ---------------------------------------------------------------------------------------- numbers and laws


def number(rng: Random, *, sign: bool = False) -> float:
    """Return a coefficient: often a round one, so that coincidences happen; seldom negative if it may be."""
    value = rng.choice([1.0, 1.0, 2.0, 0.5]) if rng.random() < 0.3 else math.exp(rng.uniform(-1.1, 1.1))
    return -value if sign and rng.random() < 0.04 else value


def cubic(a: float, b: float) -> tuple[Formula, Formula]:
    return lambda x, _: a * x + b * x**3, lambda x, _: a * x**2 / 2 + b * x**4 / 4


def saturating(a: float, b: float) -> tuple[Formula, Formula]:
    # The integral of x / sqrt(1 + x^2) is sqrt(1 + x^2).
    return (
        lambda x, m: a * x + b * x / m.sqrt(1 + x**2),
        lambda x, m: a * x**2 / 2 + b * (m.sqrt(1 + x**2) - 1),
    )


def steep(a: float, b: float) -> tuple[Formula, Formula]:
    return (
        lambda x, m: a * x + b * m.sinh(x),
        lambda x, m: a * x**2 / 2 + b * ((m.exp(x) + m.exp(-x)) / 2 - 1),
    )


STORED = (cubic, saturating, steep)
LOST: tuple[Callable[[float, float], Formula], ...] = (
    lambda a, b: lambda x, _: a * x + b * x**3,
    lambda a, b: lambda x, m: a * x + b * m.tanh(x),
    lambda a, b: lambda x, m: a * x + b * x * m.Abs(x),
    lambda a, b: lambda x, m: a * x + b * (m.exp(x) - 1),
    lambda a, b: lambda x, m: a * x / 4 + m.asinh(b * x),
)


def definite(rng: Random, size: int) -> list[list[float]]:
    """Return a positive definite matrix; sometimes of round numbers."""
    if rng.random() < 0.3:
        return (np.eye(size) + np.ones((size, size))).tolist()
    half = np.array([[round(rng.uniform(-1, 1), 2) for _ in range(size)] for _ in range(size)])
    return (half @ half.T + 0.5 * np.eye(size)).tolist()


# ---------------------------------------------------------------------------------------- drawing


@dataclass
class Draw:
    """What is being drawn, from which numbers, for which family."""

    graph: Graph
    rng: Random
    family: str
    domain: dict[int, str] = field(default_factory=dict)
    """Of every junction, where they differ."""

    def usual(self, junction: int) -> tuple[float, float]:
        """Return the usual effort and flow at a junction."""
        return DOMAINS[self.domain[junction]] if self.domain else (1.0, 1.0)

    def has(self, *families: str) -> bool:
        return self.family in families or self.family == "all at once"

    # Each entry: how often it is drawn, and how.

    def one_port(self, junction: int) -> Kind:
        rng = self.rng
        effort, flow = self.usual(junction)
        size = effort / flow
        sign = not self.has("nonlinear")  # a law less a negative resistance has several solutions
        n = len(self.graph.nodes)
        table: list[tuple[int, Callable[[], Kind]]] = [
            (4, lambda: kinds.Inertia(size * number(rng))),
            (
                4,
                lambda: kinds.Compliance(
                    size * number(rng, sign=sign), rng.choice(["stiffness", "compliance"])
                ),
            ),
            (
                5,
                lambda: kinds.Resistor(
                    size * number(rng, sign=sign), rng.choice(["resistance", "conductance"])
                ),
            ),
            (2, lambda: kinds.Source(rng.random() < 0.6, f"u{n}")),
        ]
        if self.has("nonlinear"):
            table += [
                (2, lambda: kinds.BentInertia(*rng.choice(STORED)(number(rng), number(rng)))),
                (2, lambda: kinds.BentCompliance(*rng.choice(STORED)(number(rng), number(rng)))),
                (4, self.resistor),
            ]
        if self.has("modulated"):
            table += [
                (2, lambda: kinds.ModulatedResistor(self.positive())),
                (1, lambda: kinds.ModulatedCompliance(self.moved())),
                (1, lambda: kinds.ModulatedSource(self.gain(), rng.random() < 0.6)),
            ]
        return self.pick(table)

    def resistor(self) -> Kind:
        law = self.rng.choice(LOST)(number(self.rng), number(self.rng))
        return kinds.BentResistor(law, self.rng.random() < 0.6)

    def two_port(self, a: int, b: int) -> Kind:
        rng = self.rng
        (e1, _), (e2, f2) = self.usual(a), self.usual(b)
        table: list[tuple[int, Callable[[], Kind]]] = [
            (3, lambda: kinds.Transformer(rng.choice([-1, 1, 1]) * e1 / e2 * number(rng))),
            (2, lambda: kinds.Gyrator(rng.choice([-1, 1, 1]) * e1 / f2 * number(rng))),
        ]
        if self.has("modulated"):
            table.append((4, lambda: kinds.Modulated(self.positive(), rng.random() < 0.4)))
        return self.pick(table)

    def field(self) -> Kind:
        rng, size = self.rng, self.rng.randint(2, 3)
        table: list[tuple[int, Callable[[], Kind]]] = [
            (2, lambda: kinds.StorageField(definite(rng, size), inertial=True)),
            (2, lambda: kinds.StorageField(definite(rng, size), inertial=False)),
            (2, lambda: kinds.ResistorField(self.lossy(size))),
            (1, lambda: kinds.MatrixTransformer(self.mixing(rng.randint(1, size), size))),
        ]
        if self.has("nonlinear"):
            three = number(rng), number(rng), number(rng)
            table.append((4, lambda: kinds.Potential(three, stored=rng.random() < 0.6)))
        return self.pick(table)

    def pick(self, table: list[tuple[int, Callable[[], Kind]]]) -> Kind:
        return self.rng.choices([draw for _, draw in table], [weight for weight, _ in table])[0]()

    # Formulas of signals.

    def positive(self) -> Formula:
        a, b = number(self.rng), number(self.rng)
        return self.rng.choice([lambda s, _: a + b * s**2, lambda s, m: a * (1.5 + m.sin(b * s))])

    def moved(self) -> Formula:
        a, b = number(self.rng), number(self.rng)
        return self.rng.choice([lambda q, s, _: a * (q - b * s), lambda q, s, _: (a + b * s**2) * q])

    def gain(self) -> Formula:
        a = self.rng.choice([-1, 1]) * number(self.rng)
        return lambda s, _: a * s

    def lossy(self, size: int) -> list[list[float]]:
        """Return a definite matrix with a gyrating part; seldom one without a diagonal."""
        turn = np.array([[round(self.rng.uniform(-1, 1), 2) for _ in range(size)] for _ in range(size)])
        turn = turn - turn.T
        return (turn if self.rng.random() < 0.15 else turn + np.array(definite(self.rng, size))).tolist()

    def mixing(self, rows: int, columns: int) -> list[list[float]]:
        matrix = [[round(self.rng.uniform(-2, 2), 1) for _ in range(columns)] for _ in range(rows)]
        if not any(map(any, matrix)):  # one that transmits nothing is refused
            matrix[0][0] = 1.0
        return matrix

    # Structure.

    def attach(self, junction: int, end: tuple[int, int] | int, way: int = 0) -> None:
        if way > 0 or (way == 0 and self.rng.random() < 0.7):
            self.graph.bond(junction, end)
        else:
            self.graph.bond(end, junction)

    def join(self, a: int, b: int) -> None:
        """Join two nodes by a bond or by a row of two-ports, the arrows either way."""
        graph, rng = self.graph, self.rng
        if rng.random() < 0.5:
            a, b = b, a
        end: tuple[int, int] | int = a
        count = rng.choices([0, 1, 2], [60, 35, 5])[0]
        if self.domain and self.domain[a] != self.domain[b]:
            count = max(1, count)
        for k in range(count):
            middle = graph.add(self.two_port(a, b if k == count - 1 else a))
            graph.bond(end, (middle, 0))
            end = (middle, 1)
        graph.bond(end, b)

    def signal(self, *, straight: bool) -> int:
        """Draw a signal, or take one that is there; ``straight``: one without an integral will do."""
        graph, rng = self.graph, self.rng
        late = [i for i, signal in enumerate(graph.signals) if signal.late]
        if late and rng.random() < 0.5:
            return rng.choice(late)
        if rng.random() < 0.15:
            return graph.listen(Signal("input", name=f"v{len(graph.signals)}"))
        junctions = [i for i, kind in enumerate(graph.nodes) if isinstance(kind, Junction)]
        last = graph.listen(Signal("detector", rng.choice(junctions)))
        if straight and rng.random() < 0.5:
            return last
        last = graph.listen(Signal("integral", last))
        if rng.random() < 0.3:
            a = number(rng)
            last = graph.listen(Signal("function", last, formula=lambda s, m: m.sin(a * s)))
        return last


def graph(rng: Random, family: str) -> Graph:
    """Draw a graph of a family."""
    draw = Draw(Graph(), rng, family)
    g = draw.graph
    count = rng.randint(1, 6)
    for _ in range(count):
        junction = g.add(Junction(zero=rng.random() < 0.5))
        if family == "mixed domains":
            draw.domain[junction] = rng.choice(list(DOMAINS))
    for i in range(1, count):
        if rng.random() < 0.95:  # else a graph in two parts
            draw.join(rng.randrange(i), i)
    rings = rng.randint(1, 3) if draw.has("mesh") else 1 if rng.random() < 0.2 else 0
    for _ in range(rings if count > 1 else 0):
        draw.join(*rng.sample(range(count), 2))
    fields = rng.randint(1, 2) if draw.has("fields") else rng.randint(0, 1) if family == "nonlinear" else 0
    for _ in range(fields):
        kind = draw.field()
        node = g.add(kind)
        for port in range(kind.ports):
            draw.attach(rng.randrange(count), (node, port), kind.way(port))
    for junction in range(count):
        kind = g.nodes[junction]
        for _ in range(rng.randint(0 if kind.ports else 1, 3)):
            draw.attach(junction, g.add(draw.one_port(junction)))
    for node, kind in enumerate(g.nodes):
        if kind.signals:
            # A coefficient that depends on what it decides has several solutions, or none.
            g.takes[node] = [draw.signal(straight=isinstance(kind, kinds.ModulatedSource))]
    return g


def drawn(seed: int, family: str) -> Graph:
    """Return the graph of a seed."""
    return graph(Random(f"{family} {seed}"), family)
