"""Drawings with marks, halves of strokes and boxes: figures of docs/bondgraphs.md.

Run: python docs/figures/drawings.py [FOLDER]
"""

# ruff: noqa: INP001 - a script, no part of a package

import sys
from pathlib import Path

from bondloop.bondgraph import SS, TF, C, I, Model, One, Port, R, Se, Sf, Zero


def bicausal() -> Model:
    """Return a mass and a spring between a motor, whose effort and flow are asked for, and a tip."""
    rod = Model("motor from tip")
    rod.motor, rod.v, rod.spring_end, rod.tip = SS("neither"), One(), Zero(), SS("both")
    rod.mass, rod.spring = I(mass=2), C(stiffness=5)
    rod.motor >> rod.v >> rod.spring_end >> rod.tip
    rod.v >> rod.mass
    rod.spring_end >> rod.spring
    return rod


def marks() -> Model:
    """Return a specimen that a lever ties to a table, and dampers that determine each other."""
    rig = Model("table and specimen")
    rig.force, rig.v, rig.table = Se("F"), One(), I(mass=2)
    rig.lever, rig.w, rig.specimen = TF(modulus=2), One(), I(mass=3)
    rig.foot, rig.joint, rig.slip, rig.bearing = Zero(), Zero(), One(), C(stiffness=9)
    rig.rubber, rig.oil, rig.soil = R(damping=1), R(damping=2), R(damping=3)
    rig.force >> rig.v >> rig.table
    rig.v >> rig.lever >> rig.w >> rig.specimen
    rig.v >> rig.joint >> rig.slip >> rig.foot >> [rig.oil, rig.soil]
    rig.slip >> [rig.rubber, rig.bearing]
    return rig


def conflict() -> Model:
    """Return two velocities imposed on one body."""
    wrong = Model("two tables")
    wrong.v, wrong.table, wrong.shaker, wrong.body = One(), Sf("a"), Sf("b"), I(mass=1)
    wrong.table >> wrong.v >> wrong.body
    wrong.shaker >> wrong.v
    return wrong


class Storey(Model):
    """A floor on columns."""

    def __init__(self) -> None:
        self.below, self.above = Port(), Port()
        self.shear, self.v = Zero(), One()
        self.columns, self.mass = C(stiffness=8e5), I(mass=2000)
        self.below >> self.shear >> self.v >> self.above
        self.shear >> self.columns
        self.v >> self.mass


def tower() -> Model:
    """Return six storeys."""
    model = Model("tower")
    model.ground = Sf("v_ground")
    model.storey = [Storey() for _ in range(6)]
    last = model.ground
    for storey in model.storey:
        last >> storey.below
        last = storey.above
    return model


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/figures")
    bicausal().draw(folder / "bicausal.svg")
    marks().draw(folder / "marks.svg")
    conflict().draw(folder / "conflict.svg")
    tower().draw(folder / "folded.svg", unfold=["storey[1]"])
