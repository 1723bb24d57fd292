"""Run files in the process that reads them: which there are, what is in them, stretches of their channels.

What is open stays open between requests. Each request says all that is needed: a process that was ended for a
damaged file is followed by another that knows nothing of what it held.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.dashboard.bars import Bars
from bondloop.dashboard.estimates import pairs_of
from bondloop.dashboard.frames import packed, plain
from bondloop.dashboard.replay.run_events import events_of
from bondloop.dashboard.replay.run_table import RunTable
from bondloop.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


OPEN = 3
"""Files that are held at a time: two that are compared, and the next."""
LISTED = 500
"""Files that are listed at most, the newest first."""

Answer = tuple[dict[str, object], Sequence["NDArray[Any]"]]


class _Run:
    """A run file, and what is told of it."""

    def __init__(self, path: Path, changed: int) -> None:
        self.changed = changed
        self.table = table = RunTable(path)
        attributes, described = table.head.attributes, table.head.description.get("realtime")
        emulated = described.get("emulated", True) if isinstance(described, dict) else True
        about = {
            "channels": [vars(c) for c in table.channels],
            "pairs": pairs_of(table.channels),
            "loops": Bars(table.channels).loops,
            "seconds": float(table.time[-1]) if len(table) else 0.0,
            "first": float(table.time[0]) if len(table) else 0.0,
            "samples": len(table),
            "status": attributes.get("status", ""),
            "message": attributes.get("message", ""),
            "created": attributes.get("created", ""),
            "emulated": bool(emulated),
            "events": events_of(path, table.time, table.changes, attributes),
        }
        self.about: dict[str, object] = plain(about)


_open: OrderedDict[Path, _Run] = OrderedDict()


def _run(path: Path, *, newest: bool) -> _Run:
    """Return a run; `newest`: one that is being written as it is now, not as when it was opened."""
    known = _open.get(path)
    changed = path.stat().st_mtime_ns
    if known is None or (newest and known.changed != changed):
        _open.pop(path, None)  # before the next is read: both need not fit
        while len(_open) >= OPEN:
            _open.popitem(last=False)
        known = _open[path] = _Run(path, changed)
    _open.move_to_end(path)
    return known


def listing(path: Path) -> Answer:
    """Return the run files of a folder, the newest first.

    Parameters
    ----------
    path
        Of the folder.
    """
    there: list[tuple[float, int, str]] = []
    for file in (p for end in ("*.h5", "*.hdf5") for p in path.rglob(end)):
        with contextlib.suppress(OSError):  # gone meanwhile, or not for us
            if file.is_file():
                about = file.stat()
                there.append((about.st_mtime, about.st_size, file.relative_to(path).as_posix()))
    there.sort(reverse=True)
    return {"runs": [{"name": name, "changed": at, "bytes": size} for at, size, name in there[:LISTED]]}, ()


def describe(path: Path) -> Answer:
    """Return what there is in a run file, as it is now.

    Parameters
    ----------
    path
        Of the file.
    """
    return _run(path, newest=True).about, ()


def stretch(path: Path, kind: int, numbers: list[int], begin: float, end: float, pixels: int) -> Answer:
    """Return a frame of channels of a run file from one time to another.

    Parameters
    ----------
    path
        Of the file.
    kind, numbers, begin, end, pixels
        As for `RunTable.stretch`.
    """
    table = _run(path, newest=False).table
    if not all(0 <= n < len(table.channels) for n in numbers):
        raise InputError(f"expected channels below {len(table.channels)}; found {numbers}")
    return {}, [np.frombuffer(packed(0, [table.stretch(kind, numbers, begin, end, pixels)]), np.uint8)]
