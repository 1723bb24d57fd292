"""Tables of numbers that generated C reads: written out in its text, or handed to the library that is loaded.

A compiler takes 4 µs for every number of a table, and a model of 10,000 degrees of freedom has millions. A
library that is used from here therefore gets large tables as they lie in memory. A file that stands for
itself has them written out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["CTables", "Numbers"]

LARGE = 10_000
"""Entries of all tables beyond which they are handed over."""

SMALL = 64
"""Entries of a table that is always written out, at the most."""

KINDS = {"double": np.float64, "int": np.int32}


def _digest(table: NDArray[np.number]) -> bytes:
    return hashlib.sha256(table.data).digest()


class CTables:
    """The tables of one file; the same numbers are one table.

    Parameters
    ----------
    prefix
        What all names begin with.
    number
        Writes a number.

    Examples
    --------
    >>> tables = CTables("demo", repr)
    >>> tables.add("int", "starts_1", [0, 2, 3]), tables.add("int", "starts_2", [0, 2, 3])
    ('demo_starts_1', 'demo_starts_1')
    >>> list(tables)
    ['static const int demo_starts_1[3] = {0, 2, 3};']
    """

    def __init__(self, prefix: str, number: Callable[[float], str]) -> None:
        self.prefix, self._number = prefix, number
        self._tables: dict[str, tuple[str, NDArray[np.number]]] = {}
        self._names: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def add(self, kind: str, what: str, values: ArrayLike) -> str:
        """Return the name of a table of one or two dimensions; the same one for the same entries."""
        table = np.ascontiguousarray(values, dtype=KINDS[kind])
        if not table.size:  # C has no empty arrays
            table = np.zeros(1, KINDS[kind])
        key = (kind, table.shape, _digest(table) if table.size > SMALL else table.tobytes())
        if key not in self._names:
            name = f"{self.prefix}_{what}"
            while name in self._tables:
                name += "_too"
            self._names[key] = name
            self._tables[name] = (kind, table)
        return self._names[key]

    def __len__(self) -> int:
        return len(self._tables)

    def __iter__(self) -> Iterator[str]:
        for name, (kind, table) in self._tables.items():
            yield self._written(name, kind, table)

    def _written(self, name: str, kind: str, table: NDArray[np.number]) -> str:
        write: Callable[[float], str] = self._number if kind == "double" else str
        if table.ndim == 2:
            rows = ",\n".join(f"    {{{', '.join(map(write, row))}}}" for row in table.tolist())
            return f"static const {kind} {name}[{len(table)}][{table.shape[1]}] = {{\n{rows}\n}};"
        return f"static const {kind} {name}[{len(table)}] = {{{', '.join(map(write, table.tolist()))}}};"

    def apart(self) -> Numbers | None:
        """Return the large tables as they are handed over; None where all are small."""
        large = {n: t for n, t in self._tables.items() if t[1].size > SMALL}
        if sum(table.size for _, table in large.values()) <= LARGE:
            return None
        arrays: dict[str, list[NDArray[np.number]]] = {kind: [] for kind in KINDS}
        places: dict[str, int] = dict.fromkeys(KINDS, 0)
        lines = []
        for name, (kind, table) in self._tables.items():
            if name not in large:
                lines.append(self._written(name, kind, table))
                continue
            first = f"({kind}_numbers + {places[kind]})"
            row = f"((const {kind} (*)[{table.shape[1]}]){first})" if table.ndim == 2 else first
            lines.append(f"#define {name} {row}")
            arrays[kind].append(table.ravel())
            places[kind] += table.size
        joined = {kind: np.concatenate([*a, np.zeros(1, KINDS[kind])]) for kind, a in arrays.items()}
        return Numbers(lines, joined)


class Numbers:
    """Tables that are handed to a library.

    Attributes
    ----------
    lines
        What stands in the text in their place.
    arrays
        All of a kind, one after the other, by kind.
    """

    def __init__(self, lines: list[str], arrays: dict[str, NDArray[np.number]]) -> None:
        self.lines, self.arrays = lines, arrays

    @property
    def digest(self) -> str:
        """A text that differs where a number does."""
        return hashlib.sha256(b"".join(map(_digest, self.arrays.values()))).hexdigest()
