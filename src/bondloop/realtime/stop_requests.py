"""Trip, retreat and stop: requests that bring the rig to rest, without a lock.

Whoever may write to a loop's telemetry segment gives one by a few words at a fixed place in it
(``c/segment.h``). No mailbox, no other process and no package but the standard library is needed, so nothing
that displays, records or computes can stand before it. The file is read and written, never mapped: where
another process makes it shorter, nobody is ended by that.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from bondloop.errors import InputError

try:
    import fcntl
except ImportError:  # a system on which no loop runs
    fcntl = None  # type: ignore[assignment]


Request = Literal["trip", "retreat", "stop"]
REQUESTS: tuple[Request, ...] = ("trip", "retreat", "stop")
"""*Trip* cuts at once, with a cause; *retreat* goes to the safe position and stays; *stop* ends the test."""

FOLDER = Path("/dev/shm")  # noqa: S108 - where Linux keeps POSIX shared memory, by definition
PREFIX = "bondloop-"
MAGIC = b"BLRING02"
STATES = ("unconfigured", "inactive", "active", "retreat", "safe", "finalized")
"""Lifecycle of a loop, by number."""

_HEAD = struct.Struct("<8sQq")  # magic, layout, process of the loop
_WHO = 32
_WORDS = struct.Struct(f"<QQ{_WHO}sQQ")  # count, cause, who, heard, refused
_STATE = struct.Struct("<Q")
_OPERATOR = 9
"""Cause of a trip by the operator."""
_LOOK = 0.001
"""Seconds between looks while waiting."""


def opened(path: Path, *, writable: bool = False) -> BinaryIO:
    """Open a file of shared memory that is this user's own; never waits, whatever lies under the name.

    Parameters
    ----------
    path
        In `FOLDER`.
    writable
        Also for writing.

    Raises
    ------
    FileNotFoundError
        There is none.
    InputError
        It is no regular file, a link, another user's, or others may write to it: no loop's.
    """
    flags = (os.O_RDWR if writable else os.O_RDONLY) | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        number = os.open(path, flags)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InputError(
            f"{path} cannot be opened ({error.strerror}); no loop of yours has made it"
        ) from None
    about = os.fstat(number)
    wrong = (
        "is no regular file" if not stat.S_ISREG(about.st_mode)
        else "belongs to another user" if about.st_uid != os.geteuid()
        else "can be written by others" if about.st_mode & 0o022
        else ""
    )  # fmt: skip
    if wrong:
        os.close(number)
        raise InputError(f"{path} {wrong}, so no loop of yours has made it; remove it")
    return os.fdopen(number, "r+b" if writable else "rb", buffering=0)


def process_lives(pid: int) -> bool:
    """Whether a process is running; one that is dead but not yet buried is not.

    Parameters
    ----------
    pid
        Its number.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in ("Z", "X")


def name_bytes(who: str) -> bytes:
    """Return a name in as many bytes as the log keeps, cut between two letters.

    Parameters
    ----------
    who
        The name.

    Examples
    --------
    >>> name_bytes("operator at the rig").decode(), len(name_bytes("é" * 40))
    ('operator at the rig', 32)
    """
    return who.encode(errors="replace")[:_WHO].decode(errors="ignore").replace("\0", " ").encode()


def _at(kind: Request) -> int:
    return _HEAD.size + REQUESTS.index(kind) * _WORDS.size


def request(file: int, kind: Request, who: str = "", cause: int = _OPERATOR) -> int:
    """Give a request to the loop of a segment; return the count that the loop will have heard.

    Parameters
    ----------
    file
        Number of the segment's open, writable file.
    kind
        Which.
    who
        For the log; at most 32 bytes of it are kept.
    cause
        Of a trip: number of a `bondloop.safety.causes.Cause`.
    """
    at = _at(kind)
    words = os.pread(file, _WORDS.size, at)
    if len(words) < _WORDS.size:
        raise InputError(
            "the telemetry segment is too short: another process has cut it. The loop stops by itself"
        )
    count = (_WORDS.unpack(words)[0] + 1) % 2**64
    os.pwrite(file, struct.pack(f"<Q{_WHO}s", cause, name_bytes(who)), at + 8)
    os.pwrite(file, struct.pack("<Q", count), at)  # last: the loop looks at the others when this has changed
    return int(count)


def counts(file: int, kind: Request) -> tuple[int, int]:
    """Return how many requests of a kind were given, and how many of them the loop has heard.

    Parameters
    ----------
    file
        Number of the segment's open file.
    kind
        Which.
    """
    words = os.pread(file, _WORDS.size, _at(kind))
    if len(words) < _WORDS.size:
        return 0, 0
    given, _, _, heard, _ = _WORDS.unpack(words)
    return int(given), int(heard)


def _refused(file: int, kind: Request) -> bool:
    words = os.pread(file, _WORDS.size, _at(kind))
    return len(words) == _WORDS.size and _WORDS.unpack(words)[4] != 0


def _state(file: int) -> str:
    """Return the state of the lifecycle that a loop is in; ``"dead"`` where nobody runs it any more.

    Its process may live where its number means nothing here, in another container: then it holds its lock.
    """
    head = os.pread(file, _HEAD.size, 0)
    words = os.pread(file, _STATE.size, _HEAD.size + len(REQUESTS) * _WORDS.size)
    number = _STATE.unpack(words)[0] if len(words) == _STATE.size else 0
    if STATES[min(number, len(STATES) - 1)] == "finalized":
        return "finalized"
    lives = len(head) == _HEAD.size and process_lives(_HEAD.unpack(head)[2])
    return STATES[number] if lives or _is_held(file) else "dead"


def _is_held(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    fcntl.flock(file, fcntl.LOCK_UN)
    return False


def _loop_file(loop: str) -> BinaryIO:
    """Open a loop's segment for a request; nothing else is written to, whatever name was given."""
    file = opened(FOLDER / loop, writable=True)
    if os.pread(file.fileno(), len(MAGIC), 0) != MAGIC:
        file.close()
        raise InputError(f"{loop} is not the telemetry segment of a loop; expected a name of `living_loops`")
    return file


def _segments() -> list[Path]:
    """Return the files of shared memory that are named as segments of loops; those of links are not."""
    paths = sorted(FOLDER.glob(f"{PREFIX}*")) if FOLDER.is_dir() else []
    return [path for path in paths if not path.name.startswith(f"{PREFIX}link-")]


def loops_of_other_users() -> list[str]:
    """Return the names of the segments of other users' loops: whether they run only these can tell."""
    names = []
    for path in _segments():
        with contextlib.suppress(OSError):
            about = path.lstat()
            if stat.S_ISREG(about.st_mode) and about.st_uid != os.geteuid():
                names.append(path.name)
    return names


def living_loops() -> list[str]:
    """Return the names of the segments of this user's loops that are running on this machine."""
    living = []
    for path in _segments():
        with contextlib.suppress(OSError, InputError), opened(path) as file:
            known = os.pread(file.fileno(), len(MAGIC), 0) == MAGIC
            if known and _state(file.fileno()) not in ("finalized", "dead"):
                living.append(path.name)
    return living


@dataclass(frozen=True)
class RequestOutcome:
    """What became of a request.

    Parameters
    ----------
    loop
        Name of the loop's segment.
    confirmed
        Whether the loop has heard it, or has ended.
    seconds
        From giving it until then.
    missing
        Whether there is no such loop.
    state
        Of the loop's lifecycle; ``"dead"`` where its process ended before it had brought the rig to rest.
    refused
        Whether it makes no sense in that state: a retreat of a rig that does not move.
    """

    loop: str
    confirmed: bool
    seconds: float
    missing: bool = False
    state: str = ""
    refused: bool = False


class Requests:
    """Requests that were given to loops together, until each has confirmed its own.

    Parameters
    ----------
    loops
        Names of their segments.
    kind
        Which.
    who
        For the log.
    """

    def __init__(self, loops: Iterable[str], kind: Request, who: str = "") -> None:
        self.kind = kind
        self._began = time.monotonic()
        self._waiting: dict[str, tuple[BinaryIO, int]] = {}
        self._known: dict[str, RequestOutcome] = {}
        for loop in loops:
            self._known[loop] = RequestOutcome(loop, False, 0.0, missing=True)
            with contextlib.suppress(OSError, InputError):
                file = _loop_file(loop)
                self._waiting[loop] = file, request(file.fileno(), kind, who)

    def look(self) -> bool:
        """Look which loops have confirmed; return whether none is waited for any more."""
        for loop, (file, count) in list(self._waiting.items()):
            number = file.fileno()
            heard, state = counts(number, self.kind)[1] >= count, _state(number)
            refused = heard and _refused(number, self.kind)
            done, passed = heard or state == "finalized", time.monotonic() - self._began
            self._known[loop] = RequestOutcome(loop, done, passed, state=state, refused=refused)
            if done or state == "dead":
                self._waiting.pop(loop)[0].close()
        return not self._waiting

    def close(self) -> list[RequestOutcome]:
        """Wait no longer; return what became of each."""
        for file, _ in self._waiting.values():
            file.close()
        self._waiting.clear()
        return list(self._known.values())


def request_all(
    loops: Iterable[str], kind: Request, who: str = "", patience: float = 2.0
) -> list[RequestOutcome]:
    """Give a request to loops, and wait until each has confirmed it.

    Parameters
    ----------
    loops
        Names of their segments.
    kind
        Which.
    who
        For the log.
    patience
        Seconds to wait for all of them.
    """
    given = Requests(loops, kind, who)
    until = time.monotonic() + patience
    while not given.look() and time.monotonic() < until:
        time.sleep(_LOOK)
    return given.close()
