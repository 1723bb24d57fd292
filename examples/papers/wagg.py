"""Every number and figure of docs/papers/wagg-2001.md: Wagg and Stoten 2001, on both of its examples.

Run: python examples/papers/wagg.py out
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import wagg_theory
from wagg_figures import figure_5, figures_7_to_9

from bondloop.control import MCS
from bondloop.engine.ir.quantity import Role
from bondloop.papers import wagg_three_mass as chain
from bondloop.papers import wagg_two_mass_rig as rig
from bondloop.papers.gawthrop_three_mass import CUT, VALUES
from bondloop.substructure import ReferenceModel, interfaces, numerical_half

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.rehearsal import Run

Numbers = dict[str, float]

PAPER, QUIET = "$C_e$ = [400, 1]", "$C_e$ = [0.05, 1]"
SETTINGS: dict[str, tuple[float, float, tuple[float, float]]] = {
    f"{PAPER}, $\\alpha$ = 100": (100.0, 10.0, (400.0, 1.0)),
    f"{PAPER}, $\\alpha$ = 1000": (1000.0, 100.0, (400.0, 1.0)),
    f"{QUIET}, $\\alpha$ = $10^4$": (1e4, 1e3, (0.05, 1.0)),
}
"""alpha, beta and C_e by label; the first bursts."""

PROTECTION: dict[str, dict[str, float]] = {
    "no protection": {},
    "dead zone 1 mm/s": {"dead_zone": 1e-3},
    "dead zone 3 mm/s": {"dead_zone": 3e-3},
    "dead zone 12 mm/s": {"dead_zone": 12e-3},
    "sigma 0.01 1/s": {"leakage": 0.01},
    "sigma 0.1 1/s": {"leakage": 0.1},
    "sigma 1 1/s": {"leakage": 1.0},
}


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
    return x, x_m, chain.AMPLITUDE * np.cos(run.time)


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
    model, W = wagg_theory.reference(), wagg_theory.motion(run)
    levels = np.linspace(0.0, float(W.max()), 200)
    rates = [wagg_theory.growth(level, alpha, beta, weights, model).real for level in levels]
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
    from bondloop.results.figures.layout import COLOURS, DASHES, GREY, RULE, dress, finish, legend, page

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
    from bondloop.results.figures.layout import COLOURS, DASHES, DESIRED, dress, finish, heading, legend, page

    figure = page(6.4)
    level, gains, beginning = figure.subplots(3, 1, height_ratios=(1, 1.2, 1.2))
    model = wagg_theory.reference()
    label, (bursting, alpha, beta, weights) = next(iter(cases.items()))
    level.plot(bursting.time, wagg_theory.motion(bursting), **DESIRED)
    for (name, (run, a, b, row)), colour, dash in zip(cases.items(), COLOURS, DASHES, strict=False):
        quiet = wagg_theory.quiet_level(a, b, row, model)
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


def by_frequency(poles: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return poles in the order of their frequencies."""
    return poles[np.argsort(poles.imag)]


def equations() -> Numbers:
    """Equations (4) to (17) against the test as it runs, with C_e = [0.05, 1]."""
    alpha, beta, weights = SETTINGS[f"{QUIET}, $\\alpha$ = $10^4$"]
    test = chain.test(alpha, beta, error_filter=weights).replaced(record=[FIRST_MASS])
    run = test.run(chain.SECONDS)
    # Their real parts are equal but for rounding, which must not order them.
    poles = by_frequency(numerical_half(chain.model().cut(CUT)[0]).system.poles())
    theirs = by_frequency(np.linalg.eigvals(numerical_model()))
    middle, _ = chain.model().cut("m1.right >> m2.left", CUT)
    return {
        "(16), (17): slowest pole's frequency, rad/s": float(np.abs(poles.imag).min()),
        "(16), (17): fastest pole's frequency, rad/s": float(np.abs(poles.imag).max()),
        "(16), (17): largest difference of a pole": float(np.abs(poles - theirs).max()),
        "(13), (14): B_c": transfer_system()[1],
        "(10): largest residual over the largest term": residual_of_error_dynamics(run),
        "(10): largest disturbance d, m/s^2": float(np.abs(disturbance(run)).max()),
        "(12): least value of the integral": float(work_of_adaptation(run).min()),
        "(12): -gamma^2 for alpha = 10^4": bound_of_adaptation(alpha),
        "(12): -gamma^2 for alpha = 100": bound_of_adaptation(100.0),
        "interfaces where the second mass is the specimen": len(interfaces(middle)),
    }


def law() -> Numbers:
    """Equation (6) against Newton's law and the adaptive law written down here, and numbers that follow."""
    alpha, beta, (w0, w1) = SETTINGS[f"{QUIET}, $\\alpha$ = $10^4$"]
    run = chain.test(alpha, beta, error_filter=(w0, w1), spring="hardening").run(20.0)

    def rates(t: float, y: NDArray[np.float64]) -> NDArray[np.float64]:
        x1, x2, v1, v2, x, v, x3, v3 = y[:8]
        force, r = (x - x3) + (x - x3) ** 3, 0.5 * np.cos(t)
        w = np.array([x, v, r])
        error = w0 * (x2 - x) + w1 * (v2 - v)
        u = (y[8:] + beta * error * w) @ w
        a1, a2 = (r - x1) - (x1 - x2) - 0.1 * v1, (x1 - x2) - force - 0.1 * v2
        return np.array([v1, v2, a1, a2, v, u - force - v - x, v3, force - 0.1 * v3, *(alpha * error * w)])

    y, h, plain = np.zeros(11), 1e-3, [0.0]
    for k in range(len(run.time) - 1):
        k1 = rates(k * h, y)
        k2 = rates((k + 0.5) * h, y + h / 2 * k1)
        k3 = rates((k + 0.5) * h, y + h / 2 * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + rates((k + 1) * h, y + h * k3))
        plain.append(float(y[4]))
    half = numerical_half(chain.model().cut(CUT)[0])
    own = MCS(alpha, beta, error_filter="reference").error_matrix(half)[0]
    return {
        "(6): x off a plain integration, m": float(np.abs(run["actual.displacement"] - plain).max()),
        "C_e of the half: displacement": float(own[0]),
        "C_e of the half: velocity": float(own[1]),
        **{
            f"sampled at {1e-3 / step:g} kHz, beta = {b:g}: velocity at the limit, m/s": float(
                np.sqrt(2 / (b * step))
            )
            for b, step in ((10.0, 1e-3), (10.0, 1e-4), (100.0, 1e-3))
        },
        "rig, noise of 1 mm in y_e, mm/s": 1e3 * MCS(settling_time=1.0).error_weights()[0] * 1e-3,
    }


def passivity(out: Path) -> Numbers:
    """Equations (11) and (14): H14, its stability, and whether C_e makes it strictly positive real."""
    own, other = wagg_theory.reference(), fictitious(0.01)
    track = wagg_theory.reference(rig.model())
    draw_passivity(
        {
            "chain, [400, 1]": ([400, 1], own),
            "chain, [0.05, 1]": ([0.05, 1], own),
            "poles at $-$400, [400, 1]": ([400, 1], other),
            "rig, [4, 1]": ([4, 1], track),
        },
        out / "wagg_passivity.png",
    )
    loud, quiet = (wagg_theory.realness(w, own) for w in ([400, 1], [0.05, 1]))
    return {
        "H14, -k2/m2": float(own.A[1, 0]),
        "H14, -c2/m2": float(own.A[1, 1]),
        "H14, largest real part of a pole": max(p.real for p in loud.poles),
        "C_e = [400, 1]: strictly positive real": loud.strict,
        "C_e = [400, 1]: least real part": loud.least,
        "C_e = [400, 1]: at rad/s": loud.frequency,
        "C_e = [400, 1]: negative from rad/s": loud.crossings[0],
        "C_e = [0.05, 1]: strictly positive real": quiet.strict,
        "C_e = [400, 1], poles at -400: strictly positive real": wagg_theory.realness([400, 1], other).strict,
        "rig, c2/m2": -float(track.A[1, 1]),
        "rig, C_e = [4, 1]: strictly positive real": wagg_theory.realness([4, 1], track).strict,
    }


def bursts(out: Path) -> Numbers:
    """Figure 5, and why its gains burst."""
    model = wagg_theory.reference()
    cases: dict[str, tuple[Any, ...]] = {}
    numbers: Numbers = {}
    for label, (alpha, beta, weights) in SETTINGS.items():
        run = chain.test(alpha, beta, error_filter=weights).run(chain.SECONDS)
        cases[label] = (run, alpha, beta, weights)
        plain = f"C_e = [{weights[0]:g}, 1], alpha = {alpha:g}"
        numbers[f"{plain}: error to z2"] = chain.findings(run)["normalised_rms_error_to_complete"]
        numbers[f"{plain}: largest gain"] = _largest_gain(run)
        numbers[f"{plain}: fastest motion, m/s"] = float(np.abs(run["actual.velocity"]).max())
        numbers[f"{plain}: quiet from W ="] = wagg_theory.quiet_level(alpha, beta, weights, model)
    first = next(iter(cases.values()))
    level = wagg_theory.motion(first[0])
    bursting = work_of_adaptation(first[0])
    numbers["(12) with bursts: least value of the integral"] = float(bursting.min())
    numbers["W of the chain: largest"] = float(level.max())
    numbers["W of the chain: least"] = float(level.min())
    start, end = 1.7, 2.3
    numbers["growth of the error from 1.7 to 2.3 s: seen"] = _ringing(first[0], end) / _ringing(
        first[0], start
    )
    grown = foretold(first[0], start, *first[1:])
    numbers["growth of the error from 1.7 to 2.3 s: foretold"] = float(np.interp(end, first[0].time, grown))
    figure_5(first[0], out / "wagg_figure_5.png")
    draw_bursts(cases, out / "wagg_bursts.png")
    return numbers


def _ringing(run: Run, start: float) -> float:
    """Return the largest filtered error of 0.2 s, without its mean."""
    error = run["controller.error"][(run.time >= start) & (run.time < start + 0.2)]
    return float(np.abs(error - error.mean()).max())


def _largest_gain(run: Run) -> float:
    return max(float(np.abs(run[name]).max()) for name in run.record.channels_of(Role.GAIN))


def hardening() -> Numbers:
    """Follow the chain with the spring of the text, which has a steady state, through windows of 40 s."""
    numbers: Numbers = {}
    for alpha, beta, weights in (next(iter(SETTINGS.values())), list(SETTINGS.values())[-1]):
        run = chain.test(alpha, beta, error_filter=weights, spring="hardening").run(200.0)
        desired, error = run["reference.m2.displacement"], run["actual.displacement"]
        for start in range(0, 200, 40):
            part = (run.time >= start) & (run.time < start + 40)
            rms = np.sqrt(np.mean((error - desired)[part] ** 2) / np.mean(desired[part] ** 2))
            name = f"C_e = [{weights[0]:g}, 1], alpha = {alpha:g}: error to z2, {start} to {start + 40} s"
            numbers[name] = float(rms)
    return numbers


def discrete() -> Numbers:
    """Compare the law as a difference equation with the one that is integrated, both sampled at 1 kHz."""
    numbers: Numbers = {}
    for kind in ("mcs", "discrete"):
        for alpha, beta, weights in list(SETTINGS.values())[1:]:
            test = chain.test(alpha, beta, coupling="sampled", controller=kind, error_filter=weights)
            error = chain.findings(test.run(chain.SECONDS))["normalised_rms_error_to_complete"]
            numbers[f"{kind}, C_e = [{weights[0]:g}, 1], alpha = {alpha:g}: error to z2"] = error
    return numbers


def two_mass_rig(out: Path) -> Numbers:
    """Figures 7 to 9."""
    run = rig.test().run(rig.SECONDS)
    figures_7_to_9(run, out / "wagg_two_mass_rig.png")
    error = 1e3 * np.abs(run["desired.displacement"] - run["actual.displacement"])
    rise, fall = ((run.time > start) & (run.time < end) for start, end in ((45, 60), (15, 25)))
    later = run.time > rig.PERIOD
    speed = np.abs(run["rig.specimen.m3.v.flow"])
    return {
        **rig.findings(run),
        "friction alone displaces the transfer system by, mm": 1e3 * rig.FRICTION / rig.STIFFNESS,
        "largest error on the way up to the peak at 65 s, mm": float(error[rise].max()),
        "largest error on the way down, from 15 to 25 s, mm": float(error[fall].max()),
        "largest error after one period, mm": float(error[later].max()),
        "the free mass is slower than 5 % of its peak for, % of the time": 100
        * float((speed < 0.05 * speed.max()).mean()),
        "K_r swings at multiple of the forcing": _multiple(run, "controller.K_r"),
        "K_r after one period: least": float(run["controller.K_r"][later].min()),
        "K_r after one period: largest": float(run["controller.K_r"][later].max()),
    }


def _multiple(run: Run, name: str) -> int:
    """Return the multiple of the forcing's frequency at which a channel swings most, in its last period."""
    last = run.time > run.time[-1] - rig.PERIOD
    t, k = run.time[last], run[name][last] - run[name][last].mean()
    return 1 + int(np.argmax([abs(np.mean(k * np.exp(-1j * n * rig.OMEGA * t))) for n in range(1, 6)]))


def protection() -> Numbers:
    """Measure what a dead zone and sigma-modification cost, and what they hold: with noise, for 500 s."""
    numbers: Numbers = {}
    for label, settings in PROTECTION.items():
        clean = rig.findings(rig.test(**settings).run(rig.SECONDS))
        noisy = rig.findings(rig.test(noise=1e-3, **settings).run(500))
        numbers[f"{label}: error"] = clean["normalised_rms_error"]
        numbers[f"{label}: error after one period"] = clean["normalised_rms_error_after_one_period"]
        numbers[f"{label}: largest K_2, noise"] = noisy["largest_K[1]"]
    return numbers


def main(out: Path) -> dict[str, Numbers]:
    """Print all numbers, draw all figures; return the numbers."""
    out.mkdir(parents=True, exist_ok=True)
    found = {
        "Equations 4 to 17": equations(),
        "The law": law(),
        "Passivity": passivity(out),
        "Three masses, figure 5": bursts(out),
        "Three masses with the spring of the text": hardening(),
        "Sampled at 1 kHz": discrete(),
        "Two-mass rig, figures 7 to 9": two_mass_rig(out),
        "Wind-up protection on the rig": protection(),
    }
    for title, numbers in found.items():
        print(f"\n{title}")
        for name, value in numbers.items():
            print(f"  {name:58} {value if isinstance(value, bool) else f'{value:.5g}'}")
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
