"""A limit cycle, and the distances of twins: the figure of docs/check.md.

Run: python docs/figures/ensemble.py [FILE]
"""

# ruff: noqa: INP001 - a script, no part of a package

import sys

import numpy as np

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, R, Se
from bondloop.check import CheckPolicy

MASS, DAMPING, SPRING, RATE, SECONDS, AFTER = 10.0, 20.0, 8e3, 1000.0, 8.0, 8.0


def yielding() -> C:
    """Return a spring of 4 kN/m whose force does not exceed 30 N."""
    return C(law=lambda d, k, most: most * bl.math.tanh(k * d / most), k=4e3, most=30.0)


def hardening() -> C:
    """Return a spring of 3 kN/m that hardens."""
    return C(law=lambda d, k, h: k * d + h * d**3, k=3e3, h=1e6)


def test(specimen: C, lag: float) -> bl.HybridTest:
    """Return a test of an oscillator with a specimen on an actuator that is late by `lag` [s]."""
    whole = Model("oscillator")
    whole.push, whole.v, whole.held = Se("push"), One(), One()
    whole.push >> whole.v >> [I(mass=MASS), C(stiffness=SPRING), R(damping=DAMPING)]
    whole.v >> whole.held
    whole.held >> specimen
    numerical, physical = whole.cut("v >> held")
    times = np.arange(0.0, SECONDS + 0.001, 0.002)
    push = 60.0 * np.sin(2 * np.pi * 4.0 * times) * np.sin(np.pi * times / SECONDS)
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(
            physical,
            bl.transfer.first_order(gain=1, time_constant=lag).actuator(),
            sensors={"force": bl.rigs.Sensor((bl.rigs.WhiteNoise("0.5 N"),))},
        ),
        controller=bl.control.Direct(),
        excitation={"push": bl.signals.Table(times, push)},
        rate=RATE,
        limits=bl.safety.Limits(displacement="60 mm"),
    )


def figure(path: str) -> None:
    """Draw both panels."""
    from bondloop.results.figures.layout import COLOURS, GREY, INK, STYLE, dress, finish, note, page

    late = test(yielding(), 10e-3)
    held = late.held(SECONDS)
    run, exact = held.run(SECONDS + AFTER), held.check(SECONDS + AFTER).reference
    sheet = page(3.0, width=9.0)
    left, right = sheet.subplots(1, 2)
    left.axvspan(SECONDS, SECONDS + AFTER, color=COLOURS[1], alpha=0.1, linewidth=0)
    left.plot(run.time, 1e3 * run["actual.displacement"], color=COLOURS[1], linewidth=0.6)
    left.plot(exact.time, 1e3 * exact.channels["actual.displacement"], color=INK, linewidth=0.6)
    note(left, "exact reference (black), test 10 ms late (orange)")

    tests = (
        (late, GREY),
        (test(hardening(), 9e-3), COLOURS[1]),
        (test(yielding(), 2e-3), COLOURS[0]),
    )
    for each, colour in tests:
        for twin in each.check(SECONDS).ensemble.twins[:4]:
            right.plot(twin.times[1:], twin.distances[1:], color=colour, linewidth=1.0)
    right.axhline(CheckPolicy().growth, color=INK, linewidth=0.8, linestyle="--")
    right.text(0.1, 1.15 * CheckPolicy().growth, "growth, of the policy", fontsize=STYLE.small, color=INK)
    right.set_yscale("log")
    right.set_ylim(1e-5, 1)
    note(right, "stands (blue), grows (orange), the test on the left (grey)")
    dress(left, "time [s]", "displacement [mm]")
    dress(right, "time [s]", "distance of twins, d [-]")
    finish(sheet, path)


if __name__ == "__main__":
    figure(sys.argv[1] if len(sys.argv) > 1 else "docs/figures/ensemble.png")
