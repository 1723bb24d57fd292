"""Coordinates of one's own: by geometry, and structures in which they stand for degrees of freedom."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bondloop as bl
from bondloop import files
from bondloop.bondgraph import C, Model, One, Port, bond
from bondloop.engine.ir.expr import Const
from bondloop.errors import InputError
from bondloop.files import load_text
from bondloop.hybrid import HybridTest, PseudoDynamicTest
from bondloop.integrate.structural import NewmarkImplicit
from bondloop.rigs import RampHold, Specimen
from bondloop.signals import Sine
from bondloop.structures import (
    Bar,
    Frame2D,
    Frame3D,
    Matrices,
    PointMass,
    Readings,
    Structure,
    elongation,
    field_form,
    frequency_response,
    in_coordinates,
    member_coordinates,
    modes,
    motion_of,
    strokes,
    time_history,
)
from bondloop.structures.dofs import Constraint, checked_constraint
from bondloop.substructure import loading_block

STEEL = {"E": 210e9, "A": 8e-3, "I": 6e-5, "rho": 7850.0}
SPACE = {"E": 210e9, "G": 80e9, "A": 0.02, "J": 3e-5, "Iy": 2e-4, "Iz": 5e-5, "rho": 7850.0}
BRACE = 210e9 * 2e-3


def frame(brace=False):
    s = Structure("frame")
    for k in range(3):
        for side, x in (("a", 0.0), ("b", 5.0)):
            s.node(f"{side}{k}", x=x, y=3.0 * k)
    for k in (1, 2):
        for side in "ab":
            s.add(Frame2D(f"{side}{k - 1}", f"{side}{k}", **STEEL), f"column_{side}[{k}]")
            s.add(PointMass(f"{side}{k}", m=8e3, Jz=800.0))
        s.add(Frame2D(f"a{k}", f"b{k}", **STEEL), f"girder[{k}]")
    if brace:
        s.add(Bar("a1", "b2", E=210e9, A=2e-3), "brace")
    s.support("a0")
    s.support("b0")
    s.rayleigh(0.3, 0.0)
    return s


def test_a_brace_is_one_coordinate():
    s = frame()
    w = elongation(s, "a1", "b2")
    c, d = 5 / np.hypot(5, 3), 3 / np.hypot(5, 3)
    assert w == pytest.approx({"a1.ux": -c, "a1.uy": -d, "b2.ux": c, "b2.uy": d})
    made = in_coordinates(s.assemble(), {"brace": w})
    assert len(made.matrices) == len(s.assemble())
    assert "brace" in made.matrices.dofs
    np.testing.assert_allclose(modes(made.matrices, 5).omega, modes(s.assemble(), 5).omega, rtol=1e-9)


OPENSEES = {
    100: (115.5736124, 12783.9275, 36186.05528, -7.39058532e-05),
    200: (290.4407324, -3372.670408, -14601.57752, 2.965751665e-05),
    299: (-889.5380009, -18250.44486, -40222.49846, 8.255419211e-05),
}
"""Of OpenSeesPy 3.7.1, the braced frame in one piece: elasticBeamColumn with ``-mass -cMass``, a Truss,
``rayleigh 0.3 0 0 0``, Newmark 0.5 0.25 of 10 ms. By step: the moment at the end of the second girder, the
shear force at the foot of a column (``localForce`` 6 and 2), the brace's ``axialForce``, and how far node b2
has gone up."""


def test_one_actuator_does_what_the_brace_did():
    """The frame in the computer, the brace as a spring on one actuator: the braced frame, step by step."""
    m = frame().assemble()
    made = in_coordinates(m, {"brace": elongation(frame(), "a1", "b2")})
    k = BRACE / np.hypot(5, 3)
    spring = Matrices([[0.0]], None, [[k]], ("x",))
    test = PseudoDynamicTest(
        made.matrices, scheme=NewmarkImplicit(specimen_stiffness=k), interface="brace", time_step=0.01,
        rig=RampHold(Specimen.from_matrices(spring, "x")),
        excitation={"wind": (Sine(3e4, 1.3), made.loads({"a2.ux": 1.0}))},
        record=[
            "numerical.b2.*.displacement", "numerical.girder[2].end.M", "numerical.column_a[1].a.fy",
            "energy.*",
        ],
    )  # fmt: skip
    run = test.run(3.0)
    whole = frame(brace=True)
    full = whole.assemble()
    steps = len(run.time) - 1
    history = time_history(full, {"a2.ux": 3e4 * np.sin(2 * np.pi * 1.3 * run.time)}, 0.01, steps=steps)
    readings = Readings(full)
    for ours, theirs in (
        (run["force"], -readings["brace.N"].over(history)),
        (run["numerical.b2.uy.displacement"], history["b2.uy"]),
        (run["numerical.girder[2].end.M"], readings["girder[2].end.M"].over(history)),
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-8 * np.abs(theirs).max())
    channels = [
        run["numerical.girder[2].end.M"], run["numerical.column_a[1].a.fy"], -run["force"],
        run["numerical.b2.uy.displacement"],
    ]  # fmt: skip
    for k, theirs in OPENSEES.items():
        np.testing.assert_allclose([c[k] for c in channels], theirs, rtol=1e-8)
    assert np.abs(run["energy.error"]).max() < 1e-9 * run["energy.input"].max()
    assert load_text(files.to_toml(test)).test == test


def test_a_specimen_is_bonded_to_the_coordinate():
    s = frame()
    made = in_coordinates(s.assemble(), {"brace": elongation(s, "a1", "b2")})
    whole = Model("whole")
    whole.frame = field_form(made.matrices, "frame", forces={"a2.ux": "wind"})
    whole.brace = Model("brace")
    whole.brace.end, whole.brace.v = Port(), One()
    _ = whole.brace.end >> whole.brace.v >> C(stiffness=BRACE / np.hypot(5, 3))
    bond(whole.frame.brace, whole.brace.end)
    w = 2 * np.pi * np.array([0.5, 2.0, 9.0])
    mine = whole.compile(outputs=["frame.b1.ux.flow"]).numeric().frequency_response(w)
    theirs = frequency_response(frame(brace=True).assemble(), "a2.ux", "b1.ux", w, motion="velocity")
    np.testing.assert_allclose(mine.ravel(), theirs.ravel(), rtol=1e-7)
    numerical, physical = whole.cut("frame.brace >> brace.end")
    actuator = bl.transfer.MassSpringDamper(m=1, c=2e3, k=1e8, drive="position")
    test = HybridTest(
        numerical, rig=bl.rigs.Emulated(physical, actuator), controller=bl.control.Direct(), rate=4000,
        excitation={"frame.wind": Sine(3e4, 1.3)}, record="numerical.frame.b2.uy.displacement",
    )  # fmt: skip
    assert len(test.half.flows) == 1
    assert np.abs(test.run(0.2)["force"]).max() > 0


numbers = st.floats(-1.0, 1.0)


@settings(max_examples=20, deadline=None)
@given(st.lists(numbers, min_size=6, max_size=6), st.lists(numbers, min_size=12, max_size=12))
def test_member_coordinates_are_blind_to_rigid_motions_and_see_the_rest(places, moved):
    """k of basic coordinates, congruent with the weights, is the member's own stiffness."""
    s = Structure("member")
    s.node("a", *places[:3])
    s.node("b", *(np.array([4.0, 1.0, 2.0]) + places[3:]))
    s.add(Frame3D("a", "b", **SPACE), "member")
    m = s.assemble(free=True)
    w = member_coordinates(s, "a", "b", name="member")
    assert len(w) == 6
    L = float(np.linalg.norm(np.subtract(s.nodes["b"], s.nodes["a"])))
    E, G, A, J, Iy, Iz = (SPACE[k] for k in ("E", "G", "A", "J", "Iy", "Iz"))
    bend = np.array([[4.0, 2.0], [2.0, 4.0]])
    order = ["member.ux", "member_a.rz", "member_b.rz", "member_a.ry", "member_b.ry", "member.rx"]
    k = np.zeros((6, 6))
    k[0, 0], k[1:3, 1:3], k[3:5, 3:5], k[5, 5] = E * A / L, E * Iz / L * bend, E * Iy / L * bend, G * J / L
    W = np.array([[w[name].get(d, 0.0) for d in m.dofs] for name in order])
    K = m.K.toarray()
    np.testing.assert_allclose(W.T @ k @ W, K, atol=1e-7 * np.abs(K).max())
    u = np.array(moved)
    np.testing.assert_allclose(
        W @ u, [sum(w[n].get(d, 0.0) * x for d, x in zip(m.dofs, u, strict=True)) for n in order]
    )


def test_member_coordinates_in_the_plane():
    s = frame()
    w = member_coordinates(s, "a0", "a1", name="column")
    assert list(w) == ["column.ux", "column_a.rz", "column_b.rz"]
    assert w["column_b.rz"] == pytest.approx({"a1.ux": 1 / 3.0, "a1.rz": 1.0})  # the chord turns by -ux/L


def slab():
    s = Structure("slab")
    for i, (x, y) in enumerate(((0, 0), (4, 0), (4, 3), (0, 3))):
        s.node(f"f{i}", x=x, y=y)
        s.node(f"t{i}", x=x, y=y, z=3.0)
        s.add(Frame3D(f"f{i}", f"t{i}", **SPACE), f"column[{i}]")
        s.support(f"f{i}")
    s.node("centre", x=2.0, y=1.5, z=3.0)
    s.add(PointMass("centre", m=1e4, Jz=2e4))
    s.rigid_floor(master="centre", nodes=[f"t{i}" for i in range(4)])
    return s


def test_nodes_of_floors_can_be_interfaces():
    s = slab()
    w = motion_of(s, "t2.ux")
    assert w == pytest.approx({"centre.ux": 1.0, "centre.rz": -1.5})
    brace = elongation(s, "f0", "t1")  # from a held foot to a node that follows the slab
    length = 5.0
    assert brace["centre.ux"] == pytest.approx(4 / length)
    assert brace["t1.uz"] == pytest.approx(3 / length)
    assert brace["centre.rz"] == pytest.approx(4 / length * 1.5)
    made = in_coordinates(s.assemble(), {"corner": w, "brace": brace})
    np.testing.assert_allclose(modes(made.matrices, 4).omega, modes(s.assemble(), 4).omega, rtol=1e-8)


@settings(max_examples=20, deadline=None)
@given(st.lists(numbers, min_size=6, max_size=6), st.integers(0, 1000))
def test_a_loading_block_does_the_work_of_its_actuators(pose, seed):
    """Six actuators between anchors and pins: strokes against distances, and virtual work."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(6, 3))
    anchors = 4 * points + rng.normal(size=(6, 3))
    try:
        block = loading_block(points.tolist(), anchors=anchors.tolist())
    except InputError:
        return  # actuators that cannot hold a body
    q = 1e-6 * np.array(pose)
    moved = points + q[:3] + np.cross(q[3:], points)
    exact = np.linalg.norm(moved - anchors, axis=1) - np.linalg.norm(points - anchors, axis=1)
    mine = [e.value for e in block.strokes([Const(x) for x in q])]
    np.testing.assert_allclose(mine, exact, atol=3e-11)
    F = rng.normal(size=6)
    efforts = [e.value for e in block.efforts([], [Const(x) for x in F])]
    assert float(np.dot(efforts, q)) == pytest.approx(float(np.dot(F, mine)), abs=1e-15)


def test_strokes_of_a_block_take_the_place_of_a_node():
    s = slab()
    pins = [[0.5, 0.5, 0], [-0.5, 0.5, 0], [0.5, -0.5, 0]]
    w = strokes(s, "centre", pins, name="jack", directions=[[1, 0, 0], [0, 1, 0], [0, 1, 0]])
    assert w["jack[0]"] == pytest.approx({"centre.ux": 1.0, "centre.rz": -0.5})
    assert w["jack[2]"] == pytest.approx({"centre.uy": 1.0, "centre.rz": 0.5})
    made = in_coordinates(s.assemble(), w)
    assert {"jack[0]", "jack[1]", "jack[2]"} <= set(made.matrices.dofs)
    assert not {"centre.ux", "centre.uy", "centre.rz"} & set(made.matrices.dofs)


def test_estimates_of_the_interface_alone():
    m = frame().assemble()
    spring = Matrices(np.zeros((2, 2)), None, [[3e5, -1e5], [-1e5, 2e5]], ("x", "y"))
    k = np.zeros((len(m), len(m)))
    at = m.indices(["b2.ux", "a1.ux"])
    k[np.ix_(at, at)] = spring.K.toarray()

    def run(estimate):
        return PseudoDynamicTest(
            m, scheme=NewmarkImplicit(specimen_stiffness=estimate), interface=["b2.ux", "a1.ux"],
            rig=RampHold(Specimen.from_matrices(spring, ["x", "y"])), time_step=0.01,
            excitation={"a2.ux": Sine(1e4, 2.0)},
        ).run(0.5, backend="numpy")  # fmt: skip

    small, whole = run(spring.K.toarray()), run(k)
    np.testing.assert_array_equal(small["force[0]"], whole["force[0]"])
    with pytest.raises(InputError, match="must have the shape"):
        run(np.eye(3))


def test_silly_coordinates_are_refused():
    s = frame()
    m = s.assemble()
    w = elongation(s, "a1", "b2")
    for bad, words in (
        ({}, "name at least one"),
        ({"x": {"a9.ux": 1.0}}, "a9.ux"),
        ({"x": {"a1.ux": 0.0}}, "nothing that can move"),
        ({"x": elongation(s, "a0", "b0")}, "nothing that can move"),
        ({"x": w, "y": {d: 2 * x for d, x in w.items()}}, "depend on each other"),
        ({"a1.ux": {"b1.ux": 1.0}}, "named twice"),
    ):
        with pytest.raises(InputError, match=words):
            in_coordinates(m, bad)
    with pytest.raises(InputError, match="same place"):
        elongation(s, "a1", "a1")
    with pytest.raises(InputError, match="unknown node"):
        elongation(s, "a1", "z")
    with pytest.raises(InputError, match="cannot hold it"):
        loading_block([[0, 0, 0], [1, 0, 0]], directions=[[1, 0, 0], [1, 0, 0]], coordinates=("x", "y"))
    with pytest.raises(InputError, match="a direction or an anchor"):
        loading_block([[0, 0, 0]], coordinates=("x",))


def test_weights_may_be_texts():
    """A share, or a length beside a rotation; nothing else."""
    two = Matrices(np.eye(2), None, [[2.0, -1.0], [-1.0, 1.0]], ("a.ux", "b.ux"))
    numbers, texts = (in_coordinates(two, {"y": {"b.ux": w, "a.ux": -1.0}}) for w in (0.5, "50 %"))
    assert texts.matrices.describe() == numbers.matrices.describe()
    for weight in ("1 kg", "1 m", None, True):  # a length makes no translation of another
        with pytest.raises(InputError, match=r"coordinates\['y'\]\['b.ux'\]"):
            in_coordinates(two, {"y": {"b.ux": weight}})
    turns = [{"a.ux": "2 1/m", "b.ux": "-0.2 1/cm"}, {"a.ux": 2, "b.ux": -20}]
    texts, numbers = (in_coordinates(two, {"turn.rz": weights}) for weights in turns)
    assert texts.matrices.describe() == numbers.matrices.describe()
    for silly in (None, [1, -1], {"y": [1, -1]}):
        with pytest.raises(InputError, match="coordinates"):
            in_coordinates(two, silly)


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        ({"a.ux": 1, "b.rz": "-20 cm"}, {"a.ux": 1, "b.rz": -0.2}),
        ({"b.rz": 1, "a.ux": "-5 1/m"}, {"b.rz": 1, "a.ux": -5}),
        ({"a.ux": "100 %", "b.ux": -1}, {"a.ux": 1, "b.ux": -1}),
    ],
)
def test_terms_of_a_constraint_may_be_texts(texts, numbers):
    """Their sum is a length or an angle, whichever its terms say."""
    assert Constraint(tuple(texts.items())).terms == tuple(numbers.items())
    assert checked_constraint(texts) == checked_constraint(numbers)


@pytest.mark.parametrize(
    "terms",
    [None, (("a.ux",),), 5, ((1, 2),), (("a.ux", "1 m"), ("b.ux", -1)), (("a.rz", "1 m"), ("b.ux", "1 1/m"))],
)
def test_terms_of_a_constraint_that_are_none_are_refused(terms):
    with pytest.raises(InputError, match=r"Constraint\(terms"):
        Constraint(terms)
