"""A controller with packets of its own, for tests: laid out by struct, not by bondloop."""

import binascii
import contextlib
import socket
import struct
import threading
import zlib
from dataclasses import dataclass, field

LETTERS = {
    "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "float32": "f",
    "float64": "d",
}  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """Fields by name: byte and type; checksums and constants among them."""

    size: int
    fields: dict
    order: str = "<"
    constants: dict = field(default_factory=dict)
    check: str = ""  # crc16 or crc32

    def pack(self, values):
        data = bytearray(self.size)
        for name, value in {**values, **self.constants}.items():
            at, kind = self.fields[name]
            struct.pack_into(f"{self.order}{LETTERS[kind]}", data, at, value)
        if self.check:
            at, kind = self.fields[self.check]
            struct.pack_into(f"{self.order}{LETTERS[kind]}", data, at, self.sum(data))
        return bytes(data)

    def sum(self, data):
        before = bytes(data[: self.fields[self.check][0]])
        return zlib.crc32(before) if self.check == "crc32" else binascii.crc_hqx(before, 0xFFFF)

    def unpack(self, data):
        assert len(data) == self.size
        found = {
            n: struct.unpack_from(f"{self.order}{LETTERS[k]}", data, at)[0]
            for n, (at, k) in self.fields.items()
        }
        assert all(found[n] == v for n, v in self.constants.items())
        assert not self.check or found[self.check] == self.sum(data)
        return found


class Peer:
    """Answers every packet with what `answer` makes of it: bytes, a list of them, or None."""

    def __init__(self, takes, answer, *, tcp=False):
        self.takes, self.answer, self.tcp = takes, answer, tcp
        self.heard = []
        kind = socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM
        self.socket = socket.socket(socket.AF_INET, kind)
        self.socket.bind(("127.0.0.1", 0))
        if tcp:
            self.socket.listen(1)
        self.open = True
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    @property
    def link(self):
        return f"packet://127.0.0.1:{self.socket.getsockname()[1]}{'?tcp' if self.tcp else ''}"

    def _serve(self):
        with contextlib.suppress(OSError):
            while self.tcp:
                self._stream(*self.socket.accept())
            self.socket.settimeout(0.2)
            while True:
                try:
                    data, who = self.socket.recvfrom(2000)
                except TimeoutError:
                    if self.open:
                        continue
                    return  # all that was on its way has come
                for reply in self._replies(data):
                    self.socket.sendto(reply, who)

    def _stream(self, wire, _):
        """Serve one connection until the loop closes it."""
        wire.settimeout(60)
        with wire, contextlib.suppress(OSError):
            buffer = b""
            while more := wire.recv(2000):
                buffer += more
                while len(buffer) >= self.takes.size:
                    data, buffer = buffer[: self.takes.size], buffer[self.takes.size :]
                    for reply in self._replies(data):
                        wire.sendall(reply)

    def _replies(self, data):
        found = self.takes.unpack(data)
        self.heard.append(found)
        reply = self.answer(found, len(self.heard))
        return [] if reply is None else [reply] if isinstance(reply, bytes) else reply

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.open = False
        if self.tcp:
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join(60)
        self.socket.close()
