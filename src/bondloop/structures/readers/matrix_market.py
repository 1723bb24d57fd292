"""Matrix Market files, read with every index looked at: it becomes an address."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop.containers import MOST, expect_file
from bondloop.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse


HEADER = "%%matrixmarket matrix"
FORMS = ("coordinate", "array")
FIELDS = {"real": 3, "double": 3, "integer": 3, "pattern": 2}
"""Numbers of an entry in coordinates, by what the file says they are."""
SYMMETRIES = {"general": 0.0, "symmetric": 1.0, "skew-symmetric": -1.0}
"""Factor of the entry across the diagonal."""


def read_matrix_market(path: Path) -> tuple[sparse.coo_array[np.float64], list[str]]:
    r"""Return the matrix of a file, and its comments.

    Parameters
    ----------
    path
        The file; compressed or complex ones are refused.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "two.mtx"
    ...     _ = file.write_text("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 3\n2 1 -1\n")
    ...     matrix, _ = read_matrix_market(file)
    >>> matrix.toarray().tolist()
    [[3.0, -1.0], [-1.0, 0.0]]
    """
    expect_file(path)
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    head = (lines[0] if lines else "").lower().split()
    if len(head) != 5 or " ".join(head[:2]) != HEADER:
        raise InputError("it is no Matrix Market file: its first line is not '%%MatrixMarket matrix ...'")
    form, field, symmetry = head[2:]
    if form not in FORMS or field not in FIELDS or symmetry not in SYMMETRIES:
        raise InputError(
            f"it holds a matrix that is '{form} {field} {symmetry}'; expected {' or '.join(FORMS)}, "
            f"{', '.join(FIELDS)}, and {', '.join(SYMMETRIES)}"
        )
    first = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("%")), len(lines))
    comments = [line.lstrip("%").strip() for line in lines[1:first] if line.startswith("%")]
    sizes = _numbers(lines[first : first + 1], "the sizes")
    if len(sizes) != (3 if form == "coordinate" else 2) or (sizes != np.round(sizes)).any():
        raise InputError(
            f"line {first + 1} should hold the sizes of the matrix; found {lines[first : first + 1]}"
        )
    if not (sizes[:2].min() >= 0 and sizes[:2].max() <= MOST):
        raise InputError(f"it claims {sizes[0]:,.0f} x {sizes[1]:,.0f}; at most {MOST:,} rows are read")
    rows, columns = int(sizes[0]), int(sizes[1])
    if symmetry != "general" and rows != columns:
        raise InputError(f"it is {symmetry} but has {rows:,} rows and {columns:,} columns")
    numbers = _numbers(lines[first + 1 :], "the entries")
    if form == "array":
        return _dense(numbers, rows, columns, symmetry), comments
    return _coordinates(
        numbers, int(sizes[2]), FIELDS[field], (rows, columns), SYMMETRIES[symmetry]
    ), comments


def _numbers(lines: list[str], what: str) -> NDArray[np.float64]:
    try:
        return np.array(
            " ".join(line for line in lines if not line.startswith("%")).split(), dtype=np.float64
        )
    except ValueError as error:
        raise InputError(f"{what} are not all numbers: {error}") from None


def _coordinates(
    numbers: NDArray[np.float64], count: int, width: int, shape: tuple[int, int], across: float
) -> sparse.coo_array[np.float64]:
    from scipy import sparse

    if len(numbers) != count * width:
        raise InputError(f"it claims {count:,} entries of {width} numbers; found {len(numbers):,} numbers")
    table = numbers.reshape(count, width)
    places, values = table[:, :2] - 1, table[:, 2] if width == 3 else np.ones(count)
    inside = (places == np.round(places)) & (places >= 0) & (places < np.array(shape))
    if not inside.all():
        bad = int(np.argmin(inside.all(axis=1)))
        i, j = table[bad, :2]
        raise InputError(f"entry {bad + 1} stands at {i:g}, {j:g} of a matrix of {shape[0]:,} x {shape[1]:,}")
    i, j = places.astype(np.int64).T
    if across:
        off = i != j
        # One half of the matrix is written; with entries of both it is not said whether they are to be added.
        upper, lower = (set(zip(a[b > a], b[b > a], strict=True)) for a, b in ((i, j), (j, i)))
        for low, high in sorted(upper & lower)[:1]:
            raise InputError(
                f"it is {'symmetric' if across > 0 else 'skew-symmetric'}, so it should hold one of the "
                f"entries {high + 1}, {low + 1} and {low + 1}, {high + 1}; it holds both"
            )
        i, j = np.concatenate([i, j[off]]), np.concatenate([j, i[off]])
        values = np.concatenate([values, across * values[off]])
    return sparse.coo_array((values, (i, j)), shape=shape)


def _dense(
    numbers: NDArray[np.float64], rows: int, columns: int, symmetry: str
) -> sparse.coo_array[np.float64]:
    from scipy import sparse

    below = {"general": None, "symmetric": 0, "skew-symmetric": 1}[symmetry]
    count = rows * columns if below is None else rows * (rows + 1) // 2 - below * rows
    if len(numbers) != count:
        raise InputError(f"it claims {rows:,} x {columns:,}, {count:,} numbers; found {len(numbers):,}")
    if below is None:
        return sparse.coo_array(numbers.reshape(columns, rows).T)
    matrix = np.zeros((rows, rows))
    j, i = np.triu_indices(rows, below)  # column after column, from the diagonal down
    matrix[j, i] = SYMMETRIES[symmetry] * numbers
    matrix[i, j] = numbers
    return sparse.coo_array(matrix)
