"""The events of a run in its file: what the operator did, and what became of the loop, in columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.records.committed_rows import CommittedRows

if TYPE_CHECKING:
    import h5py
    from numpy.typing import NDArray

__all__ = ["COLUMNS", "MOST", "EventTable"]

COLUMNS = {
    "time": "<f8", "time_ns": "<i8", "step": "<i8", "kind": "S16", "name": "S128", "before": "<f8",
    "value": "<f8", "who": "S32", "refused": "S96",
}  # fmt: skip
"""Of the table: seconds of the run and instant of the monotonic clock, the first tick for which it holds,
what happened to what, the value before and after, who did it, and why it was refused."""

MOST = 100_000
"""Events that a file holds: whoever floods a loop with commands does not fill the disk."""
CHUNK = 64


class EventTable(CommittedRows):
    """The group ``/events`` of a run file that is being written.

    Parameters
    ----------
    group
        Empty, of a file that is not in the mode for several readers yet.

    Attributes
    ----------
    left_out
        Events that came when the table was full.
    """

    def __init__(self, group: h5py.Group) -> None:
        self._columns = {
            name: group.create_dataset(name, (0,), kind, maxshape=(None,), chunks=(CHUNK,))
            for name, kind in COLUMNS.items()
        }
        self._columns["time"].attrs["unit"] = "s"
        super().__init__(group)
        self.left_out = 0

    def append(self, events: Sequence[Mapping[str, object]]) -> None:
        """Append events, each with a value for every column; they count from the next commit on."""
        kept = events[: max(0, MOST - self.rows)]
        self.left_out += len(events) - len(kept)
        if not kept:
            return
        end = self.rows + len(kept)
        for name, dataset in self._columns.items():
            dataset.resize((end,))
            dataset[self.rows : end] = _column([event[name] for event in kept], COLUMNS[name])
        self.rows = end


def _column(values: Sequence[object], kind: str) -> NDArray[Any]:
    texts = [v.encode()[: np.dtype(kind).itemsize] if isinstance(v, str) else v for v in values]
    return np.array(texts, dtype=kind)
