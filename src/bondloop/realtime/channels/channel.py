"""A channel of the laboratory, and all of a file's."""

from __future__ import annotations

import math
import struct
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from bondloop.errors import InputError, unknown_name

HIGHEST_POWER = 9
"""Of a polynomial; more of them swing between the points that they were fitted to."""
MOST_POINTS = 256
"""Of a table: a search in it takes eight steps at most."""


@dataclass(frozen=True)
class Calibration:
    """From raw values to values in SI units, both ways.

    Parameters
    ----------
    values
        Of a table, at its points; or the coefficients of a polynomial, that of the power 0 first.
    points
        Raw values of the table, ascending; empty for a polynomial.

    Examples
    --------
    >>> Calibration((0.001, 0.005)).value(2.0)  # 1 mm at 0 V, 5 mm/V
    0.011
    >>> table = Calibration((0.0, 1.0, 4.0), points=(-1.0, 0.0, 1.0))
    >>> table.value(0.5), table.raw(2.5, -1.0, 1.0)
    (2.5, 0.5)
    """

    values: tuple[float, ...]
    points: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not np.isfinite((*self.values, *self.points)).all():
            raise InputError("expected finite numbers in a calibration")
        if self.points:
            if len(self.points) != len(self.values) or not 2 <= len(self.points) <= MOST_POINTS:
                raise InputError(
                    f"expected a table of 2 to {MOST_POINTS} points, a raw value and a value each; found "
                    f"{len(self.points)} and {len(self.values)}"
                )
            if (np.diff(self.points) <= 0).any():
                raise InputError("the raw values of a table must rise from point to point")
        elif not 1 <= len(self.values) <= HIGHEST_POWER + 1:
            raise InputError(
                f"expected 1 to {HIGHEST_POWER + 1} coefficients of a polynomial; found {len(self.values)}"
            )

    @property
    def is_linear(self) -> bool:
        """Whether it is an offset and a gain."""
        return not self.points and len(self.values) == 2

    def value(self, raw: float) -> float:
        """Return the value of a raw one, which is within the range."""
        if self.points:
            return float(np.interp(raw, self.points, self.values))
        return float(np.polynomial.polynomial.polyval(raw, self.values))

    def is_monotone(self, low: float, high: float) -> bool:
        """Whether values rise, or fall, through all of a range of raw values: then there is a way back.

        Parameters
        ----------
        low, high
            The range; infinite ones are refused but for a straight line.
        """
        is_straight = self.points or self.is_linear
        if not is_straight and not np.isfinite((low, high)).all():
            return False
        return self.turn(low, high) is None

    def turn(self, low: float, high: float) -> tuple[float, float] | None:
        """Return raw values between which values do not go on as they did; None where they do all the way.

        Parameters
        ----------
        low, high
            The range, which is finite for a polynomial.

        Examples
        --------
        >>> Calibration((0.0, 2.0, 1.0, 4.0), points=(0.0, 1.0, 2.0, 3.0)).turn(0.0, 3.0)
        (1.0, 2.0)
        >>> Calibration((0.0, 0.0, 1.0)).turn(-1.0, 1.0)  # a parabola
        (0.0, 0.0)
        """
        if self.points:
            steps = np.diff(self.values) * (1.0 if self.values[-1] >= self.values[0] else -1.0)
            wrong = np.flatnonzero(~(steps > 0))
            return None if not len(wrong) else (self.points[wrong[0]], self.points[wrong[0] + 1])
        if len(self.values) < 2 or not any(self.values[1:]):
            return (0.0, 0.0)
        if self.is_linear:
            return None
        slope = np.polynomial.polynomial.polyder(self.values)
        # In units of the range, where a coefficient shows what it matters: a tiny one of a high power would
        # only spoil the roots.
        size = max(abs(low), abs(high))
        share = np.abs(slope) * size ** np.arange(len(slope))
        matters = np.flatnonzero(share > 1e-13 * share.max()) if share.max() > 0 else np.array([0])
        slope = slope[: matters[-1] + 1]
        turns = np.polynomial.polynomial.polyroots(slope) if len(slope) > 1 else np.array([])
        real = turns.real[np.abs(turns.imag) <= 1e-9 * (1 + np.abs(turns.real))]
        inside = real[(real >= low) & (real <= high)]
        if len(inside):
            where = float(inside[0]) + 0.0  # not -0
            return where, where
        return None if self.value(low) != self.value(high) else (low, high)

    def raw(self, value: float, low: float, high: float) -> float:
        """Return the raw value of a value; NaN where there is none in the range.

        Parameters
        ----------
        value
            In SI units.
        low, high
            The range of raw values, in which the calibration is monotone.
        """
        if self.is_linear:
            found = (value - self.values[0]) / self.values[1]
            return found if low <= found <= high else float("nan")
        rises = self.value(high) > self.value(low)
        least, most = sorted((self.value(low), self.value(high)))
        if not least <= value <= most:
            return float("nan")
        if self.points:
            rising = slice(None) if rises else slice(None, None, -1)
            return float(np.interp(value, self.values[rising], self.points[rising]))
        for _ in range(64):
            middle = low + 0.5 * (high - low)
            low, high = (middle, high) if (self.value(middle) < value) == rises else (low, middle)
        return low + 0.5 * (high - low)

    def describe(self) -> dict[str, list[float]]:
        """Return it as data, in SI units."""
        if self.points:
            return {"points": list(self.points), "values": list(self.values)}
        return {"coefficients": list(self.values)}


TYPES = {
    "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I",
    "float32": "f", "float64": "d",
}  # fmt: skip
"""Types of fields with the letters of Python's struct; their order is that of field.h."""

ROLES = ("constant", "counter", "echo", "crc16", "crc32", "enable", "stop")
"""What a field is that is no channel; the order is that of channels.h."""

MOST_BYTES = 1400
"""Of a packet: it must not be cut into pieces on an Ethernet."""


def type_range(name: str) -> tuple[float, float]:
    """Return the least and the largest number of a type of field.

    >>> type_range("int16")
    (-32768.0, 32767.0)
    """
    if name == "float64":
        return -1.7976931348623157e308, 1.7976931348623157e308
    if name == "float32":
        return -3.4028234663852886e38, 3.4028234663852886e38
    bits = 8 * size_of(name)
    return (0.0, 2.0**bits - 1) if name.startswith("u") else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1)


def size_of(name: str) -> int:
    """Return the bytes of a type of field."""
    return struct.calcsize(f"<{TYPES[name]}")


@dataclass(frozen=True)
class PacketField:
    """A field of a packet that is no channel.

    Parameters
    ----------
    role
        One of ``constant`` (always `value`), ``counter`` (one more with each packet),
        ``echo`` (received: the counter of the newest command that the controller has got), ``crc16`` (CCITT,
        from 0xFFFF) and ``crc32`` (as zlib's) of all bytes before it, ``enable`` (sent: bit 0 while the rig
        may be powered, bit 1 the beat), ``stop`` (received: not 0 while the emergency stop is pressed).
    at
        Byte at which it begins, from 0.
    type
        One of `TYPES`.
    value
        Of a constant.
    """

    role: str
    at: int
    type: str
    value: float = 0.0


@dataclass(frozen=True)
class PacketSide:
    """The packets one way.

    Parameters
    ----------
    bytes
        How long each is; what no field fills is 0 where it is sent, and anything where it is received.
    fields
        What is in them beside the channels.
    """

    bytes: int
    fields: tuple[PacketField, ...] = ()

    def overlaps(self, taken: list[tuple[int, int, str]]) -> list[str]:
        """Say what does not fit in, or lies upon something else.

        Parameters
        ----------
        taken
            Where each field begins, how long it is, and its name.
        """
        faults = [
            f"{name} ends at byte {at + size}, but the packet has {self.bytes}"
            for at, size, name in taken
            if at < 0 or at + size > self.bytes
        ]
        for (at, size, name), (then, _, other) in zip(sorted(taken), sorted(taken)[1:], strict=False):
            if then < at + size:
                faults.append(f"{other} begins at byte {then}, within {name}")
        return faults


@dataclass(frozen=True)
class Packet:
    """Packets that a controller takes and gives.

    Parameters
    ----------
    send, receive
        Those to the controller, and those from it.
    byte_order
        Of all fields.

    Examples
    --------
    >>> counter = PacketField("counter", 0, "uint32")
    >>> Packet(PacketSide(12, (counter,)), PacketSide(20, (counter,))).receive.bytes
    20
    """

    send: PacketSide = field(default_factory=lambda: PacketSide(0))
    receive: PacketSide = field(default_factory=lambda: PacketSide(0))
    byte_order: Literal["little", "big"] = "little"

    def __post_init__(self) -> None:
        for side in (self.send, self.receive):
            if side.bytes > MOST_BYTES:
                raise InputError(f"a packet has at most {MOST_BYTES} bytes; found {side.bytes}")


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
        What people confirm before the rig is armed; empty: `bondloop.realtime.preflight.ITEMS`.
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
