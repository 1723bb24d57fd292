"""Packets that must not move a rig: changed, forged, of other sessions, noise. None of them may be obeyed.

Run: python tests/hostile/packets.py --packets 1000000 (a minute or two; --first SEED)

The rig is a process of its own, with a key, in the middle of a session. Each packet is heard: the sender
waits while the rig's queue is long, and what the kernel drops nevertheless is sent anew. In lock-step a rig
answers whatever it obeys, so that one answer is one too many; and at the end it says how many commands it
has had.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "realtime"))  # for wire.py and two_halves.py

from test_udp import SIGNATURE, a_socket
from two_halves import PERIOD, make_computer, make_rig
from wire import ACCEPT, ALIVE, BUSY, BYE, COMMAND, HELLO, MEASURED, REFUSE, pack, unpack

from bondloop.realtime import RigOptions, RigProcess
from bondloop.realtime.options import fresh_key
from bondloop.realtime.programs.build import build_pair

BURST = 64
"""Packets between two looks at the rig's queue, which holds some 250."""


def forged(session: int, key: bytes) -> list[bytes]:
    """Return packets that lack one thing: the key, a finite value, the session, the right size, a kind."""
    stranger = bytes.fromhex(fresh_key())
    kinds = (COMMAND, BYE, ALIVE, HELLO)
    packets = [pack(kind, session, n, 0, [0.5], key=stranger) for n in (1, 2, 1 << 40) for kind in kinds]
    packets += [pack(COMMAND, session, 1, 0, [bad], key=key) for bad in (math.nan, math.inf, -math.inf)]
    packets += [pack(k, other, 1, 0, [0.5], key=key) for other in (7, 0, session ^ 1) for k in kinds[:3]]
    packets += [pack(COMMAND, session, 1, 0, values, key=key) for values in ([], [0.5, 0.5], [0.5] * 100)]
    others = (0, 9, MEASURED, ACCEPT, BUSY, REFUSE, 65535)
    return packets + [pack(kind, session, 1, 0, [0.5], key=key) for kind in others]


def hostile(rng: random.Random, good: bytes, false: list[bytes]) -> bytes:
    """Draw a packet: forged, noise, or a good one with a few bits changed or a piece missing or too many."""
    way = rng.randrange(8)
    if way < 2:
        return rng.choice(false)
    if way == 2:
        return rng.randbytes(rng.choice((0, 1, 7, 40, 56, len(good), 100, 1400)))
    if way == 3:
        pieces = good[: rng.randrange(len(good))] + rng.randbytes(rng.choice((0, 0, 1, 8)))
        return pieces if pieces != good else good + b"."  # one in 500,000 puts back what was cut off
    spoilt = bytearray(good)
    for place in rng.sample(range(8 * len(good)), rng.randint(1, 8)):
        spoilt[place // 8] ^= 1 << place % 8
    return bytes(spoilt)


def queue(port: int) -> tuple[int, int]:
    """Return the bytes that wait for a socket of this machine, and how many packets it has lost."""
    for line in Path("/proc/net/udp").read_text().splitlines()[1:]:
        words = line.split()
        if int(words[1].split(":")[1], 16) == port:
            return int(words[4].split(":")[1], 16), int(words[-1])
    raise SystemExit(f"there is no socket at port {port}")


def attack(count: int, seed: int) -> dict[str, Any]:
    """Send packets until so many were heard; return what was sent, heard, answered and obeyed."""
    key, rng = fresh_key(), random.Random(seed)
    program = build_pair(make_computer(), make_rig()).rig
    options = RigOptions(link="udp://127.0.0.1:0", timeout=3600.0, key=key)
    with RigProcess(program, options) as rig, a_socket() as own:
        secret, port = bytes.fromhex(key), int(rig.link.rpartition(":")[2])
        own.connect(("127.0.0.1", port))
        own.send(pack(HELLO, 7, 0, 0, [1.0, 1.0, PERIOD, 1.0, 0.0], SIGNATURE, key=secret))
        session = 7 ^ unpack(own.recv(2048), secret)["echo"]
        good, false = pack(COMMAND, session, 1, 0, [0.5], key=secret), forged(session, secret)
        before, sent, heard = queue(port)[1], 0, 0
        while heard < count:
            for _ in range(min(BURST, count - heard)):
                own.send(hostile(rng, good, false))
                sent += 1
            while (state := queue(port))[0]:
                time.sleep(0)
            heard = sent - (state[1] - before)
        answers = []
        own.setblocking(False)
        while True:
            try:
                answers.append(unpack(own.recv(2048), secret)["kind"])
            except BlockingIOError:
                break
        own.settimeout(20)
        own.send(pack(COMMAND, session, 2, 0, [0.25], key=secret))
        last = unpack(own.recv(2048), secret)
        own.send(pack(BYE, session, 0, 0, [], key=secret))
        assert rig.process.stdout is not None
        said = [rig.process.stdout.readline() for _ in range(2)]
    return {
        "sent": sent, "heard": heard, "answered": len(answers), "last": (last["kind"], last["echo"]),
        "obeyed": int(said[1].split(":")[1].split()[0]) - 1,
    }  # fmt: skip


def main() -> None:
    """Attack, and print what the rig did."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--packets", type=int, default=1_000_000)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    told = attack(given.packets, given.first)
    print(
        f"{told['heard']:,} hostile packets heard of {told['sent']:,} sent: "
        f"{told['answered']} answered, {told['obeyed']} obeyed"
    )
    sys.exit(told["obeyed"] != 0 or told["answered"] != 0 or told["last"] != (MEASURED, 2))


if __name__ == "__main__":
    main()
