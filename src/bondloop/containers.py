"""Arrays out of .npy, .npz, .mat and HDF5 files that a stranger may have made.

A file says how large its arrays are, and a false word costs all memory or worse. What HDF5 says is compared
with what it holds before a byte is allocated; .npy, .npz and .mat are read by a process of bounded memory and
time (`bondloop.readers.ask`). Nothing outside the file is followed, no object is unpickled, and a sparse
matrix is looked through before anything computes with it: its indices address memory.
"""

from __future__ import annotations

import math
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError

if TYPE_CHECKING:
    import h5py
    from numpy.typing import NDArray
    from scipy import sparse

__all__ = [
    "LARGEST",
    "MOST",
    "checked_sparse",
    "dataset_checked",
    "dataset_values",
    "expect_file",
    "load_matlab",
    "load_numpy",
    "own_item",
    "own_items",
    "readable",
    "sparse_from_parts",
]

LARGEST = 4 * 2**30
"""Bytes of one array beyond which it is refused: 23,000 degrees of freedom in a full matrix."""

MOST = 10_000_000
"""Rows or columns of a sparse matrix."""

RATIO = 2000
"""Bytes that one byte of a compressed file can stand for; zlib reaches 1032."""

SMALL = 2**20
"""Bytes that are read whatever the file holds."""


def expect_file(path: Path, most: float = math.inf) -> None:
    """Refuse what is no ordinary file, or too large a one, before it is opened: a pipe could keep us waiting.

    Parameters
    ----------
    path
        What is to be read; an OSError where it cannot be looked at.
    most
        Bytes that it may have.

    Examples
    --------
    >>> expect_file(Path("/dev/zero"))
    Traceback (most recent call last):
    bondloop.errors.InputError: /dev/zero: a device; expected an ordinary file
    """
    about = path.stat()
    if not stat.S_ISREG(about.st_mode) and not stat.S_ISDIR(about.st_mode):  # of a folder the system says it
        kind = "a pipe" if stat.S_ISFIFO(about.st_mode) else "a socket" if path.is_socket() else "a device"
        raise InputError(f"{path}: {kind}; expected an ordinary file")
    if about.st_size > most:
        raise InputError(f"{path}: {_bytes(about.st_size)}; at most {_bytes(most)} are read")


@contextmanager
def readable(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a library says of a damaged file into one sentence.

    Readers of binary formats fail in as many ways as there are bytes to change, and document few of them.

    Parameters
    ----------
    path
        The file.
    kind
        What it should be, for the sentence: ``"MATLAB file"``.
    """
    try:
        yield
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(f"{path} asks for more memory than there is; it is damaged or too large") from error
    except Exception as error:  # see above; a fault of ours in here is told the same way
        if isinstance(error, OSError) and error.strerror:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from error
        reason = " ".join((str(error) or type(error).__name__).split())[:300]
        raise InputError(f"{path} is damaged, perhaps cut short, or no {kind} ({reason})") from error


# ---------------------------------------------------------------------- NumPy


def load_numpy(path: Path) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of a .npz file by name, or the one of a .npy file under the empty name.

    NumPy allocates what a header claims: this is work for a process of bounded memory, see
    `bondloop.readers.ask`.

    Parameters
    ----------
    path
        The file.
    """
    with readable(path, "NumPy archive"):
        content = np.load(path, allow_pickle=False)
        if isinstance(content, np.ndarray):
            return {"": content}
        with content:
            return dict(content)


# ---------------------------------------------------------------------- MATLAB


def load_matlab(path: Path, *, simple: bool) -> dict[str, Any] | None:
    """Return the variables of a MATLAB file up to version 7; None for one of 7.3, which is HDF5.

    SciPy takes any number for a type, and a byte changed at the right place ends the process: this is work
    for a process of its own, see `bondloop.readers.ask`.

    Parameters
    ----------
    path
        The file.
    simple
        Whether structures become dictionaries and vectors lose their second dimension.
    """
    from scipy.io import loadmat

    with readable(path, "MATLAB file"):
        try:
            content = loadmat(str(path), appendmat=False, simplify_cells=simple, squeeze_me=simple)
        except NotImplementedError:
            return None
        return {k: v for k, v in content.items() if not k.startswith("__")}


# ---------------------------------------------------------------------- HDF5


def own_item(group: h5py.Group, name: str) -> h5py.Group | h5py.Dataset | None:
    """Return what a group itself holds under a name, None if nothing; a link that leads elsewhere is refused.

    Parameters
    ----------
    group
        Of an open file.
    name
        Of the item, or ``"/"`` for the file's own group.
    """
    import h5py

    link = group.get(name, getlink=True) if name.strip("/") else None
    if isinstance(link, (h5py.ExternalLink, h5py.SoftLink)):
        raise InputError(
            f"{group.file.filename}: '{name}' is a link to '{link.path}', elsewhere; only what a file holds "
            "itself is read"
        )
    item = group.get(name)
    return item if isinstance(item, (h5py.Group, h5py.Dataset)) else None


def own_items(group: h5py.Group) -> Iterator[tuple[str, h5py.Group | h5py.Dataset]]:
    """Yield what a group itself holds, by name.

    Parameters
    ----------
    group
        Of an open file.
    """
    for name in group:
        item = own_item(group, name)
        if item is not None:
            yield name, item


def dataset_values(dataset: h5py.Dataset, rows: int | None = None, first: int = 0) -> NDArray[Any]:
    """Return the values of a dataset that lie in the file itself, as large as it says.

    Parameters
    ----------
    dataset
        Of an open file.
    rows
        Only those before this one; all if not given.
    first
        Where they begin.
    """
    dataset_checked(dataset)
    return np.asarray(dataset[()] if rows is None and not first else dataset[first:rows])


def dataset_checked(dataset: h5py.Dataset, largest: int = LARGEST) -> None:
    """Refuse a dataset that keeps its values elsewhere, or claims more of them than its file can hold.

    Parameters
    ----------
    dataset
        Of an open file.
    largest
        Bytes beyond which it is refused in any case.
    """
    where = f"{dataset.file.filename}: '{dataset.name}'"
    if dataset.external or dataset.is_virtual:
        raise InputError(f"{where} keeps its numbers in other files; only what a file holds itself is read")
    size, held = dataset.nbytes, dataset.id.get_storage_size()
    if size > min(largest, RATIO * held) + SMALL:
        raise InputError(f"{where} claims {_bytes(size)} but holds {_bytes(held)}")


# ---------------------------------------------------------------------- sparse matrices


def sparse_from_parts(
    data: object, indices: object, pointers: object, shape: tuple[int, int], *, rows: bool
) -> sparse.csr_array[Any] | sparse.csc_array[Any]:
    """Return a sparse matrix from its compressed form.

    Parameters
    ----------
    data, indices, pointers
        Entries, their columns (or rows), and where each row (or column) begins.
    shape
        Of the matrix.
    rows
        Whether it is compressed by rows, otherwise by columns.
    """
    from scipy import sparse

    data, indices, pointers = (np.atleast_1d(np.asarray(part)) for part in (data, indices, pointers))
    for name, part in (("indices", indices), ("pointers", pointers)):
        if part.size and part.dtype.kind not in "iu":
            raise InputError(f"the {name} of a sparse matrix are {part.dtype}; whole numbers were expected")
    if min(shape) < 0 or max(shape) > MOST:
        raise InputError(f"a sparse matrix claims {_shape(shape)}; at most {MOST:,} rows are read")
    kind = sparse.csr_array if rows else sparse.csc_array
    parts = (data, indices.astype(np.int64), pointers.astype(np.int64))
    try:
        matrix = kind(parts, shape=shape)
    except ValueError as error:
        raise InputError(f"a sparse matrix is not well formed: {error}") from None
    checked_sparse(matrix)
    return matrix


def checked_sparse(matrix: Any) -> Any:
    """Return a sparse matrix whose indices have been looked through; those of any other are an InputError.

    Parameters
    ----------
    matrix
        As a library read it.
    """
    if max(matrix.shape) > MOST:
        raise InputError(f"a sparse matrix claims {_shape(matrix.shape)}; at most {MOST:,} rows are read")
    fault = _sparse_fault(matrix)
    if fault:
        raise InputError(f"a sparse matrix is not well formed: {fault}")
    return matrix


def _sparse_fault(matrix: Any) -> str:
    """Return what is wrong with the indices of a sparse matrix; nothing if all is well."""
    if matrix.format in ("csr", "csc"):
        try:
            matrix.check_format(full_check=True)
        except ValueError as error:
            return str(error)
    elif matrix.format == "coo":
        for numbers, size in zip(matrix.coords, matrix.shape, strict=True):
            if len(numbers) != len(matrix.data):
                return f"{len(matrix.data)} entries have {len(numbers)} indices"
            if numbers.size and not (numbers.min() >= 0 and numbers.max() < size):
                return f"indices of {numbers.min()} to {numbers.max()} in a matrix of {_shape(matrix.shape)}"
    else:
        return f"its form '{matrix.format}' is not read"
    return ""


def _bytes(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return f"{count:.3g} {unit}"
        count /= 1000
    raise AssertionError


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(f"{n:,}" for n in shape)
