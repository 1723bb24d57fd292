"""A nonlinear actuator with a virtual junction: the old shaker can do it.

A small laboratory wants to test an exhaust hanger under an idling engine. Its only shaker has a flexure
that hardens, threefold at 8 mm, and turbulent oil around its armature; textbook compensators want a linear
actuator. The virtual junction needs only the shaker's bond graph, nonlinear as it is, and turns it round.
What comes out: the engine's amplitude with a junction made of the whole law, and with one made of its
linear part.

Run it: python examples/stories/nonlinear_actuator.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, Port, R, Se
from bondloop.devices import KelvinVoigt
from bondloop.rigs import cubic_spring

ENGINE, MOUNTS, HANGER = 60.0, (180e3, 700.0), (30e3, 120.0)
"""Mass in kg; stiffness in N/m and damping in N s/m of the engine's mounts and of the exhaust hanger."""
FORCE, FREQUENCY, SECONDS = 500.0, 8.0, 6.0


class Shaker(Model):
    """An armature on a hardening flexure, in oil whose drag grows with the square of the velocity."""

    def __init__(self, cubic: float, drag: float) -> None:
        self.command, self.v, self.out = Se("u"), One(), Port()
        self.armature, self.flexure = I(mass="4 kg"), cubic_spring("60 kN/m", cubic)
        self.oil = R(lambda v, linear, drag: linear * v + drag * v * abs(v), linear=800.0, drag=drag)
        self.command >> self.v >> [self.armature, self.flexure, self.oil, self.out]


def test(model: Model) -> bl.HybridTest:
    """Cut between engine and hanger; `model` is what the junction believes of the shaker."""
    car = Model("car")
    car.idling, car.engine, car.hanger = Se("idling"), One(), KelvinVoigt(*HANGER).element()
    car.idling >> car.engine >> [I(mass=ENGINE), C(stiffness=MOUNTS[0]), R(damping=MOUNTS[1]), car.hanger]
    numerical, physical = car.cut("engine >> hanger")
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, Shaker(cubic=1.9e9, drag=3000.0)),
        controller=bl.control.VirtualJunction(model),
        excitation={"idling": bl.signals.Sine(FORCE, FREQUENCY)},
        rate=4000,
        reference=(car, ["engine.flow"]),
        limits=bl.safety.Limits(displacement="20 mm", force="2 kN"),
        name="nonlinear_actuator",
    )


def amplitude(run: bl.Run) -> float:
    """Return the amplitude of the hanger's motion in the last second, m."""
    late = run.time >= run.time[-1] - 1
    return float(
        2 * abs(np.mean(run["actual.displacement"][late] * np.exp(-2j * np.pi * FREQUENCY * run.time[late])))
    )


def main(folder: Path | None = None) -> dict[str, float]:
    """Check, rehearse, answer."""
    whole, linear = test(Shaker(cubic=1.9e9, drag=3000.0)), test(Shaker(cubic=0.0, drag=0.0))
    check = whole.check(SECONDS)
    print(check.verdict)
    runs = [one.run(SECONDS) for one in (whole, linear)]
    print(runs[0].verdict)
    good, poor = (amplitude(run) for run in runs)
    print(f"The engine moves the hanger by {1e3 * good:.3f} mm;", end=" ")
    print(f"with a junction of the linear part it would be {1e3 * poor:.3f} mm.")
    if folder:
        late = runs[0].time >= SECONDS - 0.4
        axes = (figure := Figure(figsize=(7, 4.2), layout="constrained")).subplots()
        for name, run, colour in (("whole law", runs[0], "#0072B2"), ("linear part", runs[1], "#D55E00")):
            axes.plot(run.time[late], 1e3 * run["actual.displacement"][late], color=colour, label=name)
        axes.set(xlabel="time (s)", ylabel="motion of the hanger (mm)")
        axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
        figure.savefig(folder / "nonlinear_actuator.png", dpi=110)
    return {"amplitude": good, "linear": poor, "passed": float(check.passed)}


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    target.mkdir(parents=True, exist_ok=True)
    main(target)
