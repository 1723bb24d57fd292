"""What is read off a structure: by hand, by equilibrium of drawn structures, and against OpenSees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.errors import InputError
from bondloop.results.figures.structures import nodal_motion
from bondloop.structures import (
    Bar,
    Beam,
    Dashpot,
    Frame2D,
    Frame3D,
    Matrices,
    PointMass,
    Readings,
    ShearBuilding,
    Spring,
    Structure,
    craig_bampton,
    guyan,
    time_history,
)
from bondloop.structures.members import section_forces

STEEL = {"E": 210e9, "A": 0.02, "I": 1e-4, "rho": 7850.0}
SPACE = {"E": 210e9, "G": 80e9, "A": 0.02, "J": 3e-5, "Iy": 2e-4, "Iz": 5e-5}


def static(structure, loads):
    m = structure.assemble()
    u = np.linalg.solve(m.K.toarray(), structure.load_vector(loads))
    readings = Readings(m)
    return lambda name: float(readings[name].of(u)), u


def test_a_simple_beam_by_hand():
    s = Structure("beam")
    for name, x in (("a", 0.0), ("mid", 2.0), ("b", 6.0)):
        s.node(name, x=x)
    s.add(Beam("a", "mid", E=1e9, A=1.0, I=1e-3), "left")
    s.add(Beam("mid", "b", E=1e9, A=1.0, I=1e-3), "right")
    s.support("a", "uy")
    s.support("b", "uy")
    read, _ = static(s, {"mid.uy": -9e3})
    # P a b / L = 9 kN · 2 · 4 / 6 m = 12 kN m sagging; P b / L = 6 kN to the left, 3 kN to the right
    assert read("left.end.M") == pytest.approx(12e3)
    assert read("right.start.M") == pytest.approx(12e3)
    assert read("left.start.M") == pytest.approx(0.0, abs=1e-6)
    assert read("left.middle.M") == pytest.approx(6e3)
    # On the face along x acts what holds the left part: 6 kN of support upwards is met by 6 kN downwards.
    assert (read("left.start.V"), read("right.end.V")) == pytest.approx((-6e3, 3e3))
    assert (read("a.uy.reaction"), read("b.uy.reaction")) == pytest.approx((6e3, 3e3))
    assert read("base.shear_y") == pytest.approx(-9e3)


def test_a_truss_by_the_method_of_joints():
    s = Structure("truss")
    for name, x, y in (("a", 0, 0), ("b", 4, 0), ("c", 4, 3)):
        s.node(name, x=x, y=y)
    s.add(Bar("a", "c", E=2e11, A=1e-3), "diagonal")
    s.add(Bar("b", "c", E=2e11, A=1e-3), "post")
    s.support("a")
    s.support("b")
    read, u = static(s, {"c.ux": 8e3})
    assert read("diagonal.N") == pytest.approx(10e3)  # 8 kN / cos, cos = 4/5
    assert read("post.N") == pytest.approx(-6e3)
    assert read("diagonal.extension") == pytest.approx(10e3 * 5 / (2e11 * 1e-3))
    forces = section_forces(s, nodal_motion(s, u))
    assert forces["diagonal"].start["N"] == pytest.approx(10e3)


def test_springs_dashpots_and_hinges():
    s = Structure("mixed")
    s.node("a")
    s.node("b", x=1.0)
    s.node("c", x=3.0)
    s.add(Spring("a", "b", k=2e3), "spring")
    s.add(Dashpot("a", "b", c=50.0), "dashpot")
    s.add(Spring("b", k=1e3, dof="ux"), "ground")
    s.add(PointMass("b", m=1.0, dofs=("ux",)))
    s.add(Beam("b", "c", E=1e6, A=1.0, I=1.0, release_a=("rz",)), "beam")
    s.support("a")
    s.support("c", "rz")
    s.support("b", "uy")
    m = s.assemble()
    readings = Readings(m)
    u, v = np.zeros(len(m)), np.zeros(len(m))
    u[m.index("b.ux")], v[m.index("b.ux")], u[m.index("c.uy")] = 0.1, 2.0, 0.01
    assert readings["spring.force"].of(u) == pytest.approx(200.0)
    assert readings["ground.force"].of(u) == pytest.approx(100.0)
    assert readings["dashpot.force"].of(u, v) == pytest.approx(100.0)
    assert readings["beam.start.M"].of(u) == pytest.approx(0.0, abs=1e-9)
    assert readings["beam.end.M"].of(u) == pytest.approx(-3e6 * 0.01 / 2.0**2)  # 3EI/L² times the settlement


def space_frame():
    s = Structure("frame")
    places = {"1": (0, 0, 0), "2": (5, 0, 0), "3": (0, 4, 0), "11": (0, 0, 3.2), "12": (5, 0, 3.5),
              "13": (0, 4, 3.0)}  # fmt: skip
    for name, at in places.items():
        s.node(name, *map(float, at))
    for name, a, b in (("c1", "1", "11"), ("c2", "2", "12"), ("c3", "3", "13")):
        s.add(Frame3D(a, b, **SPACE, reference=(1.0, 0.0, 0.0)), name)
    for name, a, b in (("g1", "11", "12"), ("g2", "11", "13"), ("g3", "12", "13")):
        s.add(Frame3D(a, b, **SPACE, reference=(0.0, 0.0, 1.0)), name)
    s.add(Bar("1", "12", E=210e9, A=1e-3), "brace")
    for foot in "123":
        s.support(foot)
    return s


LOADS = {
    "11": (12e3, -5e3, -40e3, 1e3, 2e3, -3e3), "12": (0, 8e3, -30e3, 0, 0, 4e3),
    "13": (-6e3, 0, -20e3, 0, -1e3, 0),
}  # fmt: skip
OPENSEES = {
    "c1": (39819.51774, -1060.084773, -4341.733735, -183.7027578, 8576.834106, -1649.230242,
           -39819.51774, 1060.084773, 4341.733735, 183.7027578, 5316.713847, -1743.041032),
    "c2": (36291.44044, 4097.856809, -2072.738241, -520.8477949, 5662.770192, 8483.948441,
           -36291.44044, -4097.856809, 2072.738241, 520.8477949, 1591.813651, 5858.55039),
    "c3": (21195.4467, -37.77203561, 10852.19323, -397.3924879, -24296.80648, -616.5049836,
           -21195.4467, 37.77203561, -10852.19323, 397.3924879, -8259.773207, 503.1888768),
    "g1": (6545.806839, 166.5065641, -2953.327458, 187.6732098, 7015.685398, -712.9778509,
           -6545.806839, -166.5065641, 2953.327458, -187.6732098, 7777.507962, 1547.007884),
    "g2": (-4219.925185, -947.3286135, 2167.47142, 424.6602049, -2513.002848, -2465.114099,
           4219.925185, 947.3286135, -2167.47142, -424.6602049, -6167.713423, -1328.934041),
    "g3": (7326.871097, 445.8508826, -3009.68483, 338.9495856, 8315.114704, 1978.553536,
           -7326.871097, -445.8508826, 3009.68483, -338.9495856, 11014.93611, 884.9756057),
}  # fmt: skip
"""Of OpenSeesPy 3.7.1: ``localForce`` of elasticBeamColumn elements with linear transformations whose vecxz
are the references above, a Truss from 1 to 12, the loads above in one static step."""
REACTION_1 = (-14779.45499, 1060.084773, 32513.11287, -1649.230242, -8576.834106, -183.7027578)


def test_end_forces_and_reactions_are_those_of_opensees():
    s = space_frame()
    dofs = ("ux", "uy", "uz", "rx", "ry", "rz")
    loads = {f"{n}.{d}": f for n, values in LOADS.items() for d, f in zip(dofs, values, strict=True)}
    read, _ = static(s, loads)
    words = [f"{end}.{f}" for end in "ab" for f in ("fx", "fy", "fz", "mx", "my", "mz")]
    for name, expected in OPENSEES.items():
        np.testing.assert_allclose([read(f"{name}.{w}") for w in words], expected, rtol=1e-7)
    assert read("brace.N") == pytest.approx(12740.8625, rel=1e-8)
    np.testing.assert_allclose([read(f"1.{d}.reaction") for d in dofs], REACTION_1, rtol=1e-7)
    assert read("c2.middle.Mz") == pytest.approx((-8483.948441 + 5858.55039) / 2, rel=1e-7)


numbers = st.floats(-1.0, 1.0)


@settings(max_examples=15, deadline=None)
@given(st.lists(numbers, min_size=24, max_size=24), st.lists(numbers, min_size=24, max_size=24))
def test_drawn_frames_are_in_balance_at_every_node(places, loads):
    s = Structure("drawn")
    for i in range(5):
        s.node(f"n{i}", *(3.0 * i * np.array([1.0, 0.3, 0.2]) + places[3 * i : 3 * i + 3]))
    pairs = ((0, 1), (1, 2), (2, 3), (3, 4), (0, 2), (1, 3), (2, 4))
    for i, j in pairs:
        s.add(Frame3D(f"n{i}", f"n{j}", **SPACE), f"m{i}{j}")
    s.support("n0")
    s.support("n4", "ux", "uy", "uz")
    m = s.assemble()
    f = {d: 1e4 * x for d, x in zip(m.dofs, loads, strict=False)}
    read, u = static(s, f)
    forces = section_forces(s, nodal_motion(s, u))
    total = {f"n{i}": np.zeros(6) for i in range(5)}  # of what members exert on nodes, in global axes
    for i, j in pairs:
        axes = forces[f"m{i}{j}"].axes
        for node, end in ((f"n{i}", "a"), (f"n{j}", "b")):
            local = [read(f"m{i}{j}.{end}.{w}") for w in ("fx", "fy", "fz", "mx", "my", "mz")]
            total[node] -= np.concatenate([axes.T @ local[:3], axes.T @ local[3:]])
    size = 1e-7 * max(1.0, *(abs(x).max() for x in total.values()))
    for node, sum_ in total.items():
        for k, d in enumerate(("ux", "uy", "uz", "rx", "ry", "rz")):
            name = f"{node}.{d}"
            given_ = f.get(name, 0.0) if name in m.dofs else read(f"{name}.reaction")
            assert abs(sum_[k] + given_) < size, name


def portal(storeys=3, **options):
    s = Structure("portal")
    for k in range(storeys + 1):
        for side, x in (("a", 0.0), ("b", 6.0)):
            s.node(f"{side}{k}", x=x, y=3.0 * k)
    for k in range(1, storeys + 1):
        for side in "ab":
            s.add(Frame2D(f"{side}{k - 1}", f"{side}{k}", **STEEL, **options), f"column_{side}[{k}]")
            s.add(PointMass(f"{side}{k}", m=5e3))
        s.add(Frame2D(f"a{k}", f"b{k}", **STEEL, **options), f"girder[{k}]")
    s.support("a0")
    s.support("b0")
    s.storeys(*(f"a{k}" for k in range(storeys + 1)))
    return s


def test_storeys_pass_on_what_acts_above_them():
    s = portal()
    read, u = static(s, {"a1.ux": 1e3, "b2.ux": 2e3, "a3.ux": 4e3})
    assert [read(f"storey[{k}].shear_x") for k in (1, 2, 3)] == pytest.approx([7e3, 6e3, 4e3])
    assert read("base.shear_x") == pytest.approx(7e3)
    m = s.assemble()
    drift = u[m.index("a2.ux")] - u[m.index("a1.ux")]
    assert read("storey[2].drift_x") == pytest.approx(drift)
    assert read("storey[2].drift_ratio_x") == pytest.approx(drift / 3.0)
    assert read("storey[1].drift_x") == pytest.approx(u[m.index("a1.ux")])  # the foot is held
    moments = read("column_a[1].a.mz") + read("column_b[1].a.mz") + 6.0 * read("b0.uy.reaction")
    assert moments == pytest.approx(1e3 * 3 + 2e3 * 6 + 4e3 * 9)  # about the left foot


def test_a_dynamic_base_shear_is_what_accelerates_the_masses():
    """With lumped masses, and damping in proportion to stiffness: base shear + Σ m a = loads."""
    s = portal()
    s.rayleigh(0.0, 1e-3)
    m = s.assemble("lumped")
    pull = {"a3.ux": lambda t: 1e5 * np.sin(9 * t)}
    run = time_history(m, pull, 0.005, steps=200)
    shear = Readings(m)["base.shear_x"].over(run)
    along = [i for i, d in enumerate(m.dofs) if d.endswith(".ux")]
    inertia = run.accelerations[:, along] @ (m.M @ np.array([i in along for i in range(len(m))]))[along]
    np.testing.assert_allclose(shear + inertia, 1e5 * np.sin(9 * run.time), atol=1e-4)


def test_nodes_of_a_floor_follow_its_master():
    s = Structure("slab")
    for i, (x, y) in enumerate(((0, 0), (4, 0), (4, 3), (0, 3))):
        s.node(f"f{i}", x=x, y=y)
        s.node(f"t{i}", x=x, y=y, z=3.0)
        s.add(Frame3D(f"f{i}", f"t{i}", **SPACE), f"column[{i}]")
        s.support(f"f{i}")
    s.node("centre", x=2.0, y=1.5, z=3.0)
    s.add(PointMass("centre", m=1e4, Jz=1e4))
    s.rigid_floor(master="centre", nodes=[f"t{i}" for i in range(4)])
    m = s.assemble()
    assert "t2.ux" not in m.dofs
    q = np.zeros((1, len(m)))
    q[0, m.indices(["centre.ux", "centre.uy", "centre.rz"])] = 0.01, 0.02, 0.003
    readings = Readings(m)
    assert readings["t2.ux.displacement"].of(q)[0] == pytest.approx(0.01 - 0.003 * 1.5)
    assert readings["t2.uy.displacement"].of(q)[0] == pytest.approx(0.02 + 0.003 * 2.0)
    assert readings["t2.rz.displacement"].of(q)[0] == pytest.approx(0.003)


@pytest.mark.parametrize(
    "reduce", [lambda m: craig_bampton(m, ["b3.ux"], len(m) - 1), lambda m: guyan(m, m.dofs)]
)
def test_a_reduction_that_keeps_everything_reads_the_same(reduce):
    s = portal()
    m = s.assemble()
    small = reduce(m)
    q = np.random.default_rng(3).normal(size=(4, len(small)))
    whole, reduced = Readings(m), Readings(small.matrices)
    for name in ("girder[2].end.M", "a0.ux.reaction", "storey[2].shear_x", "b1.rz.displacement"):
        np.testing.assert_allclose(
            reduced[name].of(q, q, q), whole[name].of(*[small.expand(q)] * 3), rtol=1e-9, atol=1e-3
        )


def test_readings_remember_the_structure_that_was_assembled():
    s = portal(1)
    m = s.assemble()
    before = Readings(m)["column_a[1].start.N"].of(np.ones(len(m)))
    s.elements["column_a[1]"] = Frame2D("a0", "a1", E=1.0, A=1.0, I=1.0)
    again = Readings(Matrices.from_description(m.describe()))["column_a[1].start.N"]
    assert again.of(np.ones(len(m))) == before


def test_a_shear_building():
    m = ShearBuilding(masses=(2.0, 1.0), stiffnesses=(60.0, 30.0)).assemble()
    r, u = Readings(m), np.array([0.1, 0.3])
    names = ("storey[1].drift_x", "storey[2].drift_x", "storey[2].shear_x", "base.shear_x")
    assert [float(r[n].of(u)) for n in names] == pytest.approx([0.1, 0.2, 6.0, 6.0])
    damped = ShearBuilding(
        masses=(2.0, 1.0), stiffnesses=(60.0, 30.0), dampings=(5.0, 1.0), rayleigh=(0.0, 0.1)
    )
    shear = Readings(damped.assemble())["base.shear_x"]
    assert float(shear.of(u, [2.0, 9.0])) == pytest.approx(6.0 + (5.0 + 0.1 * 60.0) * 2.0)


def test_units_and_kinds_are_carried():
    r = Readings(portal().assemble())
    assert (r["girder[1].start.M"].quantity.unit, r["girder[1].start.M"].quantity.kind) == ("N m", "effort")
    assert r["storey[1].drift_x"].quantity.unit == "m"
    assert r["b2.rz.velocity"].quantity.unit == "rad/s"
    assert r.matching("girder[*].start.M") == [f"girder[{k}].start.M" for k in (1, 2, 3)]
    assert r["storey[2].acceleration_x"].ground == {"ux": 1.0}


def test_what_cannot_be_read_is_refused():
    r = Readings(portal().assemble())
    with pytest.raises(InputError, match=r"girder\[1\].start.M"):
        r["girder[1].start.Mz"]
    with pytest.raises(InputError, match="do not say from which structure"):
        Readings(Matrices([[1.0]], None, [[1.0]], ("a.ux",)))
    s = portal()
    with pytest.raises(InputError, match="does not lie above"):
        s.storeys("a1", "a0", "a3")
    with pytest.raises(InputError, match="unknown node"):
        s.storeys("a0", "roof")
