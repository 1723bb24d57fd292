"""What a packet of a controller looks like: which field is where, and of which type."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Literal

from bondloop.errors import InputError

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
