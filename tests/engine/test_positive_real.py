"""Strict positive realness: against closed forms, the lemma of Kalman, Yakubovich and Popov, and a grid."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import LinAlgError, solve_continuous_are, solve_continuous_lyapunov

from bondloop.engine.analysis import positive_realness
from bondloop.errors import InputError

positive = st.floats(0.01, 100)


def oscillator(stiffness, damping):
    return np.array([[0.0, 1.0], [-stiffness, -damping]]), np.array([[0.0], [1.0]])


def stable_system(rng, n, m):
    A = rng.normal(size=(n, n))
    A -= (np.linalg.eigvals(A).real.max() + rng.uniform(0.05, 1)) * np.eye(n)
    return A, rng.normal(size=(n, m))


def real_parts(A, B, C, D, omegas):
    G = C @ np.linalg.solve(1j * omegas[:, None, None] * np.eye(len(A)) - A, B) + D
    return np.linalg.eigvalsh((G + G.conj().transpose(0, 2, 1)) / 2)[:, 0]


@settings(max_examples=60, deadline=None)
@given(k=positive, c=positive, share=st.floats(0.02, 20).filter(lambda x: abs(x - 1) > 1e-3))
def test_an_oscillator_is_passive_while_the_share_of_displacement_is_below_its_damping(k, c, share):
    """Re g = (w0 k + (c - w0) omega^2) / |..|^2 for g = (s + w0)/(s^2 + c s + k): zero at one frequency."""
    w0 = share * c
    result = positive_realness(*oscillator(k, c), [[w0, 1.0]])
    assert result.strict == (share < 1)
    expected = [] if share < 1 else [math.sqrt(w0 * k / (w0 - c))]
    assert result.crossings == pytest.approx(expected, rel=1e-5)


def test_the_numbers_of_wagg_s_chain():
    """Re g for C_e = [400, 1] is (400 - 399.9 w^2)/((1 - w^2)^2 + 0.01 w^2): below zero from w = 1.000125 on.

    Its least value, on a fine grid of w, is -1899.5 at 1.0489.
    """
    result = positive_realness(*oscillator(1.0, 0.1), [[400.0, 1.0]])
    w = np.linspace(1, 1.1, 100_001)
    formula = (400 - 399.9 * w**2) / ((1 - w**2) ** 2 + 0.01 * w**2)
    assert result.least == pytest.approx(formula.min(), rel=1e-8)
    assert result.frequency == pytest.approx(w[formula.argmin()], abs=1e-5)
    assert result.crossings == pytest.approx([math.sqrt(400 / 399.9)])
    assert result.stable
    assert not result.strict


@pytest.mark.parametrize("pole", [0.1, 4.0, 400.0, 4000.0])
@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_a_chain_of_equal_poles_less_one_is_a_single_pole(pole, order):
    """(s + p)^(n-1)/(s + p)^n = 1/(s + p), whose real part is p/(p^2 + w^2)."""
    a = np.poly([-pole] * order)
    A = np.diag(np.ones(order - 1), 1)
    A[-1] = -a[:0:-1]
    C = np.atleast_1d(np.poly([-pole] * (order - 1)))[::-1]
    assert positive_realness(A, np.eye(order)[:, -1:], C[None]).strict


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 7), m=st.integers(1, 3))
def test_what_the_lemma_constructs_is_strictly_positive_real(seed, n, m):
    """Kalman-Yakubovich-Popov: A^T P + P A = -Q < 0 and P B = C^T suffice."""
    rng = np.random.default_rng(seed)
    A, B = stable_system(rng, n, min(n, m))
    root = rng.normal(size=(n, n))
    P = solve_continuous_lyapunov(A.T, -(root @ root.T + 0.1 * np.eye(n)))
    result = positive_realness(A, B, B.T @ P)
    assert result.strict, result.why_not
    assert result.crossings == ()


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 6), m=st.integers(1, 3), size=st.floats(0.05, 20))
def test_a_riccati_equation_has_a_stabilising_solution_where_the_answer_is_yes(seed, n, m, size):
    """With R = D + D^T > 0: A^T P + P A + (P B - C^T) R^-1 (B^T P - C) = 0 is solvable just for those."""
    rng = np.random.default_rng(seed)
    A, B = stable_system(rng, n, m)
    C, D = rng.normal(size=(m, n)), size * np.eye(m)
    result = positive_realness(A, B, C, D)
    if abs(result.least) < 1e-4 * size:
        return  # a border case is decided by rounding, in the equation as well
    R = D + D.T
    try:
        # scipy's is A^T X + X A - (X B + S) R^-1 (B^T X + S^T) + Q = 0: here X = -P, S = C^T and Q = 0.
        X = solve_continuous_are(A, B, np.zeros((n, n)), R, s=C.T)
        gain = np.linalg.solve(R, B.T @ X + C)
        left = A.T @ X + X @ A - (X @ B + C.T) @ gain
        exact = np.abs(left).max() < 1e-6 * max(1.0, np.abs(X).max()) and np.abs(X - X.T).max() < 1e-6
        # Where there is none, eigenvalues lie on the axis and rounding alone tells them apart.
        solvable = bool(exact and np.linalg.eigvals(A - B @ gain).real.max() < -1e-5)
    except LinAlgError:
        solvable = False
    assert result.strict == solvable


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 6), m=st.integers(1, 3), direct=st.booleans())
def test_a_grid_of_frequencies_finds_the_same(seed, n, m, direct):
    rng = np.random.default_rng(seed)
    A, B = stable_system(rng, n, m)
    C, D = rng.normal(size=(m, n)), (rng.uniform(0.1, 5) * np.eye(m) if direct else np.zeros((m, m)))
    result = positive_realness(A, B, C, D if direct else None)
    omegas = np.concatenate([[0], np.logspace(-3, 4, 3000)])
    values = real_parts(A, B, C, D, omegas)
    assert result.least <= values.min() + 1e-9 * np.abs(values).max()
    if result.strict:
        assert values.min() > 0
    changes = omegas[1:][np.diff(np.sign(values)) != 0]
    seen = [w for w in changes if np.abs(np.array([*result.crossings, np.inf]) - w).min() < 0.01 * w]
    assert len(seen) == len(changes)


@pytest.mark.parametrize(
    ("matrices", "words"),
    [
        (([[0, 1], [-1, 0]], [[0], [1]], [[0, 1]]), "not stable"),
        (([[0, 1], [-1, 0.1]], [[0], [1]], [[0, 1]]), "not stable"),
        (([[0, 1], [-1, -0.1]], [[0], [1]], [[1, 0]]), "phase leaves 90 degrees"),
        (([[0, 1], [-1, -0.1]], [[0], [1]], [[0.1, 1]]), "vanishes too fast"),
        (([[0, 1], [-1, -0.1]], [[0], [1]], [[0, 1]]), "is zero at 0 rad/s"),
        (([[-1]], [[1]], [[1]], [[-0.1]]), "tends to -0.1"),
        (([[-1]], [[1]], [[-1]]), "phase leaves 90 degrees"),
    ],
    ids=["undamped", "negative damping", "displacement", "the border", "velocity", "direct", "turned round"],
)
def test_it_says_why_not(matrices, words):
    assert words in positive_realness(*matrices).why_not


@pytest.mark.parametrize(
    ("matrices", "words"),
    [
        (([[-1]], [[1]], [[1, 1]]), "as many inputs"),
        (([[-1, 0]], [[1]], [[1]]), "A n x n"),
        (([[math.nan]], [[1]], [[1]]), "finite"),
        (([[-1]], [[1]], [[0]]), "no output"),
        ((-np.eye(2), np.eye(2), np.eye(2), [[1, 0], [0, 0]]), "full rank"),
    ],
)
def test_what_makes_no_sense_is_refused(matrices, words):
    with pytest.raises(InputError, match=words):
        positive_realness(*matrices)
