"""The multi-axial benchmark's structure: a frame of three storeys and three bays, less what is on the rig.

Numbers are those of the public code (Quiroz, Gálmez and Fermandois 2024); `papers/marths` holds its matrices.
The numerical part is the reference less an "ideal frame", and that is not what stands on the rig: the parts
do not add up to the reference. So a run is also compared with the *emulated* structure, numerical part and
specimen without any actuator between them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import CField, I, Model, RField, Se, bond
from bondloop.data.kinds import describable
from bondloop.devices.ode_specimen import Imposed, OdeSpecimen
from bondloop.structures.forms.structure_model import StructureModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.program.traced import Value

    Array = NDArray[np.float64]

__all__ = [
    "DOFS", "FORCE", "FRAME", "MOMENT", "MarthsFrame", "emulated", "ideal_frame", "model",
    "numerical_matrices", "reference", "reference_matrices",
]  # fmt: skip

DATA = Path(__file__).parent / "marths"

VERTICAL = {5: 1, 6: 28, 7: 20, 8: 16, 9: 12, 10: 6, 11: 25, 12: 23, 13: 8, 14: 15, 15: 9, 16: 4}
ROTATION = {
    2: 19, 3: 18, 5: 2, 6: 29, 7: 21, 8: 17, 9: 11, 10: 5, 11: 24, 12: 22, 13: 7, 14: 14, 15: 10, 16: 3,
}  # fmt: skip
FLOOR = {1: 27, 2: 26, 3: 13}
"""Degrees of freedom by joint and by floor, counted from 1 as in the files."""

DAMPING = (1.2473724, 5.5985399e-4)
"""Rayleigh's coefficients of the reference, 1/s and s."""

FRAME = (26, 28, 20)
"""Of the ideal frame, counted from 0: floor 1, the rotations of joints 6 and 7."""

IDEAL_MASS, IDEAL_INERTIA = 902.527, 17.86506
"""kg and kg m²; the inertia enters the damping only."""

MOMENT = "moment_6"
"""Input of the moment at joint 6, which no actuator drives."""

FORCE = {
    "stiffness": ((2324116.67, -861232.488), (-861232.488, 1085953.953), (0.0, 0.0)),
    "damping": ((352.07463, -33.78606), (-53.55614, 95.01069), (-30.03228, 10.38847)),
    "mass": ((8.45399, 0.0), (0.0, 0.89044), (-0.84450, 0.17441)),
}
"""Force, moment at joint 7 and moment on joint 6 of the frame on the rig, per motion of joint 7.

In the structure's own coordinates, (x, rotation 21): the code turns the other way round, θ = -u21. The last
row acts on joint 6, the others on the frame.
"""


def _names() -> tuple[str, ...]:
    names = [""] * 29
    for joint, i in VERTICAL.items():
        names[i - 1] = f"joint_{joint}.uy"
    for joint, i in ROTATION.items():
        names[i - 1] = f"joint_{joint}.rz"
    for floor, i in FLOOR.items():
        names[i - 1] = f"floor_{floor}.ux"
    return tuple(names)


DOFS = _names()
"""Names of the 29 degrees of freedom, in the order of the files."""


@cache
def reference_matrices() -> tuple[Array, Array, Array]:
    """Return M, C and K of the reference, SI."""
    M, K = (np.loadtxt(DATA / f"R_{letter}.csv", delimiter=",") for letter in "MK")
    return M, DAMPING[0] * M + DAMPING[1] * K, K


def ideal_frame() -> tuple[Array, Array, Array]:
    """Return M, C and K that are taken off the reference, in the order of `FRAME`.

    The sign of the beam's coupling, -b, is the code's own.
    """
    E, L, L_b, inch = 200e9, 0.635, 0.762, 0.0254
    c, b = 3 * E * 2.52 * inch**4 / L, 2 * E * 0.6132 * inch**4 / L_b
    K = np.array([[2 * c / L**2, -c / L, -c / L], [-c / L, c + 2 * b, -b], [-c / L, -b, c + 2 * b]])
    M = np.diag([IDEAL_MASS, IDEAL_INERTIA, IDEAL_INERTIA])
    omega = np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)).real)
    first, third = omega.min(), omega.max()
    # Rayleigh, 5 % at both.
    beta = 0.1 / (first + third)
    C = beta * first * third * M + beta * K
    return np.diag([IDEAL_MASS, 0.0, 0.0]), C, K


@cache
def numerical_matrices() -> tuple[Array, Array, Array]:
    """Return M, C and K of the numerical part."""
    found = []
    for whole, part in zip(reference_matrices(), ideal_frame(), strict=True):
        less = whole.copy()
        less[np.ix_(FRAME, FRAME)] -= part
        found.append(less)
    return found[0], found[1], found[2]


def emulated(acceleration: Array, period: float) -> Array:
    """Return all displacements of the emulated structure, shape (samples, 29), by the same Newmark.

    Parameters
    ----------
    acceleration
        Of the ground, m/s², a sample each.
    period
        Seconds between samples.
    """
    M, C, K = (X.copy() for X in numerical_matrices())
    load = -(M @ _ground())
    driven = [FRAME[0], FRAME[2]]
    for X, word in ((K, "stiffness"), (C, "damping"), (M, "mass")):
        rows = np.array(FORCE[word])
        X[np.ix_(driven, driven)] += rows[:2]
        X[FRAME[1], driven] -= rows[2]
    S = np.linalg.inv(K + 2 / period * C + 4 / period**2 * M)
    by_u, by_v, by_a, by_g = (
        S @ (4 / period**2 * M + 2 / period * C),
        S @ (4 / period * M + C),
        S @ M,
        S @ load,
    )
    u, v, a = np.zeros((3, len(M)))
    result = np.empty((len(acceleration), len(M)))
    for k, g in enumerate(acceleration):
        new = by_u @ u + by_v @ v + by_a @ a + by_g * g
        u, v, a = new, 2 / period * (new - u) - v, 4 / period**2 * (new - u) - 4 / period * v - a
        result[k] = u
    return result


def _ground() -> Array:
    iota = np.zeros(29)
    iota[[i - 1 for i in FLOOR.values()]] = 1.0
    return iota


class MarthsFrame(OdeSpecimen):
    """The middle bay of floor 1 on the rig, without its mass: force and moment that move joint 7."""

    interfaces = 2
    stiffness: float = FORCE["stiffness"][0][0]
    cross_stiffness: float = FORCE["stiffness"][0][1]
    rotational_stiffness: float = FORCE["stiffness"][1][1]
    damping: float = FORCE["damping"][0][0]
    rotational_damping: float = FORCE["damping"][1][1]

    def force(self, motion: Imposed) -> Value:
        """Return force and moment."""
        (x, turn), (v, rate) = motion.displacement, motion.velocity
        return [
            self.stiffness * x + self.cross_stiffness * turn + self.damping * v,
            self.cross_stiffness * x + self.rotational_stiffness * turn + self.rotational_damping * rate,
        ]


def _structure(name: str, matrices: tuple[Array, Array, Array]) -> StructureModel:
    """Return M, C and K as a bond graph; rotations have no mass, so their dampers give their velocities."""
    M, C, K = matrices
    structure = StructureModel(name, DOFS)
    structure.stiffness, structure.damping = CField(K), RField(C)
    heavy = [i for i in range(len(DOFS)) if M[i, i]]
    structure.mass = [I(mass=float(M[i, i])) for i in heavy]
    for i, dof in enumerate(DOFS):
        bond(structure.junction(dof), structure.stiffness[i])
        bond(structure.junction(dof), structure.damping[i])
    for i, mass in zip(heavy, structure.mass, strict=True):
        bond(structure.junction(DOFS[i]), mass)
    pattern = {dof: -float(x) for dof, x in zip(DOFS, M @ _ground(), strict=True)}
    structure.apply_pattern(pattern, "ground", unit="m/s^2")
    return structure


@describable("model", "marths-reference")
def reference() -> Model:
    """Return the reference: the whole frame of the files."""
    return _structure("reference", reference_matrices())


@describable("model", "marths-frame")
def model() -> Model:
    """Return the numerical part with the frame on the rig, its part ``specimen``; cut where they join."""
    whole = _structure("frame", numerical_matrices())
    setattr(whole, MOMENT, Se(MOMENT))
    bond(getattr(whole, MOMENT), whole.junction("joint_6.rz"))
    whole.specimen = MarthsFrame().element()
    bond(whole.junction("floor_1.ux"), whole.specimen.end_0)
    bond(whole.junction("joint_7.rz"), whole.specimen.end_1)
    return whole
