"""Finite elements, one per file; each computes the matrices of many elements of its kind at once."""

from __future__ import annotations

from bondloop.structures.elements.bar import Bar
from bondloop.structures.elements.base import DOFS, Element, Member
from bondloop.structures.elements.beam import Beam
from bondloop.structures.elements.beam_3d import Beam3D
from bondloop.structures.elements.dashpot import Dashpot
from bondloop.structures.elements.frame_2d import Frame2D
from bondloop.structures.elements.frame_3d import Frame3D
from bondloop.structures.elements.point_mass import PointMass
from bondloop.structures.elements.spring import Spring
from bondloop.structures.elements.timoshenko import Timoshenko

__all__ = [
    "DOFS", "Bar", "Beam", "Beam3D", "Dashpot", "Element", "Frame2D", "Frame3D", "Member", "PointMass",
    "Spring", "Timoshenko",
]  # fmt: skip
