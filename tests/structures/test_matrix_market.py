"""Matrix Market files against SciPy's reader, and what it would take for an address."""

import numpy as np
import pytest
from scipy import io, sparse

from bondloop.errors import InputError
from bondloop.structures.readers.matrix_files import read_matrix_market


@pytest.mark.parametrize("seed", range(30))
def test_reads_what_scipy_writes(tmp_path, seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 9, size=2)
    symmetry = str(rng.choice(["general", "symmetric", "skew-symmetric"]))
    dense = rng.normal(size=(n, m)) * (rng.random((n, m)) < 0.6)
    if symmetry != "general":
        square = dense[: min(n, m), : min(n, m)]
        dense = square + square.T if symmetry == "symmetric" else square - square.T
    written = dense if rng.random() < 0.5 else sparse.coo_array(dense)
    io.mmwrite(tmp_path / "a.mtx", written, comment="dof one\nof the north", symmetry=symmetry, precision=17)
    matrix, comments = read_matrix_market(tmp_path / "a.mtx")
    assert np.array_equal(matrix.toarray(), dense)
    assert comments[-2:] == ["dof one", "of the north"]


def test_a_pattern_counts_as_ones(tmp_path):
    head = "%%MatrixMarket matrix coordinate pattern general"
    (tmp_path / "a.mtx").write_text(f"{head}\n% seen\n\n2 3 2\n1 3\n2 1\n")
    matrix, comments = read_matrix_market(tmp_path / "a.mtx")
    assert matrix.toarray().tolist() == [[0, 0, 1], [1, 0, 0]]
    assert comments == ["seen"]


@pytest.mark.parametrize(
    ("sizes", "entries", "words"),
    [
        ("2 2 1", "1 3 5", "stands at 1, 3 of a matrix of 2 x 2"),
        ("2 2 1", "0 1 5", "stands at 0, 1"),
        ("2 2 1", "1.5 1 5", "stands at 1.5, 1"),
        ("2 2 1", "-9e18 1 5", "stands at -9e"),
        ("2 2 1", "nan 1 5", "stands at nan, 1"),
        ("2 2 999999999999", "1 1 5", "claims 999,999,999,999 entries of 3 numbers; found 3"),
        ("2 2 2", "1 1 5", "claims 2 entries of 3 numbers; found 3"),
        ("99999999999 99999999999 1", "1 1 5", "at most 10,000,000 rows"),
        ("nan 2 1", "1 1 5", "should hold the sizes"),
        ("2 2", "1 1 5", "should hold the sizes"),
        ("-1 2 0", "", "at most"),
        ("2 2 1", "1 1 five", "not all numbers"),
    ],
)
def test_what_is_wrong_is_told(tmp_path, sizes, entries, words):
    text = f"%%MatrixMarket matrix coordinate real general\n{sizes}\n{entries}\n"
    (tmp_path / "a.mtx").write_text(text)
    with pytest.raises(InputError, match=words):
        read_matrix_market(tmp_path / "a.mtx")


@pytest.mark.parametrize(
    "head", ["", "%%MatrixMarket vector", "%%MatrixMarket matrix coordinate complex general"]
)
def test_other_files_are_refused(tmp_path, head):
    (tmp_path / "a.mtx").write_text(head + "\n1 1 1\n1 1 1\n")
    with pytest.raises(InputError, match=r"Matrix Market file|holds a matrix that is"):
        read_matrix_market(tmp_path / "a.mtx")


@pytest.mark.parametrize("symmetry", ["symmetric", "skew-symmetric"])
def test_both_halves_of_a_symmetric_matrix_are_refused(tmp_path, symmetry):
    head = f"%%MatrixMarket matrix coordinate real {symmetry}"
    (tmp_path / "a.mtx").write_text(f"{head}\n3 3 3\n2 1 4\n3 1 1\n1 2 4\n")
    with pytest.raises(InputError, match="one of the entries 2, 1 and 1, 2; it holds both"):
        read_matrix_market(tmp_path / "a.mtx")
    # The upper half alone is as good as the lower one, and entries that stand twice are added as ever.
    (tmp_path / "a.mtx").write_text(f"{head}\n3 3 2\n1 2 4\n1 2 1\n")
    assert read_matrix_market(tmp_path / "a.mtx")[0].toarray()[0, 1] == 5
