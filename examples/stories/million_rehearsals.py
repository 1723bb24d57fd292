"""A million rehearsals, and the probability that a test is unstable.

A rig without any compensation is late by τ, and a late spring is a negative damper, -k τ. The laboratory
knows the specimen's stiffness k and the structure's damping c to some ten per cent only. If k τ is larger
than c the test destroys itself. How likely is that? Rehearse it with every stiffness and damping that may
be.
What comes out: the probability of growth, with its confidence, beside the closed form of two lognormal
numbers.

Run it: python examples/stories/million_rehearsals.py [FOLDER] [COUNT], such as out 1e6
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, R, Se

MASS, COLUMNS, DAMPING, BRACE, LAG, RATE = 1000.0, 300e3, 460.0, 100e3, 0.003, 1000.0
"""kg, N/m, N s/m, N/m of the specimen, the actuator's lag c/k in s, samples a second."""
SPREAD = {"numerical.damper.damping": 0.15, "rig.specimen.brace.stiffness": 0.10}
"""Standard deviations of the logarithms."""


def test() -> bl.HybridTest:
    """Cut between frame and brace; a short push at first, then the frame is left to itself."""
    frame = Model("frame")
    frame.push, frame.v, frame.mass = Se("push"), One(), I(mass=MASS)
    frame.columns, frame.damper, frame.brace = C(stiffness=COLUMNS), R(damping=DAMPING), C(stiffness=BRACE)
    frame.push >> frame.v >> [frame.mass, frame.columns, frame.damper, frame.brace]
    numerical, physical = frame.cut("v >> brace")
    stiff = 100e6
    actuator = bl.transfer.MassSpringDamper(m="500 kg", c=LAG * stiff, k=stiff, drive="position")
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, actuator),
        controller=bl.control.Direct(),
        excitation={"push": bl.signals.HalfSine("4 kN", start=0.0, width=0.15)},
        rate=RATE,
        limits=bl.safety.Limits(displacement="100 mm"),
        name="million_rehearsals",
    )


def main(folder: Path | None = None, count: int = 4096) -> dict[str, float]:
    """Check, rehearse so many tests, answer."""
    hybrid = test()
    print(hybrid.check(8.0).verdict)
    vary = {
        "numerical.damper.damping": f"lognormal({DAMPING}, {SPREAD['numerical.damper.damping']})",
        "rig.specimen.brace.stiffness": f"lognormal({BRACE}, {SPREAD['rig.specimen.brace.stiffness']})",
    }
    begun = time.perf_counter()
    found = bl.studies.sample(hybrid, vary, count, ("growth",), seconds=8.0)
    took = time.perf_counter() - begun
    grows = found["growth"] > 0
    print(f"{count:,} tests of 8 s in {took:.1f} s;", end=" ")
    print(f"the loop is unstable with a probability of {found.probability(grows)}")
    if folder:
        figure = Figure(figsize=(7, 4.2), layout="constrained")
        axes = figure.subplots()
        axes.hist(found["growth"], bins=60, color="#0072B2")
        axes.axvline(0, color="#D55E00")
        axes.set(xlabel="growth of the vibration (1/s): unstable on the right", ylabel="tests")
        figure.savefig(folder / "million_rehearsals.png", dpi=110)
    return {"probability": found.probability(grows).value, "count": float(np.size(grows))}


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    target.mkdir(parents=True, exist_ok=True)
    main(target, int(float(sys.argv[2])) if len(sys.argv) > 2 else 4096)
