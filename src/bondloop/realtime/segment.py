"""Segments of POSIX shared memory: attaching to them, and removing those of the dead.

Who removes a segment: the process that started the loop, when it is done with it. If that process dies, the
loop notices, brings the rig to its safe state and removes the segment itself. If both are killed at once the
segment stays in ``/dev/shm`` (so that the last samples can still be read) until the next loop on this machine
starts, which removes all that nobody holds: the loop and its supervisor hold a shared ``flock`` on theirs.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import secrets
import sys
import threading
import time
import zlib
from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np

from bondloop.errors import InputError
from bondloop.realtime.protocol import HEADER, VERSION, WORDS
from bondloop.realtime.stop_requests import FOLDER, MAGIC, PREFIX, opened, process_lives

try:
    import fcntl
except ImportError:  # there the room can be imported, though no loop be run: tests are exported as C
    fcntl = None  # type: ignore[assignment]


_PATIENCE = 1.0
"""Seconds to wait for a lock."""

_YOUNG = 10.0
"""Seconds during which a segment that nobody holds may be one that is just being made."""


def need_linux() -> None:
    """Refuse systems on which the executive cannot run."""
    locks: object = fcntl
    if sys.platform != "linux" or locks is None:
        lacks = "" if locks is not None else ", without file locks (fcntl)"
        raise InputError(
            f"the real-time loop needs Linux; this is {sys.platform}{lacks}. Rehearse here, and run it on "
            "Linux"
        )
    if not (FOLDER.is_dir() and os.access(FOLDER, os.W_OK)):
        raise InputError(
            f"{FOLDER} is missing or cannot be written to, so there is no shared memory; mount a tmpfs there "
            "(in a container: --shm-size)"
        )


def fresh_name() -> str:
    """Return a name for a segment that no other run has."""
    return f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}"


def remove(name: str) -> None:
    """Remove a segment; those who have it open keep it."""
    with contextlib.suppress(FileNotFoundError):
        (FOLDER / name).unlink()


def remove_dead_link(url: str) -> None:
    """Remove the shared memory of a rig that was killed and could not; that of a living one stays.

    Parameters
    ----------
    url
        Of the rig's link; any but ``shm://`` leaves nothing.
    """
    scheme, _, address = url.partition("://")
    path = FOLDER / f"{PREFIX}link-{address}"
    if scheme == "shm" and "/" not in address:
        with contextlib.suppress(OSError, InputError), opened(path) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # a living rig holds it
            path.unlink()


def sweep() -> list[str]:
    """Remove the segments that dead processes left behind; return their names."""
    removed: list[str] = []
    if not FOLDER.is_dir():
        return removed
    for path in sorted(FOLDER.glob(f"{PREFIX}*")):
        with contextlib.suppress(OSError, InputError), opened(path) as file:
            if time.time() - os.fstat(file.fileno()).st_mtime < _YOUNG:
                continue
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
            removed.append(path.name)
    return removed


def fence() -> None:
    """Keep loads and stores before it before those after it, on processors that reorder them (ARM).

    Python has no fence of its own. A lock that is let go and taken again is one: what comes before the
    release is done by then, what comes after the acquisition not before it, and ARM keeps the two in order.
    """
    lock = threading.Lock()
    for _ in range(2):
        with lock:
            pass


class Segment:
    """A telemetry segment, attached.

    Parameters
    ----------
    name
        As the loop was given it.
    writable
        For the mailbox and the heartbeat; a reader of telemetry needs none.
    hold
        Keep the segment from being swept away while it is attached: for the supervisor.
    """

    def __init__(self, name: str, *, writable: bool = False, hold: bool = False) -> None:
        self.name = name
        path = FOLDER / name
        try:
            self._file = opened(path, writable=writable)
        except FileNotFoundError:
            others = FOLDER.glob(f"{PREFIX}*") if FOLDER.is_dir() else ()
            present = sorted(p.name for p in others if not p.name.startswith(f"{PREFIX}link-"))
            raise InputError(
                f"there is no telemetry segment '{name}'; found {', '.join(present) or 'none'}: start the "
                "loop first"
            ) from None
        if hold:
            self._hold()
        access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
        try:
            self.memory = mmap.mmap(self._file.fileno(), 0, access=access)
        except ValueError as error:
            self._file.close()
            raise InputError(f"the telemetry segment '{name}' is empty; its loop did not start") from error
        if len(self.memory) < HEADER.itemsize or self.memory[:8] != MAGIC:
            self.close()
            raise InputError(f"'{name}' is no telemetry segment of bondloop, or one that is not ready yet")
        fence()  # the magic is written last
        self.header: Any = np.frombuffer(self.memory, HEADER, 1)
        found = int(self.header["version"][0])
        if found != VERSION or int(self.header["header_bytes"][0]) != HEADER.itemsize:
            self.close()
            raise InputError(
                f"the telemetry segment '{name}' has layout {found}; this bondloop reads layout {VERSION}. "
                "Rebuild the loop with this version"
            )
        at, size = int(self.header["metadata_at"][0]), int(self.header["metadata_bytes"][0])
        self.metadata: dict[str, Any] = json.loads(self.memory[at : at + size])

    @property
    def file(self) -> int:
        """Number of its open file."""
        return self._file.fileno()

    def _hold(self) -> None:
        """Take the lock; who has it for himself has a second to let go."""
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > until:
                    self._file.close()
                    raise InputError(
                        f"another process keeps the telemetry segment '{self.name}' locked; end it first"
                    ) from None
                time.sleep(0.001)
            else:
                return

    def close(self) -> None:
        """Detach. The segment itself stays."""
        self.header = None
        with contextlib.suppress(BufferError):  # an array of a reader still looks into it: freed with that
            self.memory.close()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_alive(segment: Segment) -> bool:
    """Whether the process of a segment's loop is running; one that is dead but not yet buried is not.

    Parameters
    ----------
    segment
        Attached.
    """
    return process_lives(int(segment.header["loop_pid"][0]))


Field = Literal["session_words", "preflight_words"]

_HEAD = 8
"""Bytes of the checksum, in hexadecimal digits."""
_LOOKS = 3
"""Times to look at a text that is being written: that takes some microseconds, every few seconds."""


def write_words(segment: Segment, field: Field, data: Mapping[str, object]) -> None:
    """Write data into a segment, replacing what is there.

    Parameters
    ----------
    segment
        Attached as writable.
    field
        Whose words.
    data
        Anything that JSON can say, without numbers that are not finite.
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    if _HEAD + len(text) > WORDS:
        raise InputError(f"{field}: expected at most {WORDS - _HEAD:,} bytes; found {len(text):,}")
    segment.header[field][0] = b"%08x" % zlib.crc32(text) + text


def read_words(segment: Segment, field: Field) -> dict[str, Any]:
    """Return the data of a segment; empty where there is none, or it is being written.

    Parameters
    ----------
    segment
        Attached.
    field
        Whose words.
    """
    for _ in range(_LOOKS):
        found = bytes(segment.header[field][0])
        head, text = found[:_HEAD], found[_HEAD:]
        if b"%08x" % zlib.crc32(text) == head:
            break
    else:
        return {}
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
