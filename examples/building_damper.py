"""A tuned mass damper for a building, tested on a shaking table.

Problem. A steel frame building of five storeys sways in gusts. A tuned mass damper on its roof shall calm it.
The damper is tested as the real thing, on a shaking table; the building exists only in the computer.

Model. The building is a 3D frame of finite elements, reduced by Craig-Bampton to its roof and ten modes and
written as a bond graph. The damper is bonded to the roof, and the cut goes through that bond.

Test. The shaking table is a second-order position servo; a virtual junction cancels its dynamics.

Run it: python examples/building_damper.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, Port, R, Zero, bond
from bondloop.signals import Noise
from bondloop.structures import Frame3D, Matrices, PointMass, Structure, craig_bampton, field_form, modes

STOREYS, HEIGHT, BAY, FLOOR = 5, 3.5, 6.0, 18_000.0
STEEL = {"E": 210e9, "G": 81e9, "rho": 7850.0}
COLUMN = {"A": 0.0149, "Iy": 2.5e-4, "Iz": 2.5e-4, "J": 1e-5}
BEAM = {"A": 0.0084, "Iy": 2.3e-4, "Iz": 6e-6, "J": 5e-7}
ROOF = "building.roof.ux.flow"


class Damper(Model):
    """A mass on a spring and a dashpot, standing on its base."""

    def __init__(self, m: float, c: float, k: float) -> None:
        self.base = Port()
        self.force, self.stretch, self.v = Zero(), One(), One()
        self.base >> self.force >> self.v >> I(mass=m)
        self.force >> self.stretch >> [C(stiffness=k), R(damping=c)]


def frame() -> Matrices:
    """Return M, C, K: four columns a storey, beams around each floor, floors stiff in their own plane."""
    s = Structure("building")
    masters = [f"floor{level}" for level in range(1, STOREYS)] + ["roof"]
    for level in range(STOREYS + 1):
        for k, (x, y) in enumerate([(0, 0), (BAY, 0), (BAY, BAY), (0, BAY)]):
            s.node(f"c{k}_{level}", x=x, y=y, z=level * HEIGHT)
    for level, master in enumerate(masters, start=1):
        s.node(master, x=BAY / 2, y=BAY / 2, z=level * HEIGHT)
        for k in range(4):
            s.add(Frame3D(f"c{k}_{level - 1}", f"c{k}_{level}", **STEEL, **COLUMN))
            s.add(Frame3D(f"c{k}_{level}", f"c{(k + 1) % 4}_{level}", **STEEL, **BEAM))
        s.add(PointMass(master, m=FLOOR, Jz=FLOOR * BAY**2 / 6, dofs=("ux", "uy", "rz")))
        s.rigid_floor(master=master, nodes=[f"c{k}_{level}" for k in range(4)], plane="xy")
    for k in range(4):
        s.support(f"c{k}_0")
    s.rayleigh_from(0.01, 1.0, 0.02, 10.0)
    return s.assemble()


def complete(full: Matrices, tuning: float = 0.97) -> Model:
    """Return building and damper as one bond graph; gusts push all floors alike."""
    reduced = craig_bampton(full, interface=["roof.ux"], count=10)
    pushed = [d.endswith("ux") and d.startswith(("floor", "roof")) for d in full.dofs]
    gusts = reduced.basis.T @ np.array(pushed, dtype=float)
    mass, omega = 0.02 * FLOOR * STOREYS, tuning * modes(full, 1).omega[0]
    whole = Model("building_with_damper")
    whole.building = field_form(reduced.matrices, "building")
    whole.building.apply_pattern(dict(zip(reduced.matrices.dofs, gusts, strict=True)), "gust", unit="N")
    whole.damper = Damper(mass, 2 * 0.1 * mass * omega, mass * omega**2)
    bond(whole.building.roof.ux, whole.damper.base)
    return whole


def hybrid_test(whole: Model) -> bl.HybridTest:
    """Cut at the roof; the damper stands on a shaking table of 400 kg with a 12 Hz position servo."""
    numerical, physical = whole.cut("building.roof.ux >> damper.base")
    servo = 2 * np.pi * 12.0
    table = bl.transfer.MassSpringDamper(400.0, 2 * 0.7 * 400.0 * servo, 400.0 * servo**2, drive="position")
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, table),
        controller=bl.control.VirtualJunction(table),
        excitation={"building.gust": Noise(rms=4000.0, low=0.2, high=3.0, duration=60.0, seed=7)},
        rate=1000,
        reference=(whole, [ROOF]),
        limits=bl.safety.Limits(displacement="150 mm", force="20 kN"),
        name="building_damper",
    )


def main(folder: Path) -> dict[str, float]:
    """Check, run, compare; return the figures that the test of this example asserts."""
    full = frame()
    whole = complete(full)
    test = hybrid_test(whole)
    check = test.check()
    print(f"{len(full)} degrees of freedom, first modes at {np.round(modes(full, 4).frequencies, 3)} Hz")
    print(check)
    run = test.run(60)
    run.save(folder / "building_damper.h5")
    roof, desired = run["actual.velocity"], run[f"reference.{ROOF}"]
    groups = {"roof velocity": [f"reference.{ROOF}", "actual.velocity"], "force of the damper": ["force"]}
    bl.results.time_histories(run.record, groups, path=folder / "building_damper.png")
    error = float(np.linalg.norm(roof - desired) / np.linalg.norm(desired))
    whole.remove("damper")
    alone = {"bare": whole.compile(outputs=[ROOF])}
    bare = bl.Simulation(alone, excitation=test.excitation, rate=1000).run(60)
    calmed = float(np.std(roof) / np.std(bare[f"bare.{ROOF}"]))
    print(f"error {100 * error:.2f} % rms; the damper leaves {100 * calmed:.0f} % of the roof's velocity")
    print(run.verdict)
    return {"error": error, "calmed": calmed, "passed": float(check.passed)}


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    target.mkdir(parents=True, exist_ok=True)
    main(target)
