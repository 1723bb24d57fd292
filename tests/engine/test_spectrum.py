"""Eigenvalues of steps with delay lines: three methods against each other and against closed forms."""

import numpy as np
import pytest
from scipy import sparse

from bondloop.engine.analysis import tolerances
from bondloop.engine.analysis.spectrum import spectrum as spectrum_module
from bondloop.engine.analysis.spectrum.delayed_step import DelayedStep, with_registers, written_out
from bondloop.engine.analysis.spectrum.spectrum import count_outside, spectrum
from bondloop.errors import InputError

ONE = np.ones((1, 1))


def scalar(a, b, delay):
    """x(k+1) = a x(k) + b x(k − delay)."""
    return DelayedStep(a * ONE, b * ONE, ONE, 0 * ONE, (0,), (delay,))


def drawn(seed):
    """A random step: stable, marginal or unstable, with rigid motions, feedthrough and odd units."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(0, 9)), int(rng.integers(1, 4))
    q = int(rng.integers(1, p + 1))
    A = rng.normal(size=(n, n))
    if n:
        A *= rng.choice([0.5, 0.95, 0.999, 1.0, 1.05]) / max(abs(np.linalg.eigvals(A)))
    if n >= 4 and rng.random() < 0.3:  # a position and its velocity: a Jordan block at 1
        A[:2], A[2:, :2] = 0, 0
        A[:2, :2] = [[1, 0.01], [0, 1]]
        A[1, 2:] = rng.choice([0, 0.01]) * rng.normal(size=n - 2)
    B, C = 10 ** rng.uniform(-3, 0.3) * rng.normal(size=(n, p)), rng.normal(size=(q, n))
    E = rng.normal(size=(q, p)) * rng.choice([0, 0.3, 1])
    units = 10 ** rng.uniform(-5, 4, size=n)
    delays = rng.integers(1, rng.choice([24, 50, 110]), size=p)
    sources = rng.integers(0, q, size=p)
    return DelayedStep(
        A * units[:, None] / units,
        B * units[:, None],
        C / units,
        E,
        tuple(sources.tolist()),
        tuple(delays.tolist()),
    )


def chain(masses, top, damping=0.01):
    """One RK4 step of a fixed chain; its highest natural frequency times the period is ``top``."""
    k = (top / 2) ** 2
    K = k * sparse.diags_array(
        [-np.ones(masses - 1), 2 * np.ones(masses), -np.ones(masses - 1)], offsets=[-1, 0, 1]
    )
    X = sparse.block_array([[None, sparse.eye_array(masses)], [-K, -2 * damping / top * K]], format="csr")
    order = np.arange(2 * masses).reshape(2, masses).T.ravel()
    X = X[order][:, order]
    identity = sparse.eye_array(2 * masses)
    return sparse.csr_array(identity + X @ (identity + X / 2 @ (identity + X / 3 @ (identity + X / 4))))


def fed_back(A, gain, delay):
    """The first mass's displacement, late, as a force on the first mass."""
    n = A.shape[0]
    B, C = sparse.lil_array((n, 1)), sparse.lil_array((1, n))
    B[1, 0], C[0, 0] = -gain, 1
    return DelayedStep(A, B.tocsr(), C.tocsr(), 0 * ONE, (0,), (delay,))


@pytest.fixture
def closed_form(monkeypatch):
    """Small steps, too, by the closed form."""
    monkeypatch.setattr(tolerances, "DENSE_SPECTRUM", -1)
    dense = spectrum_module._dense

    def run(step):
        monkeypatch.setattr(tolerances, "DENSE_SPECTRUM", step.states)
        result = spectrum(step)
        return result, dense(step, 1e-9, 1e-5)

    return run


def simulated(step, steps, rng):
    """The definition, literally: states after some steps from given pasts."""
    past = {w: list(rng.normal(size=m)) for w, m in step.lengths.items()}
    x = rng.normal(size=step.states)
    start = np.concatenate([x, *(values[::-1] for values in past.values())])
    for _ in range(steps):
        y = np.array([past[s][-m] for s, m in zip(step.sources, step.delays, strict=True)])
        w = step.C @ x + step.E @ y
        x = step.A @ x + step.B @ y
        for source, values in past.items():
            values.append(w[source])
    ends = [past[w][-m:][::-1] for w, m in step.lengths.items()]
    return start, np.concatenate([x, *ends])


@pytest.mark.parametrize("seed", range(20))
def test_registers_step_as_the_definition(seed):
    step = drawn(seed)
    start, end = simulated(step, 7, np.random.default_rng(seed))
    M = with_registers(step).A.toarray()
    assert written_out(step) == pytest.approx(M, rel=1e-14, abs=0)
    assert np.linalg.matrix_power(M, 7) @ start == pytest.approx(end, rel=1e-7, abs=1e-7 * abs(end).max())


@pytest.mark.parametrize("block", range(13))
def test_closed_form_counts_and_finds_as_dense(closed_form, block):
    for seed in range(20 * block, 20 * block + 20):
        step = drawn(seed)
        if step.places == 0:
            continue
        result, dense = closed_form(step)
        assert dense.complete
        assert dense.eigenvalues.size == step.states + step.places
        if result.method == "dense":
            continue
        assert result.outside == dense.outside, seed
        assert count_outside(result.eigenvalues, 1e-9, 1e-5) == dense.outside, seed
        for value in result.eigenvalues[abs(result.eigenvalues) > 0.98]:
            assert abs(dense.eigenvalues - value).min() < 1e-6, seed
        assert (np.diff(abs(result.eigenvalues)) < 1e-9).all()


def test_integrator_with_delayed_feedback_at_its_closed_form_limit():
    for delay in (3, 60, 250, 3000, 20_000):
        limit = 2 * np.sin(np.pi / (4 * delay + 2))
        below, above = (spectrum(scalar(1.0, -gain, delay)) for gain in (limit * 0.999, limit * 1.001))
        assert (below.outside, above.outside) == (0, 2)
        # At the limit the pair stands on the circle, at the angle π / (2 m + 1).
        assert np.angle(above.eigenvalues[0]) == pytest.approx(np.pi / (2 * delay + 1), rel=2e-3)
        assert abs(above.eigenvalues[0]) > 1 > abs(below.eigenvalues[0])


@pytest.mark.parametrize("gain", [0.9, 1.0, 1.1, -2.0])
def test_delay_line_fed_by_itself(gain):
    """z^m = g: every eigenvalue has the magnitude g^(1/m)."""
    empty = np.zeros((0, 0))
    step = DelayedStep(empty, np.zeros((0, 1)), np.zeros((1, 0)), gain * ONE, (0,), (4000,))
    result = spectrum(step)
    assert result.method == "delays in closed form"
    assert result.outside == (4000 if abs(gain) > 1 else 0)
    assert abs(result.eigenvalues) == pytest.approx(abs(gain) ** (1 / 4000), rel=1e-12)
    assert result.eigenvalues**4000 == pytest.approx(gain, rel=1e-8)


def test_identical_loops_count_twice(closed_form):
    """Two loops that do not know of each other: f is a square, and its phase alone would not tell."""
    two = np.eye(2)
    result, dense = closed_form(DelayedStep(two, -0.1 * two, two, 0 * two, (0, 1), (40, 40)))
    assert result.outside == dense.outside == 4
    assert count_outside(result.eigenvalues, 1e-9, 1e-5) == 4


def test_rigid_motion_is_listed_but_not_counted(closed_form):
    A = np.array([[1, 0.01, 0], [0, 1, 0], [0, 0, 0.5]])
    B, C = np.array([[0], [0], [1.0]]), np.array([[0, 0, 0.4]])
    for result in closed_form(DelayedStep(A, B, C, 0 * ONE, (0,), (50,))):
        assert result.outside == 0
        assert abs(result.eigenvalues[0] - 1) < 1e-5


def critical_gain(step_of, low, high):
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if spectrum(step_of(middle)).outside else (middle, high)
    return low


def test_lightly_damped_chain_loses_stability_at_the_same_gain(monkeypatch):
    A = chain(6, 0.5, damping=0.02).toarray()

    def step_of(gain):
        return fed_back(A, gain, 37)

    dense = critical_gain(step_of, 0.0, 0.02)
    monkeypatch.setattr(tolerances, "DENSE_SPECTRUM", 12)
    assert spectrum(step_of(dense)).method == "delays in closed form"
    assert critical_gain(step_of, 0.0, 0.02) == pytest.approx(dense, rel=1e-9)
    assert 0 < dense < 0.02


def test_forty_thousand_steps_of_delay():
    result = spectrum(fed_back(chain(5, 0.5), 1e-3, 40_000))
    assert result.method == "delays in closed form"
    assert result.outside is not None
    z = result.eigenvalues[:20]
    A, one = chain(5, 0.5).toarray(), np.eye(10)
    loop = np.array([np.linalg.solve(v * one - A, -1e-3 * one[:, 1])[0] for v in z])
    assert z**-40_000 * loop == pytest.approx(1, abs=1e-6)


def test_sparse_finds_what_dense_finds(monkeypatch):
    step = fed_back(chain(150, 1.0, damping=0.001), 0.2, 30)
    dense = spectrum(step)
    monkeypatch.setattr(tolerances, "DENSE_SPECTRUM", 10)
    result = spectrum(step)
    assert result.method == "sparse"
    assert not result.complete
    assert 0 < result.covered <= np.pi
    for value in result.eigenvalues:
        assert abs(dense.eigenvalues - value).min() < 1e-7
    beside = (abs(dense.eigenvalues) > 0.9999) & (abs(np.angle(dense.eigenvalues)) < result.covered)
    for value in dense.eigenvalues[beside]:
        assert abs(result.eigenvalues - value).min() < 1e-7


def test_sparse_closes_the_circle_of_a_small_step(monkeypatch):
    A = sparse.block_diag(
        [0.9 * np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]]) for a in (0.3, 2.0)]
    )
    step = fed_back(sparse.csr_array(A), 0.01, 30)
    monkeypatch.setattr(tolerances, "DENSE_SPECTRUM", 1)
    result = spectrum(step)
    assert result.method == "sparse"
    assert result.outside == 0
    assert result.covered == pytest.approx(np.pi)


def test_sparse_sees_an_integrator_beyond_its_limit():
    result = spectrum(fed_back(chain(2000, 3.2), 1e-3, 2000))
    assert result.method == "sparse"
    assert result.outside
    assert "Nyquist" in result.note
    # RK4 at the highest frequency, where ω h = 3.2 (less a little: the chain's last mode).
    x = 3.2 * (-0.01 + 1j * np.sqrt(1 - 0.01**2))
    assert abs(result.eigenvalues[0]) == pytest.approx(abs(1 + x + x**2 / 2 + x**3 / 6 + x**4 / 24), rel=1e-4)


def test_nothing_at_all_has_no_eigenvalues():
    empty = np.zeros((0, 0))
    result = spectrum(DelayedStep(empty, empty, empty, empty, (), ()))
    assert (result.eigenvalues.size, result.outside, result.complete) == (0, 0, True)


@pytest.mark.parametrize(
    "change", [{"sources": (1,)}, {"delays": (0,)}, {"delays": (1, 2)}, {"B": np.ones((2, 1))}]
)
def test_what_does_not_fit_is_refused(change):
    parts = {"A": ONE, "B": ONE, "C": ONE, "E": ONE, "sources": (0,), "delays": (1,)}
    with pytest.raises(InputError):
        DelayedStep(**(parts | change))


def test_responses_of_many_states_are_those_of_one_point_at_a_time(monkeypatch):
    from bondloop.engine.analysis.spectrum.delayed_step import DelayedStep, response

    rng = np.random.default_rng(3)
    n, q = 40, 3
    A = rng.normal(size=(n, n)) / np.sqrt(n) * 0.7
    step = DelayedStep(
        A, rng.normal(size=(n, 4)), 0.1 * rng.normal(size=(q, n)), 0.1 * rng.normal(size=(q, 4)),
        (0, 1, 2, 0), (1, 1, 2, 2),
    )  # fmt: skip
    z = np.exp(1j * np.linspace(0.01, 3.1, 100))
    arguments = (z, rng.normal(size=(n, 2)), rng.normal(size=(q, 2)), rng.normal(size=(5, n + 4)))
    through = response(step, *arguments)
    monkeypatch.setattr(tolerances, "SINGLE_POINT_STATES", 10**6)
    at_once = response(step, *arguments)
    assert not np.array_equal(through, at_once)  # it was another way
    np.testing.assert_allclose(through, at_once, rtol=1e-9, atol=1e-9 * np.abs(at_once).max())
    # Where the triangle is not exact enough, the points are solved for one by one.
    monkeypatch.setattr(tolerances, "SINGLE_POINT_STATES", 30)
    monkeypatch.setattr(tolerances, "COMPARED_RESPONSES", 0.0)
    assert np.array_equal(response(step, *arguments), at_once)
