"""Matrices from files and back, without losing a digit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import io, sparse

from bondloop.errors import InputError
from bondloop.structures import Frame2D, Matrices, Structure, read_matrices, write_matrices


@pytest.fixture
def matrices():
    s = Structure("frame")
    s.node("a")
    s.node("b", x=1 / 3, y=np.sqrt(2))
    s.line("a", "b", n=4, element=Frame2D("a", "b", E=210e9, A=1e-3, I=1 / 7e6, rho=7850))
    s.support("a")
    s.rayleigh(0.1, 1e-5 / 3)
    return s.assemble()


def same(a, b):
    for name in ("M", "C", "K"):
        assert np.array_equal(getattr(a, name).toarray(), getattr(b, name).toarray())


@pytest.mark.parametrize("suffix", ["npz", "mat", "mtx"])
def test_round_trip_is_exact(matrices, tmp_path, suffix):
    files = write_matrices(matrices, tmp_path / f"frame.{suffix}")
    assert len(files) == (3 if suffix == "mtx" else 1)
    again = read_matrices(tmp_path / f"frame.{suffix}")
    assert again.dofs == matrices.dofs
    same(again, matrices)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64), min_size=3, max_size=3),
    st.sampled_from(["npz", "mat", "mtx"]),
)
def test_any_number_survives_a_round_trip(tmp_path_factory, values, suffix):
    a, b, c = values
    K = np.array([[a, b], [b, c]])
    path = tmp_path_factory.mktemp("any") / f"k.{suffix}"
    m = Matrices(np.eye(2), None, K, ("x.ux", "ü 1.uy"))
    write_matrices(m, path)
    again = read_matrices(path)
    same(again, m)
    assert again.dofs == m.dofs


def test_three_files_of_different_kinds(matrices, tmp_path):
    io.mmwrite(tmp_path / "m.mtx", matrices.M.tocoo(), precision=17)
    sparse.save_npz(tmp_path / "k.npz", matrices.K.tocsc())
    np.save(tmp_path / "c.npy", matrices.C.toarray())
    again = read_matrices(M=tmp_path / "m.mtx", C=tmp_path / "c.npy", K=tmp_path / "k.npz")
    same(again, matrices)
    assert again.dofs[:2] == ("dof[1]", "dof[2]")
    named = read_matrices(M=tmp_path / "m.mtx", K=tmp_path / "k.npz", dofs=matrices.dofs)
    assert named.dofs == matrices.dofs
    assert named.C.nnz == 0


def test_dense_matrices_in_mat_and_npz(tmp_path):
    K = np.array([[2.0, -1], [-1, 1]])
    io.savemat(tmp_path / "a.mat", {"M": np.eye(2), "K": K, "note": "from MATLAB"})
    np.savez(tmp_path / "a.npz", M=np.eye(2), K=K)
    for name in ("a.mat", "a.npz"):
        assert read_matrices(tmp_path / name).K.toarray().tolist() == K.tolist()
    io.savemat(tmp_path / "k.mat", {"stiffness": K})
    io.savemat(tmp_path / "m.mat", {"M": np.eye(2), "other": K})
    m = read_matrices(M=tmp_path / "m.mat", K=tmp_path / "k.mat")
    assert m.M.toarray().tolist() == np.eye(2).tolist()


def test_mat_files_of_version_7_3(tmp_path):
    import h5py

    K = sparse.csc_array(np.array([[2.0, -1], [-1, 1]]))
    with h5py.File(tmp_path / "new.mat", "w", userblock_size=512) as file:
        file["M"] = np.eye(2)
        group = file.create_group("K")
        group.attrs["MATLAB_sparse"] = np.uint64(2)
        group["data"], group["ir"], group["jc"] = K.data, K.indices, K.indptr
    header = b"MATLAB 7.3 MAT-file".ljust(116) + bytes(8) + bytes([0x00, 0x02]) + b"IM"
    with (tmp_path / "new.mat").open("r+b") as file:
        file.write(header)
    assert read_matrices(tmp_path / "new.mat").K.toarray().tolist() == K.toarray().tolist()


def test_asymmetric_stiffness_is_named(tmp_path):
    np.savez(tmp_path / "bad.npz", M=np.eye(2), K=np.array([[2.0, -1], [-1.5, 1]]))
    with pytest.raises(InputError, match=r"K is not symmetric: K\[1, 2\] = -1 but K\[2, 1\] = -1.5"):
        read_matrices(tmp_path / "bad.npz")


def test_all_faults_of_files_are_reported_at_once(tmp_path):
    np.save(tmp_path / "m.npy", np.ones((2, 3)))
    np.save(tmp_path / "c.npy", np.eye(2) * 1j)
    (tmp_path / "junk.mtx").write_text("no matrix\n")
    with pytest.raises(InputError) as caught:
        read_matrices(M=tmp_path / "m.npy", C=tmp_path / "c.npy", K=tmp_path / "none.mtx")
    text = str(caught.value)
    assert "M has shape (2, 3)" in text
    assert "C is complex" in text
    assert "none.mtx: cannot be read: No such file" in text
    with pytest.raises(InputError, match=r"junk.mtx: cannot be read"):
        read_matrices(K=tmp_path / "junk.mtx")
    with pytest.raises(InputError, match="unknown kind of file"):
        read_matrices(tmp_path / "m.doc")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"M": np.eye(2)}, "no K given"),
        ({"K": np.eye(2), "M": np.eye(3)}, "sizes differ: M 3, K 2"),
        ({"K": np.eye(2), "M": np.eye(2), "dofs": np.array(["one"])}, "1 names of degrees of freedom"),
        ({"K": np.eye(2) * np.nan, "M": np.eye(2)}, "not finite"),
        ({"stiff": np.eye(2)}, "holds no M, C or K; found stiff"),
    ],
)
def test_files_that_do_not_fit(tmp_path, arrays, message):
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(InputError, match=message):
        read_matrices(tmp_path / "bad.npz")


def test_unknown_suffix_and_mixed_arguments(matrices, tmp_path):
    with pytest.raises(InputError, match=r"ends in .npz, .mat or .mtx"):
        write_matrices(matrices, tmp_path / "frame.txt")
    with pytest.raises(InputError, match="not both"):
        read_matrices(tmp_path / "a.npz", K=tmp_path / "k.mtx")


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(6)), st.integers(0, 99), st.sampled_from(["mtx", "npz", "mat"]))
def test_files_that_order_their_degrees_of_freedom_otherwise_are_put_in_one_order(
    tmp_path_factory, order, seed, suffix
):
    folder = tmp_path_factory.mktemp("orders")
    rng = np.random.default_rng(seed)
    a, b, c = (m + m.T for m in rng.normal(size=(3, 6, 6)))
    names = tuple(f"n[{i}].ux" for i in range(6))
    k = list(order)
    write_matrices(Matrices(a, None, a, names), folder / f"first.{suffix}")
    other = Matrices(b[k][:, k], c[k][:, k], b[k][:, k], tuple(names[i] for i in k))
    write_matrices(other, folder / f"other.{suffix}")
    files = {n: folder / (f"other.{n}.mtx" if suffix == "mtx" else f"other.{suffix}") for n in "CK"}
    first = folder / ("first.M.mtx" if suffix == "mtx" else f"first.{suffix}")
    result = read_matrices(M=first, **files)
    assert result.dofs == names
    assert np.array_equal(result.M.toarray(), a)
    assert np.array_equal(result.C.toarray(), c)
    assert np.array_equal(result.K.toarray(), b)


@pytest.mark.parametrize(
    ("other", "words"), [(("a", "z"), "z here alone; b missing"), (("a", "b", "c"), "c here alone")]
)
def test_files_with_other_degrees_of_freedom_are_refused(tmp_path, other, words):
    for name, dofs in (("M", ("a", "b")), ("K", other)):
        np.savez(tmp_path / f"{name}.npz", **{name: np.eye(len(dofs)), "dofs": np.array(dofs)})
    with pytest.raises(InputError, match=words):
        read_matrices(M=tmp_path / "M.npz", K=tmp_path / "K.npz")


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text(st.characters(codec="utf-8"), max_size=4), min_size=1, max_size=3, unique=True),
    st.sampled_from(["mtx", "npz", "mat"]),
)
def test_names_come_back_or_are_refused(tmp_path_factory, names, suffix):
    folder = tmp_path_factory.mktemp("names")
    eye = np.eye(len(names))
    try:
        write_matrices(Matrices(eye, None, eye, tuple(names)), folder / f"a.{suffix}")
    except InputError as error:
        assert "would not come back" in str(error)  # noqa: PT017 - most names are good
        return
    assert read_matrices(folder / f"a.{suffix}").dofs == tuple(names)


@pytest.mark.parametrize("name", ["tail ", " head", "two\nlines", "", "a\u2028b"])
def test_names_that_a_matrix_market_file_loses_are_refused(tmp_path, name):
    with pytest.raises(InputError, match="would not come back"):
        write_matrices(Matrices(np.eye(2), None, np.eye(2), ("a", name)), tmp_path / "a.mtx")


def test_a_number_is_no_file_of_matrices():
    with pytest.raises(InputError, match="expected the name of a file of matrices; found 5"):
        read_matrices(5)
