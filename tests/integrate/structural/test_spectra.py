"""Schemes for structures: the one-step map of the actual tick against published closed forms."""

from dataclasses import replace

import numpy as np
import pytest

from bondloop.engine.codegen import Runner
from bondloop.integrate.structural import (
    AlphaOS,
    CentralDifference,
    ChenRicles,
    HHTAlpha,
    KRAlpha,
    NewmarkExplicit,
    NewmarkImplicit,
    Rosenbrock,
)
from bondloop.integrate.structural.base import Estimating
from bondloop.integrate.structural.simulate import structure_tick

OMEGAS = [0.05, 0.5, 1.5, 1.99, 3.0, 10.0, 100.0]


def name(value):
    own = [f"{x:g}" for x in vars(value).values() if isinstance(x, (int, float))]
    return "-".join([type(value).__name__, *own])


def amplification(scheme, M, C, K, period, restoring=None):
    """The matrix that carries all states over one tick, by running unit states through it."""
    tick, _ = structure_tick(scheme, M, C, K, period, restoring=restoring)
    runner = Runner(tick, "numpy")
    names = [v.name for v in tick.states]
    columns = []
    for unit in names:
        runner.reset({n: float(n == unit) for n in names})
        runner.run(1)
        columns.append([runner.state[n] for n in names])
    return np.array(columns).T


def oscillator(scheme, Omega, xi, where):
    """ω = 1; the spring and damper in the numerical half, or in the specimen and exactly estimated."""
    c, k = 2 * xi, 1.0
    if where == "numerical":
        return amplification(scheme, 1.0, c, k, Omega)
    if isinstance(scheme, Estimating):
        scheme = replace(scheme, specimen_stiffness=k, specimen_damping=c)
    return amplification(scheme, 1.0, None, None, Omega, lambda u, v: [k * u[0] + c * v[0]])


def newmark(Omega, xi, beta, gamma):
    """Hughes, The Finite Element Method, 1987, chapter 9: invariants of the amplification matrix."""
    D = 1 + 2 * gamma * xi * Omega + beta * Omega**2
    A1 = 1 - (xi * Omega + Omega**2 * (gamma + 0.5) / 2) / D
    A2 = 1 - (2 * xi * Omega + Omega**2 * (gamma - 0.5)) / D
    return [1, -2 * A1, A2]


def hht(Omega, alpha):
    """Hilber, Hughes and Taylor 1977, undamped: invariants of the amplification matrix."""
    beta, gamma = (1 - alpha) ** 2 / 4, 0.5 - alpha
    D = 1 + (1 + alpha) * beta * Omega**2
    A1 = 1 - Omega**2 * ((1 + alpha) * (gamma + 0.5) - alpha * beta) / (2 * D)
    A2 = 1 - Omega**2 * (gamma - 0.5 + 2 * alpha * (gamma - beta)) / D
    A3 = alpha * Omega**2 * (beta - gamma + 0.5) / D
    return [1, -2 * A1, A2, -A3]


def generalised_alpha(Omega, xi, alpha_m, alpha_f):
    """Chung and Hulbert 1993: weighted equation of motion with Newmark's formulas, h = 1."""
    gamma = 0.5 - alpha_m + alpha_f
    beta = (1 - alpha_m + alpha_f) ** 2 / 4
    stiffness, damping = Omega**2, 2 * xi * Omega
    left = np.array(
        [[1, 0, -beta], [0, 1, -gamma], [(1 - alpha_f) * stiffness, (1 - alpha_f) * damping, 1 - alpha_m]]
    )
    right = np.array(
        [[1, 1, 0.5 - beta], [0, 1, 1 - gamma], [-alpha_f * stiffness, -alpha_f * damping, -alpha_m]]
    )
    return np.poly(np.linalg.solve(left, right))


def rosenbrock(Omega, xi, gamma):
    """Roots of s² + 2 ξ Ω s + Ω² through the stability function."""
    z = np.roots([1, 2 * xi * Omega, Omega**2])
    R = (1 + (1 - 2 * gamma) * z + (gamma**2 - 2 * gamma + 0.5) * z**2) / (1 - gamma * z) ** 2
    return np.poly(R).real


def theory(scheme, Omega, xi):
    if isinstance(scheme, CentralDifference):
        return newmark(Omega, xi, 0.0, 0.5)
    if isinstance(scheme, NewmarkExplicit):
        return newmark(Omega, xi, 0.0, scheme.gamma)
    if isinstance(scheme, NewmarkImplicit):
        return newmark(Omega, xi, scheme.beta, scheme.gamma)
    if isinstance(scheme, ChenRicles):
        return newmark(Omega, xi, 0.25, 0.5)
    if isinstance(scheme, (AlphaOS, HHTAlpha)):
        return hht(Omega, scheme.alpha) if xi == 0 else generalised_alpha(Omega, xi, 0.0, -scheme.alpha)
    if isinstance(scheme, KRAlpha):
        rho = scheme.rho_inf
        return generalised_alpha(Omega, xi, (2 * rho - 1) / (rho + 1), rho / (rho + 1))
    return rosenbrock(Omega, xi, scheme.gamma)


EXPLICIT = [CentralDifference(), NewmarkExplicit(), NewmarkExplicit(0.8)]
OTHERS = [
    AlphaOS(), AlphaOS(-0.2), HHTAlpha(-0.05, 1), HHTAlpha(-1 / 3, 3), NewmarkImplicit(), ChenRicles(),
    NewmarkImplicit(0.7, 0.4), KRAlpha(0.0), KRAlpha(0.5), KRAlpha(1.0), Rosenbrock(), Rosenbrock(0.6),
]  # fmt: skip


@pytest.mark.parametrize("where", ["numerical", "specimen"])
@pytest.mark.parametrize("xi", [0.0, 0.05])
@pytest.mark.parametrize("scheme", [*EXPLICIT, *OTHERS], ids=name)
def test_the_one_step_map_has_the_spectrum_of_theory(scheme, xi, where):
    """Characteristic polynomials agree, but for states that follow from others (factors of λ)."""
    if where == "specimen" and xi and scheme in EXPLICIT:
        pytest.skip("they take the specimen's damping explicitly")
    for Omega in OMEGAS:
        found = np.poly(oscillator(scheme, Omega, xi, where))
        expected = np.zeros(len(found))
        polynomial = np.trim_zeros(np.asarray(theory(scheme, Omega, xi), dtype=float), "b")
        expected[: len(polynomial)] = polynomial
        assert found == pytest.approx(expected, rel=1e-8, abs=1e-8 * np.abs(expected).max()), Omega
        radius = np.abs(np.roots(polynomial)).max()
        if isinstance(scheme, (CentralDifference, NewmarkExplicit)) and not xi:
            assert (radius <= 1 + 1e-7) == (scheme.limit >= Omega)
        elif scheme not in EXPLICIT:
            assert radius <= 1 + 1e-7


def asymptotic(scheme):
    """Period elongation / Ω² and damping ratio / Ω³ of a slow undamped oscillator, by series."""
    if isinstance(scheme, (CentralDifference, NewmarkExplicit)):
        return -1 / 24, 0.0
    if isinstance(scheme, (ChenRicles, NewmarkImplicit)):
        return 1 / 12, 0.0
    if isinstance(scheme, (AlphaOS, HHTAlpha)):
        x = scheme.alpha
        return (2 - 6 * x - 9 * x**2) / 24, -x * (1 + x) ** 2 / 8
    if isinstance(scheme, KRAlpha):
        r = scheme.rho_inf
        return (11 * r**2 - 14 * r + 11) / (24 * (1 + r) ** 2), ((1 - r) / (1 + r)) ** 3 / 2
    g = scheme.gamma
    third = g - g**2 - 1 / 6
    return third, -(1.5 * g**2 - 2 * g**3 - 1 / 24 - third)


SLOW = [s for s in (*EXPLICIT, *OTHERS) if s not in (NewmarkExplicit(0.8), NewmarkImplicit(0.7, 0.4))]


@pytest.mark.parametrize("scheme", SLOW, ids=name)
def test_period_elongation_and_numerical_damping(scheme):
    elongation, damping = asymptotic(scheme)
    for Omega in (0.03, 0.06):
        eigenvalues = np.linalg.eigvals(oscillator(scheme, Omega, 0.0, "numerical"))
        principal = min(eigenvalues, key=lambda z: abs(z - np.exp(1j * Omega)))
        turned = np.angle(principal)
        assert (Omega / turned - 1) / Omega**2 == pytest.approx(elongation, abs=0.02 * abs(elongation) + 2e-3)
        assert -np.log(abs(principal)) / turned / Omega**3 == pytest.approx(
            damping, abs=0.03 * damping + 1e-4
        )


def test_closed_forms_of_the_undamped_period():
    """Central differences turn by 2 asin(Ω/2) a step, average acceleration by 2 atan(Ω/2)."""
    for Omega in (0.3, 1.0, 1.9):
        for scheme, angle in (
            (CentralDifference(), 2 * np.arcsin(Omega / 2)),
            (NewmarkImplicit(), 2 * np.arctan(Omega / 2)),
            (ChenRicles(), 2 * np.arctan(Omega / 2)),
            (KRAlpha(1.0), 2 * np.arctan(Omega / 2)),
        ):
            eigenvalues = np.linalg.eigvals(oscillator(scheme, Omega, 0.0, "numerical"))
            assert np.abs(eigenvalues - np.exp(1j * angle)).min() < 1e-9


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("scheme", [KRAlpha, Rosenbrock])
def test_the_spectral_radius_at_infinity_is_what_was_asked_for(scheme, rho):
    A = oscillator(scheme(rho), 1e5, 0.0, "numerical")
    assert np.abs(np.linalg.eigvals(A)).max() == pytest.approx(rho, abs=2e-2 if rho == 0 else 1e-3)


@pytest.mark.parametrize("xi", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("gamma", [0.5, 0.6, 0.9])
def test_limit_of_newmarks_explicit_scheme_with_damping(gamma, xi):
    """Hughes 1987, chapter 9, with the damping taken implicitly."""
    half = gamma / 2
    limit = (xi * (gamma - 0.5) + np.sqrt(half + xi**2 * (gamma - 0.5) ** 2)) / half
    for factor, stable in ((0.999, True), (1.001, False)):
        A = oscillator(NewmarkExplicit(gamma), factor * limit, xi, "numerical")
        assert (np.abs(np.linalg.eigvals(A)).max() <= 1 + 1e-9) == stable


@pytest.mark.parametrize("known", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("scheme", [AlphaOS(), ChenRicles()], ids=name)
def test_a_specimen_stiffer_than_estimated_brings_a_limit_back(scheme, known):
    """h² (k - K_s) ≤ 4 m, for operator splitting and for CR alike."""
    limit = 2 / np.sqrt(1 - known)
    used = replace(scheme, specimen_stiffness=known)
    for factor, stable in ((0.999, True), (1.001, False)):
        A = amplification(used, 1.0, None, None, factor * limit, lambda u: [u[0]])
        assert (np.abs(np.linalg.eigvals(A)).max() <= 1 + 1e-9) == stable


@pytest.mark.parametrize(
    "scheme",
    [AlphaOS(), AlphaOS(-0.3), HHTAlpha(-0.1, 2), ChenRicles(), KRAlpha(0.5), Rosenbrock()],
    ids=name,
)
@pytest.mark.parametrize("softer", [1.0, 0.7, 0.3])
def test_a_specimen_softer_than_estimated_stays_stable(scheme, softer):
    used = replace(scheme, specimen_stiffness=1.0)
    for Omega in (*OMEGAS, 1000.0):
        A = amplification(used, 1.0, None, None, Omega, lambda u: [softer * u[0]])
        assert np.abs(np.linalg.eigvals(A)).max() <= 1 + 1e-6, Omega
