"""What used to pass without a word: changes after assembly, floors out of plane, nodes that nothing joins."""

import numpy as np
import pytest

from bondloop.bondgraph import C, Model, Sf, Zero
from bondloop.errors import InputError, ModelError, SolveError
from bondloop.integrate.structural import CentralDifference, find_scheme, simulate_structure
from bondloop.rigs import coulomb
from bondloop.structures import (
    Bar,
    Frame2D,
    Frame3D,
    Matrices,
    PointMass,
    Spring,
    Structure,
    field_form,
    modes,
    time_history,
)
from bondloop.structures.structure import structure_from_tables

STEEL = {"E": 210e9, "rho": 7850.0, "A": 54e-4}


def portal():
    s = Structure("portal")
    for name, x, y in [("foot_a", 0, 0), ("a", 0, 3), ("b", 5, 3), ("foot_b", 5, 0)]:
        s.node(name, x=x, y=y)
    for i, j in (("foot_a", "a"), ("foot_b", "b"), ("a", "b")):
        s.add(Frame2D(i, j, **STEEL, I=2500e-8), f"{i}-{j}")
    s.support("foot_a")
    s.support("foot_b")
    return s


# ---------------------------------------------------------------- changes by hand


@pytest.mark.parametrize("change", ["node", "element", "support", "constraint"])
def test_a_change_by_hand_after_assembly_counts(change):
    """The same structure made anew is what comes out; before, the first matrices came back."""
    s, fresh = portal(), portal()
    s.assemble()
    for one in (s, fresh):
        if change == "node":
            one.nodes["b"] = (6.0, 3.0, 0.0)
        elif change == "element":
            one.elements["a-b"] = Frame2D("a", "b", **STEEL, I=9000e-8)
        elif change == "support":
            one.supports["foot_b"] = ("ux", "uy")
        else:
            one.constraints.clear()
            one.constrain({"a.ux": 1, "b.ux": -1})
    again, expected = s.assemble(), fresh.assemble()
    assert again.dofs == expected.dofs
    assert abs(again.K - expected.K).max() == 0
    assert abs(again.K).max() != abs(portal().assemble().K).max() or again.dofs != portal().assemble().dofs
    assert np.array_equal(s.base_excitation("ux"), fresh.base_excitation("ux"))


# ---------------------------------------------------------------- nodes


def test_nodes_at_one_place_that_nothing_joins():
    s = portal()
    s.node("corner", x=0, y=3)
    s.node("outer", x=-2, y=3)
    s.add(Frame2D("outer", "corner", **STEEL, I=2500e-8))
    s.support("outer")
    with pytest.raises(InputError, match=r"nodes 'a' and 'corner' lie at one place and nothing joins them"):
        s.assemble()
    s.tie("a", "corner")
    assert "corner.ux" not in s.assemble().dofs
    crossing = portal()
    crossing.node("c", x=0, y=3)
    crossing.add(Bar("c", "foot_b", **STEEL))
    crossing.support("c")
    crossing.apart("a", "c")
    again = structure_from_tables(**{k: v for k, v in _tables(crossing).items() if k != "structure"})
    assert abs(again.assemble().K - crossing.assemble().K).max() == 0


def _tables(s):
    tables = s.describe()
    return {**tables, "elements": s.elements, "constraints": s.constraints}


def test_springs_at_one_place_are_joined_by_themselves():
    s = Structure("chain")
    for name in "abc":
        s.node(name)
    s.add(Spring("a", "b", k=1.0, dof="ux"))
    s.add(Spring("b", "c", k=1.0, dof="ux"))
    s.support("a")
    assert s.assemble().dofs == ("b.ux", "c.ux")


def test_an_orphan_is_named():
    s = portal()
    s.node("lost", x=9)
    with pytest.raises(InputError, match="node 'lost': no element and no constraint uses it"):
        s.assemble()


# ---------------------------------------------------------------- floors and rigid motions


def space(lean=0.0):
    s = Structure("tower")
    for level in range(2):
        for k, (x, y) in enumerate([(0, 0), (4, 0), (4, 3), (0, 3)]):
            s.node(f"c{k}_{level}", x=x, y=y, z=3.0 * level + lean * level * k)
    s.node("floor", x=2, y=1.5, z=3.0)
    for k in range(4):
        s.add(Frame3D(f"c{k}_0", f"c{k}_1", **STEEL, G=80e9, Iy=1e-5, Iz=2e-5, J=1e-6))
        s.support(f"c{k}_0")
    s.add(PointMass("floor", m=1e4, Jz=3e4, dofs=("ux", "uy", "rz")))
    s.rigid_floor(master="floor", nodes=[f"c{k}_1" for k in range(4)])
    return s


def test_a_floor_lies_in_one_plane():
    space().assemble()
    with pytest.raises(InputError, match=r"rigid floor of 'floor': node 'c2_1' lies at z = 3.2 m, not in"):
        space(lean=0.1).assemble()


def test_a_slave_is_eliminated_not_unknown():
    m = space().assemble()
    for act in (lambda: m.index("c1_1.ux"), lambda: m.indices(["c1_1.ux"]), lambda: m.sub(["c1_1.ux"])):
        with pytest.raises(InputError, match=r"'c1_1.ux' is eliminated: .* follow floor.ux, floor.rz"):
            act()
    with pytest.raises(InputError, match=r"'c1_1.ux' is eliminated"):
        field_form(m).junction("c1_1.ux")
    with pytest.raises(InputError, match=r"'c1_0.ux' is held by a support"):
        m.index("c1_0.ux")
    with pytest.raises(InputError, match=r"unknown degree of freedom 'c9_0\.ux'"):
        m.index("c9_0.ux")
    with pytest.raises(InputError, match=r"'c1_1.ux' is eliminated"):
        space().prescribed("c1_1.ux")


def test_effective_masses_of_a_rotation_are_those_of_a_rigid_one():
    """All modes together have the moment of inertia about the origin: J + m (x² + y²), columns aside."""
    s = space()
    m = s.assemble()
    every = modes(m, len(m))
    r = s.influence("rz")
    assert every.effective_masses("rz").sum() == pytest.approx(r @ (m.M @ r), rel=1e-9)
    assert every.effective_masses("rz").sum() == pytest.approx(3e4 + 1e4 * (2**2 + 1.5**2), rel=0.1)
    bare = Matrices(m.M, m.C, m.K, m.dofs)
    with pytest.raises(
        InputError, match=r"effective_masses\('rz'\): a rigid rotation needs the nodes' coord"
    ):
        modes(bare, 3).effective_masses("rz")


@pytest.mark.parametrize("seed", range(5))
def test_a_lumped_mass_is_diagonal_however_members_lie(seed):
    rng = np.random.default_rng(seed)
    s = Structure("inclined")
    s.node("root")
    s.node("tip", *rng.uniform(-1, 1, 3))
    s.add(
        Frame3D(
            "root", "tip", **STEEL, G=80e9, Iy=1e-5, Iz=4e-5, J=1e-6, reference=tuple(rng.uniform(-1, 1, 3))
        )
    )
    s.support("root")
    M = s.assemble("lumped").M.toarray()
    assert np.abs(M - np.diag(np.diag(M))).max() <= 1e-12 * np.abs(M).max()
    length = float(np.linalg.norm(s.nodes["tip"]))
    assert np.diag(M)[:3] == pytest.approx(7850 * 54e-4 * length / 2)


# ---------------------------------------------------------------- damping


def test_modes_are_damped_with_supports_held():
    """5 % of every mode, whether the feet are held or moved; the feet's modes when free are others."""
    s = portal()
    s.modal_damping(0.05)
    moved = s.prescribed("foot_a.ux", "foot_b.ux")
    assert modes(moved.matrices, 5).damping_ratios == pytest.approx(0.05)
    # A rigid motion of both feet damps nothing.
    together = s.influence("ux")
    C = moved.matrices.C.toarray()
    assert np.abs(C @ together + moved.C_a.sum(axis=1)).max() < 1e-9 * np.abs(C).max()


@pytest.mark.parametrize("damping", ["modal", "rayleigh"])
def test_moved_feet_are_the_relative_motion_on_moving_ground(damping):
    """Absolute coordinates less the ground's motion against -M r in relative ones."""
    s = portal()
    if damping == "modal":
        s.modal_damping(0.05)
    else:
        s.rayleigh(1.5, 1e-4)
    h, steps = 1e-3, 2000
    t = h * np.arange(steps + 1)
    w = 9.0
    a = 0.01 * w * w * np.sin(w * t)
    # Velocity and displacement as the scheme itself would have them: average accelerations.
    v = np.append(0.0, np.cumsum(h / 2 * (a[1:] + a[:-1])))
    x = np.append(0.0, np.cumsum(h * v[:-1] + h * h / 4 * (a[1:] + a[:-1])))
    m = s.assemble()
    relative = time_history(m, np.outer(a, s.base_excitation("ux")), h)
    moved = s.prescribed("foot_a.ux", "foot_b.ux")
    both = [np.vstack([q, q]) for q in (a, v, x)]
    absolute = time_history(moved.matrices, moved.force(*both).T, h)
    ours = absolute["a.ux"] - x
    assert np.abs(ours - relative["a.ux"]).max() < 1e-6 * np.abs(relative["a.ux"]).max()
    if damping == "rayleigh":
        moved = s.prescribed("foot_a.ux", "foot_b.ux", damping="absolute")
        other = time_history(moved.matrices, moved.force(*both).T, h)["a.ux"] - x
        assert np.abs(other - relative["a.ux"]).max() > 0.01 * np.abs(relative["a.ux"]).max()


def long_mast(n=80):
    s = Structure("mast")
    s.node("n0")
    for i in range(n):
        s.node(f"n{i + 1}", y=0.5 * (i + 1))
        s.add(Frame2D(f"n{i}", f"n{i + 1}", **STEEL, I=2500e-8))
    s.support("n0")
    return s


def test_modal_damping_of_many_degrees_of_freedom_needs_no_full_matrix():
    from bondloop.structures import craig_bampton, frequency_response

    s = long_mast()
    s.modal_damping([0.02, 0.03, 0.04])
    slim = s.assemble()
    assert modes(slim, 5).damping_ratios == pytest.approx([0.02, 0.03, 0.04, 0, 0], abs=1e-9)
    basis = modes(slim, 3)
    C = basis.weighted @ np.diag(2 * np.array([0.02, 0.03, 0.04]) * basis.omega) @ basis.weighted.T
    full = Matrices(slim.M, C, slim.K, slim.dofs)
    assert np.abs(slim.C.toarray() - C).max() < 1e-9 * np.abs(C).max()
    push = {"n80.ux": lambda t: 1e3 * np.sin(5 * t)}
    ours, theirs = (time_history(m, push, 0.01, steps=200)["n80.ux"] for m in (slim, full))
    assert np.abs(ours - theirs).max() < 1e-7 * np.abs(theirs).max()
    w = np.array([0.0, 1.0, float(basis.omega[0])])
    ours, theirs = (frequency_response(m, "n80.ux", "n80.ux", w) for m in (slim, full))
    assert np.abs(ours / theirs - 1).max() < 1e-5
    ours, theirs = (craig_bampton(m, ["n80.ux"], 3).matrices.C.toarray() for m in (slim, full))
    assert np.abs(ours - theirs).max() < 1e-9 * np.abs(theirs).max()
    kept = [d for d in slim.dofs if not d.startswith("n5.")]
    assert abs(slim.sub(kept).C - full.sub(kept).C).max() < 1e-9 * np.abs(C).max()
    s.modal_damping(0.02, count=3)
    assert modes(s.assemble(), 4).damping_ratios == pytest.approx([0.02, 0.02, 0.02, 0], abs=1e-9)


def test_all_modes_of_a_very_large_structure_are_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr("bondloop.structures.damping.FULL_DAMPING", 100)
    s = long_mast()
    s.modal_damping(0.05)
    with pytest.raises(
        InputError, match=r"all 240 modes needs all of them; .*modal_damping\(0.05, count=50\)"
    ):
        s.assemble()
    with pytest.raises(InputError, match="count goes with one ratio"):
        s.modal_damping([0.05, 0.05], count=2)


# ---------------------------------------------------------------- schemes and laws


def test_a_response_that_diverges_says_so_with_sparse_matrices_too():
    from scipy import sparse

    K = sparse.csr_array(np.array([[2e6, -1e6], [-1e6, 1e6]]))
    with pytest.raises(SolveError, match=r"diverged.*the scheme's limit is 2"):
        simulate_structure(CentralDifference(), sparse.eye_array(2), None, K, 0.01, 400, initial=(0.1, 0))


OPENSEES = {
    1.0: [0.00856038383863619, 0.017627177236661937],
    0.5: [0.008769773033873652, 0.01764738978916855],
    0.0: [0.009217225065189124, 0.017452934905229738],
}
"""Displacements after 20 steps of 50 ms, of masses of 1 and 3 kg on springs of 100 and 70 N/m with dashpots
of 1 and 0.2 N s/m, the first pushed by sin(3 t) N from rest: KRAlphaExplicit of OpenSees 3.7.1."""


@pytest.mark.parametrize("rho", OPENSEES)
def test_kr_alpha_is_the_scheme_that_opensees_calls_so(rho):
    t = 0.05 * np.arange(21)
    C, K = np.array([[1.2, -0.2], [-0.2, 0.2]]), np.array([[170.0, -70.0], [-70.0, 70.0]])
    push = np.column_stack([np.sin(3 * t), 0 * t])
    run = simulate_structure(
        find_scheme("KRAlphaExplicit")(rho_inf=rho),
        np.diag([1.0, 3.0]),
        C,
        K,
        0.05,
        20,
        load=push,
        backend="numpy",
    )
    assert run.displacement[-1] == pytest.approx(OPENSEES[rho], rel=1e-12)


def test_dry_friction_in_series_with_a_spring_is_refused():
    """It became NaN at the moment of slip: a force does not tell how fast it slides."""
    m = Model("slip")
    m.drive, m.joint, m.spring, m.friction = Sf("v"), Zero(), C(stiffness=10.0), coulomb(3.0)
    m.drive >> m.joint >> [m.spring, m.friction]
    with pytest.raises(ModelError, match="dry friction gives a force where it is given a velocity"):
        m.compile()


@pytest.mark.parametrize(
    ("ratios", "same"),
    [
        ("2 %", 0.02),
        ("0.02", 0.02),
        (["2 %", 0.03], [0.02, 0.03]),
        (np.float32(0.5), 0.5),
        (np.array(0.02), 0.02),
    ],
)
def test_ratios_of_modes_may_be_text(ratios, same):
    s, plain = portal(), portal()
    s.modal_damping(ratios)
    plain.modal_damping(same)
    assert np.array_equal(s.assemble().C.toarray(), plain.assemble().C.toarray())


@pytest.mark.parametrize(
    ("ratios", "count"),
    [(None, None), ([[0.1]], None), ([0.1, [0.2]], None), ("two", None), ("2 mm", None), (float("nan"), None),
     (-0.1, None), ([0.1, -0.1], None), ({}, None), (0.02, 0), (0.02, 1.5), (0.02, "3"), ([0.02], 1)],
)  # fmt: skip
def test_what_is_no_ratio_of_modes_is_refused(ratios, count):
    with pytest.raises(InputError, match=r"structure 'portal': modal_damping"):
        portal().modal_damping(ratios, count)
