"""One block of each kind of measurement of realtime.py: run for a while, return durations."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from realtime_tables import Durations

from bondloop.engine.codegen import Compiler, build, compiler, write_c
from bondloop.engine.codegen.plan import Plan
from bondloop.engine.codegen.toolchain import build_program
from bondloop.engine.ir.expr import Var, function
from bondloop.engine.ir.quantity import Meaning, Role
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Channel, Tick, Update
from bondloop.realtime import LoopOptions, LoopProcess, RigOptions, RigProcess
from bondloop.realtime.programs.build import Programs, build_pair

HERE = Path(__file__).parent
MASSES = 15
CHANNELS = 2 * MASSES + 2
FORCE, COMMAND, PLACE, T, K = Var("measured.force"), Var("command"), Var("place"), Var("t"), Var("k")
MEASURED = Channel("measured.force", FORCE, "N", Meaning(Role.MEASURED, "force", "effort"))
HOT_STEPS, TICK_STEPS = 500_000, 50_000


def chain(rate: int) -> Tick:
    """Return the tick of 15 masses in a row, shaken at one end, held by the rig at the other; 32 channels."""
    h = 1.0 / rate
    x, v = ([Var(f"{n}{i}") for i in range(MASSES)] for n in "xv")
    out, shake = Var("command.value"), Var("shake")
    steps = []
    for i in range(MASSES):
        left = x[i - 1] if i else shake
        pull = 400.0 * (left - x[i]) - (400.0 * (x[i] - x[i + 1]) if i + 1 < MASSES else FORCE)
        steps += [(x[i], x[i] + h * v[i]), (v[i], v[i] + h * (pull - 4.0 * v[i]))]
    channels = (
        Channel("command", out, "m", Meaning(Role.COMMAND)), MEASURED,
        *(Channel(f"x{i}", x[i], "m") for i in range(MASSES)),
        *(Channel(f"v{i}", v[i], "m/s") for i in range(MASSES)),
    )  # fmt: skip
    before = (Assign(shake, 0.01 * function("sin", 6.0 * T)), Assign(out, x[-1]))
    return Tick(
        f"chain_{rate}", h, T, K, (FORCE,), dict.fromkeys([*x, *v], 0.0), {}, (*before, Update(tuple(steps))),
        channels, measured=(FORCE,),
    )  # fmt: skip


def spring(rate: int) -> Tick:
    """Return the rig's tick: a spring behind a first-order lag."""
    steps = (Assign(FORCE, 300.0 * PLACE), Update(((PLACE, PLACE + 0.3 * (COMMAND - PLACE)),)))
    return Tick(f"spring_{rate}", 1.0 / rate, T, K, (COMMAND,), {PLACE: 0.0}, {}, steps, (MEASURED,))


def _compiler() -> Compiler:
    using = compiler()
    if using is None:
        raise SystemExit("this benchmark needs a C compiler")
    return using


def programs(rate: int) -> Programs:
    """Build the loop and the rig at a rate."""
    return build_pair(chain(rate), spring(rate))


def hot(loop: Path, cpu: int) -> NDArray[Any]:
    """Return durations of cycles that follow each other without sleep; those still in the ring."""
    options = LoopOptions(link="none://", hot=True, steps=HOT_STEPS, retreat=1e-9, cpu=cpu)
    with LoopProcess(loop, options) as process:
        assert process.wait() == 0, process.messages
        rows = process.ring.read()
    return np.diff(rows["time_ns"][rows["step"] >= 0])


def tick_cost(loop: Path, cpu: int) -> float:
    """Return the ns that the tick by itself takes, many times in a row."""
    command = ["taskset", "-c", str(cpu), str(loop), "--link", "none://", "--tick-cost", str(TICK_STEPS)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def exchanges(pair: Programs, link: str, steps: int, cpus: tuple[int, int]) -> Durations:
    """Return round trips to the rig's process and back, in lock-step."""
    with RigProcess(pair.rig, RigOptions(link=link, timeout=20.0, cpu=cpus[1])) as rig:
        options = LoopOptions(
            link=rig.link,
            lock_step=True,
            steps=steps,
            retreat=1e-9,
            timeout=20.0,
            cpu=cpus[0],
            slots=steps + 64,
        )
        with LoopProcess(pair.loop, options) as process:
            assert process.wait() == 0, process.messages
            rows = process.ring.read()
    return Durations.of(rows["exchange_ns"][rows["step"] >= 0])


def limit(program: Path, scheme: str, steps: int, cpus: tuple[int, int]) -> Durations:
    """Return round trips of the bare exchange in C."""
    command = [str(program), scheme, str(steps), *(str(c) for c in cpus)]
    done = subprocess.run(command, check=True, capture_output=True)
    return Durations.of(np.frombuffer(done.stdout, np.int64))


def limit_program() -> Path:
    """Build the bare exchange."""
    return build_program({"limits.c": (HERE / "realtime_limits.c").read_text()}, "limits", _compiler())


def bare(loop: Path, cycles: int, cpu: int, priority: int) -> tuple[Durations, int]:
    """Return wake-up latencies of a loop that only sleeps, and how many deadlines it missed."""
    options = LoopOptions(link="none://", bare=cycles, cpu=cpu, priority=priority)
    with LoopProcess(loop, options) as process:
        assert process.wait() == 0, process.messages
        status = process.status()
    return Durations.counted(status.wake), status.counts["missed"]


def paced(loop: Path, cycles: int, cpu: int, priority: int) -> tuple[dict[str, Durations], dict[str, int]]:
    """Return wake-up latencies, working times and both together, of the executive; and its counters."""
    options = LoopOptions(
        gap=60.0,
        link="none://",
        steps=cycles,
        retreat=1e-9,
        cpu=cpu,
        priority=priority,
        slots=max(8192, cycles + 64),
    )
    with LoopProcess(loop, options) as process:
        assert process.wait() == 0, process.messages
        rows, counts = process.ring.read(), process.status().counts
    rows = rows[rows["step"] >= 0]
    wake, busy = rows["wake_ns"].astype(np.int64), rows["busy_ns"].astype(np.int64)
    return {n: Durations.of(x) for n, x in (("wake", wake), ("busy", busy), ("sent", wake + busy))}, counts


def in_python(rate: int, cycles: int, cpu: int, priority: int, *, hot: bool = False) -> NDArray[Any]:
    """Return the same of the loop in Python, as rows of ns: wake-up latency, working time, beginning."""
    tick = chain(rate)
    about = {
        "library": str(build(write_c(tick), tick.name, _compiler())), "tick": f"{tick.name}_tick_once",
        "state": Plan(tick).initial().tolist(), "parameters": [0.0], "inputs": [0.0], "channels": CHANNELS,
        "command": 0, "period": tick.period, "cycles": cycles, "cpu": cpu, "priority": priority, "hot": hot,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(HERE / "realtime_in_python.py")],
        input=json.dumps(about).encode(), check=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    return np.frombuffer(done.stdout, np.int64).reshape(-1, 3)


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def record(
    loop: Path, rate: int, seconds: float, path: Path, cpu: int, priority: int
) -> tuple[tuple[float, float, float], float, dict[str, int]]:
    """Run the loop with a recorder beside it; return what the recorder used, and what the loop counted.

    Returns
    -------
    tuple
        CPU seconds of the recorder when it was ready, when the loop ended and when it had ended itself; how
        long the loop took in s; and the loop's counters.
    """
    steps, slots = round(rate * seconds), 4 * rate
    options = LoopOptions(
        gap=60.0,
        link="none://",
        start=False,
        steps=steps,
        retreat=1e-9,
        cpu=cpu,
        priority=priority,
        slots=slots,
    )
    with LoopProcess(loop, options) as process:
        command = [sys.executable, "-m", "bondloop.realtime.recorder", process.name, str(path)]
        recorder = subprocess.Popen([*command, "--not-on", str(cpu)], stdout=subprocess.PIPE, text=True)
        assert recorder.stdout is not None
        assert recorder.stdout.readline().startswith("ready")
        ready, began = cpu_seconds(recorder.pid), time.monotonic()
        process.mailbox.start()
        assert process.wait() == 0, process.messages
        ended, took = cpu_seconds(recorder.pid), time.monotonic() - began
        counts = process.status().counts
        _, code, used = os.wait4(recorder.pid, 0)
        recorder.returncode = os.waitstatus_to_exitcode(code)
        recorder.stdout.close()
        assert recorder.returncode == 0
    return (ready, ended, used.ru_utime + used.ru_stime), took, counts
