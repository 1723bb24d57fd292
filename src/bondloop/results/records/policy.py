"""How run files are laid out, how much of a file is read at most, and when a time is even."""

from __future__ import annotations

from dataclasses import dataclass

FORMAT, SCHEMA = "bondloop run", 2
"""What a run file says of itself, and the number of its layout."""

EVEN_TIME = 0.01
"""How far, in sample periods, a time may stand from an even grid before a record has no one period. Times
of a recorder jitter by some microseconds of a millisecond; a missing sample is off by a whole period."""


@dataclass(frozen=True)
class Storage:
    """Sizes of run files; none changes what is read from one.

    Parameters
    ----------
    compressed_from
        Samples from which a table is compressed, and rows of its chunks; below, half a megabyte a channel is
        not worth the time.
    numbers_at_once
        Numbers that are moved at once: a copy of the whole table is never made.
    most_columns, most_text
        Columns that are read, and bytes of all names, of all units or of all meanings.
    attribute_room
        Bytes for the attributes of a run that is being recorded: they are written again at its end, when
        nothing can be added to the file.
    cache
        Bytes of chunks that HDF5 keeps in memory for each dataset of a run that is being recorded. Rows are
        appended and never seen again; left to itself HDF5 keeps 1 MB (8 MB since 2.0), taken little by
        little, which looks like a leak for an hour.
    shortest_chunk, longest_chunk, chunk_width
        Rows and columns in a chunk of a run that is being recorded: a write touches one chunk for each
        `chunk_width` channels, and to read one is to read as many.
    most_events, event_chunk
        Events that a file holds: whoever floods a loop with commands does not fill the disk. Rows of a chunk.
    events_read
        Events that are read of a stranger's file; a loop keeps the last thousand between two looks of its
        recorder.
    """

    compressed_from: int = 65536
    numbers_at_once: int = 2**20
    most_columns: int = 100_000
    most_text: int = 2**26
    attribute_room: int = 65536
    cache: int = 0
    shortest_chunk: int = 128
    longest_chunk: int = 4096
    chunk_width: int = 64
    most_events: int = 100_000
    event_chunk: int = 64
    events_read: int = 5000


STORAGE = Storage()
"""What all run files are written and read with."""
