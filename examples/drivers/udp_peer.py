"""A rig that speaks bondloop's UDP packets, in plain Python: a pattern for a controller or microcontroller.

Here the "rig" is a spring of 30 kN/m that is at once where it is told to be; a real one replaces `Spring`.
Use: python udp_peer.py [PORT [COMMANDS [MEASURED]]], names of signals joined by commas. A key that loop and
rig share (32 hexadecimal digits) is taken from the environment, BONDLOOP_KEY.
"""

import contextlib
import math
import os
import secrets
import socket
import struct
import sys
import time
import zlib
from collections.abc import Sequence

HEAD = struct.Struct("<4sHHQQQqII")  # magic, version, kind, session, sequence, echo, time, count, detail
HELLO, ACCEPT, BUSY, REFUSE, COMMAND, MEASURED, BYE, ALIVE = range(1, 9)
TIMEOUT = 1.0
"""Seconds without a command or a sign of life after which the loop is gone."""
KEY = bytes.fromhex(os.environ.get("BONDLOOP_KEY", "00" * 16))
_WORD = (1 << 64) - 1


def siphash(data: bytes, key: bytes = KEY) -> int:
    """Return the SipHash-2-4 of bytes: who has not the key cannot make it."""
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def mix(i: int, j: int, bits: int) -> None:
        v[i] = (v[i] + v[j]) & _WORD
        v[j] = ((v[j] << bits | v[j] >> (64 - bits)) & _WORD) ^ v[i]

    def rounds(count: int) -> None:
        for _ in range(count):
            mix(0, 1, 13), mix(2, 3, 16)
            v[0] = (v[0] << 32 | v[0] >> 32) & _WORD
            mix(2, 1, 17), mix(0, 3, 21)
            v[2] = (v[2] << 32 | v[2] >> 32) & _WORD

    padded = data + bytes(-(len(data) + 1) % 8) + bytes([len(data) & 255])
    for (word,) in struct.iter_unpack("<Q", padded):
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 255
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def pack(
    kind: int, session: int, sequence: int = 0, echo: int = 0, values: Sequence[float] = (), detail: int = 0
) -> bytes:
    """Return the bytes of a packet."""
    body = HEAD.pack(
        b"BLP2", 2, kind, session, sequence, echo, time.monotonic_ns(), len(values), detail
    ) + struct.pack(f"<{len(values)}d", *values)
    return body + struct.pack("<Q", siphash(body))


def unpack(data: bytes) -> tuple[int, int, int, int, tuple[float, ...]] | None:
    """Return kind, session, sequence, detail and values of a packet; None for anything else."""
    if len(data) < HEAD.size + 8 or siphash(data[:-8]) != int.from_bytes(data[-8:], "little"):
        return None
    magic, version, kind, session, sequence, _, _, count, detail = HEAD.unpack_from(data)
    if (magic, version, len(data)) != (b"BLP2", 2, HEAD.size + 8 * count + 8):
        return None
    return kind, session, sequence, detail, struct.unpack_from(f"<{count}d", data, HEAD.size)


class Spring:
    """The hardware, as far as the link is concerned: one displacement in m, one force in N."""

    displacement = safe = 0.0
    stopped = enabled = False
    """Whether the emergency stop is pressed (of a real rig a digital input), and the loop enables the rig."""

    def word(self) -> int:
        """Return what the loop is told: 1, since there is an emergency stop, and 2 while it is pressed."""
        return 1 | (2 if self.stopped else 0)

    def enable(self, word: int) -> None:
        """Heed what the loop says: 2 to enable, 4 with every second one: a real rig puts it out on a pin."""
        self.enabled = word & 3 != 1  # a loop that does not say 1 gives no enables

    def move(self, commands: Sequence[float]) -> None:
        """Go where the loop wants it, with power only."""
        if self.enabled and not self.stopped:
            self.displacement = commands[0]

    def rest(self) -> None:
        """Go where the loop wanted it to go without one; a real rig goes there on a ramp."""
        self.move([self.safe])

    def measure(self) -> list[float]:
        """Return what the sensors show."""
        return [30e3 * self.displacement]


def serve(
    own: socket.socket,
    rig: Spring,
    commands: Sequence[str] = ("command",),
    measured: Sequence[str] = ("measured.force",),
) -> None:
    """Answer loops, one after the other, for ever."""
    signature = zlib.crc32("\n".join((*commands, "", *measured)).encode())
    session, newest, sent, heard = 0, 0, 0, 0.0  # session 0: nobody has the rig
    asked, nonce, owner = 0, 0, None  # by whom: the number the loop chose, our own, its address
    own.settimeout(0.05)
    while True:
        found = None
        with contextlib.suppress(TimeoutError):
            data, peer = own.recvfrom(2048)
            found = unpack(data)
        if session and time.monotonic() - heard > TIMEOUT:
            session = 0  # gone without a word
            if newest:  # else it was never commanded, and stays where it is
                rig.rest()
            rig.enable(1)  # withdrawn
        if found is None or not all(map(math.isfinite, found[4])):
            continue
        kind, whose, sequence, detail, values = found
        if kind == HELLO and session and (whose, peer) != (asked, owner):
            own.sendto(pack(BUSY, whose), peer)
        elif kind == HELLO and (
            detail != signature
            or len(values) != 4 + len(commands)
            or values[:2] != (len(commands), len(measured))
        ):
            own.sendto(pack(REFUSE, whose), peer)  # why, is nobody's business
        elif kind == HELLO and (session == 0 or sent == 0):
            if session == 0:
                asked, owner, nonce = whose, peer, secrets.randbits(64)
            session, newest, sent, heard = asked ^ nonce, 0, 0, time.monotonic()
            rig.safe = values[4]
            own.sendto(pack(ACCEPT, asked, rig.word(), nonce, rig.measure()), peer)
        elif session == 0 or (whose, peer) != (session, owner):
            continue
        elif kind == COMMAND and len(values) == len(commands) and sequence >= newest:
            rig.enable(detail)
            if sequence > newest:  # not a copy, which in lock-step is answered but moves nothing
                rig.move(values)
            newest, sent, heard = sequence, sent + 1, time.monotonic()
            own.sendto(pack(MEASURED, session, sent, newest, rig.measure(), rig.word()), peer)
        elif kind == ALIVE:  # the rig stays as it is, and shows what it measures
            rig.enable(detail)
            sent, heard = sent + 1, time.monotonic()
            own.sendto(pack(MEASURED, session, sent, newest, rig.measure(), rig.word()), peer)
        elif kind == BYE:
            session = 0
            if newest:
                rig.rest()
            rig.enable(1)  # withdrawn


if __name__ == "__main__":
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 5005))
        print(f"listening on udp://127.0.0.1:{bound.getsockname()[1]}", flush=True)
        serve(bound, Spring(), *(names.split(",") for names in sys.argv[2:4]))
