"""The three-mass chain against the matrices that follow from the paper, and its equations of motion."""

from itertools import pairwise

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

from bondloop.errors import InputError
from bondloop.papers import gawthrop_three_mass as three
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


def test_with_zero_initial_conditions_the_two_systems_agree():
    """Section 4: y_s = y_d. The README of the papers states about 1e-11 over 50 s with RK4 at 1 ms."""
    run = three.test(velocity=0.0).run(50)
    assert run.completed
    error = np.abs(run["rig.specimen.m3.v.flow"] - run["reference.m3.v.flow"])
    assert error.max() < 1e-9
    assert np.abs(run["reference.m3.v.flow"]).max() > 1
    assert np.abs(run["synchronisation.velocity"]).max() < 1e-9


def test_with_a_hardening_spring_an_initial_velocity_is_forgotten():
    run = three.test(spring="hardening").run(100)
    error = np.abs(run["rig.specimen.m3.v.flow"] - run["reference.m3.v.flow"])
    windows = [error[(run.time >= t) & (run.time < t + 20)].max() for t in (0, 20, 40, 60, 80)]
    assert windows[0] > 1e-3
    assert all(late < 0.6 * early for early, late in pairwise(windows))
    assert windows[-1] < 0.05 * windows[0]


def test_the_double_well_stays_close_over_twenty_seconds():
    """The papers' README: the two runs agree to about 0.2 in v3 over 20 s, then part (chaos)."""
    run = three.test().run(50)
    found = three.findings(run)
    assert 0.1 < found["peak_error_first_20_s"] < 0.25
    assert found["peak_error"] > found["peak_error_first_20_s"]


def test_the_double_well_passes_the_check_although_it_is_unstable_at_rest():
    """The structure in one piece has the same unstable mode; the loop adds none."""
    check = three.test().check()
    assert check.passed
    assert len(check.own) == 1
    local = model().compile().linearise().poles()
    assert check.own[0].real == pytest.approx(local.real.max(), rel=1e-9)
    assert "the structure itself is unstable at rest" in str(check)
    hardening = three.test(spring="hardening").check()
    assert hardening.passed
    assert not hardening.own


def test_settings_are_checked():
    with pytest.raises(InputError, match="unknown spring"):
        three.test(spring="soft")


def test_a_sampled_test_follows_too():
    run = three.test(spring="hardening", velocity=0.0, coupling="sampled").run(20)
    assert run.metrics[0]["normalised_rms_error"] < 0.01
