"""A tuned mass damper for a building, tested on a shaking table.

Problem. A steel frame building of five storeys sways in the wind. A tuned mass damper on its roof shall calm it.
The damper is to be tested as the real thing, on a shaking table; the building exists only in the computer.

Model. The building is a 3D frame (finite elements), reduced by Craig-Bampton to its roof and ten modes, and written
as a bond graph. The damper is bonded to the roof. The cut goes through that bond: `building.roof.ux >> damper.base`.

Test. The shaking table is a second-order position servo; a virtual junction cancels its dynamics.

Run it: python examples/building_damper.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, Port, R, Zero, bond
from bondloop.program.signals import Noise
from bondloop.structures import Frame3D, Matrices, Structure, craig_bampton, field_form, modes

STOREYS, HEIGHT, BAY = 5, 3.5, 6.0
STEEL = {"E": 210e9, "G": 81e9, "rho": 7850.0}
FLOOR = 18_000.0
"""Mass of a floor besides its beams, in kg."""


class Damper(Model):
    """A mass on a spring and a dashpot, standing on its base."""

    def __init__(self, m: float, c: float, k: float) -> None:
        self.base = Port()
        self.force, self.stretch, self.v = Zero(), One(), One()
        self.base >> self.force >> self.v >> I(mass=m)
        self.force >> self.stretch >> [C(stiffness=k), R(damping=c)]


def building() -> Matrices:
    """Return M, C, K of the frame: four columns a storey, beams around each floor, floors stiff in their plane."""
    from bondloop.structures import PointMass

    s = Structure("building")
    corners = [(0.0, 0.0), (BAY, 0.0), (BAY, BAY), (0.0, BAY)]
    for level in range(STOREYS + 1):
        for k, (x, y) in enumerate(corners):
            s.node(f"c{k}_{level}", x=x, y=y, z=level * HEIGHT)
        if level:
            s.node("roof" if level == STOREYS else f"floor{level}", x=BAY / 2, y=BAY / 2, z=level * HEIGHT)
    column = {"A": 0.0149, "Iy": 2.5e-4, "Iz": 2.5e-4, "J": 1e-5}
    beam = {"A": 0.0084, "Iy": 6e-6, "Iz": 2.3e-4, "J": 5e-7}
    for level in range(1, STOREYS + 1):
        for k in range(4):
            s.add(Frame3D(f"c{k}_{level - 1}", f"c{k}_{level}", **STEEL, **column, up=(1.0, 0.0, 0.0)))
            s.add(Frame3D(f"c{k}_{level}", f"c{(k + 1) % 4}_{level}", **STEEL, **beam))
        master = "roof" if level == STOREYS else f"floor{level}"
        s.rigid_floor(master=master, nodes=[f"c{k}_{level}" for k in range(4)], plane="xy")
        s.add(PointMass(master, m=FLOOR, J=FLOOR * BAY**2 / 6))
    for k in range(4):
        s.support(f"c{k}_0")
    s.rayleigh_from(0.01, 1.0, 0.02, 10.0)
    return s.assemble()
