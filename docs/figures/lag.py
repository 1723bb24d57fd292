"""A late spring, and what it does to a test: the figure of docs/lag-is-negative-damping.md.

Run: python docs/figures/lag.py [FILE]
"""

# ruff: noqa: INP001 - a script, no part of a package

import sys

import numpy as np

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, R, Se

MASS, DAMPING, SPRING, SPECIMEN, RATE = 10.0, 20.0, 8e3, 4e3, 5000.0


def test(lag: float) -> bl.HybridTest:
    """Return the page's test with a short push, the actuator late by `lag` [s]."""
    whole = Model("oscillator")
    whole.push, whole.v, whole.held = Se("push"), One(), One()
    whole.push >> whole.v >> [I(mass=MASS), C(stiffness=SPRING), R(damping=DAMPING)]
    whole.v >> whole.held
    whole.held >> C(stiffness=SPECIMEN)
    numerical, physical = whole.cut("v >> held")
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, bl.transfer.first_order(gain=1, time_constant=lag).actuator()),
        controller=bl.control.Direct(),
        excitation={"push": bl.signals.Pulse(40.0, start=0.1, width=0.05)},
        rate=RATE,
        limits=bl.safety.Limits(displacement="50 mm"),
    )


def growth(lag: float) -> float:
    """Return the growth of the motion [1/s] by hand, with the frequency that it has without lag."""
    omega = np.sqrt((SPRING + SPECIMEN) / MASS)
    return float(-(DAMPING - SPECIMEN * (lag / (1 + (omega * lag) ** 2) + 1 / RATE)) / (2 * MASS))


def figure(path: str) -> None:
    """Draw the three panels."""
    from bondloop.results.figures.layout import COLOURS, GREY, INK, dress, finish, note, page

    sheet = page(2.7, width=9.0)
    left, middle, right = sheet.subplots(1, 3)
    phase = np.linspace(0, 2 * np.pi, 400)
    delay = np.sqrt((SPRING + SPECIMEN) / MASS) * 8e-3
    x = 2e-3 * np.sin(phase)
    late = SPECIMEN * 2e-3 * np.sin(phase - delay)
    left.fill(1e3 * x, late, color=COLOURS[1], alpha=0.18, linewidth=0)
    left.plot(1e3 * x, SPECIMEN * x, color=INK, linewidth=1.2)
    left.plot(1e3 * x, late, color=COLOURS[1], linewidth=1.6)
    for at in (20, 220):
        ends = {"xytext": (1e3 * x[at], late[at]), "xy": (1e3 * x[at + 6], late[at + 6])}
        left.annotate("", arrowprops={"arrowstyle": "-|>", "color": COLOURS[1]}, **ends)
    note(left, "spring (black), 8 ms late (orange)")
    lags = np.linspace(0, 10e-3, 60)
    middle.axhspan(0, 1, color=COLOURS[1], alpha=0.12, linewidth=0)
    middle.plot(1e3 * lags, [growth(lag) for lag in lags], color=INK, linewidth=1.2)
    dots = np.arange(1e-3, 10e-3, 1e-3)
    middle.plot(
        1e3 * dots, [test(lag).check(3).step.growth for lag in dots], "o", color=COLOURS[0], markersize=4
    )
    middle.set_ylim(-1, 1)
    note(middle, "grows above zero; dots: the check")
    for lag, colour in ((8e-3, COLOURS[1]), (2e-3, COLOURS[0])):
        run = test(lag).run(4)
        right.plot(run.time, 1e3 * run["desired.displacement"], color=colour, linewidth=0.9)
    right.axhline(0, color=GREY, linewidth=0.5)
    note(right, "8 ms late (orange), 2 ms late (blue)")
    dress(left, "displacement [mm]", "force [N]")
    dress(middle, "lag [ms]", "growth of the motion [1/s]")
    dress(right, "time [s]", "displacement [mm]")
    finish(sheet, path)


if __name__ == "__main__":
    figure(sys.argv[1] if len(sys.argv) > 1 else "docs/figures/lag.png")
