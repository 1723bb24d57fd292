"""Where a study runs, and what is left of one that is ended."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.studies import Interrupted

__all__ = ["cluster_of", "tell_interrupted"]


def cluster_of(workers: int | None, dask: str | None) -> int | str | None:
    """Return where a cluster is: so many processes of this machine, or an address."""
    if workers is not None and dask is not None:
        raise InputError("--workers starts a cluster on this machine, --dask names one: give one of them")
    return workers if dask is None else dask


def tell_interrupted(stop: Interrupted, folder: Path) -> None:
    """Say what is kept of a study that Ctrl-C ended; without pyarrow, the tests that were done as CSV."""
    kept = "; ".join(getattr(stop, "__notes__", []))
    if not kept and len(stop.sampled):
        folder.mkdir(parents=True, exist_ok=True)
        kept = f"{len(stop.sampled):,} tests are kept in {stop.sampled.save(folder / 'samples.csv')}"
    print(f"\nbondloop: {stop}; {kept or 'no test had been kept'}", file=sys.stderr)
