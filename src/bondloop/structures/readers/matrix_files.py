"""M, C and K in from Matrix Market, .mat, .npz files and tables, and out again, without losing a digit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.containers import (
    MOST,
    checked_sparse,
    dataset_values,
    expect_file,
    load_matlab,
    load_numpy,
    own_items,
    readable,
    sparse_from_parts,
)
from bondloop.errors import InputError
from bondloop.readers import numbers_of, read_in_process, read_table
from bondloop.structures.matrices import Matrices, matrix_fault

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse


HEADER = "%%matrixmarket matrix"
FORMS = ("coordinate", "array")
FIELDS = ("real", "double", "integer", "pattern")
"""What the file says that its entries are; of a pattern it has their places alone."""
SYMMETRIES = ("general", "symmetric", "skew-symmetric")


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
        numbers, int(sizes[2]), 2 if field == "pattern" else 3, (rows, columns), symmetry
    ), comments


def _numbers(lines: list[str], what: str) -> NDArray[np.float64]:
    try:
        return np.array(
            " ".join(line for line in lines if not line.startswith("%")).split(), dtype=np.float64
        )
    except ValueError as error:
        raise InputError(f"{what} are not all numbers: {error}") from None


def _coordinates(
    numbers: NDArray[np.float64], count: int, width: int, shape: tuple[int, int], symmetry: str
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
    if symmetry != "general":
        off = i != j
        # One half of the matrix is written; with entries of both it is not said whether they are to be added.
        upper, lower = (set(zip(a[b > a], b[b > a], strict=True)) for a, b in ((i, j), (j, i)))
        for low, high in sorted(upper & lower)[:1]:
            raise InputError(
                f"it is {symmetry}, so it should hold one of the "
                f"entries {high + 1}, {low + 1} and {low + 1}, {high + 1}; it holds both"
            )
        i, j = np.concatenate([i, j[off]]), np.concatenate([j, i[off]])
        values = np.concatenate([values, -values[off] if symmetry == "skew-symmetric" else values[off]])
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
    matrix[j, i] = -numbers if symmetry == "skew-symmetric" else numbers
    matrix[i, j] = numbers
    return sparse.coo_array(matrix)


NAMES = ("M", "C", "K")
MARK = "dof "
"""How a comment of a Matrix Market file starts that names a degree of freedom."""

Content = dict[str, Any]
Found = tuple[Content, tuple[str, ...] | None, list[str]]
"""Matrices by name, names of degrees of freedom, and faults."""


def read_matrices(
    source: str | Path | None = None,
    *,
    M: str | Path | None = None,
    C: str | Path | None = None,
    K: str | Path | None = None,
    dofs: Sequence[str] | None = None,
) -> Matrices:
    """Read matrices from one file, or from one file each.

    Parameters
    ----------
    source
        A .npz or .mat file with the variables M, C and K; or ``name.mtx`` for the three files name.M.mtx,
        name.C.mtx and name.K.mtx.
    M, C, K
        Files of single matrices: .mtx (Matrix Market), .npz (also SciPy's), .npy, .mat, .csv, .txt. Without C
        there is no damping. Where they name their degrees of freedom, these may stand in different orders;
        the first file's is kept.
    dofs
        Names of the degrees of freedom; by default those in the file, or ``dof[1]``, ``dof[2]``, ...

    Raises
    ------
    InputError
        With all faults at once: missing files, wrong shapes, asymmetry, names that do not fit.
    """
    files = _files(source, {"M": M, "C": C, "K": K})
    found: Content = {}
    faults: list[str] = []
    for name, path in files:
        try:
            chosen, own, more = _matrices(path, name)
        except InputError as error:
            said = str(error)
            faults.append(said if said.startswith(str(path)) else f"{path}: cannot be read: {said}")
            continue
        faults += more
        if own is not None:
            order: tuple[str, ...] = found.setdefault("dofs", own)
            chosen = _in_order(chosen, own, order, path, faults)
        found.update(chosen)
    if not faults:
        faults += [f"no {name} given" for name in ("M", "K") if name not in found]
    matrices = {name: found[name] for name in NAMES if name in found}
    for name, matrix in matrices.items():
        if matrix.shape[0] != matrix.shape[1]:
            faults.append(f"{name} has shape {matrix.shape}; expected a square matrix")
        elif fault := matrix_fault(name, matrix, range(1, matrix.shape[0] + 1)):
            faults.append(fault)
    sizes = {matrix.shape[0] for matrix in matrices.values()}
    if len(sizes) > 1:
        faults.append("sizes differ: " + ", ".join(f"{k} {v.shape[0]}" for k, v in matrices.items()))
    names = tuple(dofs) if dofs is not None else found.get("dofs")
    if names is not None and len(sizes) == 1 and len(names) not in sizes:
        faults.append(f"{len(names)} names of degrees of freedom for matrices of size {sizes.pop()}")
    if faults:
        raise InputError("matrices cannot be used:\n  " + "\n  ".join(faults))
    n = matrices["K"].shape[0]
    names = names if names is not None else tuple(f"dof[{i}]" for i in range(1, n + 1))
    return Matrices(matrices["M"], matrices.get("C"), matrices["K"], names)


def write_matrices(matrices: Matrices, path: str | Path) -> tuple[Path, ...]:
    """Write M, C, K and the names of the degrees of freedom; return the files written.

    ``.npz`` and ``.mat`` make one file, ``name.mtx`` makes name.M.mtx, name.C.mtx and name.K.mtx.

    Parameters
    ----------
    matrices
        What to write.
    path
        Name of the file; its ending is the format.

    Examples
    --------
    >>> import tempfile
    >>> from bondloop.structures import ShearBuilding
    >>> m = ShearBuilding([1.0, 2.0], [0.1, 1 / 3]).assemble()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [file] = write_matrices(m, Path(folder) / "two.npz")
    ...     again = read_matrices(file)
    >>> again.dofs, float(again.K[1, 1]) == 1 / 3
    (('floor[1].ux', 'floor[2].ux'), True)
    """
    path = _path(path)
    lost = [d for d in matrices.dofs if not _lasts(d, path.suffix)]
    if lost:
        raise InputError(
            f"{path}: the degree of freedom {lost[0]!r} would not come back from a {path.suffix} file; give "
            "it a name without blanks at its ends, in one line"
        )
    parts = {name: getattr(matrices, name) for name in NAMES}
    if path.suffix == ".npz":
        arrays: dict[str, Any] = {"dofs": np.array(matrices.dofs, dtype=np.str_)}
        for name, matrix in parts.items():
            arrays |= {f"{name}_{part}": getattr(matrix, part) for part in ("data", "indices", "indptr")}
        np.savez_compressed(path, **arrays)
        return (path,)
    from scipy import io

    if path.suffix == ".mat":
        names = np.array(matrices.dofs, dtype=object)
        io.savemat(path, {**{k: v.tocsc() for k, v in parts.items()}, "dofs": names}, do_compression=True)
        return (path,)
    if path.suffix == ".mtx":
        comment = "\n".join(MARK + dof for dof in matrices.dofs)
        files = tuple(path.with_suffix(f".{name}.mtx") for name in NAMES)
        for file, matrix in zip(files, parts.values(), strict=True):
            io.mmwrite(file, matrix.tocoo(), comment=comment, precision=17)
        return files
    raise InputError(f"{path}: expected a name that ends in .npz, .mat or .mtx")


def _lasts(name: str, suffix: str) -> bool:
    """Whether the name of a degree of freedom comes back from a file as it is."""
    if suffix == ".mtx":  # a comment each
        return name == name.strip() and len(name.splitlines()) == 1 and name.isprintable()
    return "\0" not in name and (suffix == ".npz" or name != "")  # texts are filled up with NUL


def _path(path: str | Path) -> Path:
    try:
        return Path(path)
    except TypeError:
        raise InputError(f"expected the name of a file of matrices; found {path!r:.60}") from None


def _files(source: str | Path | None, single: dict[str, str | Path | None]) -> list[tuple[str | None, Path]]:
    if source is None:
        return [(name, _path(path)) for name, path in single.items() if path is not None]
    path = _path(source)
    if any(p is not None for p in single.values()):
        raise InputError("give one file with all matrices, or M=, C=, K= files, but not both")
    if path.suffix != ".mtx":
        return [(None, path)]
    files = [(name, path.with_suffix(f".{name}.mtx")) for name in NAMES]
    return [(name, file) for name, file in files if name != "C" or file.exists()]


def _matrices(path: Path, name: str | None) -> Found:
    """Read a file of arrays by a process of its own, since their libraries trust it; a text here."""
    if path.suffix.lower() not in ARRAYS:
        return _matrices_here(path, name)
    work = "bondloop.structures.readers.matrix_files:matrix_parts"
    answer, body = read_in_process(work, path, ["scipy.io", "scipy.sparse", "h5py"], name=name)
    chosen: Content = {}
    sizes = [2 * count + rows + 1 for rows, _, count in answer["shapes"].values()]
    parts = np.split(numbers_of(body, sum(sizes), path), np.cumsum(sizes, dtype=int)[:-1])
    for (matrix, (rows, columns, count)), part in zip(answer["shapes"].items(), parts, strict=False):
        indices, pointers = np.split(part[count:].view("<i8"), [count])
        chosen[matrix] = sparse_from_parts(part[:count], indices, pointers, (rows, columns), rows=True)
    names = answer["dofs"]
    return chosen, None if names is None else tuple(names), answer["faults"]


def matrix_parts(path: Path, name: str | None) -> tuple[dict[str, object], list[NDArray[Any]]]:
    """Read a file for another process: shapes, names and faults; of each matrix its compressed rows.

    Parameters
    ----------
    path
        Of the file.
    name
        The matrix that is wanted; None for all.
    """
    chosen, names, faults = _matrices_here(path, name)
    shapes = {matrix: (*values.shape, values.data.size) for matrix, values in chosen.items()}
    parts = [
        (values.data, values.indices.astype("<i8"), values.indptr.astype("<i8")) for values in chosen.values()
    ]
    return {"shapes": shapes, "dofs": names, "faults": faults}, [array for part in parts for array in part]


def _matrices_here(path: Path, name: str | None) -> Found:
    faults: list[str] = []
    with readable(path, "file of matrices"):
        content = _reader(path)(path)
        names = content.pop("dofs", None)
        return _pick(name, content, path, faults), names, faults


def _reader(path: Path) -> Callable[[Path], Content]:
    readers = {
        ".mtx": _read_mtx, **ARRAYS, ".csv": read_table_matrix, ".txt": read_table_matrix,
    }  # fmt: skip
    if path.suffix.lower() not in readers:
        raise InputError(f"{path}: unknown kind of file; known: {', '.join(readers)}")
    return readers[path.suffix.lower()]


def _read_mtx(path: Path) -> Content:
    from scipy import sparse

    matrix, comments = read_matrix_market(path)
    names = tuple(text.removeprefix(MARK) for text in comments if text.startswith(MARK))
    return {"": sparse.csr_array(matrix), "dofs": names or None}


def read_table_matrix(path: Path, largest: int = 500_000_000, widest: int = 20_000) -> Content:
    """Read a matrix as text, a row a line, with the names of its degrees of freedom if these stand above it.

    Parameters
    ----------
    path
        Of the file.
    largest, widest
        Bytes and columns that are read at most.
    """
    table = read_table(path, header=True, most=largest)
    width, count = table.numbers.shape
    if width > widest:
        raise InputError(f"{width:,} columns; at most {widest:,} are read from text")
    if not count:
        raise InputError("no line has numbers")
    names = tuple(name.strip("\"'") for name in table.names)
    return {"": np.ascontiguousarray(table.numbers.T), "dofs": names or None}


def _read_npy(path: Path) -> Content:
    return {**load_numpy(path), "dofs": None}


def _read_npz(path: Path) -> Content:
    arrays = load_numpy(path)
    if "format" in arrays and "data" in arrays:
        return {"": _scipy_sparse(arrays), "dofs": None}
    names = arrays.pop("dofs", None)
    content: Content = {"dofs": None if names is None else tuple(str(d) for d in np.ravel(names))}
    for name, values in arrays.items():
        if name.endswith("_indptr"):
            stem = name.removesuffix("_indptr")
            size = np.size(values) - 1
            parts = (arrays[f"{stem}_data"], arrays[f"{stem}_indices"], values)
            content[stem] = sparse_from_parts(*parts, (size, size), rows=True)
        elif not name.endswith(("_data", "_indices")):
            content[name] = values
    return content


def _scipy_sparse(arrays: Content) -> Any:
    """Return the matrix of a file that `scipy.sparse.save_npz` wrote."""
    form = arrays["format"].item()
    form = form.decode("ascii") if isinstance(form, bytes) else str(form)
    rows, columns = (int(n) for n in np.ravel(arrays["shape"]))
    if form in ("csr", "csc"):
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        return sparse_from_parts(*parts, (rows, columns), rows=form == "csr")
    raise InputError(f"it holds a sparse matrix of the form '{form}'; csr and csc are read")


def _read_mat(path: Path) -> Content:
    from scipy import sparse

    content = load_matlab(path, simple=False)
    if content is None:
        return _read_mat73(path)
    names = content.pop("dofs", None)
    content = {k: checked_sparse(v) if sparse.issparse(v) else v for k, v in content.items()}
    content["dofs"] = None if names is None else tuple(str(np.squeeze(d)) for d in np.ravel(names))
    return content


def _read_mat73(path: Path) -> Content:
    """MATLAB's files since 7.3 are HDF5: arrays are transposed, sparse ones are groups of data, ir, jc."""
    import h5py

    content: Content = {"dofs": None}
    with h5py.File(path, "r") as file:
        for name, item in own_items(file):
            if "MATLAB_sparse" in item.attrs and isinstance(item, h5py.Group):
                parts = {k: dataset_values(v) for k, v in own_items(item) if isinstance(v, h5py.Dataset)}
                jc = parts["jc"]
                shape = (int(item.attrs["MATLAB_sparse"]), np.size(jc) - 1)
                entries = (parts["data"], parts["ir"]) if "data" in parts else ([], [])
                content[name] = sparse_from_parts(*entries, jc, shape, rows=False)
            elif isinstance(item, h5py.Dataset) and item.dtype.kind in "fiu":
                content[name] = dataset_values(item).T
    return content


ARRAYS = {".npz": _read_npz, ".npy": _read_npy, ".mat": _read_mat}
"""Readers of files of arrays."""


def _pick(name: str | None, content: Content, path: Path, faults: list[str]) -> Content:
    """Take the matrix `name` of a file, or all three; a file that holds a single matrix needs no name."""
    from scipy import sparse

    if name is None:
        chosen = {k: v for k, v in content.items() if k in NAMES}
        if not chosen:
            faults.append(f"{path}: holds no M, C or K; found {', '.join(sorted(content)) or 'nothing'}")
    elif name in content or len(content) == 1:
        chosen = {name: content[name] if name in content else next(iter(content.values()))}
    else:
        faults.append(f"{path}: holds no {name}; found {', '.join(sorted(content)) or 'nothing'}")
        chosen = {}
    answer = {}
    for k, v in chosen.items():
        if v.dtype.kind not in "fiub":
            what = "complex" if v.dtype.kind == "c" else f"of {v.dtype}"
            faults.append(f"{path}: {k} is {what}; real numbers were expected")
        elif len(v.shape) != 2:
            faults.append(f"{path}: {k} has shape {v.shape}; expected a matrix")
        else:
            answer[k] = sparse.csr_array(v, dtype=float)
    return answer


def _in_order(
    chosen: Content, own: tuple[str, ...], order: tuple[str, ...], path: Path, faults: list[str]
) -> Content:
    """Return a file's matrices in the order of the first file's degrees of freedom."""
    if own == order:
        return chosen
    if set(own) != set(order) or len(own) != len(order):
        one, other = (sorted({*a} - {*b}) for a, b in ((own, order), (order, own)))
        pairs = ((one, "here alone"), (other, "missing"))
        words = [f"{', '.join(names[:4])} {where}" for names, where in pairs if names]
        faults.append(
            f"{path}: other degrees of freedom than in the first file: "
            f"{'; '.join(words) or f'{len(own)} names for {len(order)}'}"
        )
        return {}
    at = {name: i for i, name in enumerate(own)}
    k = [at[name] for name in order]
    return {n: m[k][:, k] if m.shape == (len(k), len(k)) else m for n, m in chosen.items()}
