"""A first hybrid test, step by step: a two-storey frame in the computer, a rack on isolators on the rig.

Problem: a rack of instruments stands on the roof, on isolators that harden. The frame is well known, so it
stays in the computer; the isolators are new, so the rack stands on the rig, moved by an actuator.
May the test be run, and does it show what the complete structure would do?
Run: python examples/first_hybrid_test.py out
     bondloop check examples/first_hybrid_test.py --set controller=direct
"""

import sys
from pathlib import Path

import numpy as np

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, Port, R, Sf, Zero
from bondloop.hybrid import HybridTest

SECONDS = 30.0


class Storey(Model):
    """A floor on columns that also dissipate; `below` is what it stands on, `above` what it carries."""

    def __init__(self, m: float | str, k: float | str, c: float | str) -> None:
        self.below, self.above = Port(), Port()
        self.shear, self.drift, self.v = Zero(), One(), One()
        self.below >> self.shear >> self.v >> self.above  # >> is a bond, in the direction of positive power
        self.columns, self.damper, self.mass = C(stiffness=k), R(damping=c), I(mass=m)
        self.shear >> self.drift >> [self.columns, self.damper]  # both feel the drift of the storey
        self.v >> self.mass


class Rack(Model):
    """A mass on isolators: springs that harden, and some damping."""

    def __init__(self) -> None:
        self.below = Port()
        self.force, self.stretch, self.v = Zero(), One(), One()
        self.below >> self.force >> self.v
        self.isolators = C(law=lambda d, k, h: k * d + h * d**3, k=6000, h=5e6)
        self.damper, self.mass = R(damping=10), I(mass=4)
        self.force >> self.stretch >> [self.isolators, self.damper]
        self.v >> self.mass


def structure() -> Model:
    """1. Build the whole structure, as if no hybrid test were meant."""
    frame = Model("frame")
    frame.ground = Sf("v_g")  # an input: the velocity of the ground
    frame.first, frame.roof = (Storey("5 kg", "6 kN/m", "10 N s/m") for _ in range(2))
    frame.rack = Rack()
    frame.ground >> frame.first.below
    frame.first.above >> frame.roof.below
    frame.roof.above >> frame.rack.below
    return frame


def test(controller: str = "virtual-junction", rate: float = 4000.0, noise: float = 0.05) -> HybridTest:  # noqa: PT028 - not pytest's
    """2. Cut it, and say what stands on the rig, what drives it, and what shakes it.

    `rate` is in samples a second, `noise` is the load cell's, in N (rms). The command line looks for `test`.
    """
    frame = structure()
    numerical, physical = frame.cut("roof.above >> rack.below")  # two ordinary models
    actuator = bl.transfer.MassSpringDamper(m=5, c=300, k=40e3, drive="position")  # lags by c/k = 7.5 ms
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(
            physical, actuator, sensors={"force": bl.rigs.Sensor((bl.rigs.WhiteNoise(noise),), "N")}
        ),
        controller=bl.control.Direct() if controller == "direct" else bl.control.VirtualJunction(actuator),
        excitation={"v_g": bl.signals.Sweep("1 mm", 1.0, 6.0, SECONDS).derivative()},
        rate=rate,
        limits=bl.safety.Limits(displacement="50 mm", force="200 N"),
        reference=(frame, ["roof.v.flow", "rack.v.flow"]),  # the complete structure, run beside the test
        record=["rig.specimen.rack.v.flow"],
        name="first_hybrid_test",
    )


def main(out: Path) -> dict[str, float]:
    """Check, run, look, save, repeat; print what was found and return its numbers."""
    out.mkdir(parents=True, exist_ok=True)

    # 3. Check before anything moves: first the desired position sent to the actuator as it is, then better.
    naked, better = test("direct").check(), test().check()
    print("The roof's position sent as it is:", *(f"  {line}" for line in naked.problems), sep="\n")
    print(f"With a virtual junction: {'the check has passed' if better.passed else better}\n")

    # 4. Run: compiled to C, much faster than real time.
    run = test().run(SECONDS)
    print(run.metrics[0], run.verdict, sep="\n")

    # 5. Look. The rack on the rig should move as on the complete structure.
    rack, wanted = run["rig.specimen.rack.v.flow"], run["reference.rack.v.flow"]
    error = bl.results.normalised_rms_error(wanted, rack)
    print(f"The rack moves as on the complete structure, to {100 * error:.2g} % rms.")
    run.plot.overview(path=out / "first_hybrid_test.png")

    # 6. Save, and repeat from the file alone.
    file = run.save(out / "first_hybrid_test.h5")
    again = bl.rerun(file)
    same = all(np.array_equal(run[name], again[name]) for name in run.record)
    print(f"Repeated from {file}: {'every sample is the same' if same else 'not the same'}.")
    print(f"Files: {out / 'first_hybrid_test.png'}, {file}")
    return {
        "naked_passed": naked.passed, "passed": better.passed, "rack_error": error, "same": same,
        "tracking_error": run.metrics[0]["normalised_rms_error"], "delay": run.metrics[0]["delay"],
        "added_damping": naked.lags[0].damping,
    }  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
