"""How a loop and a rig run: what their executables are told.

Times are in s, or texts with a unit (``"20 ms"``). Everything is looked at where it is given, so that an
executable is told numbers, and none that make no sense.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from bondloop.engine.data import Parameter, number
from bondloop.errors import InputError

NAME = "BONDLOOP_KEY"
"""The variable by which a process gets its key: unlike its arguments, other users cannot read it."""


def fresh_key() -> str:
    """Return a key that nobody else has: 128 bits as 32 hexadecimal digits.

    >>> len(fresh_key()), fresh_key() == fresh_key()
    (32, False)
    """
    return secrets.token_hex(16)


def read_key(path: str | Path) -> str:
    """Return the key in a file, which must be the user's and closed to all others.

    Parameters
    ----------
    path
        A file with 32 hexadecimal digits: ``(umask 077; openssl rand -hex 16 > key)``.
    """
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe must not keep us waiting
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    with os.fdopen(number, "rb") as file:
        about = os.fstat(number)
        if not stat.S_ISREG(about.st_mode):
            raise InputError(f"{path} is no regular file; a key is a file with 32 hexadecimal digits")
        if about.st_uid != os.geteuid() or about.st_mode & 0o077:
            raise InputError(
                f"{path} can be read by others, so it holds no secret; chmod 600 it, and draw a new key"
            )
        text = file.read(64).decode(errors="replace").strip().lower()
    if not re.fullmatch("[0-9a-f]{32}", text):
        raise InputError(
            f"{path} is no key; expected 32 hexadecimal digits, as `openssl rand -hex 16` draws them"
        )
    return text


def with_key(key: str) -> dict[str, str]:
    """Return the environment of a process that is to have a key; without one, whatever this process has."""
    rest = {name: value for name, value in os.environ.items() if name != NAME}
    return {**rest, NAME: key} if key else rest


# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class


@dataclass(frozen=True)
class LoopOptions:
    """How a loop runs.

    Parameters
    ----------
    link
        ``udp://HOST:PORT``, ``shm://NAME``, ``loopback://`` (rig in the same process), ``none://`` (no rig),
        or the scheme of a driver of one's own.
    steps
        Ticks to execute; 0: until told to stop.
    lock_step
        Loop and rig wait for each other instead of following the clock.
    start
        Begin at once; otherwise the loop stays inactive until ``mailbox.start()``.
    arm
        A start is obeyed only after the operator has armed the loop (`Console.arm`).
    priority, cpu
        Of SCHED_FIFO (0: none), and the processor to run on (None: any).
    lock_memory
        Keep all memory resident.
    awake
        Keep all processors awake with processes of the idle class, which give way to everything else. Waking
        up a sleeping processor can take longer than a tick, above all a virtual one; it costs heat.
    spin
        Seconds spent awake before each tick; at most half the period is used.
    phase
        Seconds by which ticks come behind multiples of the period of the monotonic clock. With a rig on the
        same machine a fraction of the rig's period, so that the rig's newest value is there.
    overrun, overrun_limit
        What a late tick does: nothing but be counted, hold the last command, or trip. So many in a row trip
        whatever the policy; 0: with "trip" one, else never.
    catch_up
        Where the loop was held up past at most so many deadlines, it executes their ticks too, one after the
        other: the test's time stays that of the clock, and the command goes on from where it should be. For
        the rig that is a jump, so only where it is emulated. After more of them, or with 0, these ticks are
        left out: the test's time stands still meanwhile, as the rig does not.
    gap
        Trip where the loop stood still for longer than so many seconds: where a tick began so much later than
        planned, or had its command computed so long after its deadline. Part of the test
        (`bondloop.HybridTest`); there is no "never".
    stale
        Trip when the measurement is older than so many ticks, by the clock; 1 or more: there is no "never".
    frozen
        Trip when all measured values are the same to the bit for so many ticks; 0: never.
    supervisor
        Trip without the supervisor's heartbeat for so many seconds; 0: never.
    operator_loss
        Trip when no operator's console has beaten for so many seconds while the test runs; 0: never.
    machine
        The rig may be a machine. Without it only links to rigs that say that they are models are opened.
    inactive
        Never become active, whoever asks for it: only to look at what is measured.
    approach
        Seconds of the way from where the rig stands to the first command, before the first tick; 0: none.
    key
        Of the packets over UDP: 32 hexadecimal digits that the rig has too; empty where there is none. It
        reaches the process by its environment, which other users cannot read.
    retreat
        Seconds of the way to the safe command; a session gives the test's own interlock the same.
    hold
        After a trip stay in the safe state until reset or stopped.
    timeout
        Seconds to wait for the rig, at the beginning and in lock-step.
    poll
        Seconds that a tick may busy-poll for a measurement that has not come.
    slots
        Samples in the telemetry ring; about 8 s at 1 kHz unless given.
    parameters
        Values of the tick's parameters by name, instead of its own.
    hot
        Never sleep: to measure what a cycle costs, with ``none://``.
    bare
        Sleep through so many periods and do nothing else, the wake-up latencies in ``status().wake``: what
        the loop's own are to be compared with.
    """

    link: str = "loopback://"
    steps: int = 0
    lock_step: bool = False
    start: bool = True
    arm: bool = False
    priority: int = 0
    cpu: int | None = None
    lock_memory: bool = True
    awake: bool = False
    spin: Parameter = Parameter(0.0, unit="s")
    phase: Parameter = Parameter(0.0, unit="s")
    overrun: Literal["count", "hold", "trip"] = "count"
    overrun_limit: int = 0
    catch_up: int = 0
    gap: Parameter = Parameter(0.02, unit="s")
    stale: int = 20
    frozen: int = 0
    supervisor: Parameter = Parameter(2.0, unit="s")
    operator_loss: Parameter = Parameter(0.0, unit="s")
    machine: bool = False
    inactive: bool = False
    approach: Parameter = Parameter(0.0, unit="s")
    key: str = field(default="", repr=False)
    retreat: Parameter = Parameter(1.0, unit="s")
    hold: bool = False
    timeout: Parameter = Parameter(1.0, unit="s")
    poll: Parameter = Parameter(0.0, unit="s")
    slots: int = 8192
    parameters: dict[str, float] = field(default_factory=dict)
    hot: bool = False
    bare: int = 0

    def __post_init__(self) -> None:
        if self.overrun not in ("count", "hold", "trip"):
            raise InputError(f"overrun must be 'count', 'hold' or 'trip'; found {self.overrun!r}")
        _set_counts(
            self, "steps", "priority", "cpu", "overrun_limit", "catch_up", "stale", "frozen", "slots", "bare"
        )
        values = {name: number(value, f"parameter '{name}'") for name, value in self.parameters.items()}
        object.__setattr__(self, "parameters", values)
        _refuse_bounds(self._numbers() | {"cpu": self.cpu or 0})
        if self.stale < 1:
            raise InputError(f"stale must be 1 tick or more: there is no value for never; found {self.stale}")
        if not self.retreat > 0:
            raise InputError("retreat: the way to the safe position takes more than 0 s; found 0 s, a jump")
        if self.gap == 0:
            raise InputError("gap must be positive: a loop that stood still does not go on; found 0 s")

    def _numbers(self) -> dict[str, float]:
        names = (
            *("steps", "priority", "cpu", "spin", "phase", "overrun_limit", "catch_up", "gap", "stale"),
            *("frozen", "supervisor", "operator_loss", "retreat", "approach", "timeout", "poll"),
            *("slots", "bare"),
        )
        return {name: getattr(self, name) for name in names} | {"cpu": -1 if self.cpu is None else self.cpu}

    def arguments(self) -> list[str]:
        """Return the arguments of the executable."""
        words = ["--link", self.link, "--overrun", self.overrun]
        words += [text for name, value in self._numbers().items() for text in (_argument(name), repr(value))]
        switches = ("lock_step", "start", "hold", "hot", "machine", "inactive", "arm", "awake")
        words += [_argument(name) for name in switches if getattr(self, name)]
        words += [] if self.lock_memory else ["--no-lock"]
        for name, value in self.parameters.items():
            words += ["--set", f"{name}={value!r}"]
        return words


@dataclass(frozen=True)
class RigOptions:
    """How a rig runs.

    Parameters
    ----------
    link
        ``udp://HOST:PORT`` to listen on (port 0: any free one), or ``shm://NAME``.
    timeout
        Seconds without a command after which a session is over; in the second half the rig goes to rest.
    priority, cpu, spin
        As those of the loop.
    fault
        ``"nan@N"``, ``"inf@N"``, ``"frozen@N"``: what the sensors show from the N-th measurement on;
        ``"stop@N"``: the rig's emergency stop is pressed from there on; ``""``: no fault. For rehearsing what
        the loop does then.
    key
        As that of the loop.
    """

    link: str = "shm://rig"
    timeout: Parameter = Parameter(1.0, unit="s")
    priority: int = 0
    cpu: int | None = None
    spin: Parameter = Parameter(0.0, unit="s")
    fault: str = ""
    key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        _set_counts(self, "priority", "cpu")
        numbers = {"priority": self.priority, "cpu": self.cpu or 0, "spin": self.spin}
        _refuse_bounds(numbers | {"timeout": self.timeout})
        if not self.timeout > 0:
            raise InputError("timeout must be positive: the rig would never wait for a command; found 0 s")

    def arguments(self) -> list[str]:
        """Return the arguments of the executable."""
        words = ["--link", self.link, "--timeout", repr(self.timeout), "--priority", str(self.priority)]
        words += ["--cpu", str(-1 if self.cpu is None else self.cpu), "--spin", repr(self.spin)]
        return words + (["--fault", self.fault] if self.fault else [])


def _argument(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _set_counts(options: LoopOptions | RigOptions, *names: str) -> None:
    """Replace whole numbers by Python's; refuse what is none."""
    for name in names:
        value = getattr(options, name)
        if value is None:
            continue
        count = number(value, name, "1")
        if count != int(count):
            raise InputError(f"{name} must be a whole number; found {value}")
        object.__setattr__(options, name, int(count))


def _refuse_bounds(numbers: dict[str, float]) -> None:
    """Refuse what is negative, or beyond what the executable can count."""
    hour, counted = 3600.0, 2e9  # a stop that takes longer is none; the executive counts ns in 64 bits
    bounds = {"retreat": hour, "approach": hour, "priority": 99}  # of SCHED_FIFO
    for name, value in numbers.items():
        if value < 0:
            raise InputError(f"{name} must be finite and not negative; found {value}")
        most = bounds.get(name, counted)
        if value > most:
            raise InputError(f"{name} must be at most {most:g}; found {value:g}")
