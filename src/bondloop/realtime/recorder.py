"""The recorder: a process of its own that writes every sample of a loop's telemetry into a run file.

``python -m bondloop.realtime.recorder SEGMENT FILE`` attaches to a running loop and records until that ends.
It only reads the ring, so it cannot hold the loop up; what it could not keep up with is counted in the file's
attributes. It never overwrites: where FILE exists, FILE-2 is written, so that after one recorder was killed
another can be started with the same words. A run that begins after a reset of the loop gets a file of its
own, too. It begins with the oldest sample that is still in the ring.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import json
import math
import os
import shutil
import signal
import sys
import threading
from dataclasses import replace
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import BondloopError
from bondloop.realtime.policy import RecorderPolicy
from bondloop.realtime.ring import EventLog, Ring, Status
from bondloop.realtime.segment import is_alive, read_words
from bondloop.realtime.stop_requests import STATES
from bondloop.realtime.summary import outcome, timing
from bondloop.results.records import EVENT_COLUMNS, GrowingRun
from bondloop.safety import Cause, cause_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bondloop.realtime.snapshot import Event


CYCLE = {
    "cycle": "<i8", "step": "<i8", "time_ns": "<i8", "wake_ns": "<i4", "busy_ns": "<i4", "exchange_ns": "<i4",
    "age": "<i4", "state": "<i4", "cause": "<i4", "flags": "<u4", "status": "<u4",
}  # fmt: skip
"""What is kept of each cycle beside the channels."""

WORDS = {"cause": {cause.value: cause_words(cause) for cause in Cause}, "state": dict(enumerate(STATES))}
"""What numbers among these mean; they stand in the file beside them."""

NOTHING_YET = "no tick was recorded: the loop has not begun, or the recorder was killed before it did"
AT_WORK = "the recorder is still at work, or was killed before the run ended"
"""What the file says while it is written, and for ever if that is interrupted."""


class Exit(IntEnum):
    """How a recorder's process ends."""

    DONE = 0
    REFUSED = 1
    DISK = 4


class DiskFullError(BondloopError):
    """There is no room for more samples."""


class Recorder:
    """Writes a ring into a run file.

    Parameters
    ----------
    ring
        Attached; it is read from its oldest sample on.
    path
        Of a file that does not exist yet.
    about
        ``description`` and ``attributes`` for the record, and ``steps``: how many ticks are wanted.
    tells
        Whether to say on standard output, after every write, how far it has come; see `RecorderProgress`.
    policy
        How it writes; as the package has it, unless given.
    """

    def __init__(
        self,
        ring: Ring,
        path: Path,
        about: Mapping[str, Any] | None = None,
        *,
        tells: bool = False,
        policy: RecorderPolicy | None = None,
    ) -> None:
        about, self._policy = about or {}, policy or RecorderPolicy()
        self.tells = tells
        self.ring = ring
        self.period = float(ring.metadata.get("period", ring.period))
        self.wanted = int(about.get("steps", 0))
        self.about = {
            "segment": ring.segment.name,
            "realtime_offset_ns": ring.realtime_offset_ns,
            "self_test": ring.self_test,
            **about.get("attributes", {}),
        }
        self.lost = self.before = self._lost_before = 0
        self.trouble = ""
        self._asked, self._description = path, about.get("description", {})
        self._events = EventLog(ring.segment)
        self._pending: list[Event] = []
        self._row_bytes = 8 * len(ring.names) + sum(np.dtype(t).itemsize for t in CYCLE.values()) + 8
        self._first: int | None = None
        self._state = 0
        self.run_number = 1
        self._open(path)

    def _open(self, path: Path) -> None:
        """Begin a file: one for each run of the loop."""
        ring = self.ring
        self.path = path
        self._origin: int | None = None
        self._last_step = -1
        self._next: int | None = None
        self._cause: Event | None = None
        self._begun = False
        self._cleared: dict[str, object] = {}
        self.file = GrowingRun(
            path,
            dict(zip(ring.names, ring.units, strict=True)),
            CYCLE,
            meanings=dict(zip(ring.names, ring.meanings, strict=True)),
            rate=1.0 / self.period,
            description=self._description,
            attributes=self._so_far(NOTHING_YET),
            words=WORDS,
        )

    def _so_far(self, message: str) -> dict[str, object]:
        # With the run's number: if this recorder is killed, nobody writes it later.
        return {
            **self.about,
            **self._cleared,
            "run": self.run_number,
            "status": "recording",
            "message": message,
        }

    def catch_up(self) -> int:
        """Write what has come since the last time, and commit it; return how many samples that were."""
        count = 0
        there = self.ring.written  # what comes meanwhile waits: a few rows cost as much as a thousand
        while self.ring.cursor < there:
            block = self.ring.read(self._policy.rows)
            if len(block):
                self._need_room(len(block))
                self._write(block)
            count += len(block)
        if self._next is None and self._origin is not None:
            self._log(self.ring.cursor)
        if self._origin is not None:
            self._look_for_preflight()
        self.file.commit()
        if self.file.committed and not self._begun:
            self._begun = True
            self.file.revise(self._so_far(AT_WORK))
        if self.tells and count:
            lost = max(0, self.ring.lost - self.before)
            with contextlib.suppress(OSError):  # nobody listens, or not fast enough: that is not waited for
                os.write(sys.stdout.fileno(), f"at {self.ring.cursor} {lost} {self.before}\n".encode())
        return count

    def _look_for_preflight(self) -> None:
        """Take who started this run, and the list that he had: before a later run has another."""
        if self._cleared:
            return
        words = read_words(self.ring.segment, "preflight_words")
        if words.get("run") == self.run_number:
            self._cleared = {
                "operator": words.get("operator"),
                "preflight": words.get("items"),
                "rig_is_model": bool(self.ring.segment.header["emulated"][0]),
            }

    def _need_room(self, rows: int) -> None:
        # A disk that fills up in the middle of a write leaves HDF5 unable to close the file; so ask first.
        free = shutil.disk_usage(self.path.parent).free
        if free < self._policy.reserve + 2 * rows * self._row_bytes:
            raise DiskFullError(f"the disk is full: {free:,} bytes left in {self.path.parent}")

    def _write(self, block: NDArray[np.void]) -> None:
        """Write rows, those of each run into a file of its own."""
        if self._first is None:
            self._first = self.before = int(block["sequence"][0]) - 1
            self._pending += self._events.events()
            runs = [event.run for event in self._pending if event.cycle <= block["cycle"][0]]
            self.run_number = max(runs, default=1)
            self.file.revise(self._so_far(NOTHING_YET))
        states = block["state"]
        before = np.concatenate([[self._state], states[:-1]])
        self._state = int(states[-1])
        rests = STATES.index("retreat")
        begin = 0
        for at in [*np.flatnonzero((before >= rests) & (states < rests)).tolist(), len(block)]:
            if at > begin:
                self._write_rows(block[begin:at])
            if at < len(block):  # a reset: what is recorded from here on belongs to the next run
                self._next = int(block["cycle"][at])
            begin = at

    def _write_rows(self, block: NDArray[np.void]) -> None:
        number = block["sequence"].astype(np.int64) - 1
        ticked = block["step"] >= 0
        retreating = ~ticked & (block["state"] >= STATES.index("retreat"))
        if not (ticked | retreating).any():
            return
        if ticked.any():
            at = int(np.argmax(ticked))
            if self._next is None and block["step"][at] <= self._last_step:  # the reset itself was lost
                self._next = int(block["cycle"][at])
        if self._next is not None:
            if not (ticked | (block["state"] == STATES.index("retreat"))).any():
                return  # nothing has moved since the reset: there is no next run yet
            self._begin_next()
        if ticked.any():
            self._last_step = int(block["step"].max())
            if self._origin is None:
                # Time counts from the first tick, also for a recorder that came later.
                self._origin = int(number[at] - block["step"][at])
        time = (number - (self._origin or 0)).astype(np.float64) * self.period
        for part, chosen in (("/", ticked), ("/retreat", retreating)):
            if not chosen.any():
                continue
            rows, times = (block, time) if chosen.all() else (block[chosen], time[chosen])
            self.file.append(times, rows["channels"], {name: rows[name] for name in CYCLE}, part)

    def _begin_next(self) -> None:
        """Close the file of a run that a reset has ended, and begin that of the next."""
        assert self._next is not None
        self._pending += self._events.events()  # complete up to here: the loop logs before it writes a row
        number = max((e.run for e in self._pending if e.cycle <= self._next), default=self.run_number + 1)
        later = [event for event in self._pending if event.run >= number]
        self._pending = [event for event in self._pending if event.run < number]
        self._log(self._next + 1)
        self.finish()
        self._pending, self.run_number, self._lost_before = later, number, self.ring.lost
        self._open(free_path(self._asked))
        if self.tells:
            with contextlib.suppress(OSError):
                os.write(sys.stdout.fileno(), f"file {self.path}\n".encode())

    def _log(self, end: int) -> None:
        """Write the events of all cycles before one."""
        self._pending += self._events.events()
        here = [event for event in self._pending if event.cycle < end]
        self._pending = [event for event in self._pending if event.cycle >= end]
        for event in here:
            if event.kind == "cause" and not event.mail:
                self._cause = event
        origin = self._origin
        self.file.events.append(
            [
                {
                    **{name: getattr(event, name) for name in EVENT_COLUMNS if name != "time"},
                    "time": math.nan if origin is None else (event.cycle - origin) * self.period,
                }
                for event in here
            ]
        )

    def finish(self) -> dict[str, object]:
        """Write what became of the run and close the file; return the attributes."""
        self._log(sys.maxsize)
        attributes = self._attributes()
        self.file.close(attributes)
        return attributes

    def _attributes(self) -> dict[str, object]:
        self._look_for_preflight()
        # What the ring had overwritten before this recorder came is not lost by it: `before` tells it.
        self.lost = max(0, self.ring.lost - max(self.before, self._lost_before))
        status = self.ring.status()
        if self._next is not None:  # a reset has been: the loop no longer knows what became of this run
            status = self._ended(status)
        loop = outcome(status, self.period, self.wanted, alive=is_alive(self.ring.segment))
        if self._next is not None and not loop["cause"]:
            loop.update(
                status="stopped", message=f"the operator ended it by a reset after {loop['steps']} ticks"
            )
        return {
            **self.about,
            **self._cleared,
            **loop,
            "timing": timing(self.file.cycles(), self.period),
            "run": self.run_number,
            "events_missing": self._events.lost + self.file.events.left_out,
            "samples_lost": self.lost,
            "samples_before": self.before,
            "recording": self.trouble,
            **({"status": "stopped", "message": self.trouble} if self.trouble else {}),
        }

    def _ended(self, status: Status) -> Status:
        """Return the status as it was when a reset ended the run."""
        cause = self._cause
        return replace(
            status,
            state="finalized",
            steps=self._last_step + 1,
            cause=0 if cause is None else cause.index,
            cause_step=-1 if cause is None else cause.step,
            cause_detail=0 if cause is None else int(cause.before),
            cause_value=0.0 if cause is None else cause.value,
        )

    @property
    def over(self) -> bool:
        """Whether the loop has ended, one way or another."""
        return self.ring.state == "finalized" or not is_alive(self.ring.segment)

    def run(self, stop: threading.Event) -> int:
        """Record until the loop ends or somebody asks to stop; return the exit code."""
        interval = min(self._policy.interval, 0.25 * self.ring.slots * self.period)
        code = Exit.DONE
        try:
            while True:
                over = self.over or stop.is_set()  # asked before reading, so that nothing comes after it
                came = self.catch_up()
                if over and not came:
                    break
                stop.wait(self._policy.idle if over or not came else interval)
        except DiskFullError as error:
            self.file.commit()
            self._tell(error)
            code = Exit.DISK
        except (OSError, RuntimeError) as error:
            self._tell(error)
            self.file.abandon()
            return Exit.DISK
        self.finish()
        return code

    def _tell(self, error: Exception) -> None:
        self.trouble = f"recording ended after {self.file.committed} samples: {_reason(error)}"
        sys.stderr.write(f"recorder: {self.trouble}; the loop runs on\n")
        sys.stderr.flush()


def _reason(error: Exception) -> str:
    text = str(error)
    for number in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO):
        if f"errno = {number}" in text or getattr(error, "errno", None) == number:
            return os.strerror(number).lower()
    return text


def free_path(path: Path) -> Path:
    """Return the path, or the first of FILE-2, FILE-3, ... that does not exist.

    >>> free_path(Path("no/such/run.h5")).as_posix()
    'no/such/run.h5'
    """
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return free


def main(words: list[str] | None = None) -> int:
    """Record a loop's telemetry; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="recorder", description="Record a loop's telemetry into a run file."
    )
    parser.add_argument("segment", help="name of the telemetry segment, as in /dev/shm")
    parser.add_argument("file", type=Path, help="run file to write; FILE-2 if it exists")
    parser.add_argument("--about", help="JSON file with description and attributes; - for standard input")
    parser.add_argument("--policy", type=json.loads, default={}, help="JSON of fields of `RecorderPolicy`")
    parser.add_argument("--not-on", type=int, help="processor to keep off: that of the loop")
    parser.add_argument("--tell", action="store_true", help="say after every write how far it has come")
    given = parser.parse_args(words)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the test, and the recorder with it, not before
    if given.not_on is not None:
        others = os.sched_getaffinity(0) - {given.not_on}
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, others)
    try:
        about = {}
        if given.about:
            text = sys.stdin.read() if given.about == "-" else Path(given.about).read_text(encoding="utf-8")
            about = json.loads(text)
        with Ring.attach(given.segment) as ring:
            policy = RecorderPolicy(**given.policy)
            recorder = Recorder(ring, free_path(given.file), about, tells=given.tell, policy=policy)
            sys.stdout.write(f"ready {recorder.path}\n")
            sys.stdout.flush()
            if given.tell:
                os.set_blocking(sys.stdout.fileno(), False)
            return recorder.run(stop)
    except BondloopError as error:
        sys.stderr.write(f"recorder: {error}\n")
        return Exit.REFUSED


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # HDF5 would try to write what a full disk refused once more, and abort: leave it no chance.
    os._exit(code)
