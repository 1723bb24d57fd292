"""The loop and the rig as child processes.

A loop is watched by the process that started it: the thread that serves the operator (`attendant`) writes a
heartbeat into the telemetry segment, and the loop goes to its safe state when that stops. A rig ends after
the process that started it, when no loop uses it any more.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from bondloop.display import brief
from bondloop.engine.data import number
from bondloop.errors import BondloopError, InputError
from bondloop.realtime.mailbox import Mailbox
from bondloop.realtime.options import with_key
from bondloop.realtime.ring import Ring, Status
from bondloop.realtime.segment import Segment, fresh_name, need_linux, remove, remove_dead_link, sweep
from bondloop.realtime.stop_requests import FOLDER
from bondloop.realtime.supervision import Attendant, silence

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bondloop.realtime.options import LoopOptions, RigOptions


_BEATS = 20
"""Heartbeats of the supervisor in the time after which the loop misses them."""

_PATIENCE = 10.0
"""Seconds that a child may take to get ready, beyond the link's own timeout."""


class _Child:
    """A child process that says ``ready`` on its standard output."""

    def __init__(self, command: list[str], patience: float, key: str = "") -> None:
        self._said = tempfile.TemporaryFile("w+b")  # noqa: SIM115 - a pipe that nobody empties would stop the child
        try:
            self.process = subprocess.Popen(  # noqa: S603 - a program that was built here
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._said,
                text=True,
                # Ctrl-C at the terminal is for the supervisor alone, who stops the loop while the rig still
                # plays; a terminal that closes ends the supervisor, and the loop misses its heartbeat.
                start_new_session=True,
                env=with_key(key),
            )
        except OSError as error:
            self._said.close()
            raise InputError(f"{command[0]} cannot be started: {error}") from error
        self._handle = _handle(self.process.pid)
        timer = threading.Timer(patience, self.process.kill)
        timer.daemon = True
        timer.start()
        assert self.process.stdout is not None
        try:
            line = self.process.stdout.readline().split()
        except (
            BaseException
        ):  # Ctrl-C: nothing is left behind, and a loop that just began to move goes to rest
            self._end(patience)
            raise
        finally:
            timer.cancel()
        if not line or line[0] != "ready":
            self.process.wait()
            said = self.messages.strip().splitlines()
            self._close_files()
            raise InputError(said[-1] if said else _unready(Path(command[0]).name, self.process.returncode))
        self.ready = line[1:]

    @property
    def messages(self) -> str:
        """Lines that the process wrote for people: what was not granted, how it ended."""
        if self._said.closed:
            return self._kept
        number = self._said.fileno()  # read without moving the place at which the child writes on
        return os.pread(number, os.fstat(number).st_size, 0).decode(errors="replace")

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self.process.pid

    @property
    def running(self) -> bool:
        """Whether the process has not ended yet."""
        return self.process.poll() is None

    def send(self, number: int) -> None:
        """Send a signal, from any thread; never to another process that has got the number of a dead one.

        Parameters
        ----------
        number
            Of the signal: ``signal.SIGINT``.
        """
        if self._handle is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, number)
        elif self.running:
            self.process.send_signal(number)

    def wait(self, timeout: float | str | None = None) -> int:
        """Wait for the end, at most ``timeout`` seconds (None: for ever); return the exit code."""
        return self.process.wait(None if timeout is None else number(timeout, "timeout", "s"))

    def _end(self, patience: float) -> None:
        self._wait_for_end(patience)
        self._close_files()

    def _wait_for_end(self, patience: float) -> None:
        self.send(signal.SIGTERM)
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _close_files(self) -> None:
        self._kept = self.messages
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._said.close()
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _unready(name: str, code: int) -> str:
    """Say how a child ended that said nothing.

    >>> _unready("loop", -int(signal.SIGXFSZ))
    'loop did not get ready: it died of signal 25 (file size limit exceeded)'
    """
    if code >= 0:
        return f"{name} did not get ready: it ended with {code}"
    words = signal.strsignal(-code) or "unknown"
    return f"{name} did not get ready: it died of signal {-code} ({words.lower()})"


def _handle(pid: int) -> int | None:
    """Return a file that stands for a child, for as long as it is open; None where the kernel has none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


class RigProcess(_Child):
    """A rig in a process of its own.

    Parameters
    ----------
    program
        From `bondloop.realtime.programs.build.rig_program`.
    options
        How it runs.

    Attributes
    ----------
    link
        The URL at which a loop finds it.
    """

    __repr__ = brief

    def __init__(self, program: Path, options: RigOptions) -> None:
        need_linux()
        super().__init__(
            [str(program), *options.arguments(), "--parent", str(os.getpid())], _PATIENCE, options.key
        )
        self.link = self.ready[0]

    def close(self) -> None:
        """End it; one that was killed leaves nothing behind either."""
        if not self._said.closed:
            self._end(_PATIENCE)
            remove_dead_link(self.link)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class LoopProcess(_Child):
    """A loop in a process of its own, supervised by this one.

    Parameters
    ----------
    program
        From `bondloop.realtime.programs.build.loop_program`.
    options
        How it runs.
    table
        Tabulated signals, one row per tick (one more is allowed) and one column per signal; the last row
        stays when they end.
    supervise
        Write the heartbeat; without it the loop does not expect one until somebody else begins to.

    Attributes
    ----------
    options
        How it runs.
    name
        Of the telemetry segment: for `Ring.attach` and `Mailbox.attach` in other processes.
    ring, mailbox
        Telemetry from the first sample on, and commands.
    attendant
        Who beats the heartbeat and can be called by a signal; None without `supervise`.
    """

    __repr__ = brief

    def __init__(
        self,
        program: Path,
        options: LoopOptions,
        table: ArrayLike | None = None,
        *,
        supervise: bool = True,
    ) -> None:
        need_linux()
        sweep()
        self.name, self.options = fresh_name(), options
        self._retreat = options.retreat
        period = options.supervisor / _BEATS if options.supervisor else 0.1
        command = [str(program), "--telemetry", self.name, *options.arguments()]
        if not supervise:
            command += ["--alone"]
        with contextlib.ExitStack() as stack:
            if table is not None:
                file = stack.enter_context(tempfile.NamedTemporaryFile(prefix="bondloop-", suffix=".table"))
                np.ascontiguousarray(table, dtype="<f8").tofile(file)
                file.flush()
                command += ["--table", file.name]  # mapped when the loop is ready: the file can go
            try:
                super().__init__(command, _PATIENCE + options.timeout, options.key)
            except BaseException:
                remove(self.name)
                raise
        try:
            self.segment = Segment(self.name, writable=True, hold=True)
        except InputError as error:
            is_there = (FOLDER / self.name).exists()
            self._end(_PATIENCE)
            remove(self.name)
            if is_there:
                raise
            raise BondloopError(f"the loop ended as soon as it had begun: {self.messages.strip()}") from error
        self.ring = Ring(self.segment)
        self.mailbox = Mailbox(self.segment)
        self.attendant = Attendant(self, self.segment.header, period) if supervise else None

    def stop(self) -> None:
        """End the test: the command goes to its safe value, then the loop ends.

        By signal, straight to the loop: whatever any thread or other process is doing.
        """
        self.send(signal.SIGUSR1)

    @property
    def silence(self) -> float:
        """For how many seconds it has not answered, though its process is there; 0 while it does."""
        header = self.segment.header
        heard, period = int(header["heartbeat_ns"][0]), int(header["period_ns"][0])
        return silence(heard, period, time.monotonic_ns())

    def _wait_while_it_answers(self, patience: float) -> None:
        """Let it lead the rig to rest; one that stands still for long will not."""
        self.send(signal.SIGTERM)
        until = time.monotonic() + patience
        while self.running and time.monotonic() < until and self.silence < _PATIENCE:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(0.1)
        if self.running:
            self.process.kill()
            self.process.wait()

    def status(self) -> Status:
        """Return how the loop is doing."""
        return self.ring.status()

    def close(self) -> None:
        """End the loop (through its safe state, if it is still running) and remove its telemetry segment."""
        if self._said.closed:
            return
        self._wait_while_it_answers(_PATIENCE + 2 * self._retreat)
        if self.attendant is not None:
            self.attendant.close()
        self._close_files()
        remove(self.name)
        self.ring.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
