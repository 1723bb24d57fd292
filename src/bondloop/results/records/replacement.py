"""Write a file so that a reader finds the old one or the new one, or none, never half of one."""

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


@contextmanager
def appearing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a temporary file that gets the name `path` when the block ends well; it may stay open.

    Nothing is overwritten: if there is a file of that name already, that is an InputError. If the block
    raises, or the process is killed in it, there is no file of that name.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with appearing(folder / "run.h5") as temporary, temporary.open("w") as file:
    ...     before = [file.suffix for file in folder.iterdir()]
    >>> before, [file.name for file in folder.iterdir()]
    (['.part'], ['run.h5'])
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}.part")
    exists = f"cannot write {path}: it exists already, and is not overwritten"
    if target.exists():
        raise InputError(exists)
    try:
        yield temporary
        try:
            os.link(temporary, target)
        except FileExistsError:
            raise InputError(exists) from None
        except OSError:  # a file system without second names
            temporary.rename(target)
    finally:
        temporary.unlink(missing_ok=True)
