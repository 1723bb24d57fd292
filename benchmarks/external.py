"""Milliseconds a step of a rig that another program moves: its ticks alone, UDP, TCP, and OpenSees itself.

Run: python benchmarks/external.py [--opensees PYTHON] [--steps N]
"""

import argparse
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from bondloop.interop import RehearsedRig
from bondloop.interop.server import Server

EXAMPLE = Path(__file__).parents[1] / "examples" / "opensees"
sys.path.insert(0, str(EXAMPLE))
SIZES = struct.pack("<11i", 1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 256)


def path(steps: int) -> list[float]:
    """Return displacements that never repeat, by small steps, as an analysis has."""
    return [1e-3 * (i % 40) / 40 + 1e-6 * i for i in range(1, steps + 1)]


def alone(steps: int) -> float:
    """Return ms a step of moves in this process."""
    from column import test

    with RehearsedRig(test()) as rig:
        began = time.perf_counter()
        for x in path(steps):
            rig.move_to([x])
        return 1e3 * (time.perf_counter() - began) / steps


def served(transport: str, job: object) -> float:
    """Return what a job measures at the port of a server in a thread."""
    from column import test

    with RehearsedRig(test()) as rig, Server(rig, transport=transport) as server:
        thread = threading.Thread(target=server.serve, daemon=True)
        thread.start()
        taken = job(server.port)
        thread.join(60)
        return taken


def client(transport: str, steps: int) -> object:
    """Return a job: OpenSees' protocol, from Python."""

    def job(port: int) -> float:
        kind = socket.SOCK_STREAM if transport == "tcp" else socket.SOCK_DGRAM
        with socket.socket(socket.AF_INET, kind) as other:
            other.connect(("127.0.0.1", port))
            if transport == "tcp":
                other.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            else:
                other.send(b"a")
                other.recv(1)
            other.send(SIZES)
            began = time.perf_counter()
            for x in path(steps):
                other.send(struct.pack("<256d", 3, x, *[0.0] * 254))
                other.send(struct.pack("<256d", 10, x, *[0.0] * 254))
                left = 2048
                while left:
                    left -= len(other.recv(left))
                other.send(struct.pack("<256d", 5, x, *[0.0] * 254))
            taken = 1e3 * (time.perf_counter() - began) / steps
            other.send(struct.pack("<256d", 99, *[0.0] * 255))
        return taken

    return job


def opensees(python: str, transport: str, steps: int) -> object:
    """Return a job: the example's frame in OpenSees, from its second step on."""
    code = (
        "import sys, time, frame; port = int(sys.argv[1])\n"
        f"frame.build(port, tcp={transport == 'tcp'})\n"
        "frame.analyse(1, port); began = time.perf_counter()\n"
        f"frame.analyse({steps}, port); print('ms', 1e3*(time.perf_counter() - began)/{steps})\n"
        "frame.ops.wipe()\n"
    )

    def job(port: int) -> float:
        done = subprocess.run(
            [python, "-c", code, str(port)],
            cwd=EXAMPLE,
            capture_output=True,
            text=True,
            timeout=600,
            check=True,
        )
        return float(re.search(r"ms (\S+)", done.stdout)[1])

    return job


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--opensees", help="a Python that has OpenSeesPy")
    parser.add_argument("--steps", type=int, default=200)
    given = parser.parse_args()
    ticks = alone(given.steps)
    print("| | ms a step | less the ticks alone |\n|---|---:|---:|")
    print(f"| ticks alone | {ticks:.2f} | |")
    for transport in ("udp", "tcp"):
        taken = served(transport, client(transport, given.steps))
        print(f"| Python over {transport.upper()} | {taken:.2f} | {taken - ticks:.2f} |", flush=True)
    for transport in ("udp", "tcp") if given.opensees else ():
        taken = served(transport, opensees(given.opensees, transport, given.steps))
        print(f"| OpenSees over {transport.upper()} | {taken:.2f} | |", flush=True)


if __name__ == "__main__":
    main()
