"""Matrices in tables of text, as they are written by hand or by a spreadsheet."""

import re

import numpy as np
import pytest

from bondloop.errors import InputError
from bondloop.structures import read_matrices


@pytest.mark.parametrize(
    "text",
    ["3.5,-1\n-1,2\n", "# K\n3,5;-1;\n-1;2;\n", "3.5 -1\n-1 2\n", "3.5\t-1\n-1\t2D0\n", "3,5\t-1\n-1\t2\n"],
)
def test_tables(tmp_path, text):
    (tmp_path / "K.csv").write_text(text)
    (tmp_path / "M.txt").write_text("a.ux b.ux\n1 0\n0 1\n")
    again = read_matrices(M=tmp_path / "M.txt", K=tmp_path / "K.csv")
    np.testing.assert_array_equal(again.K.toarray(), [[3.5, -1], [-1, 2]])
    assert again.dofs == ("a.ux", "b.ux")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,2\n3,x\n4\n", ["line 2, column 2: 'x' is no number", "line 3: 1 column; 2 expected"]),
        ("1,2,3\n2,4,5\n", ["K has shape (2, 3)"]),
        ("# nothing\n", [""]),
    ],
)
def test_faults_of_tables_name_their_places(tmp_path, text, words):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError) as refused:
        read_matrices(M=tmp_path / "a.csv", K=tmp_path / "a.csv")
    assert all(re.search(re.escape(word), str(refused.value)) for word in words)
