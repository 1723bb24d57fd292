"""Schemes for structures: observed order, springs that soften and harden, modes, the published recursions."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.linalg import eigh

from bondloop.integrate.structural import (
    AlphaOS,
    CentralDifference,
    ChenRicles,
    HHTAlpha,
    KRAlpha,
    NewmarkExplicit,
    NewmarkImplicit,
    Rosenbrock,
    simulate_structure,
)
from bondloop.integrate.structural.base import Estimating
from bondloop.signals import Sine

SECOND_ORDER = [
    CentralDifference(), NewmarkExplicit(), AlphaOS(), AlphaOS(-0.2), HHTAlpha(-0.1), HHTAlpha(-0.3, 1),
    HHTAlpha(-0.05, 4, path=1), NewmarkImplicit(), ChenRicles(), KRAlpha(0.0), KRAlpha(0.5), KRAlpha(1.0),
    Rosenbrock(), Rosenbrock(0.5),
]  # fmt: skip
FIRST_ORDER = [NewmarkExplicit(0.7), NewmarkImplicit(0.7, 0.36)]


def name(value):
    own = [f"{x:g}" for x in vars(value).values() if isinstance(x, (int, float))]
    return "-".join([type(value).__name__, *own])


def knowing(scheme, stiffness, damping=0.0):
    """The scheme with estimates of the specimen, where it takes them."""
    if isinstance(scheme, Estimating):
        return replace(scheme, specimen_stiffness=stiffness, specimen_damping=damping)
    return scheme


DRIVE = Sine(1, frequency=3 / (2 * np.pi), phase=0.5)


def reference(rate, seconds, start=(0.5, 1.0)):
    return solve_ivp(rate, (0, seconds), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


SPECIMENS = {
    "linear": (8.0, None, lambda u, _: 8 * u),
    "hardening": (3.0, lambda u: [5 * u[0] + 4 * u[0] ** 3], lambda u, _: 8 * u + 4 * u**3),
    "damped": (3.0, lambda u, v: [5 * u[0] + 0.6 * v[0] ** 3], lambda u, v: 8 * u + 0.6 * v**3),
}


@pytest.mark.parametrize("specimen", SPECIMENS)
@pytest.mark.parametrize("known", [False, True], ids=["unknown", "known"])
@pytest.mark.parametrize("scheme", [*SECOND_ORDER, *FIRST_ORDER], ids=name)
def test_observed_order(scheme, specimen, known):
    """Halving the step divides the error by four, whatever is known of the specimen; started while moving."""
    K, law, force = SPECIMENS[specimen]
    used = knowing(scheme, 6.0, 0.4) if known else scheme
    exact = reference(lambda t, y: [y[1], (np.sin(3 * t + 0.5) - 0.5 * y[1] - force(*y)) / 2], 2.0)
    errors = []
    for n in (150, 300):
        run = simulate_structure(
            used, 2.0, 0.5, K, 2.0 / n, n, load=[DRIVE], restoring=law, initial=(0.5, 1.0), backend="numpy"
        )
        errors.append(np.hypot(run.displacement[-1, 0] - exact[0], run.velocity[-1, 0] - exact[1]))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(1 if scheme in FIRST_ORDER else 2, abs=0.12)


@pytest.mark.parametrize("kind", ["softening", "hardening"])
@pytest.mark.parametrize("scheme", SECOND_ORDER, ids=name)
def test_a_spring_against_a_fine_reference(scheme, kind):
    """A specimen that yields (estimate: its initial stiffness) or stiffens (estimate: its largest)."""
    if kind == "softening":
        law, force = (lambda u: [60 * sp.tanh(u[0])]), (lambda u: 60 * np.tanh(u))
        estimate = 60.0
    else:
        law, force = (lambda u: [20 * u[0] + 5 * u[0] ** 3]), (lambda u: 20 * u + 5 * u**3)
        estimate = 20 + 15 * 3.0**2
    h, steps = 0.01, 500
    times = np.arange(steps + 1) * h
    exact = solve_ivp(
        lambda t, y: [y[1], 40 * np.sin(5 * t) - 0.4 * y[1] - 5 * y[0] - force(y[0])], (0, times[-1]), [0, 0],
        method="DOP853", rtol=1e-11, atol=1e-12, t_eval=times,
    ).y  # fmt: skip
    assert np.abs(exact[0]).max() > 1.2, "the spring must leave its linear range"
    run = simulate_structure(
        knowing(scheme, estimate), 1.0, 0.4, 5.0, h, steps, load=Sine(40, frequency=5 / (2 * np.pi)),
        restoring=law, backend="numpy",
    )  # fmt: skip
    error = np.sqrt(np.mean((run.displacement[:, 0] - exact[0]) ** 2) / np.mean(exact[0] ** 2))
    assert error < (0.04 if scheme == KRAlpha(0.0) else 0.02)


M3 = np.diag([1.0, 2.0, 1.5])
K3 = np.array([[90.0, -50, 0], [-50, 80, -30], [0, -30, 30]])
C3 = 0.3 * M3 + 0.004 * K3


@pytest.mark.parametrize("scheme", SECOND_ORDER, ids=name)
def test_several_degrees_of_freedom_are_the_sum_of_modes(scheme):
    """The same scheme, mode by mode."""
    lam, Phi = eigh(K3, M3)
    h, steps = 0.02, 200
    times = np.arange(steps + 1) * h
    F = np.column_stack([np.sin(5 * times), np.cos(3 * times), 0 * times])
    u0, v0 = np.array([0.1, -0.2, 0.3]), np.array([1.0, 0.0, -1.0])
    whole = simulate_structure(scheme, M3, C3, K3, h, steps, load=F, initial=(u0, v0), backend="numpy")
    total = 0
    for i in range(3):
        phi = Phi[:, i]
        mode = simulate_structure(
            scheme, 1.0, phi @ C3 @ phi, lam[i], h, steps, load=F @ phi,
            initial=(phi @ M3 @ u0, phi @ M3 @ v0), backend="numpy",
        )  # fmt: skip
        total = total + np.outer(mode.displacement[:, 0], phi)
    assert np.abs(whole.displacement - total).max() < 1e-11


def law3(u):
    return [10 * sp.tanh(u[0] - u[1]), 10 * sp.tanh(u[1] - u[0]) + u[1] ** 3, 0]


def r3(u):
    return np.array([10 * np.tanh(u[0] - u[1]), 10 * np.tanh(u[1] - u[0]) + u[1] ** 3, 0])


def published(rho, h, steps, F, Ks):
    """CR (rho None) and KR-α line by line as printed, in NumPy; from rest, F(0) = 0."""
    af, am, gamma = 0.0, 0.0, 0.5
    if rho is not None:
        af, am = rho / (rho + 1), (2 * rho - 1) / (rho + 1)
        gamma = 0.5 - am + af
    beta = (0.5 + gamma) ** 2 / 4
    A = M3 + gamma * h * C3 + beta * h**2 * (K3 + Ks)
    alpha1 = np.linalg.solve(A, M3)
    alpha2 = (0.5 + gamma) * alpha1
    alpha3 = np.linalg.solve(A, am * M3 + af * gamma * h * C3 + af * beta * h**2 * (K3 + Ks))
    x, xd, xdd = np.zeros(3), np.zeros(3), np.zeros(3)
    rows = [x]
    for n in range(steps):
        x1 = x + h * xd + h**2 * alpha2 @ xdd
        xd1 = xd + h * alpha1 @ xdd
        force = (1 - af) * (F[n + 1] - r3(x1) - C3 @ xd1 - K3 @ x1) + af * (F[n] - r3(x) - C3 @ xd - K3 @ x)
        xdd = np.linalg.solve(M3 - M3 @ alpha3, force - M3 @ alpha3 @ xdd)
        x, xd = x1, xd1
        rows.append(x)
    return np.array(rows)


@pytest.mark.parametrize("rho", [None, 0.0, 0.4, 1.0])
def test_cr_and_kr_alpha_move_as_printed(rho):
    """The motion carries another velocity than the papers' recursions; the displacements are the same."""
    h, steps = 0.05, 150
    F = np.outer(np.sin(7 * np.arange(steps + 1) * h), [20.0, 0, 5])
    Ks = np.array([[10.0, -10, 0], [-10, 10, 0], [0, 0, 0]])
    scheme = ChenRicles if rho is None else lambda **k: KRAlpha(rho, **k)
    run = simulate_structure(
        scheme(specimen_stiffness=Ks), M3, C3, K3, h, steps, load=F, restoring=law3, backend="numpy"
    )
    assert np.abs(run.displacement - published(rho, h, steps, F, Ks)).max() < 1e-11


def test_the_central_difference_method_is_newmarks_explicit_scheme():
    runs = [
        simulate_structure(
            s, M3, C3, K3, 0.02, 300, restoring=law3, initial=([0.1, 0, 0.2], [0, 1, 0]), backend="numpy"
        )
        for s in (CentralDifference(), NewmarkExplicit())
    ]
    for what in ("displacement", "velocity", "acceleration"):
        assert np.abs(getattr(runs[0], what) - getattr(runs[1], what)).max() < 1e-9


def test_operator_splitting_and_one_iteration_are_hht_for_a_linear_specimen_that_is_known():
    """With exact estimates nothing is left to iterate: the specimen may stand inside or outside of K."""
    inside = simulate_structure(HHTAlpha(-0.2, 1), 2.0, 0.5, 8.0, 0.1, 100, load=[DRIVE], initial=(1, 0))
    for scheme in (AlphaOS(-0.2), HHTAlpha(-0.2, 1), HHTAlpha(-0.2, 5), HHTAlpha(-0.2, 5, path=1)):
        used = replace(scheme, specimen_stiffness=5.0, specimen_damping=0.3)
        outside = simulate_structure(
            used, 2.0, 0.2, 3.0, 0.1, 100, load=[DRIVE], initial=(1, 0),
            restoring=lambda u, v: [5 * u[0] + 0.3 * v[0]],
        )  # fmt: skip
        assert np.abs(outside.displacement - inside.displacement).max() < 1e-11


def test_iterations_make_up_for_a_poor_estimate():
    """With 60 % of the stiffness known, the error falls with the last stretch of the path, 1/N."""
    exact = simulate_structure(HHTAlpha(-0.1, 1), 1.0, 0.1, 100.0, 0.05, 100, initial=(1, 0))
    errors = []
    for n in (1, 3, 9):
        run = simulate_structure(
            HHTAlpha(-0.1, n, specimen_stiffness=60.0), 1.0, 0.1, None, 0.05, 100, initial=(1, 0),
            restoring=lambda u: [100 * u[0]],
        )  # fmt: skip
        errors.append(np.abs(run.displacement - exact.displacement).max())
    assert errors[0] / errors[1] == pytest.approx(3, abs=0.4)
    assert errors[1] / errors[2] == pytest.approx(3, abs=0.4)


def test_degrees_of_freedom_without_mass_are_condensed_by_an_implicit_scheme():
    M, K = np.diag([1.0, 0.0]), np.array([[10.0, -10], [-10, 30]])
    condensed = 10 - 100 / 30
    u0 = [1.0, 1 / 3]
    for scheme in (NewmarkImplicit(), HHTAlpha(-0.1), AlphaOS(-0.1)):
        both = simulate_structure(scheme, M, None, K, 0.05, 100, initial=(u0, [0, 0]))
        one = simulate_structure(scheme, 1.0, None, condensed, 0.05, 100, initial=(1, 0))
        assert np.abs(both.displacement[:, 0] - one.displacement[:, 0]).max() < 1e-9
