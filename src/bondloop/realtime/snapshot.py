"""What a loop shows of itself to who watches it: one look, its channels, its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bondloop.engine.ir import Meaning, Role
from bondloop.errors import InputError
from bondloop.safety import Cause, cause_words, limit_name
from bondloop.units import multiplied

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bondloop.realtime.ring import Histogram


_KINDS = {
    Cause.DISPLACEMENT: "displacement",
    Cause.VELOCITY: "flow",
    Cause.FORCE: "effort",
}


def tripped_channel(
    cause: int, detail: int, names: Sequence[str], metadata: Mapping[str, Any]
) -> tuple[float | None, str]:
    """Return limit and channel of a trip for which the executive itself found a value.

    Parameters
    ----------
    cause, detail
        Numbers of the cause, and of what was found; see ``cause_detail`` in ``segment.h``.
    names
        Of the channels.
    metadata
        What the loop says of itself.

    Examples
    --------
    >>> loop = {"commands": ["command"], "measured": ["measured.force"], "limits": {"command rate": 0.2}}
    >>> names = ["r", "command", "measured.force"]
    >>> (
    ...     tripped_channel(17, 0, names, loop),
    ...     tripped_channel(7, 1, names, loop),
    ...     tripped_channel(7, 3, names, loop),
    ... )
    ((0.2, 'command'), (None, 'command'), (None, 'measured.force'))
    """
    own = metadata.get("limits", {}).get(limit_name(cause))
    if cause == Cause.COMMAND_RATE:  # found on the approach: of the commands, by the limit of all of them
        commands = metadata.get("commands", [])
        return own, commands[detail] if detail < len(commands) else ""
    if cause == Cause.NOT_A_NUMBER:  # beyond no limit; refused measured values come behind the channels
        every = [*names, *metadata.get("measured", [])]
        return None, every[detail] if detail < len(every) else ""
    name = names[detail] if detail < len(names) else ""
    return metadata.get("bounds", {}).get(name, own), name


def cause_unit(cause: int, unit: str) -> str:
    """Return the unit of what tripped at a channel of some unit.

    >>> cause_unit(4, "m"), cause_unit(17, "m"), cause_unit(17, "")
    ('m', 'm/s', '1/s')
    """
    if cause != Cause.COMMAND_RATE:
        return unit
    try:
        return multiplied(unit, "s", -1)
    except InputError:  # a unit of the laboratory's own
        return f"{unit}/s"


def passed_limit(
    cause: int,
    limits: Mapping[str, float],
    names: Sequence[str],
    meanings: Sequence[Meaning],
    row: NDArray[np.float64],
) -> tuple[float | None, float | None, str]:
    """Return value, limit and channel of a trip of the tick's own interlock; None where it cannot be said.

    Parameters
    ----------
    cause
        Number of the cause.
    limits
        Of the interlock, by the name of the cause.
    names, meanings
        Of the channels.
    row
        Their values at the tick that tripped.

    Examples
    --------
    >>> import numpy as np
    >>> force = Meaning(Role.MEASURED, "force", "effort", 0)
    >>> passed_limit(3, {"force": 10.0}, ["measured.force"], [force], np.array([-12.5]))
    (-12.5, 10.0, 'measured.force')
    """
    limit = limits.get(limit_name(cause))
    if cause in _KINDS:
        found = _of(names, meanings, row, Role.MEASURED, _KINDS[Cause(cause)])
    elif cause == Cause.POWER:
        found = _of(names, meanings, row, Role.SAFETY, "power")
    elif cause == Cause.TRACKING_ERROR:
        wanted = _of(names, meanings, row, Role.DESIRED, "displacement")
        seen = {i: x for i, (_, x) in _of(names, meanings, row, Role.MEASURED, "displacement").items()}
        found = {i: (name, x - seen[i]) for i, (name, x) in wanted.items() if i in seen}
    else:
        found = {}  # a command that was refused was not sent, and is not in the telemetry
    if not found:
        return None, limit, ""
    name, value = max(found.values(), key=lambda pair: abs(pair[1]))
    return value, limit, name


def _of(
    names: Sequence[str], meanings: Sequence[Meaning], row: NDArray[np.float64], role: Role, kind: str
) -> dict[int | None, tuple[str, float]]:
    return {
        m.interface: (name, float(x))
        for name, m, x in zip(names, meanings, row, strict=True)
        if m.role is role and m.kind == kind
    }


@dataclass(frozen=True)
class ShownChannel:
    """A channel of the telemetry.

    Attributes
    ----------
    name, unit
        As in the record.
    role, kind, quantity
        What it is in the test, a word of `bondloop.engine.ir.quantity.Role`; and what it measures.
    interface
        At which interface; None where at none.
    counterpart
        The channel that it is to be compared with; empty where there is none.
    limit
        Magnitude beyond which the loop trips; None where there is none.
    """

    name: str
    unit: str = ""
    role: str = "other"
    kind: str = ""
    quantity: str = ""
    interface: int | None = None
    counterpart: str = ""
    limit: float | None = None


@dataclass(frozen=True)
class ShownParameter:
    """A parameter of the loop's tick.

    Attributes
    ----------
    name
        Its path.
    value
        What was asked for last. One with a rate is on its way there; its channel says where.
    unit
        In SI; empty where it has none.
    least, most
        Between which the loop accepts it; None where there is no bound.
    rate
        Largest change a second, kept by the tick; None where it changes at once.
    description
        In words.
    tunable
        Whether the loop accepts another value at all.
    channel
        The channel that shows where it is; empty where there is none.
    """

    name: str
    value: float
    unit: str = ""
    least: float | None = None
    most: float | None = None
    rate: float | None = None
    description: str = ""
    tunable: bool = True
    channel: str = ""


@dataclass(frozen=True)
class Event:
    """What the loop logged: a command and what became of it, a change of its state, the cause of a trip.

    Attributes
    ----------
    number
        Of the event, from 1.
    kind
        ``"set"``, ``"start"``, ``"state"``, ``"cause"``, ...: `EVENT_KINDS` of the protocol.
    run, step
        Of which run, and the first tick for which it holds.
    time_ns
        CLOCK_MONOTONIC when the cycle began.
    name
        The parameter that was set, the state, or the cause in words.
    before, value
        Of a parameter.
    who
        Gave the command; empty where that was not said.
    refused
        Why the command was not obeyed; empty where it was.
    mail
        Number of the command in the mailbox; 0 where it came another way.
    index
        Number of the parameter that was set, or of the cause.
    cycle
        Of the executive, in which it happened.

    Examples
    --------
    >>> Event(3, "set", 1, 120, 0, "excitation.scale", 1.0, 0.5, "ada").text
    'excitation.scale: 1 -> 0.5 (ada)'
    """

    number: int
    kind: str
    run: int
    step: int
    time_ns: int
    name: str = ""
    before: float = 0.0
    value: float = 0.0
    who: str = ""
    refused: str = ""
    mail: int = 0
    index: int = 0
    cycle: int = 0

    @property
    def text(self) -> str:
        """In one line."""
        what = f"{self.name}: {self.before:g} -> {self.value:g}" if self.kind == "set" else self.kind
        if self.kind in ("state", "cause"):
            what = self.name
        who = f" ({self.who})" if self.who else ""
        return f"{what}{who}" + (f": refused, {self.refused}" if self.refused else "")


@dataclass(frozen=True)
class Snapshot:
    """How a loop is doing, at one look.

    Attributes
    ----------
    state
        Of the lifecycle, one of `bondloop.realtime.protocol.STATES`.
    step, time
        Number of the last tick and its time in s; -1 and 0 before the first.
    run
        How many runs have begun: 1 until the first reset.
    armed
        Whether a start would be obeyed.
    cause, cause_step, cause_value, cause_limit, cause_channel, cause_unit
        Of a trip: its number (0: none), when, what was found, the limit that it passed, where, and the unit
        of both numbers; None and an empty text where that is not known.
    missed, late
        Deadlines that passed without a cycle, and cycles that ended too late, while the rig was moved.
    counts, link
        Counters of the executive and of the link, by name.
    heartbeat
        Seconds since the loop's last cycle.
    supervisor, operator
        Seconds since their last beats; None where there was none.
    alive
        Whether the loop's process is running.
    emulated
        Whether the rig is a model, by its own word.
    fault
        What the rig's controller said of the fault that is the cause.
    recording
        What is wrong with the record; empty while all is well, or nothing is recorded.
    channels
        The newest value of each, by name.
    wake, busy, exchange
        Histograms of the executive.

    Examples
    --------
    >>> Snapshot("active", step=12, time=0.012).words
    'no trip'
    """

    state: str
    step: int = -1
    time: float = 0.0
    run: int = 1
    armed: bool = True
    cause: int = 0
    cause_step: int = -1
    cause_value: float | None = None
    cause_limit: float | None = None
    cause_channel: str = ""
    cause_unit: str = ""
    missed: int = 0
    late: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    link: Mapping[str, int] = field(default_factory=dict)
    heartbeat: float = 0.0
    supervisor: float | None = None
    operator: float | None = None
    alive: bool = True
    emulated: bool = False
    fault: str = ""
    recording: str = ""
    channels: Mapping[str, float] = field(default_factory=dict)
    wake: Histogram | None = None
    busy: Histogram | None = None
    exchange: Histogram | None = None

    @property
    def words(self) -> str:
        """The cause of the trip in words, with those of the rig's controller."""
        return cause_words(self.cause) + (f" ({self.fault})" if self.cause and self.fault else "")
