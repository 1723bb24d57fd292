"""Four structures on moving ground, each with a specimen: an isolator, two tuned masses, a brace.

`earthquake.py` compares their hybrid tests with OpenSees, tests/hybrid/test_earthquake.py with SciPy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import bondloop as bl
from bondloop.bondgraph import TF, C, I, Model, One, Port, R, Zero, bond
from bondloop.structures import Frame2D, Frame3D, PointMass, Spring, Structure, field_form

ALPHA, BETA = 0.3, 1.5e-3
"""Rayleigh's, 1/s and s."""
RATIO = 0.03
"""Damping ratio of all modes."""

MASSES, STIFFNESSES = (3.0e4, 2.5e4, 2.5e4, 2.0e4), (2.4e7, 2.0e7, 1.6e7)
"""Of slab and floors in kg, of storeys in N/m."""
ISOLATOR = {"k": 6.0e5, "c": 4.0e4}
TABLE = {"m": 1.2e3, "k": 2.0e5, "c": 2.4e3}
SPAN, PIERS = 12.0, (8.0, 6.0)
DECK = {"E": 30e9, "A": 2.0, "I": 0.4}
PIER = {"E": 30e9, "A": 1.0, "I": 0.08}
NODE = {"m": 4.0e4, "Jz": 5.0e4}
"""Mass and rotary inertia of a node of the bridge, kg and kg m²."""
BRIDGE_MASS = {"m": 5.0e3, "k": 8.0e5, "c": 6.0e3}
BAY, STOREY, FLOOR, CORNER = (6.0, 5.0), 3.5, 2.0e4, 500.0
STEEL = {"E": 210e9, "G": 81e9, "rho": 0.0}
COLUMN = {"A": 0.0149, "Iy": 2.5e-4, "Iz": 9e-5, "J": 1e-5}
BEAM = {"A": 0.0084, "Iy": 6e-6, "Iz": 2.3e-4, "J": 5e-7}
INERTIA = 40.0
"""Rotary inertia of a corner, kg m²."""
BRACE = {"k": 3.0e7, "c": 2.0e5}


class Hanging(Model):
    """A mass on a spring and a dashpot."""

    def __init__(self, m: float, k: float, c: float) -> None:
        self.base = Port()
        self.force, self.stretch, self.v = Zero(), One(), One()
        self.base >> self.force >> self.v >> I(mass=m)
        self.force >> self.stretch >> [C(stiffness=k), R(damping=c)]


class Standing(Model):
    """A spring and a dashpot to the ground."""

    def __init__(self, k: float, c: float) -> None:
        self.top, self.v = Port(), One()
        self.top >> self.v >> [C(stiffness=k), R(damping=c)]


@dataclass(frozen=True)
class Case:
    """A structure on moving ground, with its specimen.

    Attributes
    ----------
    name
        Of the case.
    structure
        What stays in the computer.
    specimen
        Makes the specimen.
    grip
        Degrees of freedom that move the specimen's end, each with its share.
    wheres
        Directions or supports that move.
    """

    name: str
    structure: Structure
    specimen: Callable[[], Model]
    grip: dict[str, float]
    wheres: tuple[str, ...]

    def whole(self, damping: str) -> Model:
        """Return structure and specimen as one bond graph."""
        if damping == "rayleigh":
            self.structure.rayleigh(ALPHA, BETA)
        else:
            self.structure.modal_damping(RATIO)
        matrices = self.structure.assemble(free=True)
        whole = Model(self.name)
        whole.frame = field_form(matrices, "frame")
        whole.specimen = self.specimen()
        port = next(iter(whole.specimen.ports.values()))
        if list(self.grip.values()) == [1.0]:
            bond(whole.frame.junction(*self.grip), port)
            return whole
        whole.end = Zero()
        whole.share = [TF(share) for share in self.grip.values()]
        for dof, share in zip(self.grip, whole.share, strict=True):
            bond(whole.frame.junction(dof), share)
            bond(share, whole.end)
        bond(whole.end, port)
        return whole

    def cut(self) -> str:
        """Return the bond that is cut."""
        port = "top" if self.name in ("isolated building", "braced building") else "base"
        tail = f"frame.{next(iter(self.grip))}" if list(self.grip.values()) == [1.0] else "end"
        return f"{tail} >> specimen.{port}"

    def test(self, ground: dict, damping: str, coordinates: str | None, **options: object) -> bl.HybridTest:
        """Return the hybrid test, coupled without any error by a virtual junction."""
        whole = self.whole(damping)
        numerical, physical = whole.cut(self.cut())
        actuator = bl.transfer.MassSpringDamper(500.0, 2e4, 4e6)
        return bl.HybridTest(
            numerical,
            rig=bl.rigs.Emulated(physical, actuator),
            controller=bl.control.VirtualJunction(actuator),
            ground=ground,
            coordinates=coordinates,
            coupling="continuous",
            record=[f"numerical.frame.{dof}.displacement" for dof in self.watched],
            name=self.name.replace(" ", "_"),
            **{"reference": whole, **options},
        )

    @property
    def watched(self) -> tuple[str, ...]:
        """Degrees of freedom that are compared."""
        return {
            "isolated building": ("slab.ux", "floor3.ux"),
            "mass on a table": ("floor1.ux", "floor3.ux"),
            "bridge": ("mid.ux", "a.uy"),
            "braced building": ("floor2.ux", "floor2.uy", "floor2.rz", "c0_1.uz"),
        }[self.name]


def shear(*, slab: bool) -> Structure:
    """Return storeys in a chain, on the ground or on a slab that nothing holds."""
    s = Structure("storeys")
    nodes = ["slab", "floor1", "floor2", "floor3"]
    for i, name in enumerate(nodes):
        s.node(name, z=3.0 * i)
        if i or slab:
            s.add(PointMass(name, m=MASSES[i], dofs=("ux",)), f"mass_{name}")
    for below, above, k in zip(nodes, nodes[1:], STIFFNESSES, strict=False):
        s.add(Spring(below, above, k=k, dof="ux"), f"storey_{above}")
    if not slab:
        s.support("slab")
    return s


def bridge(rho: float) -> Structure:
    """Return a deck of two spans on two piers and no abutment, in the plane; a density adds own masses."""
    s = Structure("bridge")
    for name, x, y in (
        ("foot_a", 0.0, -PIERS[0]), ("foot_b", 2 * SPAN, -PIERS[1]), ("a", 0.0, 0.0), ("mid", SPAN, 0.0),
        ("b", 2 * SPAN, 0.0),
    ):  # fmt: skip
        s.node(name, x=x, y=y)
    for k, (i, j, member) in enumerate(
        (("foot_a", "a", PIER), ("foot_b", "b", PIER), ("a", "mid", DECK), ("mid", "b", DECK))
    ):
        s.add(Frame2D(i, j, rho=rho, **member), f"member{k}")
    for name in ("a", "mid", "b"):
        s.add(PointMass(name, **NODE))
    s.support("foot_a")
    s.support("foot_b")
    return s


def frame() -> Structure:
    """Return two storeys of one bay in space, with floors stiff in their own plane."""
    s = Structure("building")
    for level in range(3):
        for k, (x, y) in enumerate([(0, 0), (1, 0), (1, 1), (0, 1)]):
            s.node(f"c{k}_{level}", x=x * BAY[0], y=y * BAY[1], z=level * STOREY)
    for level in (1, 2):
        s.node(f"floor{level}", x=0.45 * BAY[0], y=BAY[1] / 2, z=level * STOREY)
        for k in range(4):
            s.add(Frame3D(f"c{k}_{level - 1}", f"c{k}_{level}", **STEEL, **COLUMN))
            s.add(Frame3D(f"c{k}_{level}", f"c{(k + 1) % 4}_{level}", **STEEL, **BEAM))
            # What moves in the floor's plane is the floor's: OpenSees damps no modes of masses that are led.
            s.add(PointMass(f"c{k}_{level}", m=CORNER, Jx=INERTIA, Jy=INERTIA, dofs=("uz", "rx", "ry")))
        s.add(PointMass(f"floor{level}", m=FLOOR, Jz=FLOOR * 8.0, dofs=("ux", "uy", "rz")))
        s.rigid_floor(master=f"floor{level}", nodes=[f"c{k}_{level}" for k in range(4)], plane="xy")
    for k in range(4):
        s.support(f"c{k}_0")
    return s


def brace_shares() -> dict[str, float]:
    """Return by how much each motion stretches a brace from foot c0_0 to corner c1_1."""
    run = np.array([BAY[0], 0.0, STOREY])
    cx, cy, cz = run / np.linalg.norm(run)
    dx, dy = BAY[0] - 0.45 * BAY[0], -BAY[1] / 2  # from the floor's own node to the corner
    return {"floor1.ux": cx, "floor1.rz": -cx * dy + cy * dx, "c1_1.uz": cz}


def cases(rho: float = 0.0) -> list[Case]:
    """Return the four; of the bridge, members with a density have consistent masses."""
    bearing = ("foot_a.ux", "foot_b.ux")
    return [
        Case("isolated building", shear(slab=True), lambda: Standing(**ISOLATOR), {"slab.ux": 1.0}, ("ux",)),
        Case("mass on a table", shear(slab=False), lambda: Hanging(**TABLE), {"floor3.ux": 1.0}, ("ux",)),
        Case("bridge", bridge(rho), lambda: Hanging(**BRIDGE_MASS), {"mid.ux": 1.0}, bearing),
        Case("braced building", frame(), lambda: Standing(**BRACE), brace_shares(), ("ux", "uy", "uz")),
    ]
