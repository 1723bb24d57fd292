"""The recorder as a child process, its successors where it dies, and what they wrote as one record."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import BondloopError, InputError
from bondloop.realtime.policy import RecorderPolicy
from bondloop.results.records import Record, read_cycles, read_run

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


@dataclass(frozen=True)
class Health:
    """How the recording is doing.

    Attributes
    ----------
    words
        What the operator should know; empty while all is well.
    lost
        Samples that no file will hold, as far as that is known already.
    over
        Whether nothing more is recorded.

    Examples
    --------
    >>> Health("the disk is full", 0, over=True).loss, Health("the recorder lags", 0).loss
    (True, False)
    """

    words: str = ""
    lost: int = 0
    over: bool = False

    @property
    def loss(self) -> bool:
        """Whether the record has a hole, or ends before the test does."""
        return self.over or self.lost > 0


class RecorderProgress:
    """What a recorder says of itself while it works: a line ``at CURSOR LOST BEFORE`` after every write.

    Parameters
    ----------
    lines
        Its standard output; listened to by a thread, until it ends.
    after
        The progress of its predecessor, if it has one.

    Attributes
    ----------
    at
        Number of the sample that it will read next: all before it are in a file, or lost. None while it is
        not known: what came before the first recorder was ready is of no interest, for the test begins then.
    lost
        Samples lost so far, by it and those before it.
    files
        That it began after its first: a line ``file PATH`` for every run after a reset.

    Examples
    --------
    >>> first = RecorderProgress(["at 100 0 0", "at 180 20 0", "nonsense"])
    >>> first.wait()
    >>> second = RecorderProgress(["at 900 0 200"], first)  # the oldest that it found was number 200
    >>> second.wait()
    >>> (first.at, first.lost), (second.at, second.lost)
    ((180, 20), (900, 40))
    """

    def __init__(self, lines: Iterable[str] = (), after: RecorderProgress | None = None) -> None:
        self.at: int | None = None if after is None else after.at
        self.lost: int = 0 if after is None else after.lost
        self.files: list[str] = [] if after is None else after.files
        self._inherited = self.lost
        self._joined = self.at
        self._thread = threading.Thread(target=self._listen, args=(lines,), name="recorder", daemon=True)
        self._thread.start()

    def _listen(self, lines: Iterable[str]) -> None:
        try:
            for line in lines:
                word, *numbers = line.split() or [""]
                if word == "file" and numbers:
                    self.files.append(line.strip().removeprefix("file "))
                elif word == "at" and len(numbers) == 3:
                    at, lost, before = (int(n) for n in numbers)
                    # What the ring had overwritten before it came, and its predecessor had not read.
                    missed = 0 if self._joined is None else max(0, before - self._joined)
                    self.lost = self._inherited + lost + missed
                    self.at = at
        except ValueError:  # closed: the process was buried meanwhile
            return

    def wait(self) -> None:
        """Wait until there is no more."""
        self._thread.join()

    def health(self, written: int, slots: int, *, paced: bool, lag: float = 0.5) -> Health:
        """Return how a recorder that is alive is doing.

        Parameters
        ----------
        written
            Samples that the loop has written.
        slots
            How many of them the ring holds.
        paced
            Whether the loop follows a clock; without one it may be far ahead.
        lag
            Share of the ring that waits from which on that is told.

        Examples
        --------
        >>> progress = RecorderProgress(["at 1000 0 0"])
        >>> progress.wait()
        >>> progress.health(1400, 1000, paced=True).words
        ''
        >>> progress.health(1700, 1000, paced=True).words
        'the recorder lags by 700 ticks'
        >>> progress.health(2300, 1000, paced=True).words
        'the recorder lags by 1,300 ticks; 300 are lost'
        """
        if self.at is None:
            self.at = written
        waiting = written - self.at
        lost = self.lost + max(0, waiting - slots)
        words = [f"the recorder lags by {waiting:,} ticks"] if paced and waiting > lag * slots else []
        words += [f"{lost:,} are lost" if words else f"{lost:,} ticks are not in the record"] if lost else []
        return Health("; ".join(words), lost)


class Recorders:
    """The recorder's process, and its successor where it dies.

    They are started in a thread of their own: whoever serves the operator does not wait for them.

    Attributes
    ----------
    paths
        Of the files, in the order in which they were begun, but for those of runs after a reset: `files`
        has all.
    troubles
        What went wrong, in words.
    """

    def __init__(
        self,
        segment: str,
        path: Path,
        about: Mapping[str, object],
        cpu: int | None,
        policy: RecorderPolicy | None = None,
    ) -> None:
        self._policy = policy or RecorderPolicy()
        self.paths: list[Path] = []
        self.troubles: list[str] = []
        self._about = json.dumps(about)
        self._command = [
            sys.executable,
            "-m",
            "bondloop.realtime.recorder",
            segment,
            str(path),
            "--about",
            "-",
            "--policy",
            json.dumps(asdict(self._policy)),
            "--tell",
        ]
        self._command += [] if cpu is None else ["--not-on", str(cpu)]
        self._process: subprocess.Popen[str] | None = None
        self._refused = ""
        self._progress = RecorderProgress()
        self._told: subprocess.Popen[str] | None = None
        self._starting = self._start()
        try:
            self._starting.join()
        except BaseException:  # Ctrl-C: nothing is left behind
            self.close()
            raise
        if self._refused:
            self.close()
            raise BondloopError(self._refused)

    @property
    def pid(self) -> int:
        """Number of the process; 0 while there is none."""
        return 0 if self._process is None else self._process.pid

    @property
    def files(self) -> list[Path]:
        """All files, not in the order of time: of each recorder its first, then those after a reset."""
        return [*self.paths, *(Path(name) for name in self._progress.files)]

    def _start(self) -> threading.Thread:
        thread = threading.Thread(target=self._begin, name="start of a recorder", daemon=True)
        thread.start()
        return thread

    def _begin(self) -> None:
        """Start a recorder and wait until it is ready; `_refused` says why it is not."""
        self._refused = ""
        try:
            process = subprocess.Popen(  # noqa: S603 - this package's own module
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,  # Ctrl-C at the terminal is not for it
            )
        except OSError as error:
            self._refused = f"the recorder cannot be started: {error}"
            return
        before, self._process = self._process, process
        if before is not None:
            self._buried(before)
        # One that neither reads nor says anything is killed, which ends what is waited for here.
        timer = threading.Timer(self._policy.patience, process.kill)
        timer.daemon = True
        timer.start()
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(self._about)
                process.stdin.close()
            said = process.stdout.readline().split(maxsplit=1)
            if said and said[0] == "ready":
                self.paths.append(Path(said[1].strip()))
                self._progress = RecorderProgress(process.stdout, self._progress)
                return
            process.wait()
            why = process.stderr.read().strip().splitlines()
        finally:
            timer.cancel()
        self._refused = why[-1] if why else f"the recorder was not ready within {self._policy.patience:g} s"

    def look_after(self) -> None:
        """Start another recorder if this one was killed; what the ring still has is not lost then.

        It does not wait: while one is being started, there is nothing to do.
        """
        if self._starting.is_alive() or self._process is None:
            return
        code = self._process.poll()
        if code is None or code >= 0 or len(self.troubles) >= self._policy.successors:
            self._note_end(code)
            return
        self.troubles.append(f"recorder {len(self.troubles) + 1} died of signal {-code}")
        self._starting = self._start()

    def _note_end(self, code: int | None) -> None:
        """Note in words why the last recorder has ended, as soon as it has."""
        process = self._process
        if not code or process is None or process is self._told:
            return
        self._told = process
        said = process.stderr.read().strip().splitlines() if process.stderr is not None else []
        word = (
            f"ended with {code}"
            if code > 0
            else f"died of signal {-code}, after {self._policy.successors} others"
        )
        self.troubles.append(self._refused or (said[-1] if said else f"the recorder {word}"))

    def health(self, written: int, slots: int, *, paced: bool, active: bool) -> Health:
        """Return how the recording is doing.

        Parameters
        ----------
        written, slots, paced
            As in `RecorderProgress.health`.
        active
            Whether the loop goes on: a recorder ends by itself after it has.
        """
        health = self._progress.health(written, slots, paced=paced, lag=self._policy.lag)
        if self._starting.is_alive():
            last = self.troubles[-1] if self.troubles else "there is no recorder yet"
            lost = f"; {health.lost:,} ticks are lost" if health.lost else ""
            return replace(health, words=f"{last}; another is being started{lost}")
        if self._process is None or self._process.poll() is None or not active:
            return health
        last = self.troubles[-1] if self.troubles else "the recorder was ended"
        unread = written - (self._progress.at or 0)
        return Health(f"{last}; nothing more is recorded", self._progress.lost + unread, over=True)

    def finish(self) -> None:
        """Let it write what is left, and wait for that."""
        while True:
            self._starting.join()
            if self._process is None:
                return
            if self._process.poll() is None:
                self._process.terminate()
            try:
                code = self._process.wait(self._policy.patience)
            except subprocess.TimeoutExpired:
                self.troubles.append(
                    f"the recorder did not end within {self._policy.patience:g} s and was killed"
                )
                break
            before = self._starting
            if not self._refused:  # else what the ring has is left: the last one did not get ready either
                self.look_after()
            if self._starting is before:
                self._note_end(code)
                break
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._progress.wait()  # its last words, before the pipe is closed
        self._buried(self._process)

    def close(self) -> None:
        """End it."""
        while self._starting.is_alive():
            if self._process is not None:
                self._process.kill()  # it has nothing to write yet
            self._starting.join(0.1)
        if self._process is None:
            return
        if self._process.poll() is None:
            self.finish()
        self._buried(self._process)

    @staticmethod
    def _buried(process: subprocess.Popen[str]) -> None:
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def last_run(paths: Sequence[Path]) -> list[Path]:
    """Return those of the files that hold the last run, the oldest first: after a reset there are several.

    Parameters
    ----------
    paths
        Of all files of a session.
    """
    told = {path: read_run(path, []).attributes for path in paths}
    runs = {path: int(attributes.get("run", 1)) for path, attributes in told.items()}
    last = [path for path in paths if runs[path] == max(runs.values())]

    def reach(path: Path) -> tuple[int, int, bool]:
        """Of two that begin together the one that knows how it ended comes last: its word is taken."""
        parts = [read_cycles(path, part).get("cycle", ()) for part in ("/", "/retreat")]
        ends = [int(part[at]) for part in parts if len(part) for at in (0, -1)]
        return min(ends, default=-1), max(ends, default=-1), told[path].get("status") != "recording"

    return sorted(last, key=reach)


def merged_files(paths: list[Path]) -> tuple[Record, dict[str, NDArray[Any]]]:
    """Return what several recorders of one run wrote, as one; what two of them have is taken once."""
    merged, cycles = Record.load(paths[0]), read_cycles(paths[0])
    for path in paths[1:]:
        record, later = Record.load(path), read_cycles(path)
        new = record.time > (merged.time[-1] if len(merged) else -np.inf)
        merged = replace(
            merged,
            time=np.concatenate([merged.time, record.time[new]]),
            channels={n: np.concatenate([v, record[n][new]]) for n, v in merged.channels.items()},
            attributes=record.attributes,
        )
        cycles = {n: np.concatenate([v, later[n][new]]) for n, v in cycles.items()}
    return merged, cycles
