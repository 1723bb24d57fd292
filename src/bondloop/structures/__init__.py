"""Structures: finite elements, assembly, supports, damping; readers for M, C, K."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "Bar",
    "Beam",
    "Beam3D",
    "Dashpot",
    "Frame2D",
    "Frame3D",
    "Matrices",
    "PointMass",
    "Readings",
    "ShearBuilding",
    "Spring",
    "Structure",
    "Timoshenko",
    "attach",
    "attach_bar",
    "caughey",
    "craig_bampton",
    "elongation",
    "field_form",
    "frequency_response",
    "guyan",
    "in_coordinates",
    "member_coordinates",
    "modal_form",
    "modal_reduction",
    "modal_system",
    "modes",
    "motion_of",
    "network_form",
    "pushover",
    "read_matrices",
    "read_opensees",
    "static",
    "strokes",
    "time_history",
    "write_matrices",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
