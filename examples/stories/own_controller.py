"""A controller of one's own: a lead that learns how late the actuator is.

A doctoral student has an idea: command the specimen a little ahead, and let the loop find out how far, by
pushing the lead up while the error goes with the desired velocity. Twenty lines, no model of the actuator.
Does it find the right lead, and does the check accept it? A frame of one storey is in the computer, its
brace on the rig.
What comes out: the lead that was learned, beside the actuator's phase from its data sheet.

Run it: python examples/stories/own_controller.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, R, Se
from bondloop.control import ControlLaw, Desired, Measured
from bondloop.devices import KelvinVoigt
from bondloop.extend import Parameter

MASS, COLUMNS, DAMPING = 800.0, 300e3, 2500.0
"""Of the frame: kg, N/m, N s/m."""
BRACE, ACTUATOR, FREQUENCY, RATE, SECONDS = (90e3, 500.0), (50.0, 40e3, 3e6), 2.0, 1000.0, 60.0
"""Stiffness and damping of the brace; mass, damping, stiffness of the actuator; the shaker in Hz."""


class LearningLead(ControlLaw):
    """Commands x + a v, and learns a from the error: a' = rate · (x - x_measured) v / mean of v²."""

    learning: Parameter = Parameter(0.4, above=0, unit="1/s")
    averaging: Parameter = Parameter(1.0, above=0, unit="s")
    states: ClassVar[dict[str, float]] = {"lead": 0.0, "power": 1e-4}
    adapted = ("lead",)
    record: ClassVar[dict[str, str]] = {"lead": "s"}

    def step(self, desired: Desired, measured: Measured) -> Any:
        """Return the command of this sample."""
        v, error = desired.velocity, desired.displacement - measured.displacement
        self.power = self.power + self.period / self.averaging * (v * v - self.power)
        self.lead = self.lead + self.period * self.learning * error * v / (self.power + 1e-6)
        return desired.displacement + self.lead * v


def test(controller: Any) -> bl.HybridTest:
    """Cut between frame and brace; a shaker on the roof drives both."""
    frame = Model("frame")
    frame.shaker, frame.v, frame.brace = Se("shaker"), One(), KelvinVoigt(*BRACE).element()
    frame.shaker >> frame.v >> [I(mass=MASS), C(stiffness=COLUMNS), R(damping=DAMPING), frame.brace]
    numerical, physical = frame.cut("v >> brace")
    m, c, k = ACTUATOR
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, bl.transfer.MassSpringDamper(m, c, k, drive="position")),
        controller=controller,
        excitation={"shaker": bl.signals.Sine("2 kN", FREQUENCY)},
        rate=RATE,
        reference=(frame, ["v.flow"]),
        limits=bl.safety.Limits(displacement="40 mm", force="8 kN"),
        name="own_controller",
    )


def main(folder: Path | None = None) -> dict[str, float]:
    """Check, rehearse, answer; for comparison without any controller."""
    hybrid = test(LearningLead())
    check = hybrid.check(SECONDS)
    print(check.verdict)
    run, plain = hybrid.run(SECONDS), test(bl.control.Direct()).run(SECONDS)
    print(run.verdict)
    lead = float(np.mean(run["controller.lead"][run.time > SECONDS - 5]))
    late = run.time > SECONDS - 5
    left, before = (
        float(np.std((one["desired.displacement"] - one["actual.displacement"])[late])
              / np.std(one["desired.displacement"][late]))
        for one in (run, plain)
    )  # fmt: skip
    print(f"It learned a lead of {1e3 * lead:.2f} ms;", end=" ")
    print(f"the error fell from {100 * before:.1f} % to {100 * left:.1f} %.")
    if folder:
        groups = {
            "what it learned": {"lead": "controller.lead"},
            "motion": {"desired": "desired.displacement", "actual": "actual.displacement"},
        }
        bl.results.time_histories(run.record, groups, path=folder / "own_controller.png")
    return {"lead": lead, "before": before, "left": left, "passed": float(check.passed)}


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    target.mkdir(parents=True, exist_ok=True)
    main(target)
