"""A lagging controller trips: the figure of docs/safety.md.

Run: python docs/figures/safety_trip.py [FILE]
"""

# ruff: noqa: INP001 - a script, no part of a package

import sys

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, R, Se
from bondloop.hybrid import HybridTest
from bondloop.hybrid.coupling import Switches
from bondloop.rehearsal import Run

SECONDS = 8.0


def oscillator() -> tuple[Model, Model]:
    """Return a mass on a spring, in the computer, and a spring with a damper that holds it, on the rig."""
    whole = Model("oscillator")
    whole.wind, whole.v, whole.held = Se("force"), One(), One()
    whole.wind >> whole.v >> [I(mass=10), C(stiffness=8e3), R(damping=10)]
    whole.v >> whole.held
    whole.held >> [C(stiffness=4e3), R(damping=5)]
    numerical, physical = whole.cut("v >> held")
    return numerical, physical


def test() -> HybridTest:
    """Return the test: displacement switch closed from 0.5 s on, force switch from 2 s on."""
    numerical, physical = oscillator()
    actuator = bl.transfer.MassSpringDamper(m=5, c=300, k=40e3, drive="position")  # lags by c/k = 7.5 ms
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, actuator),
        controller=bl.control.Direct(),
        excitation={"force": bl.signals.Sine("20 N", "4 Hz")},
        rate=1000,
        switches=Switches(
            displacement=bl.safety.RampedSwitch(bl.signals.Step(1.0, at=0.5), ramp=1.0),
            force=bl.safety.RampedSwitch(bl.signals.Step(1.0, at=2.0), ramp=1.0),
            simulated=oscillator()[1],
        ),
        interlock=bl.safety.Interlock(bl.safety.Limits(displacement="50 mm"), bl.safety.PowerTrip("1 W")),
    )


def figure(run: Run, path: str) -> None:
    """Draw displacements, switches and the power discrepancy, one under the other."""
    from bondloop.results.figures.layout import (
        ACTUAL,
        COLOURS,
        DESIRED,
        ERROR,
        GREY,
        dress,
        finish,
        legend,
        page,
    )

    t = run.time
    sheet = page(5.2)
    top, middle, bottom = sheet.subplots(3, sharex=True)
    top.plot(t, 1e3 * run["desired.displacement"], label="numerical half", **DESIRED)
    top.plot(t, 1e3 * run["actual.displacement"], label="rig", **ACTUAL)
    middle.plot(t, run["switch.displacement"], color=COLOURS[2], linewidth=1.6, label="displacement")
    middle.plot(
        t, run["switch.force"], label="force", **ERROR | {"linestyle": (0, (4, 1.6)), "linewidth": 1.6}
    )
    bottom.plot(t, run["interlock.power"], label="power discrepancy", **ERROR)
    bottom.axhline(1.0, color=GREY, linewidth=0.8, linestyle=(0, (5, 2)), label="threshold")
    tripped = t[run["interlock.cause"] != 0][0]
    for axes, label in ((top, "displacement [mm]"), (middle, "switches"), (bottom, "power [W]")):
        axes.axvline(tripped, color=COLOURS[1], linewidth=0.9)
        dress(axes, ylabel=label)
        legend(axes)
    top.text(0.0, 1.03, f"tripped at {tripped:.3f} s", transform=top.transAxes, fontsize=8, color=COLOURS[1])
    bottom.set_xlim(0, SECONDS)
    bottom.set_xlabel("time [s]", fontsize=9)
    finish(sheet, path)


if __name__ == "__main__":
    figure(test().run(SECONDS), sys.argv[1] if len(sys.argv) > 1 else "docs/figures/safety_trip.png")
