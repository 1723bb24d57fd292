"""Constraints: multi-point, ties, rigid floors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh, null_space

from bondloop.errors import InputError
from bondloop.structures import Bar, Frame2D, Frame3D, PointMass, Spring, Structure
from bondloop.structures.dofs import eliminate

STEEL = {"E": 210e9, "A": 1e-3, "rho": 7850.0}


def chain(n=4):
    s = Structure("chain")
    for i in range(n):
        s.node(f"m{i}", x=float(i))
        s.add(PointMass(f"m{i}", m=1.0 + i))
        s.add(Spring(f"m{i}", k=10.0 + i, dof="ux"))
        if i:
            s.add(Spring(f"m{i - 1}", f"m{i}", k=5.0 * i, dof="ux"))
    return s


def test_constraint_equals_manual_elimination():
    """u₃ = 2 u₁ - u₀ put into the matrices by hand."""
    free, bound = chain(), chain()
    bound.constrain({"m3.ux": 1.0, "m1.ux": -2.0, "m0.ux": 1.0})
    T = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 2, 0]])
    m, whole = bound.assemble(), free.assemble()
    assert m.dofs == ("m0.ux", "m1.ux", "m2.ux")
    for name in ("M", "K"):
        assert getattr(m, name).toarray() == pytest.approx(T.T @ getattr(whole, name).toarray() @ T)
    assert bound.load_vector({"m3.ux": 7.0}).tolist() == [-7.0, 14.0, 0.0]


def test_constraint_equals_a_stiff_penalty():
    free, bound = chain(), chain()
    bound.constrain({"m0.ux": 1.0, "m2.ux": -1.0})
    free.add(Spring("m0", "m2", k=1e9, dof="ux"))
    low = eigh(*(getattr(free.assemble(), n).toarray() for n in "KM"), eigvals_only=True)[:3]
    assert eigh(*(getattr(bound.assemble(), n).toarray() for n in "KM"), eigvals_only=True) == pytest.approx(
        low, rel=1e-6
    )


def test_constraints_chain_and_redundant_ones_do_no_harm():
    s = chain()
    s.tie("m0", "m1", "ux")
    s.tie("m1", "m2", "ux")
    s.tie("m0", "m2", "ux")
    s.tie("m2", "m3", "ux")
    m = s.assemble()
    assert m.dofs == ("m0.ux",)
    assert (m.M[0, 0], m.K[0, 0]) == pytest.approx((10.0, 46.0))


def test_a_tie_to_a_supported_node_holds():
    s = chain()
    s.support("m0")
    s.tie("m0", "m3", "ux")
    assert s.assemble().dofs == ("m1.ux", "m2.ux")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_elimination_spans_the_null_space_of_any_constraints(data):
    n = data.draw(st.integers(2, 7))
    held = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    row = st.dictionaries(st.integers(0, n - 1), st.integers(-3, 3).filter(bool), min_size=1, max_size=4)
    rows = [list(r.items()) for r in data.draw(st.lists(row, max_size=4))]
    T, free = eliminate([[(i, float(c)) for i, c in r] for r in rows], held)
    G = np.vstack(
        [np.array([[dict(r).get(i, 0.0) for i in range(n)] for r in rows]).reshape(-1, n), np.eye(n)[held]]
    )
    assert np.abs(G @ T.toarray()).max(initial=0.0) < 1e-9 * max(1.0, np.abs(T.toarray()).max(initial=0.0))
    assert T.shape[1] == (null_space(G).shape[1] if len(G) else n)
    assert T.toarray()[free] == pytest.approx(np.eye(len(free)))


def storey(*, diaphragm=None):
    s = Structure("storey")
    corners = {"p": (0, 0), "q": (4, 0), "r": (4, 3), "s": (0, 3)}
    values = {**STEEL, "G": 80e9, "J": 3e-6}
    for name, (x, y) in corners.items():
        s.node(name, x, y, 3.0)
        s.node(f"{name}0", x, y, 0.0)
        s.support(f"{name}0")
        moment = 4e-6 if name in "pq" else 1e-6
        s.add(Frame3D(f"{name}0", name, **values, Iy=moment, Iz=2 * moment))
    for a, b in ("pq", "qr", "rs", "sp"):
        s.add(Frame3D(a, b, **values, Iy=2e-6, Iz=2e-6))
    if diaphragm:
        for a, b in ("pq", "qr", "rs", "sp", "pr", "qs"):
            s.add(Spring(a, b, k=diaphragm))
    return s


def test_rigid_floor_is_the_limit_of_a_stiff_diaphragm():
    """Stiff springs in the floor's plane hold its shape; the corners' rotations about z are tied to it."""
    rigid = storey()
    rigid.node("centre", 2.0, 1.5, 3.0)
    rigid.rigid_floor(master="centre", nodes=["p", "q", "r", "s"], plane="xy")
    m = rigid.assemble()
    assert {"centre.ux", "centre.uy", "centre.rz"} <= set(m.dofs)
    assert not {"p.ux", "p.uy", "p.rz"} & set(m.dofs)
    w2 = eigh(m.K.toarray(), m.M.toarray(), eigvals_only=True)
    errors = []
    for k in (1e9, 1e11):
        soft = storey(diaphragm=k)
        for name in "pqrs":  # rz of the corner equals the rotation of side p-q
            soft.constrain({f"{name}.rz": 1.0, "q.uy": -0.25, "p.uy": 0.25})
        s = soft.assemble()
        errors.append(eigh(s.K.toarray(), s.M.toarray(), eigvals_only=True)[:6] / w2[:6] - 1)
    assert np.abs(errors[1]).max() < 1e-3
    assert np.abs(errors[1]).max() < 0.02 * np.abs(errors[0]).max()


@pytest.mark.parametrize(("plane", "still"), [("xy", "uz"), ("xz", "uy"), ("yz", "ux")])
def test_a_rigid_floor_lets_its_plane_turn_as_a_body(plane, still):
    rng = np.random.default_rng(3)
    s = Structure("free floor")
    for name in "abc":
        at = rng.uniform(-1, 1, 3)
        at["xyz".index(still[1])] = 0.5
        s.node(name, *at)
    for a, b in ("ab", "bc"):
        s.add(Frame3D(a, b, **STEEL, G=80e9, Iy=1e-6, Iz=2e-6, J=3e-6))
    s.rigid_floor(master="a", nodes=["b", "c"], plane=plane)
    m = s.assemble(free=True)
    assert len(m) == 6 + 3 + 3
    for way in ("ux", "uy", "uz"):
        assert np.abs(m.K @ s.influence(way)).max() < 1e-6 * abs(m.K).max()
    normal = {"uz": "rz", "uy": "ry", "ux": "rx"}[still]
    assert np.abs(m.K @ s.influence(normal)).max() < 1e-6 * abs(m.K).max()


def test_floor_of_a_plane_frame_moves_sideways_together():
    s = Structure("plane floor")
    for name, x, y in (("a0", 0, 0), ("b0", 4, 0), ("a", 0, 3), ("b", 4, 3)):
        s.node(name, x, y)
    for p, q in (("a0", "a"), ("b0", "b"), ("a", "b")):
        s.add(Frame2D(p, q, **STEEL, I=1e-6))
    s.support("a0")
    s.support("b0")
    s.tie("a", "b", "ux")
    assert s.assemble().dofs == ("a.ux", "a.uy", "a.rz", "b.uy", "b.rz")


def test_a_tie_leaves_out_what_only_one_node_has():
    """A bar hung on a frame's corner: translations are shared, the corner's rotation stays free."""
    s = Structure("hung")
    for name, x, y in (("a", 0, 0), ("b", 0, 3), ("hook", 0, 3), ("end", 1, 4)):
        s.node(name, x, y)
    s.add(Frame2D("a", "b", **STEEL, I=1e-6))
    s.add(Bar("hook", "end", **STEEL))
    s.support("a")
    s.support("end")
    s.tie("b", "hook")
    assert s.assemble().dofs == ("b.ux", "b.uy", "b.rz")
    s.constrain({"b.rz": 1.0, "hook.rz": -1.0})
    with pytest.raises(InputError, match=r"constraint \+1 b.rz -1 hook.rz = 0: no element uses hook.rz"):
        s.assemble()


def test_a_constraint_that_stops_the_ground_is_refused():
    s = chain()
    s.constrain({"m0.ux": 1.0, "m1.ux": 1.0})
    with pytest.raises(
        InputError, match=r"between m0.ux, m1.ux does not let the structure move with the ground"
    ):
        s.base_excitation("ux")
