"""Drawings of bond graphs: layouts without faults, texts that do not touch, files that open."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import sympy as sp

from bondloop.bondgraph import C, I, Model, One, Port, R, Se, Sf, Zero
from bondloop.bondgraph.drawing import Edge, Node, draw, layout, quality
from bondloop.bondgraph.drawing import sketch as sketch_of
from bondloop.errors import InputError


class Sketch:
    """A bond graph under construction."""

    def __init__(self):
        self.nodes, self.edges = [], []

    def node(self, symbol, label="", group=""):
        self.nodes.append(Node(f"n{len(self.nodes)}", symbol, label, group))
        return len(self.nodes) - 1

    def bond(self, tail, head, stroke="head", **more):
        self.edges.append(Edge(tail, head, stroke, **more))

    def hang(self, junction, *parts, group=""):
        for part in parts:
            symbol, _, label = part.partition(":")
            leaf = self.node(symbol, label, group)
            if symbol in ("Se", "Sf", "SS"):
                self.bond(leaf, junction, "head" if symbol == "Se" else "tail")
            else:
                self.bond(junction, leaf, "head" if symbol == "I" else "tail")


def chain(masses, groups=True):
    s = Sketch()
    last = s.node("Sf", "r")
    for i in range(1, masses + 1):
        group = f"m{i}" if groups else ""
        zero, one = s.node("0", "side", group), s.node("1", "v", group)
        s.bond(last, zero, "tail")
        s.bond(zero, one, "head" if i % 2 else "tail")
        s.hang(zero, f"C:k{i}", group=group)
        s.hang(one, f"I:m{i}", f"R:c{i}", group=group)
        last = one
    s.hang(last, "Se:load")
    return s


def motor():
    s = Sketch()
    electric, shaft, load = s.node("1", "i"), s.node("1", "ω"), s.node("1", "v")
    gyrator, gear = s.node("GY", "k"), s.node("TF", "n")
    for a, b in pairwise([electric, gyrator, shaft, gear, load]):
        s.bond(a, b, "tail")
    s.hang(electric, "Se:V", "I:L", "R:R")
    s.hang(shaft, "I:J", "R:b")
    s.hang(load, "I:m", "R:c", "Se:F")
    return s


def bridge():
    s = Sketch()
    a, b, c, d = (s.node("0", name) for name in "abcd")
    for number, (tail, head) in enumerate([(a, b), (a, c), (b, d), (c, d), (b, c)], 1):
        one = s.node("1")
        s.bond(tail, one, "tail")
        s.bond(one, head, "tail")
        s.hang(one, f"R:R{number}")
    one = s.node("1")
    s.bond(d, one, "tail")
    s.bond(one, a, "tail")
    s.hang(one, "Se:U")
    return s


def star():
    s = Sketch()
    hub = s.node("1", "v")
    s.hang(hub, "Se:F", "I:m", "C:k1", "C:k2", "R:c1", "R:c2", "R:c3", "Se:weight")
    return s


def pendulum():
    s = Sketch()
    turns = [s.node("1", f"ω{i}") for i in (1, 2)]
    for i, turn in enumerate(turns, 1):
        s.hang(turn, f"I:J{i}", f"R:b{i}")
    integrals = []
    for i, turn in enumerate(turns, 1):
        sensor, integral = s.node("Df", f"ω{i}"), s.node("∫", f"θ{i}")
        s.bond(turn, sensor, "tail")
        s.bond(sensor, integral, None, signal=True)
        integrals.append(integral)
    for body in (1, 2):
        for axis in "xy":
            one = s.node("1", f"{axis}{body}")
            s.hang(one, f"I:m{body}")
            if axis == "y":
                s.hang(one, f"Se:g{body}")
            for arm in range(body):
                ratio = s.node("MTF", "")
                s.bond(turns[arm], ratio, "tail")
                s.bond(ratio, one, "tail")
                s.bond(integrals[arm], ratio, None, signal=True)
    return s


def building(storeys):
    """Masses joined by springs and dampers in parallel: a branch under every 0-junction."""
    s = Sketch()
    last = s.node("Sf", "ground")
    for i in range(1, storeys + 1):
        zero, slip, floor = s.node("0"), s.node("1", f"drift{i}"), s.node("1", f"floor{i}")
        s.bond(last, zero, "tail")
        s.bond(zero, slip, "head")
        s.bond(zero, floor, "tail")
        s.hang(slip, f"C:k{i}", f"R:c{i}")
        s.hang(floor, f"I:m{i}")
        last = floor
    return s


def vectors():
    s = Sketch()
    one, two = s.node("1", "v", "hand"), s.node("1", "w", "hand.wrist")
    ratio = s.node("MTF", "J(q)", "hand")
    s.bond(one, ratio, "tail", size=3)
    s.bond(ratio, two, "tail", size=6)
    s.hang(one, "Se:F", "I:arm", group="hand")
    s.hang(two, "I:palm", "R:skin", group="hand.wrist")
    angle = s.node("ƒ", "kinematics", "hand")
    s.bond(angle, ratio, None, signal=True)
    return s


CLEAN = {
    "three_mass": chain(3),
    "ten_mass": chain(10),
    "ten_mass_plain": chain(10, groups=False),
    "motor": motor(),
    "bridge": bridge(),
    "star": star(),
    "building": building(5),
    "vectors": vectors(),
}
ALL = CLEAN | {"pendulum": pendulum()}


def faults(sketch):
    found = quality(sketch.nodes, sketch.edges, layout(sketch.nodes, sketch.edges))
    return found.crossings, found.bonds_over_nodes, found.overlaps


@cache
def drawn(name):
    return draw(ALL[name].nodes, ALL[name].edges, title=name)


def text_boxes(figure):
    """Corners of all texts on paper, as rendered, in pixels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [text.get_window_extent(renderer) for text in figure.axes[0].texts]
    return np.array([(b.x0, b.y0, b.x1, b.y1) for b in boxes])


@pytest.mark.parametrize("name", CLEAN)
def test_layout_has_no_crossing_and_no_overlap(name):
    assert faults(CLEAN[name]) == (0, 0, 0)


def test_a_graph_with_many_loops_has_few_crossings():
    crossings, over, overlaps = faults(ALL["pendulum"])
    assert crossings <= 3
    assert (over, overlaps) == (0, 0)


def test_quality_sees_each_kind_of_fault():
    nodes = [Node(str(i), "1", "") for i in range(4)]
    edges = [Edge(0, 1, None), Edge(2, 3, None)]
    square = np.array([[0.0, 0.0], [2.0, 2.0], [0.0, 2.0], [2.0, 0.0]])
    assert quality(nodes, edges, square).crossings == 1
    line = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    assert quality(nodes, edges, line).bonds_over_nodes == 1
    heap = np.array([[0.0, 0.0], [2.0, 0.0], [0.05, 0.0], [5.0, 1.0]])
    assert quality(nodes, edges, heap).overlaps == 1


@pytest.mark.parametrize("name", [*CLEAN, pytest.param("pendulum", marks=pytest.mark.nightly)])
def test_rendered_texts_do_not_touch(name):
    boxes = text_boxes(drawn(name))
    slack = 2.0  # pixels at 100 dpi: line height reserves room for accents that are not there
    lo, hi = boxes[:, None, :2] + slack, boxes[:, None, 2:] - slack
    touching = np.triu(((lo < boxes[:, 2:] - slack) & (boxes[:, :2] + slack < hi)).all(2), 1)
    assert not touching.any()


@pytest.mark.parametrize("name", ALL)
def test_bonds_stay_clear_of_texts(name):
    from bondloop.bondgraph.drawing.geometry import through

    figure = drawn(name)
    figure.canvas.draw()
    axes = figure.axes[0]
    lines = np.array(
        [
            axes.transData.transform(seg)
            for c in axes.collections
            if hasattr(c, "get_segments")
            for seg in c.get_segments()
        ]
    ).transpose(1, 2, 0)
    boxes = text_boxes(figure).T
    hits = through(lines[0][..., None], lines[1][..., None], boxes[:2, None] + 2.5, boxes[2:, None] - 2.5)
    assert not hits.any()


def test_a_chain_is_a_straight_spine_with_leaves_at_right_angles():
    sketch = chain(3)
    p = layout(sketch.nodes, sketch.edges)
    spine = [i for i, v in enumerate(sketch.nodes) if v.symbol in ("Sf", "0", "1", "Se")]
    assert np.ptp(p[spine, 1]) == 0
    for edge in sketch.edges:
        assert np.abs(p[edge.head] - p[edge.tail]).min() == pytest.approx(0)


def test_a_long_chain_is_wrapped_between_its_groups():
    sketch = chain(10)
    p = layout(sketch.nodes, sketch.edges)
    rows = {}
    for v, place in zip(sketch.nodes, p, strict=True):
        if v.symbol in ("0", "1"):
            rows.setdefault(v.group, set()).add(round(place[1], 6))
    assert all(len(heights) == 1 for heights in rows.values())
    assert len(set.union(*rows.values())) == 2
    assert np.ptp(p[:, 0]) < 16


def test_the_same_graph_gets_the_same_places():
    sketch = bridge()
    np.testing.assert_array_equal(layout(sketch.nodes, sketch.edges), layout(sketch.nodes, sketch.edges))


def test_long_labels_make_room():
    s = Sketch()
    one = s.node("1", "interface_velocity_of_the_specimen")
    s.hang(
        one,
        "Se:servo_hydraulic_actuator",
        "I:mass_of_the_upper_storey",
        "C:leaf_spring_stiffness",
        "R:oil_damper",
    )
    assert faults(s) == (0, 0, 0)


def test_parts_that_are_not_connected_are_drawn_apart():
    s = chain(2)
    for symbol in ("I", "C", "R"):
        s.node(symbol, "loose")
    assert faults(s) == (0, 0, 0)
    assert layout([], []).shape == (0, 2)


def test_parallel_bonds_are_drawn_side_by_side():
    s = Sketch()
    a, b = s.node("C", "field"), s.node("1", "v")
    s.bond(b, a, "tail")
    s.bond(b, a, "tail")
    s.hang(b, "I:m")
    thin = draw(s.nodes, s.edges).axes[0].collections[0].get_segments()
    assert not np.allclose(thin[0], thin[2])


def lines_of(edge):
    """Thin and thick power lines, and signal lines, of one bond from left to right."""
    figure = draw([Node("a", "0", ""), Node("b", "1", "")], [edge])
    thin, thick, grey, _ = figure.axes[0].collections
    return thin.get_segments(), thick.get_segments(), grey.get_segments()


@pytest.mark.parametrize("end", ["head", "tail"])
def test_the_stroke_stands_across_the_given_end(end):
    (bond, barb), (stroke,), _ = lines_of(Edge(0, 1, end))
    tip = bond[1 if end == "head" else 0]
    np.testing.assert_allclose(stroke.mean(0), tip)
    assert np.dot(stroke[1] - stroke[0], bond[1] - bond[0]) == pytest.approx(0)
    assert barb[1, 1] < bond[0, 1], "the half arrow is below a level bond"
    if end == "head":
        assert abs(barb[0, 0] - tip[0]) > 0.03, "the stroke stands beyond the barb"


def test_signals_have_no_stroke_and_vector_bonds_are_double():
    thin, thick, grey = lines_of(Edge(0, 1, "head", signal=True))
    assert (len(thin), len(thick), len(grey)) == (0, 0, 1)
    thin, thick, grey = lines_of(Edge(0, 1, None, size=3))
    assert (len(thin), len(thick), len(grey)) == (3, 0, 0)


def test_frames_hold_their_group_and_can_be_left_out():
    sketch = chain(3)
    assert len(draw(sketch.nodes, sketch.edges).axes[0].patches) == 3
    assert len(draw(sketch.nodes, sketch.edges, frames=False).axes[0].patches) == 0


class Storey(Model):
    """A storey whose branches are wider than its spine."""

    def __init__(self):
        self.below, self.above = Port(), Port()
        self.shear, self.slip, self.v = Zero(), One(), One()
        self.below >> self.shear >> self.v >> self.above
        self.columns, self.damping, self.bumper = C(stiffness=1), R(damping=1), C(stiffness=1)
        self.shear >> self.slip >> [self.columns, self.damping, self.bumper]
        self.mass = I(mass=1)
        self.v >> self.mass


class Pair(Model):
    """Two storeys, so that frames stand within a frame."""

    def __init__(self):
        self.below, self.above = Port(), Port()
        self.low, self.high = Storey(), Storey()
        self.below >> self.low.below
        self.low.above >> self.high.below
        self.high.above >> self.above


def test_frames_of_neighbours_do_not_meet():
    m = Model("building")
    m.pair, m.third, m.ground = Pair(), Storey(), Sf("v")
    m.ground >> m.pair.below
    m.pair.above >> m.third.below
    nodes, edges = sketch_of(m)
    names = ["pair", "pair.high", "pair.low", "third"]
    patches = draw(nodes, edges).axes[0].patches
    boxes = {name: patch.get_bbox() for name, patch in zip(names, patches, strict=True)}
    for a, b in (("pair.low", "pair.high"), ("pair", "third"), ("pair.high", "third")):
        assert boxes[a].x1 < boxes[b].x0
    assert boxes["pair"].x0 < boxes["pair.low"].x0
    assert boxes["pair.high"].x1 < boxes["pair"].x1


@pytest.mark.parametrize(("suffix", "start"), [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_files_are_written_and_repeat_byte_for_byte(tmp_path, suffix, start):
    sketch = motor()
    one, two = tmp_path / f"one{suffix}", tmp_path / f"two{suffix}"
    for path in (one, str(two)):
        draw(sketch.nodes, sketch.edges, path, title="$5 motor_1")
    assert one.read_bytes().startswith(start)
    assert one.read_bytes() == two.read_bytes()


def test_errors_say_what_to_do(tmp_path):
    sketch = motor()
    with pytest.raises(InputError, match=r"use \.svg, \.png or \.pdf"):
        draw(sketch.nodes, sketch.edges, tmp_path / "motor.bmp")
    with pytest.raises(InputError, match="does the folder exist"):
        draw(sketch.nodes, sketch.edges, tmp_path / "nowhere" / "motor.svg")
    with pytest.raises(InputError, match="nothing to draw"):
        draw([], [])
    with pytest.raises(InputError, match="one sub-model at a time"):
        layout([Node(str(i), "I", "") for i in range(2001)], [])
    two = [Node("a", "I", ""), Node("a", "1", "")]
    with pytest.raises(InputError, match=r"'a' is used by 2 nodes; .* to itself; .* stroke 'top'"):
        layout(two, [Edge(0, 0, None), Edge(0, 1, "top")])


def test_three_hundred_nodes_are_drawn():
    sketch = chain(60)
    assert faults(sketch) == (0, 0, 0)
    assert len(draw(sketch.nodes, sketch.edges).axes[0].patches) == 60


def test_unnamed_parts_carry_the_names_that_the_equations_use():
    k = sp.Symbol("k")
    m = Model("unnamed")
    m.v = One()
    Se("F") >> m.v >> [I(mass=1.0), C(stiffness=k), C(stiffness=k), R(damping=1.0), R(damping=2.0)]
    m.v >> Zero() >> C(stiffness=2.0)
    labels = {node.path: (node.symbol, node.label) for node in sketch_of(m)[0]}
    assert labels == {
        "v": ("1", "v"),
        "Se": ("Se", "F"),
        "I": ("I", ""),
        "C": ("C", "k"),
        "C2": ("C", "C2 (k)"),
        "R": ("R", ""),
        "R2": ("R", "R2"),
        "Zero": ("0", "Zero"),
        "C3": ("C", "C3"),
    }
    used = str(m.let(k=3.0).compile().equations("causal"))
    for path, (symbol, label) in labels.items():
        name = label.split(" ")[0] if path not in ("C", "I", "R") else symbol
        assert re.search(rf"\b{name}\b", used), name


def test_two_fields_on_the_same_bonds_stand_apart():
    """They would save a crossing for each pair of bonds by standing in one place."""
    s = Sketch()
    stiffness, damping = s.node("CField", "stiffness"), s.node("RField", "damping")
    for i in range(12):
        v = s.node("1", f"v{i}")
        s.hang(v, "I:m")
        s.bond(v, stiffness, "tail")
        s.bond(v, damping, "tail")
    place = layout(s.nodes, s.edges)
    apart = np.abs(place[:, None] - place[None]).max(2) + np.eye(len(place))
    assert apart.min() > 0.3
