"""What was built and is kept: nobody else can put a library there, and a changed one is not loaded.

A library that is loaded can do all that its user can. So the folder belongs to the user alone (mode 0700), a
file in it is the user's own and nobody else's to write, and its content is what was built: its SHA-256 is
noted beside it when it is kept, and compared each time it is taken.

The folder does not grow for ever: beyond `CodePolicy.library_bytes` what was used longest ago is removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
import time
from pathlib import Path

from bondloop.engine.codegen import policy
from bondloop.errors import CompileError

_since_look = policy.POLICY.library_interval

NOTE = ".sha256"
"""Ending of the file beside a library that says what is in it."""

OTHERS = stat.S_IRWXG | stat.S_IRWXO
WRITE = stat.S_IWGRP | stat.S_IWOTH


def private(folder: Path) -> Path:
    """Return the folder, the user's alone; a fresh one that nothing is kept in where it cannot be written.

    Parameters
    ----------
    folder
        Where to keep what is built; made if it does not exist.

    Raises
    ------
    CompileError
        If it belongs to somebody else.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = folder.stat()
        if _is_foreign(about):
            raise CompileError(
                f"the folder of compiled libraries, {folder}, belongs to user {about.st_uid}, who could put "
                "anything there; set BONDLOOP_CACHE to a folder of your own"
            )
        if os.name == "posix" and about.st_mode & OTHERS:
            folder.chmod(0o700)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:  # a home that cannot be written to: nothing is kept, everything works
        return Path(tempfile.mkdtemp(prefix="bondloop-"))


def intact(file: Path) -> bool:
    """Whether a file is there, the user's own, nobody else's to write, and holds what was kept.

    Parameters
    ----------
    file
        A library, program or object in a private folder.
    """
    try:
        about = file.lstat()
        if not stat.S_ISREG(about.st_mode) or _is_foreign(about):
            return False
        if os.name == "posix" and about.st_mode & WRITE:
            return False
        if _note(file).read_text(encoding="ascii") != _hash(file):
            return False
        os.utime(file, ns=(time.time_ns(), about.st_mtime_ns))  # used now: among the last to be removed
    except (OSError, ValueError):
        return False
    return True


def keep(built: Path, file: Path) -> None:
    """Move what was built to where it is kept, and note what is in it.

    A reader that comes between the note and the file sees them differ, and builds its own.

    Parameters
    ----------
    built
        The file, on the same disk.
    file
        Its final name.
    """
    if os.name == "posix":
        built.chmod(built.stat().st_mode & ~WRITE)
    note = built.with_name(built.name + NOTE)
    note.write_text(_hash(built), encoding="ascii")
    with contextlib.suppress(PermissionError):  # on Windows a library in use stays, and is the same
        note.replace(_note(file))
        built.replace(file)
    global _since_look  # noqa: PLW0603 - one count for the process
    _since_look += 1
    if _since_look >= policy.POLICY.library_interval:
        _since_look = 0
        trimmed(file.parent)


def trimmed(folder: Path, most: int = policy.POLICY.library_bytes) -> int:
    """Remove what was used longest ago, down to half of the bound, where there is more; return how many.

    A library that a process has loaded stays loaded. Scratch folders of builds are left to their builders.

    Parameters
    ----------
    folder
        The folder of what is kept.
    most
        Bytes from which on something is removed.
    """
    found: list[tuple[float, int, str]] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):  # another process may remove it as well
                about = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(about.st_mode) and not entry.name.endswith(NOTE):
                    found.append((about.st_atime, about.st_size, entry.path))
    total = sum(size for _, size, _ in found)
    if total <= most:
        return 0
    removed = 0
    for _, size, path in sorted(found):
        if total <= most // 2:
            break
        with contextlib.suppress(OSError):
            Path(path).unlink()
            _note(Path(path)).unlink(missing_ok=True)
            removed += 1
        total -= size
    return removed


def _note(file: Path) -> Path:
    return file.with_name(file.name + NOTE)


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _is_foreign(about: os.stat_result) -> bool:
    """Whether somebody else owns it; the administrator can do anything anyway."""
    return sys.platform != "win32" and about.st_uid not in (os.geteuid(), 0)
