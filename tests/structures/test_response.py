"""Responses over frequency and in time against closed forms, the matrix exponential and energy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

from bondloop.errors import InputError, SolveError
from bondloop.results import GroundMotion
from bondloop.signals import Sine
from bondloop.structures import Beam, Matrices, Structure, frequency_response, modes, time_history
from bondloop.structures.analysis.dynamics import mode_step, residual_flexibility
from bondloop.structures.loads import pattern


def random_model(n, seed, damped=True, free=False):
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((2, n, n))
    M, K = A @ A.T + n * np.eye(n), B @ B.T + n * np.eye(n)
    if free:
        K = K - np.outer(K @ np.ones(n), K @ np.ones(n)) / (np.ones(n) @ K @ np.ones(n))
    return Matrices(M, 0.05 * M + 0.02 * K if damped else None, K, tuple(f"n{i}.ux" for i in range(n)))


def exact(model, F, h, u, v):
    """Linear force within every step, by one exponential of the augmented first-order system."""
    n = len(model)
    M, C, K = (A.toarray() for A in (model.M, model.C, model.K))
    big = np.zeros((4 * n, 4 * n))
    big[:n, n : 2 * n] = np.eye(n)
    big[n : 2 * n, :n], big[n : 2 * n, n : 2 * n] = -np.linalg.solve(M, K), -np.linalg.solve(M, C)
    big[n : 2 * n, 2 * n : 3 * n] = np.linalg.inv(M)
    big[2 * n : 3 * n, 3 * n :] = np.eye(n)
    step = expm(big * h)
    rows = [np.concatenate([u, v])]
    for k in range(len(F) - 1):
        rows.append((step @ np.concatenate([rows[-1], F[k], (F[k + 1] - F[k]) / h]))[: 2 * n])
    return np.array(rows)


@given(st.floats(0, 1e6), st.floats(0, 1e3), st.sampled_from([1e-4, 1e-2, 0.3]))
def test_one_mode_step_is_the_matrix_exponential(stiffness, damping, h):
    big = np.zeros((4, 4))
    big[0, 1], big[1] = h, [-stiffness * h, -damping * h, h, 0]
    big[2, 3] = 1.0
    E = expm(big)
    s = mode_step(stiffness, damping, h)
    scale = max(1.0, stiffness * h, damping * h)
    tolerance = 1e-12 * max(1.0, np.linalg.norm(big))
    np.testing.assert_allclose([s.qq, s.qv], E[0, :2], atol=tolerance)
    np.testing.assert_allclose([s.vq, s.vv], E[1, :2], atol=tolerance * scale)
    np.testing.assert_allclose([s.q0 + s.q1, s.q1], E[0, 2:], atol=tolerance)
    np.testing.assert_allclose([s.v0 + s.v1, s.v1], E[1, 2:], atol=tolerance * scale)


@pytest.mark.parametrize("damping", [0.0, 0.3, 4.0, 4.0 + 1e-9, 9.0])
def test_one_mode_in_closed_form(damping):
    h, s = 0.25, mode_step(4.0, damping, 0.25)
    r = np.roots([1, damping, 4.0]).astype(complex)
    if abs(r[0] - r[1]) < 1e-3:
        impulse = h * np.exp(-damping * h / 2)
    else:
        impulse = ((np.exp(r[0] * h) - np.exp(r[1] * h)) / (r[0] - r[1])).real
    assert s.qv == pytest.approx(impulse, rel=1e-7)
    assert s.qq * s.vv - s.qv * s.vq == pytest.approx(np.exp(-damping * h), rel=1e-14)


def test_a_rigid_mode_with_a_dashpot_drifts_to_a_steady_velocity():
    s = mode_step(0.0, 2.0, 30.0)
    assert s.v0 + s.v1 == pytest.approx(0.5, rel=1e-14)
    assert s.q0 + s.q1 == pytest.approx(30 / 2 - 1 / 4, rel=1e-14)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("damped", [False, True])
def test_modal_history_is_exact(damped, free):
    model = random_model(6, 3, damped, free)
    rng = np.random.default_rng(1)
    F, (u, v) = rng.standard_normal((41, 6)), rng.standard_normal((2, 6))
    run = time_history(model, F, 0.3, method="modal", initial=u, initial_velocity=v)
    expected = exact(model, F, 0.3, u, v)
    np.testing.assert_allclose(run.displacements, expected[:, :6], atol=1e-11 * np.abs(expected).max())
    np.testing.assert_allclose(run.velocities, expected[:, 6:], atol=1e-11 * np.abs(expected).max())
    balance = run.accelerations @ model.M + run.velocities @ model.C + run.displacements @ model.K - F
    assert np.abs(balance).max() < 1e-10 * np.abs(run.displacements @ model.K).max()


@pytest.mark.parametrize("damped", [False, True])
def test_newmark_is_of_second_order_and_in_equilibrium(damped):
    model = random_model(5, 4, damped)
    errors = []
    for steps in (50, 100, 200):
        t = np.linspace(0, 2, steps + 1)
        F = np.sin(3 * t)[:, None] * np.arange(1.0, 6)
        run = time_history(model, F, t[1], initial={"n0.ux": 0.3}, initial_velocity={"n1.ux": -0.2})
        u, v = np.zeros((2, 5))
        u[0], v[1] = 0.3, -0.2
        errors.append(np.abs(run.displacements - exact(model, F, t[1], u, v)[:, :5]).max())
        balance = run.accelerations @ model.M + run.velocities @ model.C + run.displacements @ model.K - F
        assert np.abs(balance).max() < 1e-9
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize("method", ["newmark", "modal"])
def test_energy_is_conserved_without_damping(method):
    model = random_model(8, 5, damped=False)
    run = time_history(
        model, {}, 0.2, steps=2000, method=method, initial=np.arange(8.0), initial_velocity=np.ones(8)
    )
    kinetic = np.einsum("ti,ti->t", run.velocities @ model.M, run.velocities)
    potential = np.einsum("ti,ti->t", run.displacements @ model.K, run.displacements)
    energy = kinetic + potential
    np.testing.assert_allclose(energy, energy[0], rtol=1e-10)


def test_a_step_load_on_a_cantilever_swings_about_its_static_deflection():
    s = Structure("cantilever")
    s.node("root")
    s.node("tip", x=1.0)
    s.line("root", "tip", n=10, element=Beam("root", "tip", E=3.0, A=1.0, I=1.0, rho=1.0))
    s.support("root", "uy", "rz")
    s.rayleigh(2.0, 0.01)
    run = time_history(s.assemble(), {"tip.uy": 1.0}, 0.05, steps=400, outputs=["tip.uy"])
    assert run["tip.uy"][-1] == pytest.approx(1 / 9, rel=1e-6)  # PL³/3EI
    assert run["tip.uy"].max() > 0.15
    with pytest.raises(InputError, match="degree of freedom"):
        run["tip.rz"]


def test_massless_degrees_of_freedom_follow_statically():
    M, K = np.diag([1.0, 0.0]), np.array([[1.0, -1.0], [-1.0, 3.0]])
    model = Matrices(M, None, K, ("a.ux", "b.ux"))
    run = time_history(model, {}, 0.01, steps=300, initial={"a.ux": 3.0, "b.ux": 1.0})
    np.testing.assert_allclose(run["b.ux"], run["a.ux"] / 3, atol=1e-12)
    np.testing.assert_allclose(run["a.ux"], 3 * np.cos(np.sqrt(2 / 3) * run.time), atol=1e-3)


def test_the_ways_to_give_a_force_are_the_same():
    model = random_model(3, 6)
    t = 0.1 * np.arange(21)
    table = np.zeros((21, 3))
    table[:, 1] = np.cos(t)
    ways = [
        time_history(model, {"n1.ux": np.cos(t)}, 0.1),
        time_history(model, {"n1.ux": np.cos}, 0.1, steps=20),
        time_history(model, table, 0.1),
        time_history(model, lambda s: np.array([0.0, np.cos(s), 0.0]), 0.1, steps=20),
    ]
    for way in ways[1:]:
        np.testing.assert_allclose(way.displacements, ways[0].displacements, atol=1e-15)


@pytest.mark.parametrize("motion", ["displacement", "velocity", "acceleration"])
def test_frequency_response_is_that_of_the_matrices(motion):
    model = random_model(7, 8)
    w = np.linspace(0, 4, 30)
    places = (["n0.ux", "n3.ux"], ["n1.ux", "n3.ux", "n6.ux"])
    direct = frequency_response(model, *places, w, motion=motion)
    assert direct.shape == (30, 3, 2)
    M, C, K = (A.toarray() for A in (model.M, model.C, model.K))
    H = np.linalg.inv(K + 1j * w[5] * C - w[5] ** 2 * M) * (1j * w[5]) ** (
        ["displacement", "velocity", "acceleration"].index(motion)
    )
    np.testing.assert_allclose(direct[5], H[np.ix_([1, 3, 6], [0, 3])], rtol=1e-10)


@pytest.mark.parametrize("free", [False, True])
def test_residual_flexibility_completes_a_truncated_sum(free):
    model = random_model(9, 2, free=free)
    w, outputs = 1e-2, ["n0.ux", "n4.ux"]  # the lowest elastic mode lies near 0.3
    full = frequency_response(model, ["n0.ux"], outputs, [w])[0, :, 0]
    few = modes(model, 3)
    per_mode = few.rows(["n0.ux"])[0] / (few.omega**2 - w**2 + 1j * w * few.damping)
    plain = few.rows(outputs) @ per_mode
    left = residual_flexibility(model, few, pattern(model, "n0.ux"))[model.indices(outputs), 0]
    assert np.abs(plain + left - full).max() < 2e-3 * np.abs(plain - full).max()


def test_a_pattern_of_forces_is_one_column():
    model = random_model(4, 1)
    both = frequency_response(model, {"n0.ux": 2.0, "n1.ux": -1.0}, "n2.ux", [0.7])
    each = frequency_response(model, ["n0.ux", "n1.ux"], "n2.ux", [0.7])
    assert both.shape == (1, 1, 1)
    np.testing.assert_allclose(both[0, 0, 0], 2 * each[0, 0, 0] - each[0, 0, 1], rtol=1e-12)


def test_what_is_refused():
    model = random_model(3, 1, damped=False)
    one = Matrices([[1.0]], None, [[4.0]], ("a.ux",))
    with pytest.raises(SolveError, match="undamped mode"):
        frequency_response(one, "a.ux", "a.ux", [2.0])
    with pytest.raises(InputError, match="motion"):
        frequency_response(one, "a.ux", "a.ux", [2.0], motion="jerk")
    with pytest.raises(InputError, match="give steps"):
        time_history(model, {"n0.ux": np.sin}, 0.1)
    with pytest.raises(InputError, match="expected shape"):
        time_history(model, np.zeros((5, 2)), 0.1)
    with pytest.raises(InputError, match="not finite at instant 1"):
        time_history(model, {"n0.ux": [0.0, np.nan]}, 0.1)
    for wrong, words in (
        (-0.1, "above 0"),
        (0, "above 0"),
        ("1 mm", "a quantity in s"),
        (float("nan"), "finite"),
    ):
        with pytest.raises(InputError, match=rf"time_history\(sample_period\).*{words}"):
            time_history(model, {}, wrong, steps=3)
    with pytest.raises(InputError, match="method"):
        time_history(model, {}, 0.1, steps=3, method="euler")
    with pytest.raises(InputError, match="5 steps need 6 values"):
        time_history(model, {"n0.ux": [0.0, 1.0]}, 0.1, steps=5)


@pytest.mark.parametrize(
    ("force", "words"),
    [
        ("10 kN", "force: expected forces by degree of freedom.*found '10 kN'"),
        (GroundMotion([0.0, 1.0, 0.0], 0.01), "force: expected forces .*found <GroundMotion"),
        (
            {"a.ux": GroundMotion([0.0, 1.0, 0.0], 0.01)},
            r"the force on 'a.ux': expected .*found <GroundMotion",
        ),
        ({"a.ux": "10 kN"}, r"the force on 'a.ux': expected .*found '10 kN'"),
        ({"a.ux": np.ones((4, 2))}, r"expected one number per instant; found an array of shape \(4, 2\)"),
        ({"a.ux": [[1.0], [2.0, 3.0]]}, r"the force on 'a.ux': expected"),
        ({"a.ux": lambda _: np.ones(2)}, r"the force on 'a.ux': expected one number"),
        (lambda _: np.ones(3), r"a function that gives 2 forces.*found shapes \[\(3,\)\].*'a.ux': signal"),
        (lambda t: np.ones(1 + (t > 0.01)), "a function that gives 2 forces"),
        (Sine(1.0, 1.0), r"a function that gives 2 forces.*found shapes \[\(\)\]"),
        (3.0, "force: expected forces by degree of freedom.*found 3.0"),
        ([[1.0], [2.0, 3.0]], "force: expected forces by degree of freedom"),
    ],
)
def test_what_is_no_force_is_told_in_words(force, words):
    two = Matrices(np.eye(2), None, np.eye(2), ("a.ux", "b.ux"))
    with pytest.raises(InputError, match=words):
        time_history(two, force, 0.01, steps=3)
