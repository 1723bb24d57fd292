"""Modes: textbook frequencies, rigid bodies, orthogonality, repeatability, and what has no modes."""

import numpy as np
import pytest
from scipy import sparse

from bondloop.errors import InputError, SolveError
from bondloop.structures import Beam, Frame3D, Matrices, Structure, modes

CANTILEVER = np.array([3.51601527, 22.03449156, 61.69721441])  # roots of cos x cosh x = -1, squared
FREE = np.array([22.37328545, 61.67282288, 120.9033917])


def beam(n, supported=True, length=1.0):
    s = Structure("beam")
    s.node("root")
    s.node("tip", x=length)
    s.line("root", "tip", n=n, element=Beam("root", "tip", E=1.0, A=1.0, I=1.0, rho=1.0))
    if supported:
        s.support("root", "uy", "rz")
    return s.assemble(free=not supported)


def chain(n):
    K = sparse.diags_array([2.0 * np.ones(n), -np.ones(n - 1), -np.ones(n - 1)], offsets=[0, 1, -1])
    return Matrices(np.eye(n), None, K, tuple(f"m{i}.ux" for i in range(n)))


@pytest.mark.parametrize("n", [20, 200, 1000])
def test_cantilever(n):
    np.testing.assert_allclose(modes(beam(n), 3).omega, CANTILEVER, rtol=2e-6 if n != 20 else 1e-4)


def test_frequencies_converge_with_the_fourth_power_of_the_element_length():
    errors = [modes(beam(n), 3).omega[2] / CANTILEVER[2] - 1 for n in (6, 12, 24)]
    np.testing.assert_allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 4, atol=0.15)


@pytest.mark.parametrize("n", [20, 300])
def test_a_free_beam_has_two_rigid_modes(n):
    found = modes(beam(n, supported=False), 5)
    assert found.omega[:2].tolist() == [0.0, 0.0]
    np.testing.assert_allclose(found.omega[2:], FREE, rtol=1e-4)
    np.testing.assert_allclose(found.damping_ratios, 0, atol=1e-12)


def test_a_free_frame_in_space_has_six_rigid_modes():
    s = Structure("bar in space")
    s.node("a")
    s.node("b", x=1.0, y=0.5, z=0.3)
    section = {"E": 1e3, "G": 4e2, "A": 0.1, "Iy": 1e-3, "Iz": 2e-3, "J": 1e-3, "rho": 1.0}
    s.line("a", "b", n=40, element=Frame3D("a", "b", **section))
    found = modes(s.assemble(free=True), 8)
    assert np.count_nonzero(found.omega == 0) == 6
    assert found.omega[6] > 0.1


@pytest.mark.parametrize(("n", "count"), [(12, 12), (12, 3), (400, 7)])
def test_chain_in_closed_form_with_orthonormal_shapes(n, count):
    model = chain(n)
    found = modes(model, count)
    np.testing.assert_allclose(
        found.omega, 2 * np.sin(np.arange(1, count + 1) * np.pi / (2 * (n + 1))), rtol=1e-10
    )
    np.testing.assert_allclose(found.shapes.T @ model.M @ found.shapes, np.eye(count), atol=1e-10)
    stiffness = found.shapes.T @ model.K @ found.shapes
    np.testing.assert_allclose(stiffness, np.diag(found.omega**2), atol=1e-10)


def test_the_same_model_gives_the_same_shapes_with_their_largest_component_positive():
    one, two = modes(beam(300), 6), modes(beam(300), 6)
    np.testing.assert_array_equal(one.shapes, two.shapes)
    largest = np.argmax(np.abs(one.shapes), axis=0)
    assert np.all(one.shapes[largest, np.arange(6)] > 0)


def test_massless_degrees_of_freedom():
    model = chain(6)
    M = model.M.toarray()
    M[1, 1] = M[4, 4] = 0.0
    light = Matrices(M, None, model.K, model.dofs)
    heavy = [0, 2, 3, 5]
    K = model.K.toarray()
    rest = [1, 4]
    condensed = K[np.ix_(heavy, heavy)] - K[np.ix_(heavy, rest)] @ np.linalg.solve(
        K[np.ix_(rest, rest)], K[np.ix_(rest, heavy)]
    )
    np.testing.assert_allclose(modes(light, 4).omega ** 2, np.linalg.eigvalsh(condensed), rtol=1e-10)
    with pytest.raises(InputError, match="ask for 1 to 4"):
        modes(light, 5)


def test_all_effective_masses_add_up_to_the_mass_that_moves():
    model = chain(9)
    found = modes(model, 9)
    assert found.effective_masses("ux").sum() == pytest.approx(9.0)
    np.testing.assert_allclose(found.effective_masses(np.ones(9)), found.effective_masses("ux"))
    np.testing.assert_allclose(found.participation["ux"] ** 2, found.effective_masses("ux"))
    assert found.effective_masses("ux")[0] > 7
    with pytest.raises(InputError, match="direction"):
        found.effective_masses("uy")


def test_damping_ratios_and_coupling():
    model = chain(8)
    rayleigh = Matrices(model.M, 0.1 * model.M + 0.02 * model.K, model.K, model.dofs)
    found = modes(rayleigh, 8)
    np.testing.assert_allclose(found.damping_ratios, 0.1 / (2 * found.omega) + 0.02 * found.omega / 2)
    assert found.coupling == 0.0
    C = np.zeros((8, 8))
    C[0, 0] = 1.0
    assert modes(Matrices(model.M, C, model.K, model.dofs), 8).coupling > 0.1


@pytest.mark.parametrize("n", [30, 400])
def test_a_shift_within_the_spectrum_is_not_needed_but_may_be_given(n):
    np.testing.assert_allclose(modes(chain(n), 4, shift=-1e-3).omega, modes(chain(n), 4).omega, rtol=1e-9)


def test_what_has_no_modes():
    with pytest.raises(InputError, match="ask for 1 to 4"):
        modes(chain(4), 0)
    loose = Matrices(np.diag([1.0, 0.0]), None, np.diag([1.0, 0.0]), ("a.ux", "b.ux"))
    with pytest.raises(SolveError, match="neither mass nor stiffness"):
        modes(loose, 1)
