"""Equations and side remarks of du Bois, Titurus and Lieven 2010, each held against a way of its own.

Run: python examples/papers/dubois_equations.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dubois_programme
import numpy as np
from dubois_programme import FRAMED, LAGGING, RANGE, TONES, lagging, surface, tracked
from scipy.integrate import solve_ivp
from scipy.optimize import brentq, fsolve

from bondloop.papers import dubois_damper
from bondloop.papers.dubois_damper import AMPLITUDES, identified, linearised

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.bondgraph import Model
    from bondloop.control import PolynomialPrediction
    from bondloop.rehearsal import Run

__all__ = ["numbers"]

HERTZ = np.array([0.5, 2.0, 4.0, 6.3, 9.0, 20.0, 40.0])
"""Where transfer functions are compared."""


def numbers() -> dict[str, float]:
    """Return what stands on the page and in no figure, by what it is."""
    return {**_rig(), **_controllers(), **_structure(), **_metrics(), **_instability()}


def _rig() -> dict[str, float]:
    """Sections 1 to 3.1: the actuator, its more complete model, the frame's mode."""
    known = identified()
    f = np.tile(known.surface.frequency, len(AMPLITUDES))
    weight = np.repeat(known.surface.amplitude / known.surface.amplitude.max(), len(known.surface.frequency))
    from bondloop.identify.process.frequency_fit import fit_frequency

    fifth = fit_frequency(f, known.surface.response.ravel(), "5+delay", weight=weight)
    framed = surface("standard", FRAMED.frame)[0]
    peak = int(np.argmax(np.abs(framed.response[-1])))
    known_f = known.surface.frequency
    low = np.abs(known.fits["G1"].process.response(known_f[known_f <= 2]) / known.surface.response[:, :2])
    return {
        "stall force of the actuator [kN]": 1e-3
        * dubois_damper.STANDARD.rig(_mounted(dubois_damper.PLAY)).actuators.stall_force,
        "fifth order with delay, fit [%]": fifth.fit,
        "G1, gain off at 1 and 2 Hz, at most [dB]": float(np.abs(20 * np.log10(low)).max()),
        "share of the range that the fits cover": max(AMPLITUDES) / RANGE,
        "frame: the mode shows at [Hz]": float(framed.frequency[peak]),
        "frame: gain there at 0.1 mm": float(np.abs(framed.response[0, peak])),
    }


def _mounted(play: float) -> Model:
    from bondloop.rigs import mounted

    return mounted(dubois_damper.specimen("standard", play))


def _controllers() -> dict[str, float]:
    """Sections 1, 3.2 and 4.5: delay alone, derivatives of the polynomial, the number of points."""
    from bondloop.control import InverseModel, PolynomialPrediction

    process = identified().fits["G1D"].process
    ahead = PolynomialPrediction(process.delay, span=0.01, points=10)
    slow = PolynomialPrediction(process.delay, span=0.1, points=20)
    f = np.arange(1.0, 40.5, 0.5)
    ways = {
        way: InverseModel(process, ahead, derivatives=way).response(f, 1e-3) * process.response(f)
        for way in ("difference", "polynomial")
    }
    # The rig lags by more than the delay that is part of G1D: by its time constant too.
    whole = process.delay + process.denominator[0] / process.denominator[1]
    only = tracked(PolynomialPrediction(whole, span=0.01, points=10))
    more = PolynomialPrediction(process.delay, span=0.01, points=20)
    return {
        "prediction of the whole lag alone, error 2 to 10 Hz [%]": 100 * only.harmonic_error(2, 10),
        "prediction of the whole lag alone, error from 2 to 40 Hz [%]": 100 * only.harmonic_error(2, 40),
        **{
            f"G1D short, derivatives by {way}, off the perfect inverse to 40 Hz [%]": 100
            * float(np.abs(loop - 1).max())
            for way, loop in ways.items()
        },
        "10 points over 0.01 s, good to [Hz]": _good(ahead, 1e-3),
        "20 points over 0.01 s at 2 kHz, good to [Hz]": _good(more, 0.5e-3),
        "20 points over 0.1 s, good to [Hz]": _good(slow, 1e-3),
        "10 points over 0.1 s, good to [Hz]": _good(
            PolynomialPrediction(process.delay, span=0.1, points=10), 1e-3
        ),
    }


def _good(ahead: PolynomialPrediction, period: float) -> float:
    f = np.arange(0.1, 100.0, 0.1)
    H = ahead.response(f, period)
    bad = np.abs(np.abs(H) - 1) > dubois_programme.GOOD_GAIN
    bad |= np.abs(np.degrees(np.angle(H))) > dubois_programme.GOOD_PHASE
    return float(f[np.argmax(bad)])


def _structure() -> dict[str, float]:
    """Equations (10) to (24): modes bonded to the damper, the closed form, the simulation diagram."""
    s, data = 2j * np.pi * HERTZ, dubois_damper.specimen("standard", 0.0).data
    outputs = ["structure.mass1.ux.flow", "structure.mass2.ux.flow"]
    complete = dubois_damper.model(play=0.0).compile(outputs).linearise()
    k, b = dubois_damper.STRUCTURE.stiffness1, dubois_damper.STRUCTURE.beta
    graph = complete.frequency_response(2 * np.pi * HERTZ)[:, :, 0].T * k * (1 + b * s) / s
    closed = dubois_damper.STRUCTURE.transfer(HERTZ, data.small_damping, data.stiffness)[::-1]
    x2, x1 = dubois_damper.STRUCTURE.transfer(HERTZ, 4e5, 2.5e7)
    one, two = k * (1 + b * s), dubois_damper.STRUCTURE.stiffness2 * (1 + b * s)
    force = 4e5 * 2.5e7 * s / (4e5 * s + 2.5e7) * x2
    left = [
        dubois_damper.STRUCTURE.mass1 * s**2 * x1 + one * (x1 - 1) + two * (x1 - x2),
        dubois_damper.STRUCTURE.mass2 * s**2 * x2 + two * (x2 - x1) + force,
    ]
    return {
        "bond graph of modes and damper against (24)": float(np.abs(graph / closed - 1).max()),
        "(24) in (18) and (19), residual [N/m]": float(np.abs(left).max()),
        "bond graph of the damper against (17) [% of the largest force]": 100 * _diagram(),
    }


def _diagram() -> float:
    """Return how far the damper's bond graph is from Figure 9 integrated by SciPy, over the largest force."""
    data, omega, amplitude = dubois_damper.specimen("standard", 0.0).data, 2 * np.pi * 3.5, 1e-3

    def flow(pressure: float, laminar: float, turbulent: float) -> float:
        root = np.sqrt(laminar**2 + 4 * turbulent * abs(pressure))
        return float(np.sign(pressure) / (2 * turbulent) * (root - laminar))

    def pressure(t: float, passed: float) -> float:
        return float(
            4 * data.bulk_modulus / data.volume * (data.area * amplitude * np.sin(omega * t) - passed)
        )

    def rates(t: float, state: NDArray[np.float64]) -> list[float]:
        drop = pressure(t, state[0])
        opening = np.tanh(max(abs(state[1]) - data.threshold, 0.0) / data.opening_width)
        out = flow(drop, data.laminar, data.turbulent)
        out += opening * flow(drop, data.poppet_laminar, data.poppet_turbulent)
        return [out, (drop - state[1]) / data.opening_time]

    times = np.linspace(0, 0.3, 301)
    exact = solve_ivp(rates, (0, 0.3), [0, 0], t_eval=times, rtol=1e-9, atol=[1e-12, 1e-2], max_step=1e-4)
    force = data.area * np.array([pressure(t, x) for t, x in zip(times, exact.y[0], strict=True)])
    half = _mounted(0.0).compile(outputs=["interface.effort"])
    moved = half.simulate(
        0.3, {"interface.flow": lambda t: amplitude * omega * np.cos(omega * t)}, times=times, max_step=1e-4
    )
    return float(np.abs(moved["interface.effort"] - force).max() / np.abs(force).max())


def _metrics() -> dict[str, float]:
    """Section 4.5: what noise makes of a correlation, and where errors meet the noise."""
    made, found = dubois_programme.cases(), {}
    for word, row, tone in (("large motion at 2 Hz", 1, 2), ("small motion at 40 Hz", 0, 40)):
        signal = made["G2"].demand[row, TONES.index(tone)]
        # The transducer's noise is independent of the motion: it alone lowers the correlation to this.
        found[f"{word}: correlation lost by noise alone [%]"] = 100 * float(
            1 - 1 / np.hypot(1, made["G2"].noise / signal)
        )
    for case in ("G2", "G1D short"):
        for row, size in enumerate(("small", "large")):
            error = made[case].error[row, -1] / made[case].noise
            found[f"{case}, {size} motion, rms error at 40 Hz over noise"] = float(error)
    return found


def _instability() -> dict[str, float]:
    """Sections 4 and 4.4: lag as negative damping, power to and fro, and how fast the switch opens."""
    damping, stiffness = linearised()
    pole = max(dubois_damper.STRUCTURE.poles(damping, stiffness), key=lambda p: p.imag)
    border = brentq(lambda lag: _late(pole, lag, damping, stiffness).real, 0.0, 0.05)
    run = lagging()
    assert run.trip is not None
    when = run.trip[0]
    gamma = run["switch.force"]
    open_at = run.time[(run.time >= when) & (gamma <= 0)][0]
    # A period of the excitation before the switch closes, and the last one before the trip.
    before, last = (_discrepancy(run, end, 1 / LAGGING[0]) for end in (dubois_damper.FORCE_CLOSED, when))
    good = _discrepancy(dubois_damper.test().run(dubois_damper.SECONDS), dubois_damper.SECONDS, 10 / 8.6)
    return {
        "second mode, damping ratio without lag": float(-pole.real / abs(pole)),
        "second mode, damping ratio with 10 ms of lag": _ratio(_late(pole, 0.010, damping, stiffness)),
        "lag that takes all damping from the second mode [ms]": 1e3 * border,
        "lagging: mean magnitude of the power discrepancy, force switch open [W]": before[0],
        "lagging: the same in the last period before the trip [W]": last[0],
        "lagging: share of it that goes one way [%]": 100 * last[1],
        "good controller at 8.6 Hz: share of the power discrepancy that goes one way [%]": 100 * good[1],
        "the force switch is open after the trip in [s]": float(open_at - when),
    }


def _discrepancy(run: Run, end: float, span: float) -> tuple[float, float]:
    """Return the mean magnitude of the power discrepancy in W up to a time, and the net share of it."""
    part = (run.time > end - span) & (run.time <= end)
    power = (run["measured.force"] * (run["actual.velocity"] - run["desired.velocity"]))[part]
    size = float(np.abs(power).mean())
    return size, abs(float(power.mean())) / size


def _late(pole: complex, lag: float, damping: float, stiffness: float) -> complex:
    """Return where a pole of the hybrid system goes when the damper is moved late by a lag."""
    s = dubois_damper.STRUCTURE

    def balance(parts: NDArray[np.float64], late: float) -> list[float]:
        p = complex(*parts) * abs(pole)
        one, two = s.stiffness1 * (1 + s.beta * p), s.stiffness2 * (1 + s.beta * p)
        force = damping * stiffness * p / (damping * p + stiffness) * np.exp(-p * late)
        left = (s.mass1 * p**2 + one + two) * (s.mass2 * p**2 + two + force) - two**2
        left /= s.stiffness1 * s.stiffness2
        return [left.real, left.imag]

    at = np.array([pole.real, pole.imag]) / abs(pole)
    for late in np.linspace(0.0, lag, 21):  # followed step by step, so that it stays the same mode
        at = fsolve(balance, at, args=(late,), xtol=1e-12)
    return complex(*at) * abs(pole)


def _ratio(pole: complex) -> float:
    return float(-pole.real / abs(pole))


if __name__ == "__main__":
    for label, value in numbers().items():
        print(f"{label:90s} {value:.4g}")
