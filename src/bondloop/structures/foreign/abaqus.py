"""Matrices that Abaqus writes: *MATRIX OUTPUT in the formats MATRIX INPUT and COORDINATE."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError
from bondloop.program.number_block import fortran_number
from bondloop.structures.foreign.labelled import Entries, labelled_content, refuse_faults
from bondloop.structures.foreign.text_file import read_source

if TYPE_CHECKING:
    from bondloop.structures.matrices import Sparse

__all__ = ["HELD", "read_abaqus", "without_held"]

HELD = 1e36
"""What Abaqus puts on the diagonal of the stiffness of a degree of freedom that is held."""


def read_abaqus(path: Path) -> dict[str, Any]:
    r"""Return the matrix of a file of Abaqus.

    Five numbers a line are node, degree of freedom, node, degree of freedom and value; three are row, column
    and value. One triangle of a symmetric matrix, or all of it.

    Parameters
    ----------
    path
        Of the file.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "job_STIF1.mtx"
    >>> _ = file.write_text("1,1, 1,1, 3.0\n2,1, 1,1, -1.0\n2,1, 2,1, 1.0\n")
    >>> content = read_abaqus(file)
    >>> content[""].toarray().tolist(), content["dofs"]
    ([[3.0, -1.0], [-1.0, 1.0]], ('n1.ux', 'n2.ux'))
    """
    faults: list[str] = []
    entries: Entries = []
    width = 0
    for row, line in enumerate(read_source(path, "matrix of Abaqus").splitlines(), 1):
        text = line.strip()
        if not text or text[0] in "*%":
            continue
        words = text.replace(",", " ").split()
        width = width or len(words)
        if len(words) != width or width not in (3, 5):
            expected = width if width in (3, 5) else "5 or 3"
            faults.append(f"line {row}, column 1: {len(words)} numbers; expected {expected}")
        elif wrong := [k for k, word in enumerate(words) if not _fits(word, k, width)]:
            word = words[wrong[0]]
            what = "finite number" if wrong[0] == width - 1 else "label"
            faults.append(f"line {row}, column {line.find(word) + 1}: {word[:40]!r} is no {what}")
        else:
            a, *rest = (int(word) for word in words[:-1])
            i, j = ((a, 0), (rest[0], 0)) if width == 3 else ((a, rest[0]), (rest[1], rest[2]))
            entries.append((i, j, fortran_number(words[-1])))
        if len(faults) > 1000:
            break
    if not entries and not faults:
        faults.append("no line has numbers")
    refuse_faults(faults)
    places = {(i, j) for i, j, _ in entries}
    if len(places) != len(entries):
        raise InputError("an entry is written twice; it is not said whether the two are to be added")
    triangle = not any(i != j and (j, i) in places for i, j in places)
    content = labelled_content({"": (entries, triangle)})
    if width == 3:  # rows and columns by number, not by node
        numbers = sorted({label[0] for i, j, _ in entries for label in (i, j)})
        content["dofs"] = tuple(f"dof[{k}]" for k in numbers)
    return content


def _fits(word: str, place: int, width: int) -> bool:
    """Whether a word fits its place: a node (negative inside of Abaqus), a number from 1, a value."""
    try:
        if place == width - 1:
            return bool(np.isfinite(fortran_number(word)))
        number = int(word) if len(word) < 13 else 0
    except ValueError:
        return False
    return number > 0 or (number < 0 and width == 5 and place % 2 == 0)


def without_held(
    matrices: dict[str, Sparse], names: tuple[str, ...]
) -> tuple[dict[str, Sparse], tuple[str, ...]]:
    """Return matrices without the degrees of freedom that Abaqus holds, and the names of the others.

    Parameters
    ----------
    matrices
        M, C and K, as far as they are there.
    names
        Of the degrees of freedom.
    """
    K = matrices.get("K")
    if K is None or K.shape != (len(names), len(names)):
        return matrices, names
    free = np.flatnonzero(np.abs(K.diagonal()) < 0.999 * HELD)
    if len(free) == len(names):
        return matrices, names
    kept = {n: m[free][:, free] if m.shape == K.shape else m for n, m in matrices.items()}
    return kept, tuple(names[k] for k in free)
