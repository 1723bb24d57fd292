"""A UDP proxy between loop and rig that loses, repeats, reorders, spoils and delays packets, as told."""

import heapq
import random
import select
import socket
import threading
import time
from dataclasses import dataclass, field

from wire import ACCEPT, COMMAND, MEASURED, unpack


@dataclass
class PacketFaults:
    """What is done to the packets of one direction; shares are probabilities.

    Parameters
    ----------
    kind
        Of the packets: others pass.
    begin, end
        Sequence numbers from and up to which (not included) it is done.
    drop, duplicate, swap, corrupt
        Shares of packets that are lost, come once more after their second successor, come only then, have a
        bit flipped.
    delay
        Seconds by sequence number that a packet is held back.
    rewrite
        Called with an unpacked packet; returns the bytes that travel on.
    """

    kind: int
    begin: int = 0
    end: int = 1 << 60
    drop: float = 0.0
    duplicate: float = 0.0
    swap: float = 0.0
    corrupt: float = 0.0
    delay: object = None
    rewrite: object = None
    seed: int = 1
    did: dict = field(default_factory=lambda: dict.fromkeys(("drop", "duplicate", "swap", "corrupt"), 0))

    def __post_init__(self):
        self.rng = random.Random(self.seed)
        self.held = []

    def _happens(self, what):
        happens = self.rng.random() < getattr(self, what)
        self.did[what] += happens
        return happens

    def treat(self, packet, data):
        """Return what travels on instead: pairs of a delay in s and bytes."""
        if packet["kind"] != self.kind:
            return [(0.0, data)]
        if self.rewrite is not None:
            data = self.rewrite(packet)
        out = [(0.0, data)]
        if self.begin <= packet["sequence"] < self.end:
            if self.delay is not None:
                out = [(self.delay(packet["sequence"]), data)]
            elif self._happens("drop"):
                out = []
            elif self._happens("corrupt"):
                spoilt = bytearray(data)
                spoilt[self.rng.randrange(len(data))] ^= 1 << self.rng.randrange(8)
                out = [(0.0, bytes(spoilt))]
            elif self._happens("duplicate"):
                self.held.append((packet["sequence"] + 2, data))
            elif not self.held and self._happens("swap"):
                self.held.append((packet["sequence"] + 2, data))
                out = []
        due = [old for number, old in self.held if number <= packet["sequence"]]
        self.held = [each for each in self.held if each[0] > packet["sequence"]]
        return [*out, *((0.0, old) for old in due)]


class Proxy(threading.Thread):
    """Passes packets on, in a thread.

    Attributes
    ----------
    link
        Where a loop finds it.
    commands, measured
        What it saw of each: unpacked packets, in the order in which they came to it.
    """

    def __init__(self, rig_link, *packet_faults):
        super().__init__(daemon=True)
        host, port = rig_link.removeprefix("udp://").split(":")
        self.packet_faults = packet_faults
        self._rig, self._near = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self._rig.connect((host, int(port)))
        self._near.bind(("127.0.0.1", 0))
        self._bell, self._rope = socket.socketpair()
        self._due, self._loop, self._count = [], None, 0
        self.link = f"udp://127.0.0.1:{self._near.getsockname()[1]}"
        self.commands, self.measured = [], []

    def _treat(self, data, send):
        packet = unpack(data)
        if packet["kind"] == COMMAND:
            self.commands.append(packet)
        elif packet["kind"] in (ACCEPT, MEASURED):
            self.measured.append(packet)
        pieces = [(0.0, data)]
        for each in self.packet_faults:
            if each.kind == packet["kind"]:
                pieces = each.treat(packet, data)
        for delay, piece in pieces:
            if delay > 0:
                self._count += 1
                heapq.heappush(self._due, (time.monotonic() + delay, self._count, send, piece))
            else:
                send(piece)

    def _to_loop(self, data):
        if self._loop is not None:
            self._near.sendto(data, self._loop)

    def _to_rig(self, data):
        try:
            self._rig.send(data)
        except ConnectionRefusedError:
            return  # of a packet before: nobody listens there any more

    def run(self):
        while True:
            while self._due and self._due[0][0] <= time.monotonic():
                _, _, send, piece = heapq.heappop(self._due)
                send(piece)
            patience = max(0.0, self._due[0][0] - time.monotonic()) if self._due else None
            ready, _, _ = select.select([self._near, self._rig, self._bell], [], [], patience)
            if self._bell in ready:
                return
            if self._near in ready:
                data, self._loop = self._near.recvfrom(2048)
                self._treat(data, self._to_rig)
            if self._rig in ready:
                try:
                    data = self._rig.recv(2048)
                except ConnectionRefusedError:
                    continue  # the rig is gone
                self._treat(data, self._to_loop)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._rope.send(b"!")
        self.join(20)
        for each in (self._rig, self._near, self._bell, self._rope):
            each.close()
