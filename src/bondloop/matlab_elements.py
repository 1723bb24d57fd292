"""The elements of a MATLAB file up to version 7, looked through before SciPy computes with them.

SciPy's reader (1.17) looks a number's type up in a table with the type that the file gives, whatever it is; a
byte changed at the right place ends the process. So every tag is read here first, in the order in which SciPy
reads them, and a type or a length that cannot be is refused.
"""

from __future__ import annotations

import math
import mmap
import struct
import zlib
from enum import IntEnum
from pathlib import Path

from bondloop.errors import InputError

__all__ = ["expect_elements"]

HEADER = 128
NUMBERS = {1, 2, 3, 4, 5, 6, 7, 9, 12, 13}
TEXT = {16, 17, 18}
NUMERIC = range(6, 16)
COMPLEX = 0x800
DIMENSIONS = 32
DEEPEST = 50
"""Structures within structures: a reader that calls itself needs a bound."""


class Element(IntEnum):
    """Types of elements that are a whole variable."""

    MATRIX = 14
    COMPRESSED = 15


class Class(IntEnum):
    """Classes of variables that are no plain numbers."""

    CELL = 1
    STRUCTURE = 2
    OBJECT = 3
    CHARACTERS = 4
    SPARSE = 5
    FUNCTION = 16
    OPAQUE = 17


def expect_elements(path: Path, most: int) -> None:
    """Refuse a file of MATLAB's version 5 to 7 whose elements are not what such a file can hold.

    Parameters
    ----------
    path
        The file.
    most
        Bytes that one variable may have when it is decompressed.
    """
    from scipy.io.matlab import matfile_version

    if matfile_version(str(path), appendmat=False)[0] != 1:
        return  # another version, another reader
    with path.open("rb") as file:
        order = "<" if file.read(HEADER)[126:128] == b"IM" else ">"
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            at = HEADER
            while at + 8 <= len(content):
                kind, size = struct.unpack_from(order + "II", content, at)
                at += 8
                if at + size > len(content):
                    raise InputError(f"{path} is cut short: a variable claims {size:,} bytes")
                if kind == Element.COMPRESSED:
                    inside = _expanded(path, content[at : at + size], most)
                    _Variable(path, inside, 0, len(inside), order).child(0)
                elif kind == Element.MATRIX:
                    _Variable(path, content, at, at + size, order).matrix(0)
                else:
                    raise InputError(f"{path} is damaged: a variable of kind {kind}; expected 14 or 15")
                at += size


def _expanded(path: Path, part: bytes, most: int) -> bytes:
    """Return what a compressed variable holds, where that is not too much."""
    machine = zlib.decompressobj()
    content = machine.decompress(part, most)
    if machine.unconsumed_tail:
        raise InputError(f"{path}: a variable has more than {most:,} bytes; it is damaged or too large")
    return content


class _Variable:
    """One variable's elements, read one after the other; ``buffer[at:end]`` is what is left of it."""

    def __init__(self, path: Path, buffer: bytes | mmap.mmap, at: int, end: int, order: str) -> None:
        self.path, self.buffer, self.at, self.end, self.order = path, buffer, at, end, order

    def child(self, depth: int) -> None:
        """Read a matrix with its tag; one of no bytes is empty."""
        kind, size = self._words()
        if kind != Element.MATRIX:
            raise self._damaged(f"kind {kind} where a matrix should be")
        if size:
            self.matrix(depth)

    def matrix(self, depth: int) -> None:
        """Read a matrix behind its tag, as its class says."""
        if depth > DEEPEST:
            raise InputError(f"{self.path}: structures {DEEPEST} deep; so deep are none read")
        self._words()
        flags, _ = self._words()
        kind = flags & 0xFF
        if kind == Class.OPAQUE:
            for _ in range(3):
                self._element(NUMBERS)
            self.child(depth + 1)
            return
        shape = self._integers()
        if not 2 <= len(shape) <= DIMENSIONS or min(shape) < 0:
            raise self._damaged(f"a matrix of {len(shape)} dimensions" + (", negative" if shape else ""))
        self._element(NUMBERS | TEXT)
        parts = 2 if flags & COMPLEX else 1
        if kind in NUMERIC or kind == Class.SPARSE:
            for _ in range(parts + 2 * (kind == Class.SPARSE)):
                self._element(NUMBERS)
        elif kind == Class.CHARACTERS:
            self._element(NUMBERS | TEXT)
        elif kind == Class.CELL:
            self._children(math.prod(shape), depth)
        elif kind in (Class.STRUCTURE, Class.OBJECT):
            if kind == Class.OBJECT:
                self._element(NUMBERS)
            lengths = self._integers()
            if len(lengths) != 1 or lengths[0] <= 0:
                raise self._damaged("names of fields without a length")
            _, names = self._element(NUMBERS | TEXT)
            self._children(math.prod(shape) * (names // lengths[0]), depth)
        elif kind == Class.FUNCTION:
            self.child(depth + 1)
        else:
            raise self._damaged(f"a matrix of class {kind}")

    def _children(self, count: int, depth: int) -> None:
        for _ in range(count):
            self.child(depth + 1)

    def _words(self) -> tuple[int, int]:
        if self.at + 8 > self.end:
            raise self._damaged("it ends within an element")
        first, second = struct.unpack_from(self.order + "II", self.buffer, self.at)
        self.at += 8
        return first, second

    def _element(self, kinds: set[int]) -> tuple[int, int]:
        """Return where the next element, of one of these kinds, begins and how many bytes it has."""
        kind, size = self._words()
        if kind >> 16:  # up to four bytes stand within the tag
            kind, size, start, end = kind & 0xFFFF, kind >> 16, self.at - 4, self.at
        else:
            start, end = self.at, self.at + size + -size % 8
        if kind not in kinds:
            raise self._damaged(f"an element of kind {kind}")
        if start + size > min(self.end, end):
            raise self._damaged(f"an element of {size:,} bytes")
        self.at = end
        return start, size

    def _integers(self) -> tuple[int, ...]:
        start, size = self._element(NUMBERS)
        return struct.unpack_from(f"{self.order}{size // 4}i", self.buffer, start)

    def _damaged(self, what: str) -> InputError:
        return InputError(f"{self.path} is damaged, perhaps cut short ({what})")
