"""Every number and figure of docs/papers/wagg-2001.md: Wagg and Stoten 2001, on both of its examples.

Run: python examples/papers/wagg.py out
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.control import MCS
from bondloop.engine.ir.quantity import Role
from bondloop.papers import wagg_theory
from bondloop.papers import wagg_three_mass as chain
from bondloop.papers import wagg_two_mass_rig as rig
from bondloop.papers.gawthrop_three_mass import CUT
from bondloop.substructure import interfaces, numerical_half

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


def by_frequency(poles: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return poles in the order of their frequencies."""
    return poles[np.argsort(poles.imag)]


def equations() -> Numbers:
    """Equations (4) to (17) against the test as it runs, with C_e = [0.05, 1]."""
    alpha, beta, weights = SETTINGS[f"{QUIET}, $\\alpha$ = $10^4$"]
    test = chain.test(alpha, beta, error_filter=weights).replaced(record=[wagg_theory.FIRST_MASS])
    run = test.run(chain.SECONDS)
    # Their real parts are equal but for rounding, which must not order them.
    poles = by_frequency(numerical_half(chain.model().cut(CUT)[0]).system.poles())
    theirs = by_frequency(np.linalg.eigvals(wagg_theory.numerical_model()))
    middle, _ = chain.model().cut("m1.right >> m2.left", CUT)
    return {
        "(16), (17): slowest pole's frequency, rad/s": float(np.abs(poles.imag).min()),
        "(16), (17): fastest pole's frequency, rad/s": float(np.abs(poles.imag).max()),
        "(16), (17): largest difference of a pole": float(np.abs(poles - theirs).max()),
        "(13), (14): B_c": wagg_theory.transfer_system()[1],
        "(10): largest residual over the largest term": wagg_theory.residual_of_error_dynamics(run),
        "(10): largest disturbance d, m/s^2": float(np.abs(wagg_theory.disturbance(run)).max()),
        "(12): least value of the integral": float(wagg_theory.work_of_adaptation(run).min()),
        "(12): -gamma^2 for alpha = 10^4": wagg_theory.bound_of_adaptation(alpha),
        "(12): -gamma^2 for alpha = 100": wagg_theory.bound_of_adaptation(100.0),
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
    own, fictitious = wagg_theory.reference(), wagg_theory.fictitious(0.01)
    track = wagg_theory.reference(rig.model())
    wagg_theory.draw_passivity(
        {
            "chain, [400, 1]": ([400, 1], own),
            "chain, [0.05, 1]": ([0.05, 1], own),
            "poles at $-$400, [400, 1]": ([400, 1], fictitious),
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
        "C_e = [400, 1], poles at -400: strictly positive real": wagg_theory.realness(
            [400, 1], fictitious
        ).strict,
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
    bursting = wagg_theory.work_of_adaptation(first[0])
    numbers["(12) with bursts: least value of the integral"] = float(bursting.min())
    numbers["W of the chain: largest"] = float(level.max())
    numbers["W of the chain: least"] = float(level.min())
    start, end = 1.7, 2.3
    numbers["growth of the error from 1.7 to 2.3 s: seen"] = _ringing(first[0], end) / _ringing(
        first[0], start
    )
    grown = wagg_theory.foretold(first[0], start, *first[1:])
    numbers["growth of the error from 1.7 to 2.3 s: foretold"] = float(np.interp(end, first[0].time, grown))
    chain.figure_5(first[0], out / "wagg_figure_5.png")
    wagg_theory.draw_bursts(cases, out / "wagg_bursts.png")
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
    rig.figures_7_to_9(run, out / "wagg_two_mass_rig.png")
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
