"""An isolated building, and how far its isolator travels in El Centro.

An engineer puts a hospital wing of three storeys on friction pendulums. The gap around the building has to
be decided: will 150 mm do? A full-size isolator stands on an actuator in the laboratory; the building above
it is in the computer. It is checked and rehearsed here with an emulated rig, under the record itself.
What comes out: the isolator's largest travel, its loop, and what is left of the roof's acceleration.

Run it: python examples/stories/isolated_building.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import bondloop as bl
from bondloop.bondgraph import Model, bond
from bondloop.devices import FrictionPendulum
from bondloop.papers import silva_benchmark
from bondloop.results import read_two_columns
from bondloop.structures import Matrices, ShearBuilding, field_form

MASS, STIFFNESS, SECONDS = 60e3, 60e6, 42.0
"""Of each of the four floors in kg, of each storey in N/m, and how long is looked at, s."""
RADIUS, FRICTION = 1.5, 0.05
BASE, ROOF = "building.floor[1].ux", "building.floor[4].ux"


def building(base: float) -> Matrices:
    """Return slab and three storeys; `base` is the stiffness under the slab: nearly none, or columns."""
    springs = [base, STIFFNESS, STIFFNESS, STIFFNESS]
    return ShearBuilding(masses=4 * [MASS], stiffnesses=springs, rayleigh=("0.1 1/s", "1 ms")).assemble()


def test() -> bl.HybridTest:
    """Cut between slab and isolator, which carries the weight of all four floors."""
    whole = Model("isolated")
    whole.building = field_form(building(base=1.0), "building")
    whole.isolator = FrictionPendulum(
        weight=4 * MASS * 9.81, radius=RADIUS, friction_fast=FRICTION, friction_slow=FRICTION,
        stick_displacement="1 mm",
    ).element()  # fmt: skip
    bond(whole.building.floor[1].ux, whole.isolator)
    numerical, physical = whole.cut("building.floor[1].ux >> isolator")
    actuator = bl.transfer.MassSpringDamper(m="800 kg", c="3 MN s/m", k="400 MN/m", drive="position")
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, actuator),
        controller=bl.control.VirtualJunction(actuator),
        ground={"ux": read_two_columns(silva_benchmark.DATA / "elcentro.csv")},
        rate=4000,
        reference=(whole, [f"{BASE}.flow"]),
        record=[f"numerical.{ROOF}.absolute_acceleration", f"numerical.{BASE}.displacement"],
        limits=bl.safety.Limits(displacement="150 mm", force="600 kN"),
        name="isolated_building",
    )


def main(folder: Path | None = None) -> dict[str, float]:
    """Check, rehearse, answer."""
    hybrid = test()
    check = hybrid.check(SECONDS)
    print(check.verdict)
    run = hybrid.run(SECONDS)
    print(run.verdict)
    fixed = Model("fixed")
    fixed.building = field_form(building(base=STIFFNESS), "building")
    roof = f"{ROOF}.absolute_acceleration"
    bare = bl.Simulation({"fixed": fixed}, ground=hybrid.ground, rate=2000, record=[f"fixed.{roof}"]).run(
        SECONDS
    )
    travel = float(np.abs(run["actual.displacement"]).max())
    left = float(np.abs(run[f"numerical.{roof}"]).max() / np.abs(bare[f"fixed.{roof}"]).max())
    print(f"The isolator travels {1e3 * travel:.1f} mm, so a gap of 150 mm will do;", end=" ")
    print(f"{100 * left:.0f} % of the roof's acceleration is left.")
    if folder:
        run.plot.hysteresis(path=folder / "isolated_building.png")
    return {"travel": travel, "left": left, "passed": float(check.passed)}


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    target.mkdir(parents=True, exist_ok=True)
    main(target)
