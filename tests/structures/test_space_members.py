"""Members in space: torsion, orientation, equality with plane members."""

import numpy as np
import pytest
from scipy.linalg import eigh

from bondloop.structures import Bar, Beam, Beam3D, Dashpot, Frame2D, Frame3D, PointMass, Spring, Structure

STEEL = {"E": 210e9, "A": 1e-3, "rho": 7850.0}
SPACE = {**STEEL, "G": 80e9, "Iy": 2e-6, "Iz": 3e-6, "J": 4e-6}


def member(element, *, n=1, length=1.0, **direction):
    s = Structure("member")
    s.node("a")
    s.node("b", **(direction or {"x": length}))
    s.line("a", "b", n=n, element=element)
    return s


def deflection(s, loads, dof):
    m = s.assemble()
    u = np.linalg.solve(m.K.toarray(), loads if isinstance(loads, np.ndarray) else s.load_vector(loads))
    return u[m.index(dof)]


def test_twist_of_a_shaft():
    s = member(Frame3D("a", "b", **SPACE), n=3, length=2.0)
    s.support("a")
    assert deflection(s, {"b.rx": 7.0}, "b.rx") == pytest.approx(7 * 2 / (80e9 * 4e-6), rel=1e-12)


def test_space_frame_bends_about_its_own_axes():
    """Iz resists motion along local y, Iy along z; the reference vector turns them."""
    for reference, along_y, along_z in ((None, 3e-6, 2e-6), ((0, 1, 0), 2e-6, 3e-6)):
        s = member(Frame3D("a", "b", **SPACE, reference=reference), length=2.0)
        s.support("a")
        assert deflection(s, {"b.uy": 1.0}, "b.uy") == pytest.approx(8 / (3 * 210e9 * along_y), rel=1e-9)
        assert deflection(s, {"b.uz": 1.0}, "b.uz") == pytest.approx(8 / (3 * 210e9 * along_z), rel=1e-9)


def space_structure(turn, *, release=(), shear=None):
    s = Structure("space")
    places = {"a": (0, 0, 0), "b": (0, 0, 3), "c": (4, 0, 3), "d": (4, 2, 2.5), "e": (4, 2, 0)}
    for name, at in places.items():
        s.node(name, *(float(v) for v in turn @ np.array(at, dtype=float)))
    for p, q in ("ab", "bc", "cd", "de"):
        reference = turn @ np.array([0.3, 0.7, 0.2])
        more = {"release_b": release} if p == "b" else {}
        s.add(Frame3D(p, q, **SPACE, reference=tuple(reference), kappa_y=shear, kappa_z=shear, **more))
    s.add(Bar("b", "e", **STEEL))
    s.add(PointMass("c", m=20.0))
    s.add(Spring("a", "d", k=1e5))
    s.add(Dashpot("a", "d", c=1e3))
    return s


@pytest.mark.parametrize("mass", ["consistent", "lumped"])
@pytest.mark.parametrize("release", [(), ("rz", "ry")])
def test_eigenvalues_do_not_depend_on_the_orientation(mass, release):
    rng = np.random.default_rng(4)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    found = []
    for axes in (np.eye(3), turn):
        s = space_structure(axes, release=release, shear=0.8)
        m = s.assemble(mass, free=True)
        found.append(eigh(m.K.toarray(), m.M.toarray(), eigvals_only=True))
        assert np.linalg.eigvalsh(m.C.toarray())[-1] == pytest.approx(2e3)
    assert np.all(np.abs(found[0][:6]) < 1e-8 * found[0][-1])
    assert found[1] == pytest.approx(found[0], rel=1e-8, abs=1e-10 * found[0][-1])


def test_beam_in_space_is_two_beams_in_the_plane():
    s = member(Beam3D("a", "b", **STEEL, Iy=2e-6, Iz=5e-6), n=3, length=2.0)
    s.support("a")
    m = s.assemble()
    found = np.sort(eigh(m.K.toarray(), m.M.toarray(), eigvals_only=True))
    single = []
    for moment in (2e-6, 5e-6):
        p = member(Beam("a", "b", **STEEL, I=moment), n=3, length=2.0)
        p.support("a")
        single.append(eigh(p.assemble().K.toarray(), p.assemble().M.toarray(), eigvals_only=True))
    assert found == pytest.approx(np.sort(np.concatenate(single)), rel=1e-10)


def test_random_plane_frames_equal_space_frames_held_out_of_plane():
    rng = np.random.default_rng(7)
    plane, space = Structure("plane"), Structure("space")
    for i in range(5):
        x, y = rng.uniform(-2, 2, 2)
        plane.node(f"n{i}", x, y)
        space.node(f"n{i}", x, y)
        space.support(f"n{i}", "uz", "rx", "ry")
    for i, j in ((0, 1), (1, 2), (2, 3), (3, 4), (0, 3)):
        plane.add(Frame2D(f"n{i}", f"n{j}", **STEEL, I=3e-6, G=80e9, kappa=0.8))
        space.add(Frame3D(f"n{i}", f"n{j}", **SPACE, kappa_y=0.8))
    for mass in ("consistent", "lumped"):
        p, q = plane.assemble(mass, free=True), space.assemble(mass, free=True)
        assert p.dofs == q.dofs
        assert abs(p.K - q.K).max() < 1e-10 * abs(p.K).max()
        assert abs(p.M - q.M).max() < 1e-10 * abs(p.M).max()
