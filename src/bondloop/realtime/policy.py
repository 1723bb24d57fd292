"""What a session in real time judges and waits by: an argument of `run_realtime`.

Times are in s, or texts with a unit (``"20 ms"``).
"""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

from dataclasses import dataclass

from bondloop.engine.data import Parameter


@dataclass(frozen=True)
class MachinePolicy:
    """What is added where a test that moves a machine states nothing.

    Parameters
    ----------
    suggested
        Limits in the template, against the largest of the dry run: to be replaced by what the rig stands.
    trips
        Tracking error and power at which to trip, against the largest of the dry run.
    least
        At least this share of the limits of displacement, and of force times velocity: sensors have noise.
    frozen, frozen_samples
        Seconds for which a measured value may stay the same to the last bit, and samples at least.
    warning
        Share of the limits from which there is a warning.

    Examples
    --------
    >>> MachinePolicy(trips=2.0).warning
    0.8
    """

    suggested: float = 1.5
    trips: float = 3.0
    least: float = 0.01
    frozen: Parameter = Parameter(0.05, above=0, unit="s")
    frozen_samples: int = 20
    warning: float = 0.8


@dataclass(frozen=True)
class PreflightPolicy:
    """When the pre-flight list takes a rig to be at rest.

    Parameters
    ----------
    rest, samples
        Seconds over which it must be, and measurements in that time from which on it can be known.
    share
        Share of its limit that a measured motion may reach, as a standard deviation.
    noise
        Times its own noise that it may reach instead, up to ten times that share.
    block
        Rows of the telemetry that are read at once.

    Examples
    --------
    >>> PreflightPolicy(rest="2 s").rest
    2.0
    """

    rest: Parameter = Parameter(1.0, above=0, unit="s")
    samples: int = 5
    share: float = 0.005
    noise: float = 3.0
    block: int = 2000


@dataclass(frozen=True)
class RecorderPolicy:
    """How a recorder writes, and how its supervisor watches it.

    Parameters
    ----------
    interval, idle
        Time between writes: what is lost at most, twice over, when everything is killed; and between looks
        while the loop is not active yet, or about to end.
    rows
        Most rows written at once.
    reserve
        Bytes left free on the disk: the file's own end must still fit.
    lag
        Share of the ring that waits for the recorder from which on that is told; it looks four times a ring.
    successors
        Recorders that are started after the first, at most.
    patience
        Time that a recorder may take to begin, and to end; it is killed then.

    Examples
    --------
    >>> RecorderPolicy(interval="100 ms").interval
    0.1
    """

    interval: Parameter = Parameter(0.25, above=0, unit="s")
    idle: Parameter = Parameter(0.02, above=0, unit="s")
    rows: int = 4000
    reserve: int = 4 << 20
    lag: float = 0.5
    successors: int = 5
    patience: Parameter = Parameter(20.0, above=0, unit="s")


@dataclass(frozen=True)
class SessionPolicy:
    """How a session watches its loop, and what it demands before anything moves.

    Parameters
    ----------
    look
        Time from one look at the loop to the next, in s.
    catch_up
        Seconds that the loop may have been held up and still make good the ticks it missed, where the rig is
        emulated.
    patience
        Seconds that an emulated rig of the session's own may be silent before the loop trips.
    page_patience
        Seconds after which the server of an operator's page counts as standing still.
    backlog, backlog_bytes
        How long the recorder may be held up before samples are lost, in s, and most memory for that.
    disk_room, endless_disk_room
        Seconds of samples for which there must be room on the disk; where a machine runs until it is stopped.
    words_every
        Time from one look at the disk to the next while nothing moves, in s.
    verdict
        Letters of the check's verdict that the pre-flight list keeps.
    machine, preflight, recorder
        What is added for a machine, when its rig is at rest, and how a recorder writes.

    Examples
    --------
    >>> SessionPolicy(look="50 ms").look
    0.05
    """

    look: Parameter = Parameter(0.1, above=0, unit="s")
    catch_up: Parameter = Parameter(0.01, least=0, unit="s")
    patience: Parameter = Parameter(0.2, above=0, unit="s")
    page_patience: Parameter = Parameter(0.5, above=0, unit="s")
    backlog: Parameter = Parameter(4.0, above=0, unit="s")
    backlog_bytes: int = 1 << 28
    disk_room: Parameter = Parameter(10.0, least=0, unit="s")
    endless_disk_room: Parameter = Parameter(600.0, least=0, unit="s")
    words_every: Parameter = Parameter(5.0, least=0, unit="s")
    machine: MachinePolicy = MachinePolicy()
    preflight: PreflightPolicy = PreflightPolicy()
    recorder: RecorderPolicy = RecorderPolicy()
    verdict: int = 2000
