"""A satellite on its launcher, and how far its vibration test may be notched.

The launcher's manual asks for 1 g of sine vibration at the satellite's foot. But at its own resonance the
satellite holds its foot back: on the launcher it will never see 1 g there. How deep may the test be
notched? The satellite stands on a shaker, the launcher with its thrust oscillation is in the computer,
coupled by the measured force.
What comes out: the acceleration at the foot and in the body that the thrust oscillation of 50 Hz really
causes.

Run it: python examples/stories/satellite_launcher.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, Port, R, Se, Zero

BODY_SPEED = "rig.specimen.satellite.body.v.flow"
GRAVITY, FREQUENCY, THRUST, SECONDS = 9.81, 50.0, 40e3, 6.0
STAGES = ((18e3, 0.0, 0.0), (5e3, 500e6, 250e3), (600.0, 300e6, 60e3))
"""First stage, upper stage, adapter: mass in kg; stiffness in N/m and damping in N s/m of the joint below."""
TETHER = (250e3, 100e3)
"""Stiffness and damping that keep the launcher, here without its flight, from drifting: 0.5 Hz, far below."""
BODY, TANK = (1600.0, 150e6, 14e3), (400.0, 20e6, 3e3)
"""Of the satellite, likewise: 46 Hz on its foot, the tank 36 Hz in the body."""


class Part(Model):
    """A mass on a joint of a spring and a dashpot, with a port for what stands on it."""

    def __init__(self, m: float, k: float, c: float) -> None:
        self.below, self.above = Port(), Port()
        self.force, self.stretch, self.v = Zero(), One(), One()
        self.mass, self.spring, self.damper = I(mass=m), C(stiffness=k), R(damping=c)
        self.below >> self.force >> self.v >> [self.mass, self.above]
        self.force >> self.stretch >> [self.spring, self.damper]


class Satellite(Model):
    """Body on its foot, tank in the body; nothing stands on the tank."""

    def __init__(self) -> None:
        self.foot, self.body = Port(), Part(*BODY)
        self.joint, self.stretch, self.sloshing = Zero(), One(), One()
        self.foot >> self.body.below
        self.body.above >> self.joint >> self.sloshing >> I(mass=TANK[0])
        self.joint >> self.stretch >> [C(stiffness=TANK[1]), R(damping=TANK[2])]


def test() -> bl.HybridTest:
    """Cut between adapter and satellite; the shaker's armature is a position servo of 150 Hz."""
    whole = Model("launcher")
    whole.motor, whole.stage = Se("thrust"), One()
    whole.upper, whole.adapter, whole.satellite = Part(*STAGES[1]), Part(*STAGES[2]), Satellite()
    whole.tether, whole.brake = C(stiffness=TETHER[0]), R(damping=TETHER[1])
    whole.motor >> whole.stage >> [I(mass=STAGES[0][0]), whole.tether, whole.brake, whole.upper.below]
    whole.upper.above >> whole.adapter.below
    whole.adapter.above >> whole.satellite.foot
    numerical, physical = whole.cut("adapter.above >> satellite.foot")
    shaker = bl.transfer.MassSpringDamper(m="400 kg", c="500 kN s/m", k="350 MN/m", drive="position")
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, shaker),
        controller=bl.control.VirtualJunction(shaker),
        excitation={"thrust": bl.signals.Sine(THRUST, FREQUENCY)},
        rate=8000,
        reference=(whole, ["satellite.body.v.flow"]),
        record=[BODY_SPEED],
        limits=bl.safety.Limits(displacement="20 mm", force="200 kN"),
        name="satellite_launcher",
    )


def acceleration(run: bl.Run, velocity: str) -> float:
    """Return the amplitude of the steady acceleration at the thrust's frequency, in g."""
    late = run.time >= run.time[-1] - 2.0
    phase = np.exp(-2j * np.pi * FREQUENCY * run.time[late])
    return float(2 * abs(np.mean(run[velocity][late] * phase)) * 2 * np.pi * FREQUENCY / GRAVITY)


def main(folder: Path | None = None) -> dict[str, float]:
    """Check, rehearse, answer."""
    hybrid = test()
    check = hybrid.check(SECONDS)
    print(check.verdict)
    run = hybrid.run(SECONDS)
    print(run.verdict)
    foot, body = (acceleration(run, name) for name in ("actual.velocity", BODY_SPEED))
    print(f"At {FREQUENCY:g} Hz: {foot:.4f} g at the foot instead of 1 g, {body:.4f} g in the body;", end=" ")
    print(f"the test may be notched to {100 * foot:.0f} %.")
    if folder:
        late = run.time >= SECONDS - 0.1
        axes = (figure := Figure(figsize=(7, 4.2), layout="constrained")).subplots()
        for name, channel, colour in (
            ("foot", "actual.velocity", "#0072B2"),
            ("body", BODY_SPEED, "#D55E00"),
        ):
            g = np.gradient(run[channel], run.time) / GRAVITY
            axes.plot(run.time[late], g[late], color=colour, label=name)
        axes.set(xlabel="time (s)", ylabel="acceleration (g)")
        axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
        figure.savefig(folder / "satellite_launcher.png", dpi=110)
    return {"foot": foot, "body": body, "passed": float(check.passed)}


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    target.mkdir(parents=True, exist_ok=True)
    main(target)
