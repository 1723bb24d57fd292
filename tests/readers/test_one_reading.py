"""A cell means the same in measurements and in a matrix: the doors are held to one list."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bondloop.errors import InputError
from bondloop.readers import read_measurements
from bondloop.structures.readers.matrix_files import read_table_matrix

NAN, INF = math.nan, math.inf
NUMBERS = {
    "5": 5.0, "-5": -5.0, "+.5": 0.5, "5.": 5.0, "1e5": 1e5, "1E-2": 0.01, "1D-3": 0.001, "1.5d+2": 150.0,
    " 5 ": 5.0, "007": 7.0, "nan": NAN, "NaN": NAN, "-nan": NAN, "inf": INF, "-Infinity": -INF, "1e400": INF,
    "-1e400": -INF, "1e-400": 0.0,
}  # fmt: skip
"""Cells that hold a number, and which, by hand."""
WORDS = (
    "1_0", "1_000.5", "1.234,5", "1.234.567", "١٢", "½", "0x10", "--5", "+-5", "1e", "e5", ".", "5,", ",",
    "12kN", "True", "1'000", "\u22125", "1e5.5", "infi", "nan(1)", "5 5x", "#5",
)  # fmt: skip
"""Cells that hold none: Python's own spellings of numbers among them."""
COMMAS = {"1,5": 1.5, "-,5": -0.5, "12,25e1": 122.5, "0,1D1": 1.0}
"""Cells that hold a number where commas do not part the columns."""
QUOTED = {'"5"': 5.0, '"1e5"': 1e5}
"""Cells that hold a number where spaces do not part the columns."""


def meaning(cell, separator):
    """The number in a cell; None for a word."""
    if cell in COMMAS:
        return None if separator.strip(" ") == "," else COMMAS[cell]
    if cell in QUOTED:
        return None if separator.isspace() and separator != "\t" else QUOTED[cell]
    return NUMBERS.get(cell)


@st.composite
def tables(draw):
    """Text of a table with one cell from the lists, what it means, its line from 1 and its column from 1."""
    separator = draw(st.sampled_from([",", ";", "\t", " ", "  ", ", ", " ; "]))
    width, rows = draw(st.integers(3, 4)), draw(st.integers(5, 8))
    cells = [*NUMBERS, *WORDS, *COMMAS, *QUOTED, *([] if separator.isspace() and separator != "\t" else [""])]
    if separator.strip(" ") == ",":
        cells = [cell for cell in cells if not cell.endswith(",")]  # that ends a line as a separator may
    cell = draw(st.sampled_from(cells))
    if separator.isspace() and separator != "\t":
        cell = cell.replace(" ", "")
    sign = "," if cell in COMMAS and separator.strip(" ") != "," else "."
    number = st.sampled_from(["0", "1", "-2", f"3{sign}5", f"-0{sign}25", f"12{sign}75"])
    table = [[f"{i}", *(draw(number) for _ in range(width - 1))] for i in range(rows)]
    row, column = draw(st.integers(0, rows - 1)), draw(st.integers(1, width - 1))
    table[row][column] = cell
    value = NAN if not cell else meaning(cell.strip(), separator)
    numbers = np.array([[float(c.replace(",", ".")) if c != cell else 0.0 for c in r] for r in table])
    same = np.array([[c == cell for c in r] for r in table])
    numbers[same] = NAN if value is None else value
    lines = [separator.join("txyz"[:width]), *map(separator.join, table)]
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    text = draw(st.sampled_from(["", "\ufeff"])) + end.join(lines) + draw(st.sampled_from(["", end]))
    return text, cell, value, numbers, row + 2, column + 1


def measurements(path):
    """The columns of measurements."""
    return np.array([*read_measurements(path).channels.values()]).T


def matrix(path):
    """The matrix of a table."""
    return read_table_matrix(path)[""]


@given(tables())
def test_a_cell_means_the_same_at_every_door(tmp_path_factory, drawn):
    text, cell, value, numbers, line, column = drawn
    path = tmp_path_factory.mktemp("one") / "table.csv"
    path.write_text(text, encoding="utf-8", newline="")
    for door in (measurements, matrix):
        good = value is not None and (door is not matrix or math.isfinite(value))
        if good:
            np.testing.assert_array_equal(door(path), numbers, err_msg=door.__name__)
            continue
        with pytest.raises(InputError) as refused:
            door(path)
        # A comma too many, or spaces in a cell, make the line longer: then its columns are counted.
        told = [f"line {line}, column {column}", f"line {line}: {len(numbers[0]) + 1} columns"]
        assert any(words in str(refused.value) for words in told), (door.__name__, cell, str(refused.value))
