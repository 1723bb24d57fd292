"""Rows of a run file that count once they are committed: of a file cut short, none counts in part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import h5py

__all__ = ["CommittedRows"]


class CommittedRows:
    """A table that grows, with the number of its rows that count in the file.

    Parameters
    ----------
    group
        Of the file; it gets the number as ``committed``.

    Attributes
    ----------
    rows, rows_committed
        How many were written, and how many of them count.
    """

    def __init__(self, group: h5py.Group) -> None:
        self._committed = group.create_dataset("committed", data=np.int64(0))
        self.rows = self.rows_committed = 0

    @property
    def pending(self) -> bool:
        """Whether rows wait to be committed."""
        return self.rows > self.rows_committed

    def commit(self) -> None:
        """Let the rows count, which the file holds by now."""
        if self.pending:
            self._committed[()] = self.rows
            self._committed.flush()
            self.rows_committed = self.rows
