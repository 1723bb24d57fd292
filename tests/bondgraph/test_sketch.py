"""What a drawing shows of a model: strokes, marks, conflicts, folded sub-models."""

import numpy as np
import pytest

from bondloop.bondgraph import GY, SS, TF, C, CField, I, ICField, Model, One, Port, R, Se, Sf, Zero
from bondloop.bondgraph.drawing import Edge, Node, draw, layout, quality, sketch
from bondloop.errors import CausalityError, InputError


def between(model, tail, head, **options):
    """Return the edges between two nodes of a sketch."""
    nodes, edges = sketch(model, **options)
    number = {v.path: i for i, v in enumerate(nodes)}
    return [e for e in edges if (e.tail, e.head) == (number[tail], number[head])]


def marks(model, **options):
    return {v.path: v.mark for v in sketch(model, **options)[0] if v.mark}


def bolted():
    m = Model("bolted")
    m.v, m.w, m.lever = One(), One(), TF(modulus=2.0)
    m.force, m.table, m.specimen, m.damper = Se("F"), I(mass=2), I(mass=3), R(damping=1)
    _ = m.force >> m.v >> [m.table, m.damper]
    _ = m.v >> m.lever >> m.w >> m.specimen
    return m


def row():
    m = Model("row")
    m.force, m.v, m.between, m.spring = Se("F"), One(), Zero(), C(stiffness=1)
    m.a, m.b, m.c = R(damping=1), R(damping=2), R(damping=3)
    _ = m.force >> m.v >> m.between >> [m.b, m.c]
    _ = m.v >> [m.a, m.spring]
    return m


def twice():
    m = Model("twice")
    m.v, m.table, m.shaker, m.mass = One(), Sf("a"), Sf("b"), I(mass=1)
    _ = m.table >> m.v >> m.mass
    _ = m.shaker >> m.v
    return m


def inverse():
    m = Model("inverse")
    m.motor, m.v, m.joint, m.tip = SS("neither"), One(), Zero(), SS("both")
    m.mass, m.spring = I(mass=2), C(stiffness=5)
    _ = m.motor >> m.v >> m.joint >> m.tip
    _ = m.v >> m.mass
    _ = m.joint >> m.spring
    return m


class Storey(Model):
    def __init__(self):
        self.below, self.above = Port(), Port()
        self.shear, self.v = Zero(), One()
        _ = self.below >> self.shear >> self.v >> self.above
        _ = self.shear >> C(stiffness=1)
        _ = self.v >> I(mass=1)


def tower(storeys):
    m = Model("tower")
    m.ground = Sf("r")
    m.storey = [Storey() for _ in range(storeys)]
    last = m.ground
    for storey in m.storey:
        _ = last >> storey.below
        last = storey.above
    return m


def test_dependent_storages_are_marked():
    assert marks(bolted()) == {"specimen": "dependent"}


def test_bonds_on_an_algebraic_loop_are_marked():
    model = row()
    assert all(
        between(model, *pair)[0].mark == "loop" for pair in (("v", "a"), ("v", "between"), ("between", "b"))
    )
    assert not between(model, "force", "v")[0].mark
    assert not between(model, "v", "spring")[0].mark


def test_a_conflict_is_drawn_where_it_is():
    model = twice()
    with pytest.raises(CausalityError, match=r"model\.draw\(\) shows where"):
        model.compile()
    assert marks(model) == {"v": "conflict"}
    assert between(model, "table", "v")[0].mark == between(model, "shaker", "v")[0].mark == "conflict"
    assert not between(model, "v", "mass")[0].mark
    texts = [t.get_text() for t in model.draw().axes[0].texts]
    assert any("causal conflict" in t for t in texts)


def starved():
    m = Model("starved")
    m.a, m.b, m.v = Se("a"), Se("b"), One()
    _ = [m.a, m.b] >> m.v
    return m


def gyrated():
    m = Model("gyrated")
    m.a, m.b = Se("a"), Sf("b")
    _ = m.a >> GY(ratio=1.0) >> m.b
    return m


def undetermined():
    """Two 0-junctions joined by three 1-junctions: three flows, and two efforts to impose them."""
    m = Model("undetermined")
    m.p, m.q = Zero(), Zero()
    for _ in range(3):
        m.p >> One() >> m.q
    return m


@pytest.mark.parametrize("build", [starved, gyrated, undetermined])
def test_every_conflict_is_marked_somewhere(build):
    model = build()
    with pytest.raises(CausalityError):
        model.compile()
    nodes, edges = sketch(model)
    assert "conflict" in {v.mark for v in nodes} | {e.mark for e in edges}
    assert any("causal conflict" in t.get_text() for t in model.draw().axes[0].texts)


def test_bicausal_bonds_have_half_strokes_along_the_path():
    model = inverse()
    # Effort and flow both go from the tip to the motor, against the arrows: the effort's half stroke at the
    # tail, which receives it, the flow's at the head, which gives it (Gawthrop 1995).
    for pair in (("motor", "v"), ("v", "joint"), ("joint", "tip")):
        (edge,) = between(model, *pair)
        assert (edge.stroke, edge.flow_stroke) == ("tail", "head")
    # The storages beside it take the junction's variable: derivative causality, whole strokes.
    (mass,), (spring,) = between(model, "v", "mass"), between(model, "joint", "spring")
    assert (mass.stroke, mass.flow_stroke) == ("tail", None)
    assert (spring.stroke, spring.flow_stroke) == ("head", None)
    assert marks(model) == {"mass": "dependent", "spring": "dependent"}


@pytest.mark.parametrize(("stroke", "flow_stroke"), [("head", "tail"), ("tail", "head")])
def test_half_strokes_stand_on_their_sides(stroke, flow_stroke):
    nodes = [Node("a", "0", ""), Node("b", "1", "")]
    thin, thick, *_ = draw(nodes, [Edge(0, 1, stroke, flow_stroke=flow_stroke)]).axes[0].collections
    bond, barb = thin.get_segments()
    effort, flow = thick.get_segments()
    assert effort[:, 0] == pytest.approx(bond[1 if stroke == "head" else 0][0])
    assert effort[:, 1].max() > bond[0, 1] + 0.05, "the effort's half is above a level bond"
    assert effort[:, 1].min() == pytest.approx(bond[0, 1])
    assert flow[:, 1].min() < bond[0, 1] - 0.05, "the flow's half is below, where the half arrow is"
    assert flow[:, 0] == pytest.approx(bond[1 if flow_stroke == "head" else 0][0])
    assert barb[1, 1] < bond[0, 1]


def test_sub_models_of_a_large_model_are_folded():
    small, large = tower(3), tower(25)
    assert not any(v.box for v in sketch(small)[0])
    nodes, edges = sketch(large)
    assert [v.path for v in nodes if v.box] == [f"storey[{i}]" for i in range(25)]
    assert len(nodes) == 26
    assert len(edges) == 25
    assert len(sketch(large, fold=False)[0]) == 101


def test_a_sub_model_can_be_unfolded():
    nodes, edges = sketch(tower(4), unfold=["storey[2]"])
    assert [v.path for v in nodes if v.box] == ["storey[0]", "storey[1]", "storey[3]"]
    assert "storey[2].v" in {v.path for v in nodes}
    assert len(edges) == 4 + 3
    with pytest.raises(InputError, match=r"storey\[9\]"):
        tower(4).draw(unfold="storey[9]")


def test_what_is_within_an_unfolded_model_stays_folded():
    town = Model("town")
    town.tower = tower(2)
    paths = {v.path: v.box for v in sketch(town, unfold=["tower"])[0]}
    assert paths == {"tower.ground": False, "tower.storey[0]": True, "tower.storey[1]": True}
    assert {v.path for v in sketch(town, fold=True)[0]} == {"tower"}


def test_a_box_shows_the_marks_of_what_is_within():
    m = Model("two")
    m.inner = bolted()
    assert marks(m, fold=True) == {"inner": "dependent"}


def test_vector_bonds_are_one_edge():
    m = Model("plane")
    m.v, m.mass = One(size=3), I(mass=[1, 2, 3])
    _ = m.v >> m.mass
    assert [e.size for e in between(m, "v", "mass")] == [3]


DRAWN = {"bolted": bolted, "row": row, "twice": twice, "inverse": inverse, "tower": lambda: tower(25)}


@pytest.mark.parametrize("name", DRAWN)
def test_drawings_have_no_faults(name):
    nodes, edges = sketch(DRAWN[name]())
    faults = quality(nodes, edges, layout(nodes, edges))
    assert (faults.crossings, faults.bonds_over_nodes, faults.overlaps) == (0, 0, 0)


@pytest.mark.parametrize("name", DRAWN)
def test_texts_and_legend_do_not_touch(name):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = DRAWN[name]().draw()
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = np.array([t.get_window_extent(renderer).extents for t in figure.axes[0].texts])
    lo, hi = boxes[:, None, :2] + 2.0, boxes[:, None, 2:] - 2.0
    touching = np.triu(((lo < boxes[:, 2:] - 2.0) & (boxes[:, :2] + 2.0 < hi)).all(2), 1)
    assert not touching.any()
    page = figure.get_size_inches() * figure.dpi
    assert (boxes[:, :2] >= -1).all()
    assert (boxes[:, 2:] <= page + 1).all(), "the legend lies on the paper"


def relay():
    m = Model("relay")
    m.i, m.v, m.V = One(), One(), Se("V")
    m.relay = ICField(coenergy=lambda coil, gap: coil**2 / (2 + gap), momentum="coil")
    _ = m.V >> m.i >> [R(resistance=2), m.relay.coil]
    _ = m.relay.gap >> m.v >> [I(mass=1), R(damping=1)]
    return m


def test_ports_with_names_are_named_on_their_bonds():
    assert [(e.tail_port, e.head_port) for e in between(relay(), "i", "relay")] == [("", "coil")]
    assert [(e.tail_port, e.head_port) for e in between(relay(), "relay", "v")] == [("gap", "")]
    texts = relay().draw().axes[0].texts
    places = {t.get_text(): np.array(t.get_position()) for t in texts}
    symbol = places["ICField"]
    for name, other in (("coil", "1"), ("gap", "1")):  # each nearer to its element than the junction's symbol
        junctions = [np.array(t.get_position()) for t in texts if t.get_text() == other]
        width = 0.1 * len(name)
        middle = places[name] + [width / 2, 0.05]
        assert np.hypot(*(middle - symbol)) < min(np.hypot(*(middle - j)) for j in junctions) + 0.25


def test_a_vector_bond_names_all_its_ports():
    m = Model("plane")
    m.v, m.k = One(size=2), CField(energy=lambda x, y: x**2 + x * y + y**2)
    _ = m.v >> [I(mass=[1, 1]), m.k]
    (edge,) = between(m, "v", "k")
    assert (edge.size, edge.head_port) == (2, "x, y")


def test_a_box_has_no_names_of_ports_within():
    m = Model("outer")
    m.inner, m.source = relay(), Se("u")
    m.inner.port = Port()
    _ = m.inner.port >> m.inner.v
    _ = m.source >> m.inner.port
    assert all(not (e.tail_port or e.head_port) for e in sketch(m, fold=True)[1])
    assert any(e.head_port == "coil" for e in sketch(m, fold=False)[1])
