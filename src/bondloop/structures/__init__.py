"""Structures: finite elements, assembly, supports, damping; readers for M, C, K."""

from __future__ import annotations

from bondloop.structures.attached import attach, attach_bar
from bondloop.structures.damping_regions import RayleighRegion
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
from bondloop.structures.matrices import Matrices
from bondloop.structures.modal_form import modal_form
from bondloop.structures.readers import read_matrices, read_opensees, write_matrices
from bondloop.structures.storeys import ShearBuilding
from bondloop.structures.structure import Structure
from bondloop.structures.structure_tables import matrices_from_structure, structure_from_tables

__all__ = [
    "Bar", "Beam", "Beam3D", "Dashpot", "Element", "Frame2D", "Frame3D", "Matrices", "PointMass",
    "Prescribed", "RayleighRegion", "ShearBuilding", "Spring", "Structure", "StructureModel", "Timoshenko",
    "attach", "attach_bar", "field_form", "matrices_from_structure", "network_form", "read_matrices",
    "read_opensees", "structure_from_tables", "write_matrices",
]  # fmt: skip

from bondloop.structures import reduction
from bondloop.structures.caughey import caughey
from bondloop.structures.coordinate_geometry import elongation, member_coordinates, motion_of, strokes
from bondloop.structures.coordinates import in_coordinates
from bondloop.structures.history import History, time_history
from bondloop.structures.modal_system import modal_system
from bondloop.structures.modes import Modes, mac, modes
from bondloop.structures.p_delta import Buckling
from bondloop.structures.pushover import Pushover, Yielding, pushover
from bondloop.structures.reading import Reading
from bondloop.structures.readings import Readings
from bondloop.structures.reduction import Reduced, ReductionError, craig_bampton, guyan
from bondloop.structures.response import frequency_response
from bondloop.structures.static import static

__all__ += [
    "Buckling", "History", "Modes", "Pushover", "Reading", "Readings", "Reduced", "ReductionError",
    "Yielding", "caughey", "craig_bampton",
    "elongation", "frequency_response", "guyan", "in_coordinates", "mac", "member_coordinates",
    "modal_form", "modal_system", "modes", "motion_of", "pushover", "reduction", "static", "strokes",
    "time_history",
]  # fmt: skip
