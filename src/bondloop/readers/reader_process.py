"""Warm processes that work for this one with bounded time and memory; one of them reads files.

A byte changed in the right place makes the HDF5 library crash, or loop for ever while it holds the
interpreter's lock. No thread survives that, but a process can be killed. It is started on the first need and
ends with its parent. A request is a line of JSON that names a function and its arguments; the answer is JSON
and rows of numbers as in memory, never Python objects. The time of a file is the processor's: a good file is
good on a busy machine, too.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import signal
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

import numpy as np

from bondloop.containers import expect_file, readable
from bondloop.errors import BondloopError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Answer = tuple[dict[str, object], Iterable[NDArray[Any]]]

BASE_SECONDS, READING_RATE = 5.0, 20e6
"""Processor time of a reading process: so many seconds, and the file's size at this rate in bytes a
second."""

PATIENCE = 60.0
"""Seconds by the clock beyond its processor time: the machine may be busy."""

MEMORY = 8 * 2**30
"""Bytes that a reading process may hold."""

READY = b"ready\n"
_SIZES = struct.Struct("<QQ")
OUT_OF_TIME = getattr(signal, "SIGXCPU", 0)
"""What ends a child that has used its processor time."""


class UnreadableError(InputError):
    """A file whose reader crashed, or did not come to an end."""


def limit_for(path: Path, rate: float = READING_RATE) -> int:
    """Return the seconds of the processor that reading a file may take.

    Parameters
    ----------
    path
        Of the file.
    rate
        Bytes a second that are read at the least.
    """
    return math.ceil(BASE_SECONDS + path.stat().st_size / rate)


class WorkerEndedError(InputError):
    """A process that crashed, or was killed because it did not answer in time.

    Parameters
    ----------
    words
        What happened.
    code
        With which it ended; None where the clock ran out, which says nothing of the request.
    """

    def __init__(self, words: str, code: int | None) -> None:
        super().__init__(words)
        self.code = code


class Worker:
    """A process that calls functions for this one, one at a time; threads that share it wait for each other.

    Parameters
    ----------
    nice
        By how much others go first: 0 to 19.
    memory
        Address space in bytes, where the system can limit it, and the longest answer.

    Examples
    --------
    >>> with Worker() as worker:
    ...     worker.call("bondloop.readers.reader_process:echo", {"values": [1, 2]})[0]
    {'values': [1, 2]}
    """

    def __init__(self, nice: int = 0, memory: int = MEMORY) -> None:
        self._nice, self._memory = nice, memory
        self._child: subprocess.Popen[bytes] | None = None
        self._ending: weakref.finalize[[subprocess.Popen[bytes]], Worker] | None = None
        self._lock = threading.Lock()
        self._closed = False

    def call(
        self,
        work: str,
        words: Mapping[str, object],
        needs: Sequence[str] = (),
        *,
        limit: int = 5,
        patience: float = PATIENCE,
    ) -> tuple[dict[str, Any], bytearray]:
        """Return what a function answers in the process: what it says in JSON, and the bytes after that.

        Parameters
        ----------
        work
            The function: its module, a colon, its name.
        words
            Its arguments by name; what JSON can say.
        needs
            Modules to be imported before the clock starts.
        limit
            Seconds of the processor that it may take.
        patience
            Seconds by the clock beyond these.

        Raises
        ------
        InputError
            What the function said, or that the process was ended: `WorkerEndedError`.
        """
        request = {"work": work, "needs": list(needs), "limit": limit, "words": words}
        line = json.dumps({**request, "folder": str(Path.cwd())}).encode() + b"\n"
        with self._lock:
            try:
                head, body = self._exchange(line, limit, patience)
            except BaseException:
                self._end()  # whatever it still says belongs to nobody
                raise
        answer: dict[str, Any] = json.loads(head)
        if "error" in answer:
            raise InputError(str(answer["error"]))
        return answer, body

    def _exchange(self, line: bytes, limit: int, patience: float) -> tuple[bytearray, bytearray]:
        child = self._ready()
        assert child.stdin is not None
        assert child.stdout is not None
        late = threading.Timer(patience + limit, child.kill)
        late.daemon = True
        began = time.monotonic()
        late.start()
        try:
            child.stdin.write(line)
            sizes = _read(child.stdout, _SIZES.size)
            if len(sizes) == _SIZES.size and sum(numbers := _SIZES.unpack(sizes)) <= self._memory:
                head, body = (_read(child.stdout, number) for number in numbers)
                if (len(head), len(body)) == numbers:
                    return head, body
            elif len(sizes) == _SIZES.size:
                child.kill()  # nobody reads an answer that is too long: it would wait for ever
        except BrokenPipeError:
            pass
        finally:
            late.cancel()
        if time.monotonic() - began >= patience + limit:
            raise WorkerEndedError(f"there was no answer in {patience + limit:g} s", None)
        code = child.wait()
        why = f"took more than {limit} s of processor time" if code == -OUT_OF_TIME else f"ended with {code}"
        raise WorkerEndedError(f"the process that was to answer {why}", code)

    def _ready(self) -> subprocess.Popen[bytes]:
        """Return the process; one that has ended meanwhile is started anew."""
        if self._closed:
            raise InputError("the process that was to answer has been closed")
        if self._child is not None and self._child.poll() is None:
            return self._child
        self._end()
        self._child = child = subprocess.Popen(  # noqa: S603 - ourselves
            [
                *(sys.executable, "-m", "bondloop.readers.reader_process"),
                *(str(self._nice), str(self._memory)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        self._ending = weakref.finalize(self, _end, child)  # at the end of the interpreter, too
        assert child.stdout is not None
        late = threading.Timer(PATIENCE, child.kill)
        late.daemon = True
        late.start()
        try:
            ready = bytes(_read(child.stdout, len(READY))) == READY
        finally:
            late.cancel()
        if not ready:
            raise InputError("the process that was to answer did not get ready; try again")
        return child

    @property
    def pid(self) -> int | None:
        """Number of the process; None where it does not run."""
        child = self._child
        return None if child is None or child.poll() is not None else child.pid

    def _end(self) -> None:
        self._child = None
        if self._ending is not None:
            self._ending()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._closed = True
        child = self._child
        if child is not None:
            child.kill()  # who waits for its answer hears that it ended
        with self._lock:
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Reader(Worker):
    """A process that reads files, one at a time.

    Parameters
    ----------
    nice, memory
        As of any `Worker`.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "rig.npz"
    >>> np.savez(file, x=[1.0, 2.0, 3.0])
    >>> with Reader() as reader:
    ...     head, body = reader.read("bondloop.readers.reading:read_parts", file, kind="npz")
    >>> head["units"], np.frombuffer(body).tolist()
    ({'x': ''}, [1.0, 2.0, 3.0])
    """

    def read(
        self,
        work: str,
        path: Path,
        needs: Sequence[str] = (),
        *,
        rate: float = READING_RATE,
        **words: object,
    ) -> tuple[dict[str, Any], bytearray]:
        """Return what the process read of a file: what it says in JSON, and the bytes after that.

        Parameters
        ----------
        work
            The function that reads it: its module, a colon, its name. It is called in the process with
            the path and the words, and returns what is said in JSON, and rows of numbers.
        path
            The file, or a folder.
        needs
            Modules to be imported before the clock starts.
        rate
            Bytes a second that are read at the least.
        **words
            For the function; what JSON can say.

        Raises
        ------
        InputError
            What the function said; that the machine was too busy; or that the process was ended for the
            file: `UnreadableError`.
        """
        with readable(path, "file"):
            expect_file(path)
            limit = limit_for(path, rate)
        try:
            return self.call(work, {"path": str(path), **words}, needs, limit=limit, patience=PATIENCE)
        except WorkerEndedError as error:
            if error.code is None:  # that says nothing of the file
                waited = PATIENCE + limit
                raise InputError(
                    f"{path} was not read in {waited:g} s: this machine is too busy; try again"
                ) from None
            why = f"is damaged: the process that read it ended with {error.code}"
            if error.code == -OUT_OF_TIME:
                why = f"was not read in {limit} s of processor time: it is damaged"
            raise UnreadableError(f"{path} {why}; take a copy of it that is not") from None


def _end(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout):
        assert pipe is not None
        pipe.close()


def _read(pipe: IO[bytes], count: int) -> bytearray:
    """Return so many bytes, or those before the end."""
    data = bytearray(count)
    view, at = memoryview(data), 0
    while at < count:
        got = pipe.readinto(view[at:])  # type: ignore[attr-defined]
        if not got:
            break
        at += got
    view.release()
    del data[at:]
    return data


_shared: dict[int, Reader] = {}
"""The reader of this process, by its number: a copy that was forked off has none yet."""
_sharing = threading.Lock()


def read_in_process(
    work: str, path: Path, needs: Sequence[str] = (), **words: Any
) -> tuple[dict[str, Any], bytearray]:
    """Return what the one reader of this process has read; see `Reader.read`.

    Parameters
    ----------
    work
        The function that reads it.
    path
        The file.
    needs
        Modules to be imported before the clock starts.
    **words
        For the function.
    """
    with _sharing:
        reader = _shared.get(os.getpid())
        if reader is None:
            _shared.clear()
            reader = _shared[os.getpid()] = Reader()
    return reader.read(work, path, needs, **words)


def numbers_of(body: bytearray, count: int, path: Path) -> NDArray[np.float64]:
    """Return the numbers of an answer, as many as it should have.

    Parameters
    ----------
    body
        Of the answer.
    count
        How many.
    path
        Of the file.
    """
    if len(body) != 8 * count:
        raise InputError(f"{path} is damaged: the process that read it sent only {len(body) // 8:,} numbers")
    return np.frombuffer(body, "<f8")


# ---------------------------------------------------------------------- in the other process


def echo(**words: object) -> Answer:
    """Return its arguments."""
    return dict(words), ()


def _serve(nice: int, memory: int) -> None:
    """Answer requests until the parent has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of Ctrl-C the parent decides what it means
    out = os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)  # what a library prints is no answer
    if sys.platform != "win32":
        import resource

        os.nice(nice)
        _limit(resource.RLIMIT_AS, memory)
        _limit(resource.RLIMIT_CORE, 0)
    out.write(READY)
    out.flush()
    for line in sys.stdin.buffer:
        head, rows = _answer(json.loads(line))
        said = json.dumps(head).encode()
        parts = [np.ascontiguousarray(values).data.cast("B") for values in rows if values.size]
        out.write(_SIZES.pack(len(said), sum(map(len, parts))) + said)
        for part in parts:
            out.write(part)
        out.flush()


def _answer(request: dict[str, Any]) -> Answer:
    words = request["words"]
    try:
        os.chdir(request["folder"])
        _limit_time(None)  # that of the request before may have little left for what is imported
        for module in request["needs"]:
            importlib.import_module(module)
        module, _, name = request["work"].partition(":")
        work: Callable[..., Answer] = getattr(importlib.import_module(module), name)
        _limit_time(request["limit"])
        _end_with_parent(True)
        try:
            return work(**{**words, "path": Path(words["path"])} if "path" in words else words)
        finally:
            _end_with_parent(False)
    except BondloopError as error:
        return {"error": str(error)}, ()
    except Exception as error:  # noqa: BLE001 - of whatever a damaged file has caused, the parent is told
        said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        failed = f"{words['path']} could not be read" if "path" in words else f"{request['work']} failed"
        return {"error": f"{failed} ({said})"}, ()


def _limit(resource: int, most: int | None) -> None:
    """Limit what this process may use; where the user's own limit is lower, that one counts."""
    from resource import RLIM_INFINITY, getrlimit, setrlimit

    _, hard = getrlimit(resource)
    bounds = [n for n in (most, hard) if n is not None and n != RLIM_INFINITY]
    setrlimit(resource, (min(bounds, default=RLIM_INFINITY), hard))


def _limit_time(seconds: int | None) -> None:
    """Limit the processor time from now on; None: as far as the user's own limit goes."""
    if sys.platform != "win32":
        from resource import RLIMIT_CPU

        _limit(RLIMIT_CPU, None if seconds is None else math.ceil(time.process_time()) + seconds)


def _end_with_parent(on: bool) -> None:
    """Let the system end this process when the parent closes the pipe: a library may never come back.

    The signal of the parent's death (PR_SET_PDEATHSIG) would come as soon as the *thread* ends that started
    this process.
    """
    if sys.platform != "win32":
        import fcntl
        import select

        flags = fcntl.fcntl(0, fcntl.F_GETFL)
        fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(0, fcntl.F_SETFL, flags | os.O_ASYNC if on else flags & ~os.O_ASYNC)
        if on:
            poll = select.poll()
            poll.register(0, select.POLLIN)
            if any(what & select.POLLHUP for _, what in poll.poll(0)):
                sys.exit()


if __name__ == "__main__":
    _serve(int(sys.argv[1]), int(sys.argv[2]))
