"""The passivity that Wagg and Stoten 2001 ask for, and why the gains of their simulation burst without it.

Equation (11) asks that {A_m, B_e, C_e} is strictly positive real, with A_m = H14 of the numerical half
(equations 7 to 9): here a mass on a spring and a damper, s^2 + (c2/m2) s + k2/m2. A row C_e = [w0, w1] makes
it that just for 0 < w0/w1 < c2/m2.

Where it is not, this is what happens. Let the motions w = (x, dx/dt, r) that the gains multiply stand still
for a while. Then the law is a PI controller of the error, with gains that grow with the motion squared:

    s (s^2 + c s + k) + W (beta s + alpha) (w1 s + w0) = 0,    W = |w|^2 / m_t.

A PI controller is passive, so with a strictly positive real model this is stable for every W. Otherwise it is
unstable for small W, up to a level that follows from Routh's criterion. There the error grows, ringing, until
it is itself the motion that raises W above the level: a burst.

References
----------
Wagg, D. J., Stoten, D. P. (2001). Substructuring of dynamical systems via the adaptive minimal control
synthesis algorithm. Earthquake Engineering and Structural Dynamics 30(6), 865-877. doi:10.1002/eqe.44
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.analysis import PositiveRealness, positive_realness
from bondloop.papers import wagg_three_mass
from bondloop.papers.gawthrop_three_mass import CUT, VALUES
from bondloop.substructure import ReferenceModel, numerical_half, reference_model

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from bondloop.bondgraph import Model
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


def reference(model: Model | None = None) -> ReferenceModel:
    """Return A_m = H14 and B_e of the three-mass chain's numerical half, or of another model's.

    Parameters
    ----------
    model
        Complete, with the paper's cut.
    """
    whole = wagg_three_mass.model() if model is None else model
    return reference_model(numerical_half(whole.cut(CUT)[0]))


def realness(weights: Sequence[float], model: ReferenceModel | None = None) -> PositiveRealness:
    """Return what is found of g_e(s) = C_e (s I - A_m)^-1 B_e (equation 11).

    Parameters
    ----------
    weights
        The row C_e.
    model
        A_m and B_e; those of the three-mass chain where none are given.

    Examples
    --------
    >>> realness([400, 1]).strict, realness([0.05, 1]).strict
    (False, True)
    """
    m = model or reference()
    return positive_realness(m.A, m.B, [list(weights)])


def response(
    weights: Sequence[float], omegas: NDArray[np.float64], model: ReferenceModel
) -> NDArray[np.complex128]:
    """Return g_e at frequencies in rad/s."""
    s = 1j * omegas[:, None, None]
    g = np.array(weights, dtype=float) @ np.linalg.solve(s * np.eye(len(model.A)) - model.A, model.B)
    return np.asarray(g[:, 0])


def fictitious(settling_time: float) -> ReferenceModel:
    """Return a model with two poles at -4/t_s, which is not the one that is followed."""
    p = 4 / settling_time
    return ReferenceModel(np.array([[0.0, 1.0], [-(p**2), -2 * p]]), np.array([[0.0], [1.0]]))


def growth(
    level: float, alpha: float, beta: float, weights: Sequence[float], model: ReferenceModel
) -> complex:
    """Return the least stable root, in rad/s, of the error's loop with the motion frozen.

    Parameters
    ----------
    level
        W: the motion that the gains multiply, squared, over the mass of the transfer system.
    alpha, beta, weights
        Of the law.
    model
        A_m.
    """
    k, c = -model.A[1]
    w0, w1 = weights
    roots = np.roots(np.polyadd([1.0, c, k, 0.0], level * np.polymul([beta, alpha], [w1, w0])))
    return complex(max(roots, key=lambda s: (s.real, s.imag)))


def quiet_level(alpha: float, beta: float, weights: Sequence[float], model: ReferenceModel) -> float:
    """Return the level W from which on the error's loop is stable with the motion frozen; 0: from rest on.

    Routh: ``(c + b w1 W)(k + (b w0 + a w1) W) > a w0 W``.

    Examples
    --------
    >>> m = reference()
    >>> round(quiet_level(100, 10, [400, 1], m), 3), quiet_level(100, 10, [0.05, 1], m)
    (0.965, 0.0)
    """
    k, c = (-model.A[1]).tolist()
    w0, w1 = (float(w) for w in weights)
    square = beta * w1 * (beta * w0 + alpha * w1)
    linear = beta * w1 * k + c * (beta * w0 + alpha * w1) - alpha * w0
    inside = linear**2 - 4 * square * c * k
    return max(0.0, (-linear + math.sqrt(inside)) / (2 * square)) if inside > 0 else 0.0


def motion(run: Run, mass: float = 1.0) -> NDArray[np.float64]:
    """Return the level W over a run of the three-mass chain, from the motion that is desired.

    That is the motion without bursts, and the reference r.
    """
    x, v = run["desired.displacement"], run["desired.velocity"]
    r = wagg_three_mass.AMPLITUDE * np.cos(run.time)
    return np.asarray((x**2 + v**2 + r**2) / mass)


def foretold(
    run: Run, start: float, alpha: float, beta: float, weights: Sequence[float]
) -> NDArray[np.float64]:
    """Return by how much the error's ringing grows from `start` on: the integral of the frozen loop's growth.

    Parameters
    ----------
    run
        Of the three-mass chain.
    start
        In s.
    alpha, beta, weights
        Of its controller.
    """
    model, W = reference(), motion(run)
    levels = np.linspace(0.0, float(W.max()), 200)
    rates = [growth(level, alpha, beta, weights, model).real for level in levels]
    rate = np.interp(W, levels, rates)
    steps = np.diff(run.time, prepend=run.time[0])
    total = np.cumsum(rate * steps)
    return np.asarray(np.exp(total - np.interp(start, run.time, total)))


def draw_passivity(cases: Mapping[str, tuple[Sequence[float], ReferenceModel]], path: Path) -> Path:
    """Draw the phase of g_e over frequency: strictly positive real is what stays within 90 degrees.

    Parameters
    ----------
    cases
        C_e and A_m by label.
    path
        Where to save.
    """
    from bondloop.results.figures import COLOURS, DASHES, GREY, RULE, dress, finish, legend, page

    figure = page(3.4)
    axes = figure.subplots()
    omegas = np.logspace(-2, 4, 2000)
    axes.axhspan(-90, 90, color=RULE, alpha=0.5, linewidth=0, zorder=0.5)
    axes.axhline(0, color=GREY, linewidth=0.7, zorder=1)
    for i, (label, (weights, model)) in enumerate(cases.items()):
        phase = np.degrees(np.angle(response(weights, omegas, model)))
        axes.plot(
            omegas, phase, color=COLOURS[i], linestyle=DASHES[i % len(DASHES)], linewidth=1.3, label=label
        )
    axes.set_xscale("log")
    axes.set(xlim=(omegas[0], omegas[-1]), ylim=(-190, 100))
    dress(axes, "frequency [rad/s]", "phase of $g_e$ [degrees]")
    axes.set_yticks([-180, -90, 0, 90])
    legend(axes, 2)
    finish(figure, path)
    return path


def draw_bursts(
    cases: Mapping[str, tuple[Run, float, float, Sequence[float]]],
    path: Path,
    burst: tuple[float, float] = (1.7, 2.7),
) -> Path:
    """Draw the level of the motion beside those from which loops are quiet, gains, and how a burst begins.

    Parameters
    ----------
    cases
        Runs of the three-mass chain with their alpha, beta and C_e, by label; one that bursts first.
    path
        Where to save.
    burst
        When the first burst of the chain begins and ends, in s.
    """
    from bondloop.results.figures import COLOURS, DASHES, DESIRED, dress, finish, heading, legend, page

    figure = page(6.4)
    level, gains, beginning = figure.subplots(3, 1, height_ratios=(1, 1.2, 1.2))
    model = reference()
    label, (bursting, alpha, beta, weights) = next(iter(cases.items()))
    level.plot(bursting.time, motion(bursting), **DESIRED)
    for (name, (run, a, b, row)), colour, dash in zip(cases.items(), COLOURS, DASHES, strict=False):
        quiet = quiet_level(a, b, row, model)
        level.axhline(quiet, color=colour, linestyle=dash, linewidth=1.3)
        gain = np.maximum(np.abs(run["controller.K[1]"]), 1e-2)
        gains.plot(run.time, gain, color=colour, linestyle=dash, linewidth=1.0, label=name)
    for axes in (level, gains):
        axes.set_xlim(0, float(bursting.time[-1]))
    level.set_ylim(-0.04, 1.1)
    dress(level, "", "$W$ [SI]")
    heading(level, "The motion's level W, and the levels above which each loop is quiet")
    gains.set_yscale("log")
    dress(gains, "time [s]", "$|K_2|$")
    legend(gains)
    start, end = burst
    shown = (bursting.time >= start) & (bursting.time <= end)
    t, error = bursting.time[shown], np.abs(bursting["controller.error"][shown])
    peak = int(np.argmax(error[t < start + 0.2]))
    bound = error[peak] * foretold(bursting, float(t[peak]), alpha, beta, weights)[shown]
    beginning.plot(t, error, color=COLOURS[0], linewidth=1.0, label=f"$|y_e|$, {label}")
    beginning.plot(t, bound, color=COLOURS[1], linestyle=DASHES[1], linewidth=1.3, label="growth as foretold")
    beginning.set_yscale("log")
    beginning.set(xlim=burst, ylim=(1e-2, 10))
    dress(beginning, "time [s]", "$|y_e|$ [m/s]")
    legend(beginning)
    figure.align_ylabels([level, gains, beginning])
    finish(figure, path)
    return path
