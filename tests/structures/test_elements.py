"""Elements: rigid motions, patch tests, textbook deflections, releases."""

import numpy as np
import pytest
from scipy.linalg import eigh

from bondloop.structures import Bar, Beam, Beam3D, Frame2D, Frame3D, Structure, Timoshenko

STEEL = {"E": 210e9, "A": 1e-3, "rho": 7850.0}
PLANE = {**STEEL, "I": 2e-6}
SPACE = {**STEEL, "G": 80e9, "Iy": 2e-6, "Iz": 3e-6, "J": 4e-6}
EI = 210e9 * 2e-6


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


UNSUPPORTED = [
    (Frame2D("a", "b", **PLANE), {"x": 3.0, "y": 4.0}, 3),
    (Frame2D("a", "b", **PLANE, G=80e9), {"x": -1.0, "y": 0.5}, 3),
    (Frame3D("a", "b", **SPACE), {"x": 1.0, "y": 2.0, "z": 2.0}, 6),
    (Frame3D("a", "b", **SPACE, kappa_y=0.8, kappa_z=0.7, reference=(1.0, 0, 0)), {"y": 2.0, "z": 2.0}, 6),
    (Beam("a", "b", **PLANE), {"x": 2.0}, 2),
    (Timoshenko("a", "b", **PLANE, G=80e9), {"x": 2.0}, 2),
    (Beam3D("a", "b", **STEEL, Iy=2e-6, Iz=1e-6), {"x": 2.0}, 4),
    (Bar("a", "b", **STEEL), {"x": 2.0}, 1),
]


@pytest.mark.parametrize("mass", ["consistent", "lumped"])
@pytest.mark.parametrize(("element", "direction", "count"), UNSUPPORTED)
def test_unsupported_members_have_rigid_motions_and_a_definite_mass(element, direction, count, mass):
    m = member(element, n=3, **direction).assemble(mass, free=True)
    w2 = eigh(m.K.toarray(), m.M.toarray(), eigvals_only=True)
    assert np.all(np.linalg.eigvalsh(m.M.toarray()) > 0)
    assert np.all(np.abs(w2[:count]) < 1e-9 * w2[-1])
    assert w2[count] > 1e-6 * w2[-1]


@pytest.mark.parametrize("mass", ["consistent", "lumped"])
@pytest.mark.parametrize(("element", "direction", "count"), UNSUPPORTED)
def test_translation_carries_the_whole_mass(element, direction, count, mass):
    del count
    s = member(element, n=4, **direction)
    m = s.assemble(mass, free=True)
    length = np.linalg.norm(list(direction.values()))
    way = "ux" if isinstance(element, Bar) else "uy"
    r = s.influence(way)
    assert r @ m.M @ r == pytest.approx(7850 * 1e-3 * length, rel=1e-12)


def test_a_rotation_of_the_whole_has_the_moment_of_inertia_of_a_rod():
    s = member(Frame2D("a", "b", **PLANE), n=1, x=3.0, y=4.0)
    r = s.influence("rz")
    assert r @ s.assemble(free=True).M @ r == pytest.approx(7850 * 1e-3 * 5**3 / 3, rel=1e-12)


def test_patch_of_bars_carries_a_constant_strain():
    """Unequal bars in a row under an end force: u(x) = F x / EA at every node."""
    s = Structure("patch")
    places = [0.0, 0.3, 0.45, 1.1, 2.0]
    for i, x in enumerate(places):
        s.node(f"n{i}", x=x)
    for i in range(4):
        s.add(Bar(f"n{i}", f"n{i + 1}", **STEEL))
    s.support("n0")
    u = np.linalg.solve(s.assemble().K.toarray(), s.load_vector({"n4.ux": 1e5}))
    assert u == pytest.approx(1e5 * np.array(places[1:]) / (210e9 * 1e-3), rel=1e-12)


@pytest.mark.parametrize("element", [Beam("a", "b", **PLANE), Timoshenko("a", "b", **PLANE, G=80e9)])
def test_patch_of_beams_carries_a_constant_curvature(element):
    """An end moment: uy = M x² / 2EI and rz = M x / EI at every node, with or without shear."""
    s = Structure("patch")
    places = [0.0, 0.3, 0.45, 1.1, 2.0]
    for i, x in enumerate(places):
        s.node(f"n{i}", x=x)
    for i in range(4):
        s.add(element.piece(f"n{i}", f"n{i + 1}", first=False, last=False))
    s.support("n0")
    u = np.linalg.solve(s.assemble().K.toarray(), s.load_vector({"n4.rz": 500.0}))
    x = np.array(places[1:])
    assert u[0::2] == pytest.approx(500 * x**2 / (2 * EI), rel=1e-9)
    assert u[1::2] == pytest.approx(500 * x / EI, rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_cantilever_deflects_by_pl3_over_3ei(n):
    s = member(Beam("a", "b", **PLANE), n=n, length=2.0)
    s.support("a")
    assert deflection(s, {"b.uy": 10.0}, "b.uy") == pytest.approx(10 * 8 / (3 * EI), rel=1e-9)


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("slender", [1e-1, 1.0, 1e3])
def test_timoshenko_cantilever_does_not_lock(n, slender):
    """PL³/3EI + PL/κGA, from stubby to slender (Timoshenko and Gere)."""
    s = member(Timoshenko("a", "b", **PLANE, G=80e9, kappa=0.85), n=n, length=slender)
    s.support("a")
    exact = slender**3 / (3 * EI) + slender / (0.85 * 80e9 * 1e-3)
    assert deflection(s, {"b.uy": 1.0}, "b.uy") == pytest.approx(exact, rel=1e-8)


def test_simply_supported_beam_under_a_uniform_load():
    """5qL⁴/384EI at mid-span, exact at the nodes with consistent loads."""
    s = member(Beam("a", "b", **PLANE), n=2, length=4.0)
    s.support("a", "uy")
    s.support("b", "uy")
    load = s.distributed("beam", fy="-2 kN/m")
    assert deflection(s, load, "a-b.1.uy") == pytest.approx(-5 * 2000 * 4**4 / (384 * EI), rel=1e-10)


def test_fixed_beams_under_mid_load_and_uniform_load():
    """PL³/192EI and qL⁴/384EI (Gere and Timoshenko 1997, appendix G)."""
    s = member(Frame2D("a", "b", **PLANE), n=2, length=4.0)
    s.support("a")
    s.support("b")
    assert deflection(s, {"a-b.1.uy": 1.0}, "a-b.1.uy") == pytest.approx(64 / (192 * EI), rel=1e-10)
    load = s.distributed("frame2d[0]", "frame2d[1]", fy=3.0)
    assert deflection(s, load, "a-b.1.uy") == pytest.approx(3 * 256 / (384 * EI), rel=1e-10)


def test_propped_cantilever_by_a_hinge_at_its_end():
    """A beam released at its far, fixed node is a propped cantilever: 7PL³/768EI under a mid-span load."""
    s = member(Beam("a", "b", **PLANE, release_b=("rz",)), n=2, length=4.0)
    s.support("a")
    s.support("b")
    assert deflection(s, {"a-b.1.uy": 1.0}, "a-b.1.uy") == pytest.approx(7 * 64 / (768 * EI), rel=1e-10)


def test_portal_frame_sway():
    """Fixed portal, stiff axially: k = 24EI_c/h³ · (6r + 1)/(6r + 4), r = I_b h / I_c L (Kleinlogel 1952)."""
    h, span, Ic, Ib = 3.0, 5.0, 2e-6, 3e-6
    s = Structure("portal")
    s.node("a")
    s.node("b", y=h)
    s.node("c", x=span, y=h)
    s.node("d", x=span)
    for p, q, moment in (("a", "b", Ic), ("b", "c", Ib), ("d", "c", Ic)):
        s.add(Frame2D(p, q, E=210e9, A=1e3, I=moment))
    s.support("a")
    s.support("d")
    k = Ib * h / (Ic * span)
    stiffness = 24 * 210e9 * Ic / h**3 * (6 * k + 1) / (6 * k + 4)
    assert deflection(s, {"b.ux": 0.5, "c.ux": 0.5}, "b.ux") == pytest.approx(1 / stiffness, rel=1e-6)


def test_two_bar_truss():
    """Bars at 45° to the vertical: δ = P L / (2 EA cos²45°); mass of both moves in both directions."""
    s = Structure("truss")
    s.node("l", x=-1.0)
    s.node("r", x=1.0)
    s.node("tip", y=-1.0)
    s.add(Bar("l", "tip", **STEEL))
    s.add(Bar("r", "tip", **STEEL))
    s.support("l")
    s.support("r")
    assert s.assemble().dofs == ("tip.ux", "tip.uy")
    assert deflection(s, {"tip.uy": -1e3}, "tip.uy") == pytest.approx(-1e3 * np.sqrt(2) / 210e6, rel=1e-12)
    assert s.assemble().M.toarray() == pytest.approx(np.eye(2) * 2 * 7850e-3 * np.sqrt(2) / 3, rel=1e-12)


def test_releases_equal_a_hinge_modelled_with_two_nodes():
    """A hinge by release has the eigenvalues of two nodes tied in translation only."""
    released = Structure("released")
    tied = Structure("tied")
    for s in (released, tied):
        s.node("a")
        s.node("h", x=1.0, y=0.5)
        s.node("b", x=2.0)
        s.support("a")
        s.support("b")
        s.add(Frame2D("a", "h", **PLANE))
    released.line("h", "b", n=3, element=Frame2D("h", "b", **PLANE, release_a=("rz",)))
    tied.node("h2", x=1.0, y=0.5)
    tied.line("h2", "b", n=3, element=Frame2D("h2", "b", **PLANE))
    tied.tie("h", "h2", "ux", "uy")
    u = [[deflection(s, {"h.uy": 1.0}, f"h.{d}") for d in ("ux", "uy", "rz")] for s in (released, tied)]
    assert u[0] == pytest.approx(u[1], rel=1e-9)
    mode = [
        eigh(s.assemble().K.toarray(), s.assemble().M.toarray(), eigvals_only=True)[0]
        for s in (released, tied)
    ]
    assert mode[0] == pytest.approx(mode[1], rel=2e-3)  # static condensation of the hinge's rotation
    assert mode[0] >= mode[1]  # Guyan never lowers a frequency


def test_element_damping_is_proportional_to_its_stiffness():
    s = member(Beam("a", "b", **PLANE, beta="2 ms"))
    s.support("a")
    m = s.assemble()
    assert m.C.toarray() == pytest.approx(0.002 * m.K.toarray(), rel=1e-14)


def test_upright_and_backward_beams_equal_the_one_along_x():
    reference = None
    for direction in ({"x": 2.0}, {"x": -2.0}, {"y": 2.0}, {"y": -2.0}):
        s = member(Beam("a", "b", **PLANE), n=2, **direction)
        s.support("a")
        m = s.assemble()
        assert {d.rpartition(".")[2] for d in m.dofs} == {"uy" if "x" in direction else "ux", "rz"}
        w2 = eigh(m.K.toarray(), m.M.toarray(), eigvals_only=True)
        reference = w2 if reference is None else reference
        assert w2 == pytest.approx(reference, rel=1e-12)
