"""Structure: names, supports, damping, ground motion, assembly."""

import numpy as np
import pytest
from scipy.linalg import eigh

from bondloop.errors import InputError
from bondloop.structures import Bar, Beam, Dashpot, Frame2D, PointMass, ShearBuilding, Spring, Structure

STEEL = {"E": 210e9, "A": 1e-3, "I": 2e-6, "rho": 7850.0}


def cantilever(n=4, *, supported=True):
    s = Structure("cantilever")
    s.node("root")
    s.node("tip", x="1 m")
    s.line("root", "tip", n=n, element=Beam("root", "tip", **STEEL))
    if supported:
        s.support("root")
    return s


def test_only_degrees_of_freedom_that_elements_use_exist():
    assert cantilever(2, supported=False).assemble(free=True).dofs == (
        "root.uy",
        "root.rz",
        "tip.uy",
        "tip.rz",
        "root-tip.1.uy",
        "root-tip.1.rz",
    )


def test_elements_and_nodes_have_names():
    s = Structure("names")
    s.node("a")
    s.node("b", x=1.0, y="20 cm", z="-1 m")
    assert s.add(Bar("a", "b", E=1.0, A=1.0)) == "bar[0]"
    assert s.add(Bar("a", "b", E=1.0, A=1.0), name="tie") == "tie"
    assert s.add(Spring("a", "b", k=1.0)) == "spring[0]"
    assert list(s.elements) == ["bar[0]", "tie", "spring[0]"]
    assert s.nodes["b"] == (1.0, 0.2, -1.0)
    assert s.coordinates.shape == (2, 3)


def test_a_line_may_be_made_by_a_function_of_two_nodes():
    s = Structure("line")
    s.node("a")
    s.node("b", x=3.0)
    path = s.line("a", "b", n=3, element=lambda p, q: Bar(p, q, E=1.0, A=1.0, rho=1.0), name="rod")
    assert path == ("a", "a-b.1", "a-b.2", "b")
    assert list(s.elements) == ["rod[0]", "rod[1]", "rod[2]"]
    s.support("a")
    assert s.assemble().K.toarray()[0].tolist() == [1.0, 0.0, -1.0]


def test_a_line_keeps_releases_at_its_outer_ends_only():
    s = Structure("line")
    s.node("a")
    s.node("b", x=3.0)
    s.line("a", "b", n=3, element=Beam("a", "b", **STEEL, release_a=("rz",), release_b=("rz",)))
    ends = [(e.release_a, e.release_b) for e in s.elements.values()]
    assert ends == [(("rz",), ()), ((), ()), ((), ("rz",))]
    s.support("a")
    s.support("b")
    assert "a.rz" not in s.assemble().dofs


def test_matrices_are_exactly_symmetric_and_follow_changes():
    s = Structure("two")
    s.node("a")
    s.node("b", x=1.0, y=0.7)
    s.add(Frame2D("a", "b", **STEEL))
    s.support("a")
    m = s.assemble()
    assert abs(m.K - m.K.T).max() == 0
    assert abs(m.M - m.M.T).max() == 0
    s.add(PointMass("b", m=5.0))
    assert s.assemble().M[0, 0] == pytest.approx(m.M[0, 0] + 5.0)


def test_entries_that_elements_cancel_stay_stored():
    """Equal elements: the coupling of uy and rz at an inner node vanishes; da Silva's network keeps it."""
    m = cantilever(2).assemble()
    i, j = m.index("root-tip.1.uy"), m.index("root-tip.1.rz")
    row = m.K[[i]].tocoo()
    assert m.K[i, j] == 0
    assert j in row.coords[1]


def test_negative_springs_are_accepted():
    s = Structure("negative")
    s.node("a")
    s.add(Spring("a", k=5.0, dof="ux"))
    s.add(Spring("a", k=-2.0, dof="ux"))
    assert s.assemble().K.toarray().tolist() == [[3.0]]


def test_rayleigh_damping_ratios():
    """ζ = α/2ω + βω/2 for every mode (du Bois 2010, eq. 13), and as asked at the two frequencies."""
    s = cantilever(6)
    m = s.assemble()
    w2, modes = eigh(m.K.toarray(), m.M.toarray())
    w = np.sqrt(w2)
    alpha, beta = s.rayleigh_from(0.02, w[0] / (2 * np.pi), 0.03, w[2] / (2 * np.pi))
    modal = modes.T @ s.assemble().C @ modes
    ratios = np.diag(modal) / (2 * w)
    assert ratios[[0, 2]] == pytest.approx([0.02, 0.03], rel=1e-9)
    assert ratios == pytest.approx(alpha / (2 * w) + beta * w / 2, rel=1e-9)
    assert np.abs(modal - np.diag(np.diag(modal))).max() < 1e-9 * np.abs(modal).max()


def test_modal_damping_ratios():
    s = cantilever(3)
    m = s.assemble()
    w2, modes = eigh(m.K.toarray(), m.M.toarray())
    s.modal_damping([0.01, 0.05])
    ratios = np.diag(modes.T @ s.assemble().C @ modes) / (2 * np.sqrt(w2))
    assert ratios == pytest.approx([0.01, 0.05, 0, 0, 0, 0], abs=1e-9)
    s.modal_damping(0.02)
    ratios = np.diag(modes.T @ s.assemble().C @ modes) / (2 * np.sqrt(w2))
    assert ratios == pytest.approx([0.02] * 6, rel=1e-6)


def test_damping_of_elements_and_of_the_whole_add_up():
    s = cantilever(1)
    s.add(Dashpot("tip", c=3.0, dof="uy"))
    s.rayleigh(0.5, 0.0)
    m = s.assemble()
    expected = 0.5 * m.M.toarray()
    expected[0, 0] += 3.0
    assert m.C.toarray() == pytest.approx(expected)


def test_negative_rayleigh_coefficients_are_refused():
    with pytest.raises(InputError, match="negative somewhere"):
        cantilever().rayleigh_from(0.01, 1.0, 0.5, 2.0)
    with pytest.raises(InputError, match="must not be negative"):
        cantilever().rayleigh(-0.1, 0.0)


def test_influence_and_base_excitation_of_a_portal():
    """Ground moving sideways: the sum of forces is the mass times acceleration of all that moves."""
    s = Structure("portal")
    for name, x, y in (("a", 0, 0), ("b", 0, 3), ("c", 4, 3), ("d", 4, 0)):
        s.node(name, x, y)
    for p, q in ("ab", "bc", "cd"):
        s.add(Frame2D(p, q, **STEEL))
    s.support("a")
    s.support("d")
    assert s.influence("ux").tolist() == [1, 0, 0, 1, 0, 0]
    m = s.assemble("lumped")
    assert s.base_excitation("ux", "lumped") == pytest.approx(-m.M @ s.influence("ux"))
    assert s.influence("rz") == pytest.approx([-3, 0, 1, -3, 4, 1])


def test_base_excitation_is_exact_for_a_consistent_mass():
    """A rigid ground motion imposed at the root as du Bois's x_a is the same test as a base acceleration."""
    s = cantilever(3)
    p = s.prescribed("root.uy")
    m = s.assemble()
    assert p.matrices.dofs == m.dofs
    r = s.influence("uy")
    assert p.K_a[:, 0] == pytest.approx(-(m.K @ r), abs=1e-6 * abs(m.K).max())
    assert -(m.M @ r) - p.M_a[:, 0] == pytest.approx(s.base_excitation("uy"))


def test_prescribed_motion_equals_the_large_mass_method():
    """A mass 10⁸ times the beam's, driven by its mass times the acceleration, imposes that acceleration."""
    s = cantilever(3)
    s.add(Dashpot("tip", c=20.0, dof="uy"))
    s.rayleigh(0.0, 1e-5)
    w = 300.0
    p = s.prescribed("tip.uy")
    m = p.matrices
    dynamic = m.K.toarray() + 1j * w * m.C.toarray() - w**2 * m.M.toarray()
    x = 0.01
    u = np.linalg.solve(dynamic, p.force(-(w**2) * x, 0.0, x) + 1j * p.force(0.0, w * x, 0.0))
    s.add(PointMass("tip", m=8e8))
    whole = s.assemble()
    dynamic = whole.K.toarray() + 1j * w * whole.C.toarray() - w**2 * whole.M.toarray()
    large = np.linalg.solve(dynamic, s.load_vector({"tip.uy": -8e8 * w**2 * x}))
    rest = whole.indices(m.dofs)
    assert large[whole.index("tip.uy")] == pytest.approx(x, rel=1e-5)
    assert large[rest] == pytest.approx(u, rel=1e-5)


def test_prescribed_motion_of_several_supports():
    s = cantilever(2)
    s.support("tip", "uy")
    p = s.prescribed("root.uy", "tip.uy")
    assert p.M_a.shape == (len(p.matrices), 2)
    u = np.linalg.solve(p.matrices.K.toarray(), p.force(np.zeros(2), np.zeros(2), np.array([1.0, 1.0])))
    assert u[p.matrices.index("root-tip.1.uy")] == pytest.approx(1.0)


def test_three_thousand_degrees_of_freedom_in_space():
    """A rigid floor in every storey of a building with 2,880 degrees of freedom."""
    from bondloop.structures import Frame3D

    s = Structure("building")
    column = Frame3D("a", "b", E=30e9, G=12e9, A=0.16, Iy=2e-3, Iz=2e-3, J=3e-3, rho=2500)
    nx, ny, nz = 6, 5, 16
    for k in range(nz + 1):
        for i in range(nx):
            for j in range(ny):
                s.node(f"{i}/{j}/{k}", 5.0 * i, 5.0 * j, 3.0 * k)
    for k in range(nz + 1):
        for i in range(nx):
            for j in range(ny):
                here = f"{i}/{j}/{k}"
                if k < nz:
                    s.add(column.piece(here, f"{i}/{j}/{k + 1}", first=True, last=True))
                if k and i < nx - 1:
                    s.add(column.piece(here, f"{i + 1}/{j}/{k}", first=True, last=True))
                if k and j < ny - 1:
                    s.add(column.piece(here, f"{i}/{j + 1}/{k}", first=True, last=True))
                if k == 0:
                    s.support(here)
    m = s.assemble()
    assert len(m) == 2880
    members = nx * ny * nz * 3 + ((nx - 1) * ny + nx * (ny - 1)) * nz * 5
    free_mass = 2500 * 0.16 * (members - nx * ny * 3 / 2)
    assert -s.base_excitation("ux", "lumped") @ s.influence("ux") == pytest.approx(free_mass)
    for k in range(1, nz + 1):
        s.node(f"floor{k}", 12.5, 10.0, 3.0 * k)
        s.rigid_floor(master=f"floor{k}", nodes=[f"{i}/{j}/{k}" for i in range(nx) for j in range(ny)])
    assert len(s.assemble()) == 2880 // 2 + 3 * nz


def test_uniform_shear_building_frequencies():
    """ω_j = 2 √(k/m) sin((2j - 1)π / (4n + 2)) for n equal storeys (Blevins 1979, table 7-2)."""
    n, k, mass = 8, 2e6, 5e3
    m = ShearBuilding([mass] * n, [k] * n).assemble()
    assert m.dofs[0] == "floor[1].ux"
    w = np.sqrt(eigh(m.K.toarray(), m.M.toarray(), eigvals_only=True))
    j = np.arange(1, n + 1)
    assert w == pytest.approx(2 * np.sqrt(k / mass) * np.sin((2 * j - 1) * np.pi / (4 * n + 2)), rel=1e-10)


def test_shear_building_equals_springs_and_masses():
    masses, k, c = [3.0, 2.0, 1.0], [40.0, 30.0, 20.0], [0.4, 0.2, 0.1]
    building = ShearBuilding(masses, k, c, rayleigh=(0.1, 0.01))
    s = Structure("chain")
    for i in range(3):
        s.node(f"floor[{i + 1}]")
        lower = (f"floor[{i + 1}]",) if i == 0 else (f"floor[{i + 1}]", f"floor[{i}]")
        s.add(PointMass(f"floor[{i + 1}]", m=masses[i]))
        s.add(Spring(*lower, k=k[i], dof="ux"))
        s.add(Dashpot(*lower, c=c[i], dof="ux"))
    s.rayleigh(0.1, 0.01)
    a, b = building.assemble(), s.assemble()
    assert a.dofs == b.dofs
    for name in ("M", "C", "K"):
        assert getattr(a, name).toarray() == pytest.approx(getattr(b, name).toarray(), rel=1e-14)
    assert building.base_excitation() == pytest.approx(s.base_excitation("ux"))


def test_shear_building_against_bayer():
    """Bayer 2000, tables 1 and 2: frequencies and damping ratios of the structure, alone and combined.

    alpha = 1.266 /s and beta = 2.68e-4 s reproduce the printed ratios (shared notes on the paper).
    """
    masses, k = [18.137, 3.735, 4.915, 0.516], [65467, 59188, 136179, 23086]
    for n, frequencies, percent in (
        (4, [7.14, 15.71, 34.19, 44.57], [2.01, 1.97, 3.17, 3.98]),
        (2, [8.55, 22.42], [1.90, 2.34]),
    ):
        m = ShearBuilding(masses[:n], k[:n], rayleigh=(1.266, 2.68e-4)).assemble()
        w2, modes = eigh(m.K.toarray(), m.M.toarray())
        w = np.sqrt(w2)
        assert w / (2 * np.pi) == pytest.approx(frequencies, abs=0.006)
        assert 100 * np.diag(modes.T @ m.C @ modes) / (2 * w) == pytest.approx(percent, abs=0.011)
