"""A wind-turbine tower with a tuned liquid damper, and what is left of its sway.

A turbine on an 80 m tower sways at a third of a hertz when the rotor stands still, without the rotor's
damping. A tank with three tonnes of water in a U-shaped tube shall calm it. How the water turns round the
corners is hard to compute, so the tank stands on a shaking table; the tower is in the computer, and gusts
push at its head. (Water that only goes along is counted with the head: a laboratory takes its mass times
acceleration off the measured force.)
What comes out: how much of the sway is left, and how high the water rises.

Run it: python examples/stories/wind_turbine.py [FOLDER]
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

import bondloop as bl
from bondloop.bondgraph import I, Model
from bondloop.devices import TunedLiquidColumn
from bondloop.structures import Frame2D, Matrices, PointMass, Structure, craig_bampton, field_form, modes

HEIGHT, PARTS, HEAD, SECONDS = 80.0, 8, 90e3, 300.0
"""Of the tower in m, its finite elements, mass of nacelle and rotor in kg, length of the storm in s."""
STEEL = {"E": 210e9, "rho": 8500.0, "A": 0.30, "I": 0.55}
"""A tube of about 4 m and 25 mm; the density counts bolts, paint and ladders."""
HEAD_X = "tower.head.ux"
GUSTS = bl.signals.Noise(rms=8e3, low=0.1, high=1.0, duration=SECONDS, seed=3)
"""Force on the head, N."""


def tower() -> Matrices:
    """Return the tower, clamped at its foot."""
    s = Structure("tower")
    names = [f"t{k}" for k in range(PARTS)] + ["head"]
    for k, name in enumerate(names):
        s.node(name, x=0.0, y=HEIGHT * k / PARTS)
    for low, high in pairwise(names):
        s.add(Frame2D(low, high, **STEEL))
    s.add(PointMass("head", m=HEAD))
    s.support("t0")
    s.rayleigh_from(0.005, "0.35 Hz", 0.01, "3 Hz")
    return s.assemble()


def column(frequency: float) -> TunedLiquidColumn:
    """Return the water, tuned a little below the tower: √(2 g/L) is 0.98 of it."""
    length = 2 * 9.80665 / (2 * np.pi * 0.98 * frequency) ** 2
    return TunedLiquidColumn(area=3.0 / length, length=length, width=0.75 * length, head_loss=6.0)


def reduced(matrices: Matrices) -> Model:
    """Return the tower as a bond graph of its head and three modes, with the gusts on it."""
    small = craig_bampton(matrices, interface=["head.ux"], count=3)
    return field_form(small.matrices, "tower", forces={"head.ux": "gusts"})


def test(matrices: Matrices) -> bl.HybridTest:
    """Cut between head and water; the shaking table is a position servo of 8 Hz."""
    whole, water = Model("turbine"), column(float(modes(matrices, 1).frequencies[0]))
    whole.tower = reduced(matrices)
    whole.carried, whole.water = I(mass=water.carried_mass), water.element()
    whole.tower.head.ux >> [whole.carried, whole.water]
    numerical, physical = whole.cut("tower.head.ux >> water")
    table = bl.transfer.MassSpringDamper(m="2 t", c="140 kN s/m", k="5 MN/m", drive="position")
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, table),
        controller=bl.control.VirtualJunction(table),
        excitation={"tower.gusts": GUSTS},
        rate=500,
        reference=(whole, [f"{HEAD_X}.flow"]),
        record=["rig.specimen.water.level"],
        limits=bl.safety.Limits(displacement="500 mm", force="30 kN"),
        name="wind_turbine",
    )


def main(folder: Path | None = None) -> dict[str, float]:
    """Check, rehearse, answer."""
    matrices = tower()
    print(f"the tower sways at {modes(matrices, 1).frequencies[0]:.4f} Hz")
    hybrid = test(matrices)
    check = hybrid.check(60.0)
    print(check.verdict)
    run = hybrid.run(SECONDS)
    print(run.verdict)
    bare = Model("bare")
    bare.tower = reduced(matrices)
    channel = f"bare.{HEAD_X}.displacement"
    alone = bl.Simulation({"bare": bare}, excitation={"tower.gusts": GUSTS}, rate=500, record=[channel]).run(
        SECONDS
    )
    left = float(np.std(run["actual.displacement"]) / np.std(alone[channel]))
    water = float(np.abs(run["rig.specimen.water.level"]).max())
    print(f"The water leaves {100 * left:.1f} % of the sway, and rises by {1e3 * water:.0f} mm.")
    if folder:
        groups = {
            "head": {"desired": "desired.displacement", "actual": "actual.displacement"},
            "water": {"level": "rig.specimen.water.level"},
        }
        bl.results.time_histories(run.record, groups, path=folder / "wind_turbine.png")
    return {"left": left, "water": water, "passed": float(check.passed)}


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    target.mkdir(parents=True, exist_ok=True)
    main(target)
