"""Will my test trip? From an identified actuator's confidence to a probability, and to a better controller.

Problem: a brace is tested on a rig; the frame that it stiffens is in the computer. The actuator was found
from a short, noisy record, so its lag is known to some per cent, and a lag acts on the brace as negative
damping. With which probability does the test run into its limits, and which controller makes that unlikely?
Run: python examples/will_my_test_trip.py out
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, Port, R, Se
from bondloop.control import ControlLaw

SECONDS = 12.0


class Ahead(ControlLaw):
    """Sends the actuator where the frame will be after its lag, and corrects what is left of the error."""

    lead: float = 0.0
    gain: float = 0.0

    def step(self, desired: Any, measured: Any) -> Any:
        """Return the command: extrapolated by the lead, with a share of the error."""
        error = desired.displacement - measured.displacement
        return desired.displacement + self.lead * desired.velocity + self.gain * error


class Brace(Model):
    """A spring with some damping between the frame and the ground."""

    def __init__(self) -> None:
        self.end, self.v = Port(), One()
        self.spring, self.damper = C(stiffness="20 kN/m"), R(damping=10)
        self.end >> self.v >> [self.spring, self.damper]


def identified() -> bl.identify.ProcessFit:
    """Fit a model to half a second of a noisy record, here of a simulated actuator."""
    random = np.random.default_rng(5)
    command = 2e-3 * np.repeat(random.choice([-1.0, 1.0], 25), 20)
    true = bl.transfer.second_order(gain=1.0, frequency=9.0, damping=0.75)
    noise = 2e-4 * random.standard_normal(command.size)
    return bl.identify.fit_time(command, true.simulate(command, 1e-3) + noise, 1e-3, "G2")


def test(process: bl.transfer.Process | None = None) -> bl.HybridTest:  # noqa: PT028 - not pytest's
    """Cut the frame, put the brace on the rig; the lead is the lag of the model that was identified."""
    process = process or identified().process
    frame = Model("frame")
    frame.shaker, frame.v, frame.mass = Se("F"), One(), I(mass="100 kg")
    frame.columns, frame.damper, frame.brace = C(stiffness="15 kN/m"), R(damping=70), Brace()
    frame.shaker >> frame.v >> [frame.mass, frame.columns, frame.damper]
    frame.v >> frame.brace.end
    numerical, physical = frame.cut("v >> brace.end")
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, process.actuator()),
        controller=Ahead(lead=process.denominator[1]),
        excitation={"F": bl.signals.Sweep("10 N", 2.0, 4.0, SECONDS)},
        rate=500,
        limits=bl.safety.Limits(displacement="20 mm", force="500 N"),
        reference=(frame, ["v.flow"]),
        name="will_my_test_trip",
    )


def main(out: Path) -> dict[str, float]:
    """Identify, sample, tune, compare; print what was found and return its numbers."""
    out.mkdir(parents=True, exist_ok=True)
    studies, fit = bl.studies, identified()
    rig = {"rig.transfer": studies.from_identified(fit)}
    plain = test(fit.process)
    print(fit, studies.sample(plain, rig, 4096, ("error", "limit", "delay"), seconds=SECONDS), sep="\n\n")
    matters = studies.sensitivity(
        plain, {**rig, "numerical.damper.damping": "normal(70, 5%)"}, 512, ("limit",), seconds=4.0
    )
    ranges = {"controller.lead": (0.0, 0.06), "controller.gain": (0.0, 1.0)}
    tuned = studies.tune_over(plain, ranges, rig, samples=64, generations=8, seconds=SECONDS)
    print(matters, tuned, sep="\n\n")
    both = {"lag that was identified": tuned.before, "tuned over all rigs": tuned.after}
    studies.exceedance_curves(both, "limit", path=out / "will_my_test_trip.png")
    studies.trade_off(tuned, path=out / "will_my_test_trip_settings.png")
    worst = {
        f"{name}, worst": found.histories(one, "limit", "worst")["worst 1"]
        for (name, found), one in zip(both.items(), (plain, tuned.test), strict=True)
    }
    studies.overlay(worst, "actual.displacement", limit=0.02, path=out / "will_my_test_trip_worst.png")
    before, after = tuned.before.probability(), tuned.after.probability()
    print(f"\nVerdict: it trips with a probability of {before}; with the tuned controller, of {after}.")
    return {"before": before.value, "after_at_most": after.high, "lead": tuned.best.values["controller.lead"]}


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
