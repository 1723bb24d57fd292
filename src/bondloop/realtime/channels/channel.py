"""A channel of the laboratory, and all of a file's."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from bondloop.errors import InputError, unknown_name
from bondloop.realtime.channels.calibration import Calibration  # noqa: TC001 - a field
from bondloop.realtime.channels.packet import Packet

Direction = Literal["output", "input", "auxiliary"]


@dataclass(frozen=True)
class LabChannel:
    """What is at a physical channel; all numbers are in SI units.

    Parameters
    ----------
    name
        Of the signal, as the test has it; anything for an auxiliary one.
    direction
        ``output``: a command; ``input``: a sensor of the loop; ``auxiliary``: recorded, not in the loop.
    unit, raw
        As the file has them: of the value, and of what the converter gives.
    channel
        In the driver's words: a number, ``Dev1/ai0``, a byte of a packet.
    calibration
        From raw values to values.
    type
        Of the field, in packets and process images; empty elsewhere.
    low, high
        Range of the raw value.
    zero
        Subtracted from the calibrated value.
    filter
        Cut-off frequency in Hz of a low-pass filter of first order; 0: none.
    least, most
        Limits of an output.
    rate
        Largest change a second when an output is exercised; 0 where none is stated, and it is not.
    rest
        Where an output is before anything is commanded, and goes to when it has been exercised.
    feedback
        The input that shows where an output stands; empty: none.
    note
        For people: which sensor, when calibrated.

    Examples
    --------
    >>> force = LabChannel("measured.force", "input", "kN", "V", "3", Calibration((0.0, 1000.0)), zero=12.0)
    >>> force.value(2.0)
    1988.0
    """

    name: str
    direction: Direction
    unit: str
    raw: str
    channel: str
    calibration: Calibration
    type: str = ""
    low: float = -math.inf
    high: float = math.inf
    zero: float = 0.0
    filter: float = 0.0
    least: float = -math.inf
    most: float = math.inf
    rate: float = 0.0
    rest: float = 0.0
    feedback: str = ""
    note: str = ""

    def value(self, raw: float) -> float:
        """Return the value of a raw one; NaN beyond the range."""
        inside = self.low <= raw <= self.high
        return self.calibration.value(raw) - self.zero if inside else math.nan

    def raw_of(self, value: float) -> float:
        """Return the raw value of a command; NaN beyond limits or range."""
        if not self.least <= value <= self.most:
            return math.nan
        return self.calibration.raw(value + self.zero, self.low, self.high)

    @property
    def reach(self) -> tuple[float, float]:
        """Least and largest value that range and limits allow."""
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            return self.least, self.most
        ends = sorted((self.value(self.low), self.value(self.high)))
        if self.calibration.points:
            known = zip(self.calibration.points, self.calibration.values, strict=True)
            inner = [v - self.zero for p, v in known if self.low < p < self.high]
            ends = [min(inner + ends), max(inner + ends)]
        return max(ends[0], self.least), min(ends[1], self.most)


@dataclass(frozen=True)
class ControllerFault:
    """How the controller says that something is wrong with it.

    Parameters
    ----------
    channel
        In the driver's words: a digital line, a byte of a packet.
    words
        What it means.
    code
        Its number, from 1 to 10,000; where there is no `bit`, and no line, the word itself is the code.
    type
        Of the field, in packets and process images.
    bit
        Which of it; None: any of them.
    active
        The level that is the fault.
    unpowered
        The rig has no power then, and goes where it is pushed: commands follow it, as at an emergency stop.

    Examples
    --------
    >>> ControllerFault("5", "the oil pressure is off", code=1, active=0, unpowered=True).code
    1
    """

    channel: str
    words: str
    code: int = 1
    type: str = ""
    bit: int | None = None
    active: int = 1
    unpowered: bool = False


@dataclass(frozen=True)
class Zeroing:
    """A zero that was set.

    Attributes
    ----------
    channel
        Its name.
    before, after
        In the channel's unit.
    time, operator
        When and by whom.
    undo
        Whether it takes back the one before it.

    Examples
    --------
    >>> Zeroing("force", 0.0, 0.0031, "2026-11-16T12:00:00+01:00", "Ada").undo
    False
    """

    channel: str
    before: float
    after: float
    time: str
    operator: str
    undo: bool = False


@dataclass(frozen=True)
class Channels:
    """All channels of a laboratory.

    Parameters
    ----------
    channels
        In the order of the file.
    link
        Where they are, ``comedi:///dev/comedi0``; empty where the command line says it.
    faults
        What the controller tells of itself.
    stop, beat, enable
        Lines of the emergency stop and of the enable; empty: none.
    packet
        Of a controller that is reached by packets.
    zeroings
        Zeros that were set, the oldest first.
    preflight
        What people confirm before the rig is armed; empty: `bondloop.realtime.console.preflight.ITEMS`.
    text
        Of the file, for the record.

    Examples
    --------
    >>> x = LabChannel("command", "output", "mm", "V", "0", Calibration((0.0, 0.005)))
    >>> Channels((x,))["command"].raw_of(0.01)
    2.0
    """

    channels: tuple[LabChannel, ...]
    link: str = ""
    faults: tuple[ControllerFault, ...] = ()
    stop: str = ""
    beat: str = ""
    enable: str = ""
    packet: Packet = field(default_factory=Packet)
    zeroings: tuple[Zeroing, ...] = ()
    preflight: tuple[str, ...] = ()
    text: str = field(default="", repr=False)

    def __getitem__(self, name: str) -> LabChannel:
        for channel in self.channels:
            if channel.name == name:
                return channel
        raise InputError(unknown_name("channel", name, [c.name for c in self.channels], "the channels file"))

    @property
    def outputs(self) -> list[LabChannel]:
        """Commands."""
        return [c for c in self.channels if c.direction == "output"]

    @property
    def inputs(self) -> list[LabChannel]:
        """All that is read: sensors of the loop, then auxiliary ones."""
        return [c for c in self.channels if c.direction == "input"] + [
            c for c in self.channels if c.direction == "auxiliary"
        ]

    def describe(self) -> dict[str, Any]:
        """Return them as data, in SI units, with the text of the file."""
        rows = [
            {
                **{k: v for k, v in vars(c).items() if k != "calibration"},
                "calibration": c.calibration.describe(),
            }
            for c in self.channels
        ]
        for row in rows:  # JSON has no infinities
            row.update({k: None for k in ("low", "high", "least", "most") if not math.isfinite(row[k])})
        return {
            "link": self.link,
            "channels": rows,
            "faults": [asdict(f) for f in self.faults],
            "zeroings": [asdict(z) for z in self.zeroings],
            "preflight": list(self.preflight),
            "text": self.text,
        }
