"""Ten storeys with hinges that yield as the numerical half of a hybrid test at 1 kHz, one brace as specimen.

    python benchmarks/nonlinear_frame_test.py [--seconds 12] [--repeats 7] [--iterations 2]

What one tick of the computer takes, tick by tick: on the wall clock, on the thread's own CPU clock, and the
least of several repeats of the same tick, in which neither other programs nor interrupts have a part. The
inputs are those of a rehearsal, so that every repeat computes the same.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import nonlinear_frame_model as frame
import numpy as np

import bondloop as bl
from bondloop.bondgraph import Model, bond
from bondloop.devices import Bilinear, GiuffreMenegottoPinto
from bondloop.engine.codegen import Runner
from bondloop.engine.codegen.backend import _hand_over
from bondloop.engine.codegen.c_writer import write_c_apart
from bondloop.engine.codegen.toolchain import compiler, load
from bondloop.integrate import NewmarkAverage
from bondloop.papers import silva_benchmark
from bondloop.realtime.programs.build import signal_table
from bondloop.structures import attach, elongation, field_form, in_coordinates

if TYPE_CHECKING:
    from bondloop.engine.ir.tick import Tick

RATE, PRIORITY = 1000, 80
BRACE = GiuffreMenegottoPinto(stiffness="4 kN/mm", yield_force="15 kN", hardening=0.02)
"""What an actuator of 25 kN can yield."""


def test_of(iterations: int) -> bl.HybridTest:
    """Return the test: the brace stands in the middle bay of the first storey."""
    structure = frame.frame()
    stretch = elongation(structure, frame.joint(1, 0), frame.joint(2, 1))
    matrices = in_coordinates(structure.assemble(), {"brace": stretch}).matrices
    whole = Model("whole")
    whole.frame = field_form(matrices, "frame")
    for hinge, column, end in frame.beam_ends():
        attach(whole.frame, hinge, Bilinear(**frame.HINGE), {f"{end}.rz": 1, f"{column}.rz": -1})
    whole.brace = BRACE.element()
    bond(whole.frame.brace, whole.brace)
    numerical, physical = whole.cut("frame.brace >> brace")
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, bl.transfer.ServoHydraulic()),
        controller=bl.control.LeadCompensation("8 ms"),
        ground={"ux": silva_benchmark.ground(scale=1.0)},
        rate=RATE,
        integrator=NewmarkAverage(iterations=iterations),
    )


def inputs_of(test: bl.HybridTest, steps: int) -> tuple[np.ndarray, bl.Run]:
    """Return what comes into the computer's tick in a rehearsal, a row a tick."""
    run = test.run(steps / RATE)
    computer = test.computer_tick
    # A sensor that reads what is there has no channel of its own.
    names = [v.name for v in computer.measured]
    names = [n if n in run.record.channels else n.replace("measured", "actual") for n in names]
    columns = [run[name][:steps] for name in names]
    table = signal_table(test, steps)
    parts = ([] if table is None else [table]) + [np.column_stack(columns)]
    return np.ascontiguousarray(np.hstack(parts)), run


@contextmanager
def timer() -> Iterator[ctypes._NamedFuncPointer]:
    """Compile the C that times ticks."""
    using = compiler()
    assert using is not None, "this benchmark needs a C compiler"
    with tempfile.TemporaryDirectory() as folder:
        library = str(Path(folder) / "tick_times.so")
        source = str(Path(__file__).with_name("tick_times.c"))
        subprocess.run([*using.command, "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
        yield ctypes.CDLL(library).time_ticks


def times(time_ticks: object, tick: Tick, inputs: np.ndarray, pause: float) -> tuple[np.ndarray, np.ndarray]:
    """Return wall and CPU time of every tick, in µs."""
    using = compiler()
    source, large, numbers = write_c_apart(tick)
    library = load(source, tick.name, using, large=large)
    kept = None if numbers is None else _hand_over(library, tick.name, numbers)
    runner = Runner(tick, backend="c")
    state, parameters = runner.snapshot().state, runner._defaults.copy()
    channels, wall, cpu = np.zeros(len(tick.channels)), *np.zeros((2, len(inputs)), dtype=np.int64)
    point = lambda a: ctypes.c_void_p(a.ctypes.data)  # noqa: E731
    code = time_ticks(
        ctypes.cast(getattr(library, f"{tick.name}_run"), ctypes.c_void_p), ctypes.c_long(len(inputs)),
        ctypes.c_double(tick.period), point(inputs), ctypes.c_long(inputs.shape[1]), point(state),
        point(parameters), point(channels), ctypes.c_int64(round(1e9 * pause)), point(wall), point(cpu),
    )  # fmt: skip
    del kept
    assert code == 0, f"the tick stopped with code {code}"
    return wall / 1e3, cpu / 1e3


@contextmanager
def real_time(wanted: bool) -> Iterator[str]:
    """Run with a real-time priority where that is wanted and allowed; say so."""
    before = os.sched_getscheduler(0)
    how = ""
    if wanted:
        with suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
            ctypes.CDLL(None).mlockall(3)
            how = ", real-time priority"
    try:
        yield how
    finally:
        os.sched_setscheduler(0, before, os.sched_param(0))


def row(name: str, values: np.ndarray) -> str:
    """Return a line of the table."""
    middle, most, worst = np.median(values), np.percentile(values, 99.9), values.max()
    share = 100 * worst * RATE / 1e6
    return f"| {name} | {middle:.1f} | {most:.1f} | {worst:.1f} | {share:.1f} % |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="A frame that yields in a hybrid test at 1 kHz.")
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--iterations", type=int, default=2, help="sweeps over the hinges in a step")
    given = parser.parse_args()
    test = test_of(given.iterations)
    steps = round(given.seconds * RATE)
    inputs, run = inputs_of(test, steps)
    desired, actual = run["desired.displacement"], run["actual.displacement"]
    off = np.std(actual - desired) / np.std(desired)
    print(f"{steps} ticks, {len(test.computer_tick.states)} states, {os.cpu_count()} cores, load "
          f"{os.getloadavg()[0]:.1f}; the brace moved through {1e3 * np.ptp(actual):.1f} mm, "
          f"{100 * off:.1f} % rms beside what was desired\n")  # fmt: skip
    print("| µs a tick of the computer | median | 99.9 % | worst | worst / period (goal 10 %) |")
    print("|---|---:|---:|---:|---:|")
    with timer() as time_ticks:
        for pause, word in ((0.0, "one after the other"), (1 / RATE, "asleep in between")):
            with real_time(pause > 0) as how:
                repeats = [times(time_ticks, test.computer_tick, inputs, pause) for _ in range(given.repeats)]
            wall, cpu = (np.array([r[i] for r in repeats]) for i in (0, 1))
            least = cpu.min(axis=0)
            print(row(f"{word}{how}: wall clock", wall))
            print(row(f"{word}{how}: CPU clock", cpu))
            print(row(f"{word}{how}: CPU clock, least of {given.repeats} repeats of each tick", least))


if __name__ == "__main__":
    main()
