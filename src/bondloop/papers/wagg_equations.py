"""Equations (4) to (17) of Wagg and Stoten 2001, held against the three-mass test that bondloop runs.

The matrices are written down here as the paper has them, from its parameters; the test knows nothing of them.

References
----------
Wagg, D. J., Stoten, D. P. (2001). Substructuring of dynamical systems via the adaptive minimal control
synthesis algorithm. Earthquake Engineering and Structural Dynamics 30(6), 865-877. doi:10.1002/eqe.44
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.papers import wagg_three_mass
from bondloop.papers.gawthrop_three_mass import VALUES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.rehearsal import Run


FIRST_MASS = "numerical.m2.C.displacement"
"""Channel of z1 - z2, by which the first mass acts on the second: a run must record it."""


def numerical_model() -> NDArray[np.float64]:
    """Return H1 of equations (4), (16) and (17), with z = (z1, z2, dz1/dt, dz2/dt)."""
    m1, m2, c1, c2, k1, k2 = (VALUES[w] for w in ("m1", "m2", "c1", "c2", "k1", "k2"))
    K = np.array([[k1 + k2, -k2], [-k2, k2]])
    M, D = np.diag([m1, m2]), np.diag([c1, c2])
    none = np.zeros((2, 2))
    return np.block([[none, np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])


def transfer_system(m: float = 1.0, c: float = 1.0, k: float = 1.0) -> tuple[NDArray[np.float64], float]:
    """Return A and B_c = K_a/m_t of equations (13) and (14), with an actuator gain of 1."""
    return np.array([[0.0, 1.0], [-k / m, -c / m]]), 1 / m


def _motions(run: Run) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return x and x_m as rows of displacement and velocity, and r."""
    x, x_m = (
        np.array([run[f"{who}.{w}"] for w in ("displacement", "velocity")]) for who in ("actual", "desired")
    )
    return x, x_m, wagg_three_mass.AMPLITUDE * np.cos(run.time)


def disturbance(run: Run) -> NDArray[np.float64]:
    """Return d = H13 z_m of equation (10) along a run, in m/s^2.

    Parameters
    ----------
    run
        Of the three-mass chain with MCS; it must have recorded `FIRST_MASS`.
    """
    return np.asarray(numerical_model()[3, 0] * (run[FIRST_MASS] + run["desired.displacement"]))


def residual_of_error_dynamics(run: Run) -> float:
    """Return the largest error of equation (10) along a run, over the largest of its terms.

    The left side is a difference quotient of the recorded motion; d = H13 z_m alone, for with the masses of
    the paper the interface force acts on both sides alike and R_m = I.

    Parameters
    ----------
    run
        Of the three-mass chain with MCS; it must have recorded `FIRST_MASS`.
    """
    A_m = numerical_model()[np.ix_([1, 3], [1, 3])]
    A, B_c = transfer_system()
    x, x_m, r = _motions(run)
    x_e = x_m - x
    K = np.array([run["controller.K[0]"], run["controller.K[1]"]])
    terms = [
        A_m[1] @ x_e,
        (A_m - A)[1] @ x,
        -B_c * (K * x).sum(axis=0),
        -B_c * run["controller.K_r"] * r,  # B_m = G12 = 0: the support does not act on the second mass
        disturbance(run),
    ]
    h = float(run.time[1] - run.time[0])
    rate = (x_e[1, 2:] - x_e[1, :-2]) / (2 * h)
    apart = np.abs(rate - sum(terms)[1:-1]).max()
    return float(apart / max(np.abs(term).max() for term in terms))


def work_of_adaptation(run: Run) -> NDArray[np.float64]:
    """Return the integral of equation (12) up to each time: of y_e times what the gains do too much.

    Parameters
    ----------
    run
        Of the three-mass chain with MCS.
    """
    A_m = numerical_model()[np.ix_([1, 3], [1, 3])]
    A, B_c = transfer_system()
    x, _, r = _motions(run)
    ideal = (A_m - A)[1] / B_c
    K = np.array([run["controller.K[0]"], run["controller.K[1]"]])
    power = run["controller.error"] * (((K - ideal[:, None]) * x).sum(axis=0) + run["controller.K_r"] * r)
    h = float(run.time[1] - run.time[0])
    return np.concatenate([[0.0], np.cumsum(0.5 * h * (power[1:] + power[:-1]))])


def bound_of_adaptation(alpha: float) -> float:
    """Return -gamma^2 of equation (12), in closed form.

    With the gains' integral parts I, ``y_e w = (dI/dt)/alpha``: the integral is that of (I - I*) dI/alpha,
    plus beta times a square. So it is never below -|I*|^2/(2 alpha), I* being the ideal gains, from I(0) = 0.

    Examples
    --------
    >>> round(bound_of_adaptation(100.0), 5)
    -0.00405
    """
    A_m = numerical_model()[np.ix_([1, 3], [1, 3])]
    A, B_c = transfer_system()
    ideal = (A_m - A)[1] / B_c
    return -float(ideal @ ideal) / (2 * alpha)
