"""Storeys: a building of rigid floors on columns, and the storeys of any structure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.data import Described, each_number, plain
from bondloop.errors import InputError, one_or_all, unknown_name
from bondloop.structures.damping import checked_rayleigh
from bondloop.structures.matrices import Matrices, remember

if TYPE_CHECKING:
    from bondloop.structures.elements.base import Array, Number
    from bondloop.structures.structure import Structure


UNITS = {"masses": "kg", "stiffnesses": "N/m", "dampings": "N s/m", "heights": "m", "weights": "N"}
MAY_BE_ZERO = ("dampings", "weights")

ON_A_BEARING = (
    "; for a building on a bearing let floor 1 be the slab, give storey 1 next to nothing (1 N/m) and bond "
    "the bearing to floor[1].ux"
)
"""What to do where storey 1 is to be nothing but a bearing, which is no part of the structure."""


@dataclass(frozen=True)
class ShearBuilding(Described, member_of="structure"):
    """A chain from the ground up: storey i, with stiffness kᵢ and damping cᵢ, carries floor i of mass mᵢ.

    Parameters
    ----------
    masses
        Floor masses in kg, the lowest first.
    stiffnesses
        Storey stiffnesses in N/m; storey 1 stands on the ground. Under a slab on bearings, which are parts of
        their own, it is next to nothing: 1.
    dampings
        Storey dampings in N s/m; none: undamped.
    rayleigh
        α in 1/s and β in s of C = αM + βK, added to the storey dampings.
    heights
        Storey heights in m; with them the floors above push a storey on when it leans (P-Δ): its stiffness
        is k (1 - θ), where θ = P/(k h) is its stability coefficient. None: without P-Δ.
    weights
        What P of a storey is summed up from, floor by floor in N; None: that of the masses.

    Examples
    --------
    >>> building = ShearBuilding(masses=[2.0, "1 t"], stiffnesses=["4 kN/m", 3000])
    >>> m = building.assemble()
    >>> m.dofs, m.K.toarray().tolist()
    (('floor[1].ux', 'floor[2].ux'), [[7000.0, -3000.0], [-3000.0, 3000.0]])
    >>> building.base_excitation().tolist()
    [-2.0, -1000.0]

    With P-Δ a storey is softer by P/h:

    >>> leaning = ShearBuilding(masses=[1000], stiffnesses=["10 kN/m"], heights=[4], weights=["8 kN"])
    >>> leaning.assemble().K.toarray().tolist(), leaning.stability_coefficients().tolist()
    ([[8000.0]], [0.2])
    """

    masses: Sequence[Number]
    stiffnesses: Sequence[Number]
    dampings: Sequence[Number] | None = None
    rayleigh: tuple[Number, Number] = (0.0, 0.0)
    heights: Sequence[Number] | None = None
    weights: Sequence[Number] | None = None

    def __post_init__(self) -> None:
        self._read_texts()
        found = []
        n = len(self.masses)
        if n == 0:
            found.append("has no storeys")
        for name, unit in UNITS.items():
            given = getattr(self, name)
            if given is None:
                continue
            if len(given) != n:
                found.append(f"has {n} masses but {len(given)} {name}")
            for i, v in enumerate(given, start=1):
                if v < 0 or (v == 0 and name not in MAY_BE_ZERO):
                    least = "must not be negative" if name in MAY_BE_ZERO else "must be positive"
                    hint = ON_A_BEARING if (name, i, v) == ("stiffnesses", 1, 0) else ""
                    found.append(f"storey {i}: {name} {v:g} {unit} {least}{hint}")
        if self.weights is not None and self.heights is None:
            found.append("has weights but no heights, without which they do nothing; give heights in m")
        if not found:
            found += [
                f"storey {i}: falls over: its stability coefficient P/(k h) is {theta:.3g}, and it must be "
                "below 1"
                for i, theta in enumerate(self.stability_coefficients(), start=1)
                if theta >= 1
            ]
        if found:
            raise InputError(
                "\n  ".join(["shear building:", *found]) if len(found) > 1 else f"shear building {found[0]}"
            )

    def _read_texts(self) -> None:
        """Read numbers and texts with units; refuse all that are none, or measure something else."""
        faults: list[str] = []
        try:
            object.__setattr__(self, "rayleigh", checked_rayleigh(self.rayleigh, "ShearBuilding(rayleigh)"))
        except InputError as error:
            faults.append(str(error))
        for name, unit in UNITS.items():
            if (given := getattr(self, name)) is not None:
                values = each_number(given, "ShearBuilding", name, [unit], faults)
                object.__setattr__(self, name, values)
        if faults:
            raise one_or_all("ShearBuilding", faults)

    @property
    def dofs(self) -> tuple[str, ...]:
        """Names ``floor[1].ux``, ``floor[2].ux``, ..."""
        return tuple(f"floor[{i}].ux" for i in range(1, len(self.masses) + 1))

    def assemble(self) -> Matrices:
        """Return M, C and K (Chopra 2012, section 9.1)."""
        from scipy import sparse

        M = sparse.diags_array(np.array(self.masses, dtype=float))
        K = _chain(np.array(self.stiffnesses, dtype=float) * (1 - self.stability_coefficients()))
        C = _chain(self.dampings) if self.dampings is not None else 0 * K
        alpha, beta = (float(x) for x in self.rayleigh)
        matrices = Matrices(M, C + alpha * M + beta * K, K, self.dofs)
        return remember(matrices, "from_structure", structure=plain(self))

    def stability_coefficients(self) -> Array:
        """Return θ = P/(k h) of every storey, the lowest first; zeros without heights.

        A static drift is 1/(1 - θ) times that without P-Δ.
        """
        if self.heights is None:
            return np.zeros(len(self.masses))
        from scipy.constants import g as standard_gravity

        m, k, h = (np.array(v, dtype=float) for v in (self.masses, self.stiffnesses, self.heights))
        weights = standard_gravity * m if self.weights is None else np.array(self.weights, dtype=float)
        return np.asarray(np.cumsum(weights[::-1])[::-1] / (k * h))

    def influence(self) -> Array:
        """Return the motion of the floors when the ground moves by one."""
        return np.ones(len(self.masses))

    def base_excitation(self) -> Array:
        """Return -M r, the force on the floors per unit of ground acceleration."""
        return -np.array(self.masses, dtype=float)


def _chain(values: Sequence[Number] | Array) -> Array:
    """Matrix of springs or dashpots in a chain from the ground."""
    k = np.array(values, dtype=float)
    return np.diag(k + np.append(k[1:], 0.0)) - np.diag(k[1:], 1) - np.diag(k[1:], -1)


def checked_column_line(structure: Structure, nodes: Sequence[str]) -> tuple[str, ...]:
    """Return nodes that lie one above the other, or say which do not."""
    for name in nodes:
        if name not in structure.nodes:
            raise InputError(f"structure '{structure.name}': {unknown_name('node', name, structure.nodes)}")
    if len(nodes) < 2:
        raise InputError(
            f"structure '{structure.name}': a storey lies between two nodes; name them from the ground up"
        )
    up = vertical(structure.nodes, nodes)
    heights = np.diff([structure.nodes[n][up] for n in nodes])
    for k, rise in enumerate(heights):
        if rise <= 0:
            raise InputError(
                f"structure '{structure.name}': node '{nodes[k + 1]}' of the storeys does not lie above "
                f"'{nodes[k]}'; name nodes from the ground up"
            )
    return tuple(nodes)


def vertical(places: Mapping[str, tuple[float, float, float]], nodes: Sequence[str]) -> int:
    """Return the axis along which nodes are stacked: 0, 1 or 2."""
    return int(np.argmax(np.abs(np.subtract(places[nodes[-1]], places[nodes[0]]))))


def crossing(heights: Array, ends: Array) -> Array:
    """Return which ends of elements are the upper ones of those that cross a height, shape (n, 2).

    Parameters
    ----------
    heights
        The height, and how near to it counts as on it.
    ends
        Heights of both ends of each element, shape (n, 2).
    """
    height, near = heights
    above, below = ends > height + near, ends < height - near
    crosses = above.any(axis=1) & below.any(axis=1)
    return np.asarray(above & crosses[:, None])
