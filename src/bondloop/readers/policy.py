"""How much of a stranger's file is read, how long that may take, and when two rates are the same."""

from __future__ import annotations

from dataclasses import dataclass

SAME_RATE = 0.01
"""Relative difference of two statements of a rate that is taken for rounding: of 0.0083 s and 120 Hz it is
0.4 %."""


@dataclass(frozen=True)
class Limits:
    """Bounds of what is read: files from strangers may claim anything.

    Parameters
    ----------
    channels, library_channels
        Columns of a run file or an array, and channels of a TDMS, MDF or Parquet file.
    library_bytes, text_bytes
        Bytes of all numbers that such a file claims, and of a file of text.
    seconds, bytes_a_second
        Processor time of a reading process: so many seconds, and the file's size at this rate.
    patience
        Seconds by the clock beyond these: the machine may be busy.
    memory
        Bytes that a reading process may hold.
    heading_lines, sample_lines
        Lines of a head in which something is looked for; lines by which the layout of a table is told.
    faults
        Faults that are listed one by one; of the others it is said how many.

    Examples
    --------
    >>> Limits(patience=5.0).seconds
    5.0
    """

    channels: int = 100_000
    library_channels: int = 10_000
    library_bytes: int = 2**31
    text_bytes: int = 2**30
    seconds: float = 5.0
    bytes_a_second: float = 20e6
    patience: float = 60.0
    memory: int = 8 * 2**30
    heading_lines: int = 400
    sample_lines: int = 60
    faults: int = 12


LIMITS = Limits()
"""What holds for all readers."""
