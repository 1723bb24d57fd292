"""A run file that the HDF5 library never finishes: one byte of its global heap is 0 instead of 1."""

import struct
from pathlib import Path


def endless(good: Path, path: Path) -> Path:
    """Write a copy of a run file with that byte changed.

    The heap is a row of objects: a head of 16 bytes with number and size, then the object, padded to 8 bytes.
    The last one that is written is the unit "s" of the time, one byte long. With a size of 0 the library
    takes what follows for heads, comes to zeros, free space of no size, and steps over that for ever.
    """
    content = bytearray(good.read_bytes())
    at, size, last = content.index(b"GCOL") + 16, 0, 0
    while struct.unpack_from("<H", content, at)[0]:
        last = at + 8
        (size,) = struct.unpack_from("<Q", content, last)
        at = last + 8 + -(-size // 8) * 8
    assert size == 1, "the last object of the heap is not the unit of the time"
    content[last] = 0
    path.write_bytes(content)
    return path
