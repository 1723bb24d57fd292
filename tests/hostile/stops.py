"""A stop is pressed while the operator's page is made as busy, as blocked and as dead as it can be.

Run: python tests/hostile/stops.py --times 20 (some eight minutes)

In each condition a loop moves its rig, and somebody stops it: a viewer on the page, in a real browser, and
`bondloop stop`. What is measured is the time from the press to the cycle in which the loop's own log has the
stop. It is compared with the median of the quiet condition, in the same way of stopping.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / name) for name in ("dashboard", "hostile", "realtime")]  # for their helpers

ALLOWED = 0.2
"""Seconds beyond the quiet median."""
PATIENCE = 60.0
"""Seconds for everything that is only prepared."""
VIEWERS, PLOTS, CHANNELS, PIXELS = 5, 30, 24, 4000
OPEN = 300
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]

GREEDY = f"""
import sys, threading
sys.path[:0] = sys.argv[3:]
from types import SimpleNamespace
from talk import talking
server = SimpleNamespace(url=sys.argv[1], socket=sys.argv[2])
def look():
    with talking(server) as talk:
        talk.until(lambda _: talk.loop.get("channels"))
        channels = [i % len(talk.loop["channels"]) for i in range({CHANNELS})]
        plot = dict(kind="strip", channels=channels, window=120.0, pixels={PIXELS})
        talk.say(plots=[dict(plot, plot=n) for n in range({PLOTS})])
        while True:
            frame = talk.hear(600)
            if isinstance(frame, tuple):
                talk.say(got=frame[0])
for _ in range({VIEWERS}):
    threading.Thread(target=look, daemon=True).start()
sys.stdin.read()
"""


class Conditions:
    """What is done to the page's server while somebody stops the loop."""

    def __init__(self, server, damaged: str) -> None:
        self.server, self.damaged = server, damaged

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Nothing."""
        yield

    @contextlib.contextmanager
    def damaged_file(self) -> Iterator[None]:
        """Two viewers ask for a run file that the HDF5 library never finishes."""
        ending = threading.Event()

        def view():
            while not ending.is_set():
                link = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=2)
                with contextlib.suppress(OSError, http.client.HTTPException):
                    link.request("GET", f"/api/run?name={self.damaged}")
                    link.getresponse().read()
                link.close()

        threads = [threading.Thread(target=view) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(1.0)
        try:
            yield
        finally:
            ending.set()
            for thread in threads:
                thread.join()

    @contextlib.contextmanager
    def greedy_viewers(self) -> Iterator[None]:
        """Five viewers want all the frames that the bounds allow."""
        words = [sys.executable, "-c", GREEDY, self.server.url, self.server.socket, str(TESTS / "dashboard")]
        with subprocess.Popen(words, stdin=subprocess.PIPE) as viewers:
            time.sleep(3.0)
            assert viewers.poll() is None, "the viewers have gone"
            try:
                yield
            finally:
                viewers.kill()

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """The server stands still."""
        self.server.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.server.process.send_signal(signal.SIGCONT)

    @contextlib.contextmanager
    def killed(self) -> Iterator[None]:
        """The server is dead."""
        self.server.process.kill()
        self.server.process.wait()
        yield

    @contextlib.contextmanager
    def half_open(self) -> Iterator[None]:
        """Strangers hold 300 connections to the page and to its stop, and open each anew that is closed."""
        ending = threading.Event()

        def hold(port):
            held: list[socket.socket] = []
            while not ending.is_set():
                held = [s for s in held if not _is_closed(s)]
                with contextlib.suppress(OSError):
                    while len(held) < OPEN and not ending.is_set():
                        held.append(socket.create_connection(("127.0.0.1", port), 1))
                        held[-1].sendall(b"POST /stop HTTP/1.1\r\n")
                time.sleep(0.05)
            for each in held:
                each.close()

        ports = (self.server.port, self.server.stop_port)
        threads = [threading.Thread(target=hold, args=(port,)) for port in ports]
        for thread in threads:
            thread.start()
        time.sleep(1.0)
        try:
            yield
        finally:
            ending.set()
            for thread in threads:
                thread.join()


NAMES = ("quiet", "damaged_file", "greedy_viewers", "frozen", "killed", "half_open")


def _is_closed(link: socket.socket) -> bool:
    link.setblocking(False)
    try:
        return link.recv(4096) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


class Bench:
    """A loop's programs, a folder with a damaged run file, and a browser, if there is one."""

    def __init__(self, folder: Path, play) -> None:
        from two_halves import make_computer, make_rig

        from bondloop.realtime.programs.build import build_pair

        self.programs = build_pair(make_computer("operated"), make_rig())
        self.folder, self.damaged = folder, _damaged(folder)
        self.browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=QUIET)

    @contextlib.contextmanager
    def loop(self) -> Iterator:
        """A loop that moves its rig."""
        from two_halves import LoopOptions, until

        from bondloop.realtime import LoopProcess

        table = np.sin(0.02 * np.arange(200_001))[:, None]
        options = LoopOptions(
            link="loopback://", start=False, arm=True, hold=True, retreat=0.2, gap=60.0, supervisor=60.0
        )
        with LoopProcess(self.programs.loop, options, table) as loop:
            loop.mailbox.arm()
            loop.mailbox.start()
            until(lambda: loop.ring.state == "active")
            yield loop

    def once(self, condition: str, way: str) -> float:
        """Return the seconds from the press until the loop has heard it; infinite where it has not."""
        from bondloop.realtime import Console
        from conftest import Server

        with (
            self.loop() as loop,
            Server("--segment", loop.name, "--runs", self.folder, stderr=subprocess.DEVNULL) as server,
            contextlib.closing(self.browser.new_context()) as context,
            Console.attach(loop.name) as console,
        ):
            page = context.new_page()
            if way == "page":
                page.goto(server.url)
                page.wait_for_selector("#state[data-state=active]", timeout=1000 * PATIENCE)
                page.wait_for_selector("#direct[data-ready=true]", timeout=1000 * PATIENCE)
            with getattr(Conditions(server, self.damaged), condition)():
                pressed = time.monotonic_ns()
                if way == "page":
                    page.click("[data-do=stop]", timeout=1000 * PATIENCE)
                else:
                    words = [sys.executable, "-m", "bondloop", "stop", loop.name]
                    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
                until = time.monotonic() + PATIENCE
                while time.monotonic() < until:
                    heard = [e for e in console.events() if e.kind == "stop"]
                    if heard:
                        return 1e-9 * (heard[0].time_ns - pressed)
                    time.sleep(0.01)
                return float("inf")


def _damaged(folder: Path) -> str:
    from endless_file import endless

    from bondloop.papers import gawthrop_two_actuators

    gawthrop_two_actuators.test().run(0.05).save(folder / "good.h5")
    return endless(folder / "good.h5", folder / "damaged.h5").name


def main() -> None:
    """Stop loops in each condition, print the times, and fail where one was too late."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--conditions", nargs="+", choices=NAMES, default=NAMES)
    given = parser.parse_args()
    if shutil.which("chromium") is None:
        sys.exit("no chromium: `make browser` installs Debian's, as root")
    failed, quiet = 0, {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        bench = Bench(Path(folder), play)
        for condition in ("quiet", *(c for c in given.conditions if c != "quiet")):
            for way in ("page", "command line"):
                times = sorted(bench.once(condition, way) for _ in range(given.times))
                quiet.setdefault(way, statistics.median(times))
                late = sum(t > quiet[way] + ALLOWED for t in times)
                failed += late
                print(
                    f"{condition:15} {way:13} {given.times - late} of {given.times} within "
                    f"{1e3 * (quiet[way] + ALLOWED):.0f} ms: median {1e3 * statistics.median(times):.0f} ms, "
                    f"longest {1e3 * times[-1]:.0f} ms",
                    flush=True,
                )
    sys.exit(failed > 0)


if __name__ == "__main__":
    os.environ.setdefault("BONDLOOP_CFLAGS", "-O1")
    main()
