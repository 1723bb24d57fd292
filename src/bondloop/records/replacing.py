"""Write a file so that a reader finds the old one or the new one, never half of one."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bondloop.errors import InputError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a temporary file beside `path`, which takes its place when the block ends well.

    If the block raises, the temporary file is removed and what stood at `path` stays as it was. The content
    reaches the disk before the rename, so this holds for a power cut too. A symbolic link is followed, not
    replaced.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "run.csv") as temporary:
    ...     _ = temporary.write_text("time [s]")
    >>> [file.name for file in folder.iterdir()]
    ['run.csv']
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {target.parent}; make it first")
    if target.is_dir():
        raise InputError(f"cannot write {path}: it is a folder; give the name of a file")
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        yield temporary
        descriptor = os.open(temporary, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(target)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
