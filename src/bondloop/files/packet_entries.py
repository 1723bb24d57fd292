"""The layout of packets in a channels file."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from bondloop.engine.data import FAILED, Place, Reader
from bondloop.realtime.channels import (
    MOST_BYTES,
    TYPES,
    ControllerFault,
    LabChannel,
    Packet,
    PacketField,
    PacketSide,
    size_of,
    type_range,
)

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
