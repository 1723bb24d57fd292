"""Matrices as tables of text: a row a line, parted by commas, semicolons, tabs or spaces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bondloop.errors import InputError
from bondloop.measurements.text_table import read_table
from bondloop.structures.foreign.text_file import LARGEST

__all__ = ["read_table_matrix"]

WIDEST = 20_000
"""Columns of a full matrix as text, at most."""


def read_table_matrix(path: Path) -> dict[str, Any]:
    r"""Return the matrix of a table, and the names of its degrees of freedom if these stand above it.

    Parameters
    ----------
    path
        Of the file; lines that begin with ``#`` or ``%`` are comments.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "K.csv"
    >>> _ = file.write_text("a.ux, b.ux\n3, -1\n-1, 1\n")
    >>> content = read_table_matrix(file)
    >>> content[""].tolist(), content["dofs"]
    ([[3.0, -1.0], [-1.0, 1.0]], ('a.ux', 'b.ux'))
    """
    table = read_table(path, names=None, most=LARGEST)
    width, count = table.numbers.shape
    if width > WIDEST:
        raise InputError(f"{width:,} columns; at most {WIDEST:,} are read from text")
    if not count:
        raise InputError("no line has numbers")
    names = tuple(name.strip("\"'") for name in table.names)
    return {"": np.ascontiguousarray(table.numbers.T), "dofs": names or None}
