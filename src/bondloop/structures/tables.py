"""Structures and their matrices as data: nodes, elements and supports in tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bondloop.engine.data import Kind, family_word, register
from bondloop.errors import InputError
from bondloop.structures.damping import checked_rayleigh
from bondloop.structures.readers.matrix_files import read_matrices
from bondloop.structures.storeys import ShearBuilding
from bondloop.structures.structure import Structure

if TYPE_CHECKING:
    from bondloop.structures.constraints import Constraint, RigidFloor
    from bondloop.structures.damping import RayleighRegion
    from bondloop.structures.elements.base import Element, Number
    from bondloop.structures.matrices import Matrices


def structure_from_tables(  # noqa: PLR0913, PLR0917 - each is one table of the description
    nodes: Mapping[str, Sequence[Number]],
    elements: Mapping[str, Element],
    supports: Mapping[str, Sequence[str]] | None = None,
    constraints: Sequence[Constraint | RigidFloor] = (),
    rayleigh: Sequence[Number] = (0.0, 0.0),
    modal_damping: float | Sequence[float] | None = None,
    regions: Sequence[RayleighRegion] = (),
    highest_frequency: Number = 1e6,
    storeys: Sequence[str] = (),
    name: str = "structure",
    apart: Sequence[Sequence[str]] = (),
    axial_forces: Mapping[str, Number] | None = None,
    axial_shape: str = "consistent",
) -> Structure:
    """Return a structure from tables, the inverse of ``structure.describe()``.

    Parameters
    ----------
    nodes
        Coordinates x, y, z in m by name; those left out are zero.
    elements
        The elements by name.
    supports
        Degrees of freedom that are held, by node; all of a node where none is named.
    constraints
        Constraints and rigid floors, in their order.
    rayleigh
        α in 1/s and β in s of C = αM + βK.
    modal_damping
        Damping ratios of the lowest modes, or one for all.
    regions
        Rayleigh damping of parts of the structure.
    highest_frequency
        First frequency in Hz above which a member's units cannot be right.
    storeys
        Nodes one above the other at which storeys begin and end, from the ground up.
    name
        What errors call it.
    apart
        Nodes at one place that nothing joins, each time two or more.
    axial_forces, axial_shape
        Axial forces that members carry, in N, tension positive, and how members bend under them,
        ``"consistent"`` or ``"string"``; see `Structure.p_delta`.

    Examples
    --------
    >>> from bondloop.structures import Spring
    >>> s = structure_from_tables(
    ...     {"a": [0], "b": [1]}, {"spring": Spring("a", "b", k=3.0, dof="ux")}, {"a": []}
    ... )
    >>> s.assemble().K.toarray().tolist()
    [[3.0]]
    """
    structure = Structure(name, highest_frequency=highest_frequency)
    for node, at in nodes.items():
        if len(at) > 3:
            raise InputError(f"node '{node}': expected up to three coordinates x, y, z; found {len(at)}")
        structure.node(node, *at)
    for key, element in elements.items():
        structure.add(element, key)
    for node, dofs in (supports or {}).items():
        structure.support(node, *dofs)
    structure.constraints += list(constraints)
    for names in apart:
        structure.apart(*names)
    structure.rayleigh(*checked_rayleigh(rayleigh, "Structure(rayleigh)"))
    if modal_damping is not None:
        structure.modal_damping(modal_damping)
    for region in regions:
        structure.rayleigh_of(*region.elements, alpha=region.alpha, beta=region.beta, without=region.without)
    if storeys:
        structure.storeys(*storeys)
    structure.p_delta(axial_forces or {}, axial_shape)  # type: ignore[arg-type]
    return structure


def matrices_from_structure(
    structure: Structure | ShearBuilding, mass: str = "consistent", free: bool = False
) -> Matrices:
    """Return M, C and K of a structure's free degrees of freedom.

    Parameters
    ----------
    structure
        Nodes, elements and supports, or a shear building.
    mass
        ``"consistent"`` or ``"lumped"``.
    free
        Accept motions without stiffness.
    """
    if isinstance(structure, ShearBuilding):
        return structure.assemble()
    return structure.assemble(mass, free=free)  # type: ignore[arg-type]


family_word("Structure", "structure", __name__)
register(Kind("structure", "Structure", structure_from_tables))
register(Kind("matrices", "from_structure", matrices_from_structure))
register(Kind("matrices", "file", read_matrices))
