"""The operator's page: redraws, the server's share of a core, what the loop feels of it, from click to trip.

    python benchmarks/dashboard.py [--seconds 20] [--own-cpu]

Goals: 16 channels at 1 kHz in four plots of 10 s, at least 20 redraws a second in headless Chromium, the
server below 10 % of a core; the 99 % percentile of the loop's cycles within 10 % with 0 and 5 browsers, which
draw on another machine (clients that take all and draw nothing) or on this one; from
the click to the trip under 100 ms on loopback, median under 30 ms. All in one run, on a quiet machine.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from bondloop.engine.codegen.toolchain import compiler
from bondloop.engine.ir.expr import Var, function
from bondloop.engine.ir.quantity import Meaning, Role
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Channel, Tick, Update
from bondloop.realtime import Console, LoopOptions, LoopProcess
from bondloop.realtime.programs.build import build_pair

PERIOD, CHANNELS, TRIPS = 1e-3, 16, 20
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
TICKS = os.sysconf("SC_CLK_TCK")
BUSY = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
print(flush=True)
while os.getppid() == int(sys.argv[2]):
    sum(range(10_000))
"""
"""A process that takes what is left of a processor and gives way to everything."""


def computer() -> Tick:
    """Return a tick with sixteen channels that all move."""
    t, k, force, command = Var("t"), Var("k"), Var("measured.force"), Var("command.value")
    phase = Var("phase")
    steps = (
        Assign(command, 0.01 * function("sin", phase)),
        Update(((phase, phase + 2 * np.pi * 3.0 * PERIOD),)),
    )
    waves = [
        Channel(
            f"wave[{i}]",
            function("sin", (1.0 + 0.3 * i) * phase),
            "m",
            Meaning(Role.DESIRED, "displacement", "displacement", i),
        )
        for i in range(CHANNELS - 2)
    ]
    sent = Channel("command", command, "m", Meaning(Role.COMMAND, interface=0))
    seen = Channel("measured.force", force, "N", Meaning(Role.MEASURED, "force", "effort", 0))
    return Tick(
        "dashboard_bench", PERIOD, t, k, (force,), {phase: 0.0}, {}, steps, (*waves, sent, seen), {}, (force,)
    )


def rig() -> Tick:
    """Return a spring."""
    t, k, command, force = Var("t"), Var("k"), Var("command"), Var("measured.force")
    seen = Channel("measured.force", force, "N", Meaning(Role.MEASURED, "force", "effort", 0))
    return Tick(
        "dashboard_bench_rig", PERIOD, t, k, (command,), {}, {}, (Assign(force, 1000.0 * command),), (seen,)
    )


@contextlib.contextmanager
def server(segment: str) -> Iterator[tuple[int, str]]:
    """Serve the page in a process of its own."""
    words = [sys.executable, "-m", "bondloop", "dashboard", "--port", "0", "--segment", segment]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        yield process.pid, process.stdout.readline().split("page is at ")[1].split(";")[0]
    finally:
        process.terminate()
        process.wait()


def used(pid: int) -> float:
    """Return the seconds of processor that a process has used."""
    words = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS


def opened(browser: Browser, url: str) -> Page:
    """Open the page with four plots of four channels."""
    page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
    names = [c.name for c in computer().channels]
    plots = [[f"Plot {i + 1}", names[4 * i : 4 * i + 4]] for i in range(4)]
    page.goto(url)
    page.wait_for_selector(".strip", timeout=60_000)
    keep = "([name, plots]) => localStorage.setItem(`strips ${name}`, JSON.stringify(plots))"
    page.evaluate(keep, [page.inner_text("#test-name"), plots])
    page.reload()
    page.wait_for_selector("[data-strip='Plot 1']", timeout=60_000)
    return page


@contextlib.contextmanager
def awake() -> Iterator[None]:
    """Keep all processors awake: else browsers do, and the loop wakes sooner with them than without."""
    with contextlib.ExitStack() as stack:
        for cpu in range(os.cpu_count() or 1):
            process = subprocess.Popen(
                [sys.executable, "-c", BUSY, str(cpu), str(os.getpid())], stdout=subprocess.PIPE
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            assert process.stdout is not None
            process.stdout.readline()
        yield


def latency(console: Console, seconds: float) -> float:
    """Return the 99 % percentile of wake-up latency and working time together, in s, of the next seconds."""
    late = []
    with awake():
        console.rows(since=console.written)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(0.2)
            rows = console.rows()
            late.append(rows["wake_ns"].astype(float) + rows["busy_ns"])
    return 1e-9 * float(np.percentile(np.concatenate(late), 99))


CLIENT = """
import json, secrets, sys, threading
from websockets.sync.client import connect

def follow(url):
    at = url.replace("http", "ws") + "socket"
    with connect(at, origin=url[:-1], max_size=None, max_queue=None) as socket:
        socket.send(json.dumps({"hello": secrets.token_hex(16), "name": "elsewhere"}))
        strip = {"kind": "strip", "window": 10, "pixels": 450}
        plots = [{"plot": i, "channels": list(range(4 * i, 4 * i + 4)), **strip} for i in range(4)]
        socket.send(json.dumps({"plots": plots}))
        for message in socket:
            if isinstance(message, bytes):
                socket.send(json.dumps({"got": int.from_bytes(message[4:8], "little")}))

for _ in range(5):
    threading.Thread(target=follow, args=(sys.argv[1],), daemon=True).start()
sys.stdin.read()
"""
"""Five browsers as the server sees those on other machines: they take every frame, and draw elsewhere."""


@contextlib.contextmanager
def elsewhere(url: str) -> Iterator[None]:
    """Let five browsers watch that draw on another machine."""
    process = subprocess.Popen([sys.executable, "-c", CLIENT, url], stdin=subprocess.PIPE)
    try:
        time.sleep(3)
        yield
    finally:
        process.kill()
        process.wait()


def trips(page: Page, console: Console) -> list[float]:
    """Return the times from clicks in the page to trips in the loop's log, in s."""
    page.click("#take")
    times = []
    for _ in range(TRIPS):
        for word in ("arm", "start"):
            page.click(f"[data-do={word}]:enabled")
        page.wait_for_selector("#state[data-state=active]")
        console.events()
        page.wait_for_selector("#trip:enabled")
        clicked = page.evaluate("() => { document.getElementById('trip').click(); return Date.now(); }")
        page.wait_for_selector("#state[data-state=tripped]")
        offset = int(console.segment.header["realtime_offset_ns"][0])
        when = next(e for e in console.events() if e.kind == "cause")
        times.append(1e-9 * (when.time_ns + offset) - 1e-3 * clicked)
        page.click("[data-do=reset]:enabled", timeout=60_000)
        page.wait_for_selector("#state[data-state=inactive]")
    return times


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement")
    parser.add_argument(
        "--own-cpu",
        action="store_true",
        help="the loop on a processor of its own, as docs/realtime-linux.md advises",
    )
    given = parser.parse_args()
    seconds, cpus = given.seconds, sorted(os.sched_getaffinity(0))
    if compiler() is None:
        sys.exit("no C compiler")
    programs = build_pair(computer(), rig())
    options = LoopOptions(
        link="loopback://",
        start=False,
        arm=True,
        hold=True,
        gap=60.0,
        retreat=0.05,
        machine=True,
        priority=50,
        cpu=cpus[-1] if given.own_cpu else None,
    )
    load = os.getloadavg()[0]
    if given.own_cpu:
        os.sched_setaffinity(0, cpus[:-1])  # browsers and server inherit it; the loop goes where it was told
    with (
        LoopProcess(programs.loop, options) as loop,
        Console.attach(loop.name) as console,
        sync_playwright() as play,
    ):
        console.arm().wait(10)
        console.start().wait(10)
        alone = [latency(console, seconds)]
        with server(loop.name) as (pid, url):
            with elsewhere(url):
                far = latency(console, seconds)
            alone.append(latency(console, seconds))
            browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
            pages = [opened(browser, url)]
            time.sleep(11)  # until the window is full
            before, begun, drawn = used(pid), time.monotonic(), draws(pages[0])
            time.sleep(seconds)
            wall = time.monotonic() - begun
            redraws, share = (draws(pages[0]) - drawn) / wall, (used(pid) - before) / wall
            pages += [opened(browser, url) for _ in range(4)]
            time.sleep(3)
            watched = latency(console, seconds)
            for page in pages[1:]:
                page.context.close()
            console.retreat().wait(10)
            pages[0].wait_for_selector("#state[data-state=safe]")
            console.reset().wait(10)
            pages[0].wait_for_selector("#state[data-state=inactive]")
            clicks = sorted(1e3 * t for t in trips(pages[0], console))
        console.arm().wait(10)
        console.start().wait(10)
        browser.close()
        alone.append(latency(console, seconds))
    print(f"{os.cpu_count()} processors, load {load:.1f} at the beginning")
    print(
        f"redraws a second: {redraws:.1f} (goal 20); server: {100 * share:.1f} % of a core (goal below 10 %)"
    )
    print(
        f"99 % of cycles within {', '.join(f'{1e6 * x:.0f}' for x in alone)} µs without browsers, "
        f"{1e6 * far:.0f} with 5 that draw elsewhere, {1e6 * watched:.0f} with 5 that draw on this machine"
    )
    median, most = statistics.median(clicks), clicks[-1]
    print(f"{len(clicks)} clicks to trips: median {median:.1f} ms (goal 30), most {most:.1f} ms (goal 100)")


def draws(page: Page) -> int:
    """Return how often a page has drawn."""
    return int(page.evaluate("document.documentElement.dataset.draws"))


if __name__ == "__main__":
    main()
