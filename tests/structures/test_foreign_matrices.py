"""Matrices of Nastran, Abaqus and tables: written here by the formats' rules, read back as they were."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bondloop.errors import InputError
from bondloop.structures import ShearBuilding, read_matrices

BUILDING = ShearBuilding([1000.0, 800.0, 600.0], [2e5, 1e5, 5e4]).assemble()
M, K = BUILDING.M.toarray(), BUILDING.K.toarray()


def punch(name, matrix, *, form=6):
    """Large-field DMIG, one degree of freedom (1) a grid point; of a symmetric matrix one triangle."""
    lines = [f"DMIG    {name:8}       0{form:8d}       2       0                {len(matrix):8d}"]
    for j in range(len(matrix)):
        lines.append(f"DMIG*   {name:16}{j + 1:16d}{1:16d}")
        rows = range(j, len(matrix)) if form == 6 else range(len(matrix))
        lines += [
            f"*       {i + 1:16d}{1:16d}{matrix[i, j]:16.9E}".replace("E", "D") for i in rows if matrix[i, j]
        ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("form", [6, 1])
def test_punch(tmp_path, form):
    aside = "DMIG    PHI            0       9       4       0                       1\n"  # complex, no K
    aside += f"DMIG*   {'PHI':16}{1:16d}{0:16d}\n*       {1:16d}{1:16d} 1.000000000D+00 2.000000000D+00\n"
    (tmp_path / "a.pch").write_text(
        "$TITLE\n" + aside + punch("KAAX", K, form=form) + punch("MAAX", M, form=form)
    )
    again = read_matrices(tmp_path / "a.pch")
    np.testing.assert_allclose(again.K.toarray(), K, rtol=1e-9)
    np.testing.assert_allclose(again.M.toarray(), M, rtol=1e-9)
    assert again.dofs == ("n1.ux", "n2.ux", "n3.ux")


def test_degrees_of_freedom_without_mass_need_no_entry(tmp_path):
    massless = np.diag([5.0, 0.0, 7.0])
    (tmp_path / "m.pch").write_text(punch("MAAX", massless))
    (tmp_path / "k.pch").write_text(punch("KAAX", K))
    again = read_matrices(M=tmp_path / "m.pch", K=tmp_path / "k.pch")
    order = again.indices(["n1.ux", "n2.ux", "n3.ux"])
    np.testing.assert_array_equal(again.M.toarray()[np.ix_(order, order)], massless)
    np.testing.assert_allclose(again.K.toarray()[np.ix_(order, order)], K, rtol=1e-9)


def op4(name, matrix, how, digits=16):
    """OUTPUT4 as text: dense columns, strings packed into one number, strings of big matrices."""
    rows, columns = matrix.shape
    lines = [
        f"{columns:8d}{-rows if how == 'big' else rows:8d}{6:8d}{2:8d}{name:8}1P,3E{digits + 7}.{digits}"
    ]

    def numbers(values):
        words = [f"{x:{digits + 7}.{digits}E}" for x in values]
        return ["".join(words[i : i + 3]) for i in range(0, len(words), 3)]

    for j in range(columns):
        filled = np.flatnonzero(matrix[:, j])
        if not filled.size:
            continue
        if how == "dense":
            run = matrix[filled[0] : filled[-1] + 1, j]
            lines += [f"{j + 1:8d}{filled[0] + 1:8d}{len(run):8d}", *numbers(run)]
            continue
        runs = np.split(filled, np.flatnonzero(np.diff(filled) > 1) + 1)
        lines.append(f"{j + 1:8d}{0:8d}{sum(2 * len(r) + (2 if how == 'big' else 1) for r in runs):8d}")
        for run in runs:
            words = 2 * len(run) + 1
            head = f"{words:8d}{run[0] + 1:8d}" if how == "big" else f"{65536 * words + run[0] + 1:8d}"
            lines += [head, *numbers(matrix[run, j])]
    return "\n".join([*lines, f"{columns + 1:8d}{1:8d}{1:8d}", *numbers([1.0])]) + "\n"


@settings(max_examples=60, deadline=None)
@given(
    entries=st.lists(
        st.one_of(st.just(0.0), st.floats(-1e6, 1e6).filter(lambda x: abs(x) > 1e-90)),
        min_size=15,
        max_size=15,
    ),
    how=st.sampled_from(["dense", "packed", "big"]),
)
def test_op4_comes_back_to_the_last_digit(tmp_path_factory, entries, how):
    lower = np.zeros((5, 5))
    lower[np.tril_indices(5)] = entries
    matrix = lower + np.tril(lower, -1).T
    path = tmp_path_factory.mktemp("op4") / "a.op4"
    path.write_text(op4("KAA", matrix, how) + op4("MGG", np.eye(5), "dense"))
    again = read_matrices(path)
    np.testing.assert_array_equal(again.K.toarray(), matrix)
    np.testing.assert_array_equal(again.M.toarray(), np.eye(5))


def test_abaqus(tmp_path):
    """Node 2 is held (1e36), node -1 is one of Abaqus's own, and warping has the number 7."""
    (tmp_path / "k.mtx").write_text(
        "** STIFFNESS\n1,1, 1,1, 3.0\n2,1, 1,1, -1.0\n2,1, 2,1, 1.0e36\n"
        "3,6, 1,1, 0.5\n3,6, 3,6, 2.0\n-1,7, -1,7, 4.0\n"
    )
    (tmp_path / "m.mtx").write_text("1,1, 1,1, 10.0\n2,1, 2,1, 5.0\n")
    again = read_matrices(M=tmp_path / "m.mtx", K=tmp_path / "k.mtx")
    names = ["n1.ux", "n3.rz", "internal1.dof7"]
    order = again.indices(names)
    assert sorted(again.dofs) == sorted(names)
    np.testing.assert_array_equal(
        again.K.toarray()[np.ix_(order, order)], [[3, 0.5, 0], [0.5, 2, 0], [0, 0, 4]]
    )
    np.testing.assert_array_equal(again.M.toarray()[np.ix_(order, order)], np.diag([10.0, 0, 0]))
    (tmp_path / "c.mtx").write_text("1 1 3.0\n2 1 -1.0\n1 2 -1.0\n2 2 1.0\n")  # coordinates, all of it
    both = read_matrices(M=tmp_path / "c.mtx", K=tmp_path / "c.mtx")
    np.testing.assert_array_equal(both.K.toarray(), [[3, -1], [-1, 1]])
    assert both.dofs == ("dof[1]", "dof[2]")


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
    ("name", "text", "words"),
    [
        ("a.csv", "1,2\n3,x\n4\n", [
            "line 2, column 2: 'x' is no number", "line 3: 1 column; 2 expected"]),
        ("a.csv", "1,2,3\n2,4,5\n", [r"K has shape (2, 3)"]),
        ("a.mtx", "1,1, 1,1, 3\n1,0, 1,1, 3\n1,1, 2,1, nan\n1,2\n", [
            "line 2, column 3: '0' is no label", "line 3, column 11: 'nan' is no finite number",
            "line 4, column 1: 2 numbers; expected 5"]),
        ("a.mtx", "1,1, 1,1, 3\n1,1, 1,1, 4\n", ["written twice"]),
        ("a.op4", "       2       2       6       2KAA     1P\n       1       2       2\n 1.0 2.0\n", [
            "lie outside 2 x 2"]),
        ("a.op4", "       2       2       6       2KAA     1P\n       1       1       3\n 1.0\n", [
            "1 values; the column says 3"]),
        ("a.op4", "junk\n", ["expected the header of a matrix"]),
        ("a.pch", "DMIG    KAAX           0       6       4       0\n", [
            "line 1, column 25: 'KAAX' has the form 6 and the type 4"]),
        ("a.pch", "DMIG*   KAAX                           1               1\nGRID  1\n", [
            "line 1, column 9: the matrix 'KAAX' has no header", "line 2, column 1: 'GRID  1'"]),
        ("a.pch", "\n", ["no line begins with DMIG"]),
    ],
)  # fmt: skip
def test_faults_by_line_and_column(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        read_matrices(M=tmp_path / name, K=tmp_path / name)
    for word in words:
        assert word in str(caught.value)


def binary_op4(name, matrix, how, order, word, kind=2):
    """The same in Fortran's records: a length before and after each; a double is two words of four bytes."""
    mark, whole = (">" if order == "big" else "<"), f"i{word}"
    real = "f8" if kind == 2 or word == 8 else "f4"
    each = np.dtype(real).itemsize // word
    rows, columns = matrix.shape

    def record(*parts):
        body = b"".join(parts)
        size = len(body).to_bytes(4, order)
        return size + body + size

    def wholes(*numbers):
        return np.array(numbers, dtype=mark + whole).tobytes()

    def reals(values):
        return np.asarray(values, dtype=mark + real).tobytes()

    text = record(wholes(columns, -rows if how == "big" else rows, 6, kind), name.ljust(2 * word).encode())
    for j in range(columns):
        filled = np.flatnonzero(matrix[:, j])
        if not filled.size:
            continue
        if how == "dense":
            run = matrix[filled[0] : filled[-1] + 1, j]
            text += record(wholes(j + 1, filled[0] + 1, each * len(run)), reals(run))
            continue
        strings = b""
        for run in np.split(filled, np.flatnonzero(np.diff(filled) > 1) + 1):
            words = each * len(run) + 1
            head = wholes(words, run[0] + 1) if how == "big" else wholes(65536 * words + run[0] + 1)
            strings += head + reals(matrix[run, j])
        text += record(wholes(j + 1, 0, len(strings) // word), strings)
    return text + record(wholes(columns + 1, 1, each), reals([1.0]))


@settings(max_examples=60, deadline=None)
@given(
    entries=st.lists(st.one_of(st.just(0.0), st.integers(-999, 999).map(float)), min_size=15, max_size=15),
    how=st.sampled_from(["dense", "packed", "big"]), order=st.sampled_from(["little", "big"]),
    word=st.sampled_from([4, 8]), kind=st.sampled_from([1, 2]),
)  # fmt: skip
def test_binary_op4(tmp_path_factory, entries, how, order, word, kind):
    lower = np.zeros((5, 5))
    lower[np.tril_indices(5)] = entries
    matrix = lower + np.tril(lower, -1).T
    path = tmp_path_factory.mktemp("op4") / "a.op4"
    parts = [("KXX", matrix), ("MXX", np.eye(5)), ("MUG1", np.ones((2, 3)))]
    whole = b"".join(binary_op4(name, x, how, order, word, kind) for name, x in parts)
    path.write_bytes(whole)
    again = read_matrices(path)
    np.testing.assert_array_equal(again.K.toarray(), matrix)
    np.testing.assert_array_equal(again.M.toarray(), np.eye(5))
    path.write_bytes(whole[:-3])
    with pytest.raises(InputError, match="cut short"):
        read_matrices(path)


def test_a_complex_matrix_is_refused_where_it_is_asked_for(tmp_path):
    text = "       1       1       6       4KAA     1P,3E23.16\n       1       1       2\n 1.0 2.0\n"
    (tmp_path / "a.op4").write_text(
        text + "       2       1       1\n 1.0\n" + op4("MAA", np.eye(1), "dense")
    )
    with pytest.raises(InputError, match="K is complex"):
        read_matrices(tmp_path / "a.op4")
    (tmp_path / "k.csv").write_text("3\n")
    assert read_matrices(M=tmp_path / "a.op4", K=tmp_path / "k.csv").K.toarray().tolist() == [[3.0]]
