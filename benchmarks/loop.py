"""How fast the compiled tick of `wagg-three-mass` runs, beside hand-written C and what else people use.

Runge-Kutta steps of 1 ms for 100 s; slow programs run a shorter part. Prints tables in Markdown.
Run: python benchmarks/loop.py (--without-peers leaves out python-control and PathSim)
"""

import argparse
import ctypes
import importlib
import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from hand_written import wagg_three_mass as by_hand
from numpy.typing import NDArray

from bondloop.engine.codegen import BACKENDS, Runner, build, compiler, write_c
from bondloop.engine.codegen.backend import CBackend
from bondloop.engine.codegen.toolchain import Compiler, load, zig
from bondloop.engine.ir.tick import Tick
from bondloop.hybrid import HybridTest
from bondloop.papers import wagg_three_mass

SECONDS = 100.0
STEPS = round(SECONDS / by_hand.STEP)
ROUNDS = 60
PEER_ROUNDS = 5
AGREEMENT = 1e-9
"""Largest difference from the hand-written C, in any channel, relative to that channel's peak."""

CHANNELS = (
    "r", "desired.displacement", "actual.displacement", "desired.velocity", "actual.velocity",
    "force", "command", "controller.K[0]", "controller.K[1]", "controller.K_r", "controller.error",
    "synchronisation.velocity",
)  # fmt: skip
"""What both record, in the order of the hand-written C."""

HAND = Path(by_hand.__file__).with_suffix(".c")


def tick_without_reference() -> Tick:
    """Return the tick of the test itself, without the complete model that otherwise runs beside it."""
    full = wagg_three_mass.test()
    tick = HybridTest(
        full.numerical, rig=full.rig, controller=full.controller, excitation=full.excitation,
        rate=full.rate, coupling=full.coupling, name=full.name,
    ).tick  # fmt: skip
    # A test also records the power that its excitation supplies; the hand-written programs do not.
    channels = tuple(c for c in tick.channels if c.name in CHANNELS)
    return replace(tick, channels=channels, bounds={c.name: tick.bounds[c.name] for c in channels})


def cpu(job: Callable[[], Any]) -> float:
    """Return the CPU seconds a job takes."""
    start = time.process_time_ns()
    job()
    return (time.process_time_ns() - start) / 1e9


def hand_written(using: Compiler) -> Callable[[], NDArray[Any]]:
    """Return the hand-written C loop, built by the same compiler with the same options."""
    function = load(HAND.read_text(), "hand", using).hand_run
    function.restype = None
    function.argtypes = [ctypes.c_long, ctypes.c_double, *[ctypes.c_void_p] * 3]
    h = by_hand
    masses = [h.K1, h.M1, h.C1, h.K2, h.M2, h.C2]
    parameters = np.array([*masses, h.ALPHA, h.BETA, h.E0, h.E1, h.M3, h.C3, h.MT, h.CT, h.KT, h.AMPLITUDE])

    def run() -> NDArray[Any]:
        state, record = np.array(h.START), np.empty((STEPS, len(CHANNELS)))
        function(STEPS, h.STEP, state.ctypes.data, parameters.ctypes.data, record.ctypes.data)
        return record

    return run


def loops(tick: Tick, using: Compiler, peers: bool) -> None:
    """Time a step of every program, interleaved; the best of many."""
    hand, runner = hand_written(using), Runner(tick, "c")

    def ours() -> NDArray[Any]:
        runner.reset()
        channels = runner.run(STEPS).channels
        assert sorted(channels) == sorted(CHANNELS)
        return np.column_stack([channels[name] for name in CHANNELS])

    def ours_timed() -> None:
        runner.reset()
        runner.run(STEPS)

    record = hand()
    difference = float((np.abs(ours() - record).max(0) / np.abs(record).max(0)).max())
    assert difference <= AGREEMENT, difference
    followed = record[:, 2]

    others: list[tuple[str, Callable[[float], NDArray[Any]], float]] = [
        ("Python, plain floats", by_hand.floats, 1.0),
        ("NumPy, elements of the state by name", by_hand.numpy, 1.0),
        ("NumPy, matrices", by_hand.numpy_matrices, 1.0),
        (f"SciPy {version('scipy')}, `solve_ivp`, RK45, max_step 1 ms", by_hand.scipy, 0.5),
    ]
    if peers and importlib.util.find_spec("pathsim"):
        others.append((f"PathSim {version('pathsim')}, RK4, three blocks", by_hand.pathsim, 0.2))
    if peers and importlib.util.find_spec("control"):
        name = f"python-control {version('control')}, `input_output_response`, max_step 1 ms"
        others.append((f"{name}, one `nlsys`", by_hand.one_nlsys, 0.2))
        others.append((f"{name}, three `nlsys` interconnected", by_hand.three_nlsys, 0.2))
    for name, job, seconds in others:
        found = job(seconds)
        off = float(np.abs(found - followed[: len(found)]).max() / np.abs(followed).max())
        assert off < 1e-6, (name, off)

    times: dict[str, list[float]] = {name: [] for name in ("hand", "ours", *(n for n, _, _ in others))}
    for i in range(ROUNDS):
        times["hand"].append(cpu(hand) / STEPS)
        times["ours"].append(cpu(ours_timed) / STEPS)
        if i % (ROUNDS // PEER_ROUNDS) == 0:
            for name, job, seconds in others:
                times[name].append(
                    cpu(lambda job=job, seconds=seconds: job(seconds)) / round(seconds / by_hand.STEP)
                )
    best = {name: min(found) for name, found in times.items()}
    paired = statistics.median(b / a for a, b in zip(times["hand"], times["ours"], strict=True))

    print("\n### One step\n")
    print("| program | CPU per step | against hand-written C | bondloop is faster by |")
    print("|---|---:|---:|---:|")
    print(_row("C by hand", best["hand"], best))
    print(_row("**bondloop, compiled**", best["ours"], best))
    for name, _, _ in others:
        print(_row(name, best[name], best))
    print(
        f"\nbondloop against C by hand: {best['ours'] / best['hand']:.3f} (best of {ROUNDS} each), "
        f"{paired:.3f} (median of {ROUNDS} pairs). Largest difference in any of the {len(CHANNELS)} channels "
        f"over {SECONDS:g} s, relative to its peak: {difference:.1e}."
    )


def _row(name: str, seconds: float, best: dict[str, float]) -> str:
    text = f"{1e9 * seconds:,.0f} ns" if seconds < 1e-6 else f"{1e6 * seconds:,.1f} µs"
    ratios = (seconds / best["hand"], seconds / best["ours"])
    return f"| {name} | {text} | " + " | ".join(f"{r:,.{2 if r < 10 else 0}f}" for r in ratios) + " |"


def compiling(using: Compiler) -> None:
    """Time the compiler, and whole runs in new processes without and with a cached library."""
    tick = wagg_three_mass.test().tick
    source = write_c(tick)
    wall, used = [], []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BONDLOOP_CACHE"] = folder
        for _ in range(5):
            start, before = time.perf_counter(), _children()
            build(source, tick.name, using, anew=True)
            wall.append(time.perf_counter() - start)
            used.append(_children() - before)
        child = [sys.executable, __file__, "--child"]
        first = subprocess.run(child, input="[]", capture_output=True, check=True, text=True)
        modules = json.loads(first.stdout)["modules"]
        warm = []
        for _ in range(7):
            done = subprocess.run(
                child, input=json.dumps(modules), capture_output=True, check=True, text=True
            )
            warm.append(json.loads(done.stdout))
        del os.environ["BONDLOOP_CACHE"]
    best = min(warm, key=lambda w: w["cpu"])
    print("\n### Compiling, and the same test again\n")
    print("| what | CPU (s) | wall (s) |")
    print("|---|---:|---:|")
    print(f"| C compiler ({Path(using.command[0]).name}) | {min(used):.3f} | {min(wall):.3f} |")
    wall_again = min(w["wall"] for w in warm)
    print(
        "| same test in a new process, library cached, 100 s run and recorded "
        f"| {best['cpu']:.3f} | {wall_again:.3f} |"
    )
    for part, seconds in best["parts"].items():
        print(f"| - {part} | {seconds:.3f} | |")
    print("\nBest of 5 and of 7, without imports. The complete model runs beside it, as in the paper.")


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def child() -> None:
    """Build and run the test once in this process, and print how long it took."""
    for name in json.load(sys.stdin):
        importlib.import_module(name)
    start, began = time.perf_counter(), time.process_time()
    parts, last = {}, began

    def done(part: str) -> None:
        nonlocal last
        parts[part], last = time.process_time() - last, time.process_time()

    test = wagg_three_mass.test()
    done("model, cut, test object")
    tick = test.tick
    done("equations, wiring, tick")
    write_c(tick)
    done("C text (written once more in the run)")
    last = time.process_time()
    run = test.run(SECONDS)
    done("run: C text, look-up in the cache, load, 100,000 steps, description")
    assert run.completed
    cpu_seconds, wall = time.process_time() - began, time.perf_counter() - start
    again = parts.pop("C text (written once more in the run)")
    parts["of which C text"], parts["of which the loop (wall)"] = again, run.record.attributes["wall_seconds"]
    modules = [
        n for n in sys.modules if n.partition(".")[0] in ("bondloop", "sympy", "numpy", "scipy", "h5py")
    ]
    print(json.dumps({"cpu": cpu_seconds - again, "wall": wall - again, "parts": parts, "modules": modules}))


def same_bits(tick: Tick, using: Compiler) -> None:
    """Compare the states after the whole run, and all channels, from two compilers."""
    print("\n### The same bits from gcc and zig cc\n")
    other = zig()
    if other is None:
        print("zig is not installed (pip install ziglang), so this was not compared.")
        return
    results = []
    for one in (using, other):
        BACKENDS["benchmark"] = CBackend(one)
        execution = Runner(tick, "benchmark")
        table = np.column_stack([*execution.run(STEPS).channels.values()])
        results.append((np.array([*execution.state.values()]), table))
    (states, channels), (states_too, channels_too) = results
    same = states.tobytes() == states_too.tobytes() and channels.tobytes() == channels_too.tobytes()
    names = f"{Path(using.command[0]).name} and ziglang {version('ziglang')}"
    verdict = "identical to the last bit" if same else "NOT identical"
    print(
        f"{names}, -ffp-contract=off: {len(states)} states after {STEPS:,} steps and all {channels.shape[1]} "
        f"channels are {verdict}."
    )


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--without-peers", action="store_true", help="leave out python-control and PathSim")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child()
        return
    using = compiler()
    if using is None:
        raise SystemExit("this benchmark needs a C compiler")
    print(f"CPU time on {os.cpu_count()} cores, Python {sys.version.split()[0]}, NumPy {np.__version__}.")
    tick = tick_without_reference()
    loops(tick, using, not options.without_peers)
    compiling(using)
    same_bits(tick, using)


if __name__ == "__main__":
    main()
