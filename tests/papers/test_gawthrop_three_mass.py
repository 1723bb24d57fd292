"""The three-mass chain against the matrices that follow from the paper, and its equations of motion."""

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp

from bondloop.papers.gawthrop_three_mass import VALUES, excitation, model, symbolic_model


def test_symbolic_matrices_follow_from_the_text():
    m1, m2, m3, c1, c2, c3, k1, k2, k3 = sp.symbols("m1:4 c1:4 k1:4")
    system = symbolic_model().compile(outputs=["m3.v.flow"])
    expected = sp.Matrix(
        [
            [0, -1 / m1, 0, 0, 0, 0],
            [k1, -c1 / m1, -k2, 0, 0, 0],
            [0, 1 / m1, 0, -1 / m2, 0, 0],
            [0, 0, k2, -c2 / m2, -k3, 0],
            [0, 0, 0, 1 / m2, 0, -1 / m3],
            [0, 0, 0, 0, k3, -c3 / m3],
        ]
    )
    assert expected == system.A
    assert sp.Matrix([1, 0, 0, 0, 0, 0]) == system.B
    assert sp.Matrix([[0, 0, 0, 0, 0, 1 / m3]]) == system.C
    assert sp.Matrix([[0]]) == system.D


def test_the_numerical_half_has_the_papers_matrices():
    """Equations (7) and (8): masses 1 and 2, driven by the force of mass 3."""
    whole = symbolic_model().compile()
    assert [name.split(".")[0] for name in whole.states] == ["m1", "m1", "m2", "m2", "m3", "m3"]
    half, force = whole.A[:4, :4], whole.A[:4, 4]
    m1, m2, c1, c2, k1, k2, k3 = sp.symbols("m1 m2 c1 c2 k1:4")
    assert half == sp.Matrix(
        [[0, -1 / m1, 0, 0], [k1, -c1 / m1, -k2, 0], [0, 1 / m1, 0, -1 / m2], [0, 0, k2, -c2 / m2]]
    )
    assert force == -k3 * sp.Matrix([0, 0, 0, 1])


def test_the_double_well_chain_moves_as_its_equations_of_motion():
    """20 s only: the motion is chaotic, and later the two integrations would part."""
    system = model().compile(outputs=["m3.v.flow"])
    assert not system.is_linear
    assert sorted(set(system.parameters.values())) == [0.1, 1.0]
    assert system.notes == ["port m3.right is left open: a free end, no effort acts there"]
    times = np.linspace(0, 20, 401)
    ours = system.simulate(20, {"r": excitation}, times=times)["m3.v.flow"]

    def newton(t, y):
        (w, x1, x2, x3), v = y[:4], y[4:]
        d = x2 - x3
        force1, force2, force3 = w - x1, x1 - x2, -d + d**3
        wall = excitation(t)
        c = VALUES["c1"]
        return [wall, *v, force1 - force2 - c * v[0], force2 - force3 - c * v[1], force3 - c * v[2]]

    theirs = solve_ivp(newton, (0, 20), np.zeros(7), method="DOP853", t_eval=times, rtol=1e-10, atol=1e-12).y[
        6
    ]
    assert np.abs(ours - theirs).max() < 1e-6
    assert abs(ours[-1] - 0.878824) < 1e-5


def test_the_third_spring_is_a_double_well():
    local = model().compile().linearise()
    assert local.A.toarray()[5, 4] == -1
    assert local.poles().real.max() > 0.1
