"""A rig that speaks bondloop's UDP packets, in plain Python: a pattern for a controller or microcontroller.

Here the "rig" is a spring of 30 kN/m that is at once where it is told to be; a real one replaces `Spring`.
Use: python udp_peer.py [PORT [COMMANDS [MEASURED]]], names of signals joined by commas.
"""

import contextlib
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


def pack(
    kind: int, session: int, sequence: int = 0, echo: int = 0, values: Sequence[float] = (), detail: int = 0
) -> bytes:
    """Return the bytes of a packet."""
    body = HEAD.pack(
        b"BLP1", 1, kind, session, sequence, echo, time.monotonic_ns(), len(values), detail
    ) + struct.pack(f"<{len(values)}d", *values)
    return body + struct.pack("<I", zlib.crc32(body))


def unpack(data: bytes) -> tuple[int, int, int, int, tuple[float, ...]] | None:
    """Return kind, session, sequence, detail and values of a packet; None for anything else."""
    if len(data) < HEAD.size + 4 or zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
        return None
    magic, version, kind, session, sequence, _, _, count, detail = HEAD.unpack_from(data)
    if (magic, version, len(data)) != (b"BLP1", 1, HEAD.size + 8 * count + 4):
        return None
    return kind, session, sequence, detail, struct.unpack_from(f"<{count}d", data, HEAD.size)


class Spring:
    """The hardware, as far as the link is concerned: one displacement in m, one force in N."""

    displacement = 0.0

    def move(self, commands: Sequence[float]) -> None:
        """Go where the loop wants it."""
        self.displacement = commands[0]

    def rest(self) -> None:
        """Go to the safe state: no loop has the rig. A real one goes there on a ramp."""
        self.displacement = 0.0

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
        if found is None:
            continue
        kind, whose, sequence, detail, values = found
        if kind == HELLO and session not in (0, whose):
            own.sendto(pack(BUSY, whose), peer)
        elif kind == HELLO and (detail != signature or values[:2] != (len(commands), len(measured))):
            own.sendto(pack(REFUSE, whose, values=(len(commands), len(measured)), detail=signature), peer)
        elif kind == HELLO and (session == 0 or sent == 0):
            session, newest, sent, heard = whose, 0, 0, time.monotonic()
            own.sendto(pack(ACCEPT, session, values=rig.measure()), peer)
        elif whose != session or session == 0:
            continue
        elif kind == COMMAND and len(values) == len(commands) and sequence >= newest:
            if sequence > newest:  # not a copy, which in lock-step is answered but moves nothing
                rig.move(values)
            newest, sent, heard = sequence, sent + 1, time.monotonic()
            own.sendto(pack(MEASURED, session, sent, newest, rig.measure()), peer)
        elif kind == ALIVE:  # the rig stays as it is, and shows what it measures
            sent, heard = sent + 1, time.monotonic()
            own.sendto(pack(MEASURED, session, sent, newest, rig.measure()), peer)
        elif kind == BYE:
            session = 0
            if newest:
                rig.rest()


if __name__ == "__main__":
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 5005))
        print(f"listening on udp://127.0.0.1:{bound.getsockname()[1]}", flush=True)
        serve(bound, Spring(), *(names.split(",") for names in sys.argv[2:4]))
