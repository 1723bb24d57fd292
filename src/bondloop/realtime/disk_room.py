"""Whether a run can be recorded at all: asked before anything moves."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from bondloop.errors import InputError

__all__ = ["expect_room"]


def expect_room(folder: Path, size: int) -> None:
    """Refuse a folder in which so many bytes cannot be written: full, over its quota, not ours, or limited.

    The system is asked by doing it, with a file that is gone afterwards: a free disk alone says little.

    Parameters
    ----------
    folder
        Where the run file will be.
    size
        Bytes of the first seconds.

    Examples
    --------
    >>> expect_room(Path("no/such/folder"), 1)
    Traceback (most recent call last):
    bondloop.errors.InputError: nothing can be recorded in no/such/folder, so nothing was started: no such ...
    """
    try:
        with tempfile.TemporaryFile(prefix=".bondloop-", dir=folder) as trial:
            os.posix_fallocate(trial.fileno(), 0, size)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(f"nothing can be recorded in {folder}, so nothing was started: {why}") from None
