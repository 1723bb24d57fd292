"""Entries that a channels file may have, for the reader and for the JSON Schema; the layout of packets."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Required

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from bondloop.engine.data import ANY_NUMBER, FAILED, Place, Reader, Table, any_of, as_json, table
from bondloop.errors import InputError
from bondloop.realtime.channels import (
    MOST_BYTES,
    ROLES,
    TYPES,
    ControllerFault,
    LabChannel,
    Packet,
    PacketField,
    PacketSide,
    size_of,
    type_range,
)
from bondloop.units import known_unit

MOST_TEXTS, LONGEST_TEXT = 40, 200
"""Texts of a list, and bytes of each."""

HIGHEST_PLACE = 65_535
"""Number of a channel, a line or a byte."""


def _words(value: str) -> str:
    if not value.strip() or "\0" in value:
        raise ValueError("expected some words; found none")
    return value


def _place(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError(f"expected a whole number or a text; found {value!r:.40}")  # noqa: TRY004 - pydantic's
    text = _words(str(value)).strip()
    whole = text.removeprefix("-").removeprefix("+")
    if whole.isascii() and whole.isdigit():
        wrong = text.startswith("-") or len(whole) > 6 or int(whole) > HIGHEST_PLACE
    else:
        wrong = len(text) > 200 or not text.isprintable()
    if wrong:
        words = f"expected a number from 0 to {HIGHEST_PLACE:,}, or the driver's own words; found {value}"
        raise ValueError(f"{words:.120}")
    return value


def _unit(value: str) -> str:
    try:
        return value if value == "1" else known_unit(value, "the unit")
    except InputError as error:
        raise ValueError(str(error)) from None


def plain_unit(unit: str) -> str:
    """Return a unit; nothing for 1.

    Parameters
    ----------
    unit
        As a file has it.
    """
    return "" if unit == "1" else unit


def _texts(value: Any) -> Any:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_TEXTS:
        raise ValueError(f"expected a list of 1 to {MOST_TEXTS} texts; found {value!r:.40}")
    for number, text in enumerate(value, 1):
        if not isinstance(text, str) or not text.strip() or not text.isprintable():
            raise ValueError(f"expected texts of a line each; item {number} is {text!r:.40}")
        if len(text.encode(errors="replace")) > LONGEST_TEXT:
            words = f"expected texts of at most {LONGEST_TEXT} bytes; item {number} has {len(text.encode())}"
            raise ValueError(words)
        if text in value[: number - 1]:
            raise ValueError(f"item {number} stands there twice: {text!r:.60}")
    return value


_PAIR = {"type": "array", "minItems": 2, "maxItems": 2}
Text = Annotated[str, AfterValidator(_words)]
Unit = Annotated[str, AfterValidator(_unit)]
Location = Annotated[Any, AfterValidator(_place), as_json(type=["integer", "string"])]
Texts = Annotated[
    Any,
    AfterValidator(_texts),
    as_json(type="array", minItems=1, maxItems=MOST_TEXTS, items={"type": "string"}),
]
FieldType = Annotated[str, any_of(*TYPES), as_json(type="string", enum=[*TYPES])]
Role = Annotated[str, any_of(*ROLES), as_json(type="string", enum=[*ROLES])]
Direction = Annotated[
    str, any_of("output", "input", "auxiliary"), as_json(type="string", enum=["output", "input", "auxiliary"])
]
ByteOrder = Annotated[str, any_of("little", "big"), as_json(type="string", enum=["little", "big"])]
# Numbers are left to who knows their units.
Number = Annotated[Any, as_json(**ANY_NUMBER)]
Pair = Annotated[Any, as_json(**_PAIR, items={"type": ["number", "string"]})]
Coefficients = Annotated[Any, as_json(type="array", items={"type": "number"})]
Points = Annotated[Any, as_json(type="array", items=_PAIR)]


@table
class ChannelEntries(TypedDict, total=False):
    """One channel."""

    name: Required[Text]
    """The signal, as the test has it; any name for an auxiliary one."""
    direction: Required[Direction]
    """output: a command; input: a sensor of the loop; auxiliary: recorded, not in the loop."""
    unit: Required[Unit]
    """Of the value; plain numbers of this table are in it."""
    raw: Unit
    """Of what the converter gives or takes; V, or 1 where there is a type."""
    channel: Required[Location]
    """Physical channel, in the driver's words."""
    type: FieldType
    """Type of the field, in packets and process images."""
    gain: Number
    """Units per raw unit: value = offset + gain raw."""
    offset: Number
    """Value at a raw value of 0."""
    polynomial: Coefficients
    """Coefficients, that of the power 0 first: value = c0 + c1 raw + ..."""
    table: Points
    """Points [raw, value], the raw ones rising; straight lines between."""
    range: Pair
    """Raw values that are believed, or may be given."""
    zero: Number
    """Subtracted from the calibrated value."""
    filter: Number
    """Inputs: cut-off frequency of a low-pass filter of first order."""
    limits: Pair
    """Outputs: commands that may be given, by whatever program."""
    rate: Number
    """Outputs: largest change a second when it is exercised."""
    rest: Number
    """Outputs: where it is when nothing is commanded."""
    feedback: Text
    """Outputs: the input that shows where it stands."""
    note: Text
    """For people."""


@table
class LineEntries(TypedDict, total=False):
    """Digital lines of the whole rig."""

    stop: Location
    """Digital input, high while the emergency stop is not pressed."""
    beat: Location
    """Digital output that toggles while the rig is enabled."""
    enable: Location
    """Digital output, high while the rig is enabled."""


@table
class FaultEntries(TypedDict, total=False):
    """A fault that the controller reports."""

    channel: Required[Location]
    """Digital line, or byte of the packet."""
    words: Required[Text]
    """What it means."""
    code: int
    """Its number, 1 to 10000; 1 if left out."""
    type: FieldType
    """Type of the field, in packets and process images."""
    bit: int
    """Bit of the word; left out: any that is not 0, and the word is the code."""
    active: int
    """Level that is the fault, 1 or 0; 1 if left out."""
    unpowered: bool
    """The rig has no power then: commands follow it, as at an emergency stop."""


FieldEntries = TypedDict("FieldEntries", {
    "is": Required[Annotated[Role, Field(description="What the field is.")]],
    "at": Required[Annotated[int, Field(description="Byte at which it begins, from 0.")]],
    "type": Required[Annotated[FieldType, Field(description="Its type.")]],
    "value": Annotated[float, Field(description="Of a constant.")],
}, total=False)  # fmt: skip
table(FieldEntries)


@table
class SideEntries(TypedDict, total=False):
    """Packets one way."""

    bytes: Required[int]
    """Length of a packet."""
    fields: list[FieldEntries]
    """What is in it beside the channels."""


@table
class PacketEntries(TypedDict, total=False):
    """What packets look like."""

    byte_order: ByteOrder
    """Of all fields; little if left out."""
    send: Required[SideEntries]
    """Packets to the controller."""
    receive: Required[SideEntries]
    """Packets from the controller."""


@table
class ZeroingEntries(TypedDict, total=False):
    """A zero that was set."""

    channel: Required[Text]
    """Name of the channel."""
    before: Required[float]
    """Its zero before, in its unit."""
    after: Required[float]
    """Its zero after."""
    time: Required[Text]
    """When."""
    operator: Required[Text]
    """Who."""
    undo: bool
    """Whether it takes back the one before it."""


@table
class PreflightEntries(TypedDict, total=False):
    """What people confirm."""

    items: Required[Texts]
    """What people confirm before the rig is armed, in their order."""


@table
class FileEntries(TypedDict, total=False):
    """A channels file."""

    format: int
    """Of the file; 1 if left out."""
    link: Text
    """Where the channels are: comedi:///dev/comedi0, packet://HOST:PORT."""
    channel: list[ChannelEntries]
    """The channels."""
    lines: LineEntries
    """Emergency stop and enable."""
    fault: list[FaultEntries]
    """What the controller tells of itself."""
    packet: PacketEntries
    """What packets look like."""
    preflight: PreflightEntries
    """What people confirm before the rig is armed."""
    zeroing: list[ZeroingEntries]
    """Zeros that were set; written by bondloop channels zero."""


FILE = Table(FileEntries)


_ONE_WAY = {"enable": "send", "stop": "receive", "echo": "receive"}
_CHECKS = {"crc16": "uint16", "crc32": "uint32"}


def read_packet(
    reader: Reader,
    entries: Mapping[str, Any],
    channels: Sequence[tuple[Place, LabChannel]],
    faults: Sequence[ControllerFault],
) -> Packet:
    """Return what packets look like; nothing where the file does not say.

    Parameters
    ----------
    reader
        Who notes what is wrong.
    entries
        The table ``packet``; nothing where there is none.
    channels, faults
        Those of the file, which have fields of the packets; channels with their places.
    """
    if not entries:
        return Packet()
    sides = {
        way: _side(reader, entries[way], way, channels, faults)
        for way in ("send", "receive")
        if isinstance(entries.get(way), dict)
    }
    if len(sides) < 2 or None in sides.values() or entries.get("byte_order") is FAILED:
        return Packet()
    roles = {way: [f.role for f in side.fields] for way, side in sides.items() if side}
    if "echo" in roles["receive"] and "counter" not in roles["send"]:
        words = "an echo is the counter of a command that came back: expected a counter in packet.send, too"
        reader.fault(("packet", "receive", "fields", roles["receive"].index("echo")), words)
        return Packet()
    return Packet(
        **{way: side for way, side in sides.items() if side}, byte_order=entries.get("byte_order", "little")
    )


def _side(
    reader: Reader,
    entries: Mapping[str, Any],
    way: str,
    channels: Sequence[tuple[Place, LabChannel]],
    faults: Sequence[ControllerFault],
) -> PacketSide | None:
    place: Place = ("packet", way)
    bytes_ = entries.get("bytes", FAILED)
    if bytes_ is FAILED:
        return None
    if not 1 <= bytes_ <= MOST_BYTES:
        reader.fault((*place, "bytes"), f"expected 1 to {MOST_BYTES} bytes; found {bytes_}")
        return None
    rows = entries.get("fields", [])
    if rows is FAILED:
        return None
    fields = [f for i, row in enumerate(rows) if (f := _field(reader, row, way, (*place, "fields", i)))]
    for role in {f.role for f in fields if f.role != "constant"}:
        if sum(f.role == role for f in fields) > 1:
            reader.fault((*place, "fields"), f"expected one {role}; found several")
    side = PacketSide(bytes_, tuple(fields))
    taken = [(f.at, size_of(f.type), f"the {f.role}") for f in fields]
    taken += _channels(reader, way, channels)
    if way == "receive":
        # Several bits of one word are several faults at one place.
        words = {(_byte(f.channel), f.type): f for f in faults}
        for (at, kind), fault in words.items():
            if at is None or not kind:
                reader.fault(("fault",), f"'{fault.words}' needs a byte of the packet as channel, and a type")
            else:
                taken.append((at, size_of(kind), f"the word of '{fault.words}'"))
    for words_ in side.overlaps(taken):
        reader.fault(place, words_)
    return side


def _channels(
    reader: Reader, way: str, channels: Sequence[tuple[Place, LabChannel]]
) -> list[tuple[int, int, str]]:
    taken = []
    for place, c in channels:
        if (c.direction == "output") != (way == "send"):
            continue
        at = _byte(c.channel)
        if at is None or not c.type:
            reader.fault(place, f"'{c.name}' needs a byte of the packet as channel, and a type")
        else:
            taken.append((at, size_of(c.type), c.name))
    return taken


def _byte(channel: str) -> int | None:
    return int(channel) if channel.isascii() and channel.isdigit() else None


def _field(reader: Reader, entries: Any, way: str, place: Place) -> PacketField | None:
    if (
        entries is FAILED
        or any(entries.get(word, FAILED) is FAILED for word in ("is", "at", "type"))
        or FAILED in entries.values()
    ):
        return None
    role, kind = entries["is"], entries["type"]
    if _ONE_WAY.get(role, way) != way:
        reader.fault((*place, "is"), f"{role} is a field of packets to {_ONE_WAY[role]}, not to {way}")
    elif role != "constant" and not kind.startswith("u"):
        reader.fault((*place, "type"), f"{role} is of an unsigned type; found {kind}")
    elif role in _CHECKS and kind != _CHECKS[role]:
        reader.fault((*place, "type"), f"{role} is of type {_CHECKS[role]}; found {kind}")
    elif (role == "constant") != ("value" in entries):
        reader.fault(place, "a constant has a value, and nothing else has one")
    elif role == "constant" and not _fits(float(entries["value"]), kind):
        reader.fault((*place, "value"), f"{entries['value']:g} does not fit into {kind}")
    else:
        # What the field holds is what the controller's is compared with: 0.1 is another number as a float32.
        value = struct.unpack(f"<{TYPES[kind]}", struct.pack(f"<{TYPES[kind]}", _number(entries, kind)))[0]
        return PacketField(role, entries["at"], kind, float(value))
    return None


def _number(entries: Mapping[str, Any], kind: str) -> float | int:
    value = float(entries.get("value", 0.0))
    return value if kind.startswith("float") else int(value)


def _fits(value: float, kind: str) -> bool:
    least, most = type_range(kind)
    return least <= value <= most and (kind.startswith("float") or value == int(value))
