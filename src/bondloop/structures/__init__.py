"""Structures: finite elements, assembly, supports, damping; readers for M, C, K."""

from __future__ import annotations

from bondloop.structures.attached import attach, bar_way
from bondloop.structures.elements import (
    Bar,
    Beam,
    Beam3D,
    Dashpot,
    Element,
    Frame2D,
    Frame3D,
    PointMass,
    Spring,
    Timoshenko,
)
from bondloop.structures.forms import StructureModel, field_form, network_form
from bondloop.structures.ground_motion import Prescribed
from bondloop.structures.io import read_matrices, write_matrices
from bondloop.structures.matrices import Matrices
from bondloop.structures.modal_form import modal_form
from bondloop.structures.storeys import ShearBuilding
from bondloop.structures.structure import Structure
from bondloop.structures.structure_tables import matrices_from_structure, structure_from_tables

__all__ = [
    "Bar", "Beam", "Beam3D", "Dashpot", "Element", "Frame2D", "Frame3D", "Matrices", "PointMass",
    "Prescribed", "ShearBuilding", "Spring", "Structure", "StructureModel", "Timoshenko", "attach",
    "bar_way", "field_form", "matrices_from_structure", "network_form", "read_matrices",
    "structure_from_tables", "write_matrices",
]  # fmt: skip

from bondloop.structures import reduction
from bondloop.structures.history import History, time_history
from bondloop.structures.modal_system import modal_system
from bondloop.structures.modes import Modes, mac, modes
from bondloop.structures.reduction import Reduced, ReductionError, craig_bampton, guyan
from bondloop.structures.response import frequency_response

__all__ += [
    "History", "Modes", "Reduced", "ReductionError", "craig_bampton", "frequency_response", "guyan", "mac",
    "modal_form", "modal_system", "modes", "reduction", "time_history",
]  # fmt: skip
