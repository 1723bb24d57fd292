"""Models of other programs: OpenSees models, and matrices of Nastran, Abaqus and tables."""

from bondloop.structures.foreign.opensees import read_opensees
from bondloop.structures.foreign.opensees_model import ForeignModel, LeftOut

__all__ = ["ForeignModel", "LeftOut", "read_opensees"]
