from bondloop.structures.readers.matrix_files import read_matrices as read_matrices
from bondloop.structures.readers.matrix_files import write_matrices as write_matrices
from bondloop.structures.readers.opensees import read_opensees as read_opensees
