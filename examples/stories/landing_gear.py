"""A landing-gear strut, and the load that the airframe feels at touchdown.

A light aircraft comes down at 2.4 m/s, the wing still carrying its weight. Its oleo strut, oil through an
orifice over a gas spring, is the part nobody trusts a model of: it stands on an actuator. Airframe, wheel
and tyre are in the computer. The strut starts at rest, both ends falling alike, so the test starts without
a jerk.
What comes out: the load factor of the airframe, the stroke that was used, and the strut's efficiency.

Run it: python examples/stories/landing_gear.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, R, Zero
from bondloop.devices import Imposed, OdeSpecimen
from bondloop.extend import Parameter
from bondloop.math import minimum

AIRFRAME, WHEEL, SINK, SECONDS = 900.0, 60.0, 2.4, 0.35
"""Mass on this leg and of the wheel in kg, speed of descent in m/s, and how long is looked at, s."""
TYRE, TYRE_DAMPING = 180e3, 600.0


class Oleo(OdeSpecimen):
    """An oleo strut: until its gas is overcome it is held by its stop, then oil and gas work."""

    preload: Parameter = Parameter(3000.0, above=0, unit="N")
    stop: Parameter = Parameter(5e5, above=0, unit="N/m")
    gas_length: Parameter = Parameter(0.32, above=0, unit="m")
    exponent: Parameter = Parameter(1.3, least=1, most=1.7)
    orifice: Parameter = Parameter(3500.0, least=0, unit="N s^2/m^2")

    def force(self, motion: Imposed) -> Any:
        """Return the force that compresses it: a polytropic gas and a quadratic orifice."""
        left = 1 - minimum(motion.displacement, 0.95 * self.gas_length) / self.gas_length
        gas = minimum(self.stop * motion.displacement, self.preload * left**-self.exponent)
        return gas + self.orifice * motion.velocity * abs(motion.velocity)


def test() -> bl.HybridTest:
    """Cut between the leg's two ends and the strut, whose stroke is the difference of their motions."""
    aircraft = Model("aircraft")
    aircraft.down, aircraft.leg, aircraft.axle = One(), Zero(), One()
    aircraft.airframe, aircraft.wheel = (
        I(mass=AIRFRAME, initial=AIRFRAME * SINK),
        I(mass=WHEEL, initial=WHEEL * SINK),
    )
    aircraft.tyre, aircraft.rubber = C(stiffness=TYRE), R(damping=TYRE_DAMPING)
    aircraft.strut = Oleo().element()
    aircraft.down >> [aircraft.airframe, aircraft.leg]
    aircraft.leg >> aircraft.axle
    aircraft.axle >> [aircraft.wheel, aircraft.tyre, aircraft.rubber]
    aircraft.leg >> aircraft.strut
    numerical, physical = aircraft.cut("leg >> strut")
    actuator = bl.transfer.MassSpringDamper(m="60 kg", c="60 kN s/m", k="12 MN/m", drive="position")
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, actuator),
        controller=bl.control.VirtualJunction(actuator),
        excitation={},
        rate=4000,
        reference=(aircraft, ["down.flow"]),
        record=["numerical.down.flow", "numerical.tyre.effort"],
        limits=bl.safety.Limits(displacement="300 mm", force="40 kN"),
        name="landing_gear",
    )


def main(folder: Path | None = None) -> dict[str, float]:
    """Check, rehearse, answer."""
    hybrid = test()
    check = hybrid.check(SECONDS)
    print(check.verdict)
    run = hybrid.run(SECONDS)
    print(run.verdict)
    force, stroke = run["force"], run["actual.displacement"]
    load, used = float(force.max() / (AIRFRAME * 9.81)), float(stroke.max())
    at = int(stroke.argmax())
    efficiency = float(np.trapezoid(force[: at + 1], stroke[: at + 1]) / (force.max() * used))
    print(f"The strut gives {load:.3f} times the weight at most, over {1e3 * used:.0f} mm;", end=" ")
    print(f"its efficiency is {100 * efficiency:.0f} %.")
    if folder:
        run.plot.hysteresis(path=folder / "landing_gear.png")
    return {"load": load, "stroke": used, "efficiency": efficiency, "passed": float(check.passed)}


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    target.mkdir(parents=True, exist_ok=True)
    main(target)
