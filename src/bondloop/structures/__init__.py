"""Structures: finite elements, assembly, supports, damping; readers for M, C, K."""

from __future__ import annotations

from bondloop.structures import reduction
from bondloop.structures.damping import RayleighRegion, caughey
from bondloop.structures.dynamics import History, Modes, frequency_response, mac, modes, time_history
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
from bondloop.structures.forms import (
    StructureModel,
    attach,
    attach_bar,
    field_form,
    modal_form,
    modal_system,
    network_form,
)
from bondloop.structures.ground import Prescribed
from bondloop.structures.matrices import Matrices
from bondloop.structures.p_delta import Buckling
from bondloop.structures.readers import read_matrices, read_opensees, write_matrices
from bondloop.structures.reading import Reading
from bondloop.structures.readings import Readings
from bondloop.structures.reduction import (
    Reduced,
    ReductionError,
    craig_bampton,
    elongation,
    guyan,
    in_coordinates,
    member_coordinates,
    motion_of,
    strokes,
)
from bondloop.structures.statics import Pushover, Yielding, pushover, static
from bondloop.structures.storeys import ShearBuilding
from bondloop.structures.structure import Structure
from bondloop.structures.tables import matrices_from_structure, structure_from_tables

__all__ = [
    "Bar", "Beam", "Beam3D", "Buckling", "Dashpot", "Element", "Frame2D", "Frame3D", "History", "Matrices",
    "Modes", "PointMass", "Prescribed", "Pushover", "RayleighRegion", "Reading", "Readings", "Reduced",
    "ReductionError", "ShearBuilding", "Spring", "Structure", "StructureModel", "Timoshenko", "Yielding",
    "attach", "attach_bar", "caughey", "craig_bampton", "elongation", "field_form", "frequency_response",
    "guyan", "in_coordinates", "mac", "matrices_from_structure", "member_coordinates", "modal_form",
    "modal_system", "modes", "motion_of", "network_form", "pushover", "read_matrices", "read_opensees",
    "reduction", "static", "strokes", "structure_from_tables", "time_history", "write_matrices",
]  # fmt: skip
