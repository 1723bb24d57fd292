"""Matrices in Nastran's OUTPUT4 format, written binary: Fortran's records, of either byte order and word."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from bondloop.containers import MOST
from bondloop.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    Output: TypeAlias = sparse.csr_array[np.float64 | np.complex128]

__all__ = ["is_binary_op4", "own_name", "read_op4_binary"]

PACKED = 65536
"""A string of a sparse matrix begins with its length and its row in one number, length · 65536 + row."""
HEADERS = {24: 4, 48: 8}
"""Bytes of a word, by those of the first record: six words."""


def is_binary_op4(start: bytes) -> bool:
    """Whether a file begins with the length of a header, in either byte order.

    >>> is_binary_op4(bytes([24, 0, 0, 0])), is_binary_op4(b"       2       2")
    (True, False)
    """
    return any(int.from_bytes(start[:4], order) in HEADERS for order in ("little", "big"))


def read_op4_binary(path: Path) -> dict[str, Output]:
    """Return the matrices of a binary OUTPUT4 file, by name.

    Parameters
    ----------
    path
        Of the file.
    """
    data = path.read_bytes()
    order = "<" if int.from_bytes(data[:4], "little") in HEADERS else ">"
    word = HEADERS[int.from_bytes(data[:4], "little" if order == "<" else "big")]
    matrices: dict[str, Output] = {}
    records = _records(data, order)
    for place, record in records:
        if len(record) != 6 * word:
            raise InputError(
                f"byte {place}: a record of {len(record)} bytes; expected a header of {6 * word}"
            )
        columns, rows, _, kind = (int(x) for x in np.frombuffer(record[: 4 * word], f"{order}i{word}"))
        name = record[4 * word :].decode("ascii", "replace").replace("\0", " ").strip()
        sized = 0 < columns <= MOST and 0 < abs(rows) <= MOST
        if kind not in (1, 2, 3, 4) or not sized or not name:
            raise InputError(
                f"byte {place}: a matrix {name!r:.20} of {rows} x {columns}, type {kind}; expected a name, "
                f"at most {MOST:,} rows and a type from 1 to 4"
            )
        name = own_name(name, matrices)
        matrices[name] = _matrix(records, (rows, columns), kind, order, word)
    return matrices


def own_name(name: str, others: Collection[str]) -> str:
    """Return a name that no other matrix of a file has: the second ``PHI`` is ``PHI[2]``.

    >>> own_name("PHI", ["PHI"])
    'PHI[2]'
    """
    return next(n for k in count(1) if (n := name if k == 1 else f"{name}[{k}]") not in others)


def _records(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """Yield Fortran's records, whose length stands before and after each."""
    kind: Literal["little", "big"] = "little" if order == "<" else "big"
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], kind)
        end = at + 4 + size
        if end + 4 > len(data) or int.from_bytes(data[end : end + 4], kind) != size:
            raise InputError(f"byte {at}: a record of {size:,} bytes is cut short, or its two lengths differ")
        yield at, data[at + 4 : end]
        at = end + 4


def _matrix(
    records: Iterator[tuple[int, bytes]], shape: tuple[int, int], kind: int, order: str, word: int
) -> Output:
    """Read the columns of a matrix; a number of rows below zero says that there are many (BIGMAT)."""
    from scipy import sparse

    many, shape = shape[0] < 0, (abs(shape[0]), shape[1])
    # A word holds a single number, or half a double; of eight bytes it holds either.
    letter, parts = ("c", 2) if kind > 2 else ("f", 1)
    size = parts * (8 if kind in (2, 4) or word == 8 else 4)
    real = f"{order}{letter}{size}"
    whole = f"{order}i{word}"
    i: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    j: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    x: list[Any] = [np.zeros(0)]
    for place, record in records:
        if len(record) < 3 * word:
            raise InputError(
                f"byte {place}: a column of {len(record)} bytes; at least {3 * word} were expected"
            )
        column, row, number = (int(n) for n in np.frombuffer(record[: 3 * word], whole))
        if column == shape[1] + 1:  # one too many: the end
            break
        words = record[3 * word :]
        if number * word != len(words) or not 1 <= column <= shape[1]:
            raise InputError(f"byte {place}: column {column} of {number} words, in {len(words)} bytes")
        for first, block in [(row, words)] if row else _strings(words, whole, word, place, many=many):
            if len(block) % size:
                raise InputError(f"byte {place}: {len(block)} bytes are no whole numbers")
            values = np.frombuffer(block, real).astype(np.complex128 if kind > 2 else np.float64)
            if first < 1 or first - 1 + len(values) > shape[0]:
                raise InputError(f"byte {place}: rows from {first} of column {column} lie outside {shape[0]}")
            i.append(np.arange(first - 1, first - 1 + len(values)))
            j.append(np.full(len(values), column - 1))
            x.append(values)
    else:
        raise InputError("the last matrix has no end; the file is cut short")
    data, rows, columns = np.concatenate(x), np.concatenate(i), np.concatenate(j)
    kept = data != 0
    return sparse.coo_array((data[kept], (rows[kept], columns[kept])), shape=shape).tocsr()


def _strings(words: bytes, whole: str, word: int, place: int, *, many: bool) -> Iterator[tuple[int, bytes]]:
    """Yield first row and values of the strings of a column; of many rows, length and row are two words."""
    at, width = 0, 2 if many else 1
    while at < len(words):
        head = np.frombuffer(words[at : at + width * word], whole)
        if len(head) < width:
            raise InputError(f"byte {place}: a string of a column is cut short")
        first = int(head[0])
        length, row = (first - 1, int(head[1])) if many else (first // PACKED - 1, first % PACKED)
        start = at + width * word
        if length < 1 or start + length * word > len(words):
            raise InputError(f"byte {place}: a string of {length} words in a column of {len(words) // word}")
        yield row, words[start : start + length * word]
        at = start + length * word
