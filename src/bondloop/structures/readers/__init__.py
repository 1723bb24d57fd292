"""Readers: matrices from files, and models that OpenSees runs."""

from bondloop.structures.readers.matrix_files import read_matrices, write_matrices
from bondloop.structures.readers.opensees import read_opensees

__all__ = ["read_matrices", "read_opensees", "write_matrices"]
