"""From matrices back to the structure that they were assembled from, whatever was done to them since."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bondloop.errors import InputError
from bondloop.program.kinds import origin_of, plain
from bondloop.program.restoring import restore
from bondloop.structures.storeys import ShearBuilding
from bondloop.structures.structure import Structure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bondloop.structures.matrices import Matrices

__all__ = ["Source", "source_of", "structure_data"]


@dataclass(frozen=True)
class Source:
    """What matrices came from.

    Attributes
    ----------
    structure
        As it was when they were assembled.
    mass
        ``"consistent"`` or ``"lumped"``.
    basis
        Shape (n, r): the structure's n free degrees of freedom from the r of the matrices; None where they
        are the same.
    """

    structure: Structure | ShearBuilding
    mass: str = "consistent"
    basis: NDArray[np.float64] | None = None


def structure_data(matrices: Matrices) -> Any:
    """Return the description of the structure that matrices came from; None where that is not known."""
    while "_reduced" in vars(matrices):
        matrices = vars(matrices)["_reduced"].full
    origin = origin_of(matrices)
    return None if origin is None else plain(origin.arguments.get("structure"))


def source_of(matrices: Matrices) -> Source:
    """Return the structure that matrices came from, and the way back to its degrees of freedom.

    Examples
    --------
    >>> from bondloop.structures import ShearBuilding, guyan
    >>> small = guyan(ShearBuilding(masses=(2.0, 1.0), stiffnesses=(6.0, 3.0)).assemble(), ["floor[2].ux"])
    >>> source_of(small.matrices).basis.tolist()
    [[0.3333333333333333], [1.0]]
    """
    known = vars(matrices).get("_source")
    if known is None:
        known = _found(matrices)
        object.__setattr__(matrices, "_source", known)  # making a structure anew takes time
    assert isinstance(known, Source)
    return known


def _found(matrices: Matrices) -> Source:
    reduced = vars(matrices).get("_reduced")
    if reduced is not None:
        full = source_of(reduced.full)
        basis = reduced.basis if full.basis is None else full.basis @ reduced.basis
        return Source(full.structure, full.mass, basis)
    origin = origin_of(matrices)
    data = None if origin is None else origin.arguments.get("structure")
    if origin is None or data is None:
        raise InputError(
            "these matrices do not say from which structure they come, so that no members, supports and "
            "storeys can be read; use those of structure.assemble(), or a reduction of these"
        )
    structure = data if isinstance(data, (Structure, ShearBuilding)) else restore(data)
    return Source(structure, origin.arguments.get("mass", "consistent"))
