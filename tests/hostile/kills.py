"""Processes of a real-time run are killed or frozen at random moments: what is left of it afterwards.

Run: python tests/hostile/kills.py --runs 60 (some five minutes; --first SEED)

Each run is a whole one, from the command line: supervisor, loop, rig and recorder, each a process of its own.
One of them gets a signal. Whatever happens, all end by themselves, the record can be read as far as it came,
and nothing is left behind: no process, no shared memory, no temporary file.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

TEST, LENGTH = "gawthrop-two-actuators", 2.0
VICTIMS = ("supervisor", "loop", "rig", "recorder")
MEMORY = "memory"
"""No process: the telemetry segment, which is made shorter. That ends who has it mapped in Python."""
PATIENCE = 150.0
"""Seconds after the signal within which all must have ended."""


@dataclass
class Outcome:
    """What one run left.

    Attributes
    ----------
    seed, victim, action
        What was done.
    code
        Exit status of the supervisor.
    rows
        Ticks in the record; None if there is no record.
    faults
        What should not be, in words.
    """

    seed: int
    victim: str
    action: str
    code: int | None = None
    rows: int | None = None
    faults: list[str] = field(default_factory=list)


def kill_one(seed: int, victim: str = "", *, recorded: bool = False) -> Outcome:
    """Start a run, send a signal to one of its processes, wait for the end, look around.

    Parameters
    ----------
    seed
        Of what is drawn: victim, pause and moment.
    victim
        Given, not drawn.
    recorded
        Wait until there is a run file: where a recorder takes long to start nothing is recorded before.
    """
    rng = random.Random(seed)
    drawn = rng.choice(VICTIMS)
    pause = 0.0 if rng.random() < 0.5 or victim == MEMORY else rng.choice((0.02, 0.1, 0.5, 1.5, 4.0))
    victim = victim or drawn
    outcome = Outcome(seed, victim, f"frozen for {pause:g} s" if pause else "killed")
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        temporary, out = Path(folder) / "tmp", Path(folder) / "out"
        temporary.mkdir()
        out.mkdir()
        with (Path(folder) / "said").open("w+") as said:
            command = [sys.executable, "-m", "bondloop", "realtime", TEST, "--seconds", str(LENGTH)]
            supervisor = subprocess.Popen(
                [*command, "--set", "gap=1 s", "--out", str(out / "run.h5")],
                stdout=said,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, "TMPDIR": str(temporary), "MPLBACKEND": "Agg"},
            )
            latest = 0.3 if victim == MEMORY else 1.2  # while it is still there
            begun = out if recorded else None
            seen = _harm(supervisor, victim, pause, rng.uniform(0.0, latest * LENGTH), begun)
            _wait_for_all(supervisor, seen, outcome)
            outcome.code = supervisor.poll()
            said.seek(0)
            text = said.read()
        if victim not in {*seen.values(), MEMORY}:
            outcome.faults.append(f"no {victim} was seen: " + text.strip()[-200:])
        if "Traceback" in text:
            outcome.faults.append("a traceback: " + text.strip().splitlines()[-1])
        _look_around(supervisor.pid, victim, temporary, out, outcome)
    return outcome


def _harm(
    supervisor: subprocess.Popen, victim: str, pause: float, wait: float, out: Path | None
) -> dict[int, str]:
    """Wait for the victim (and a run file), then some more; send the signal. Return all processes seen."""
    seen = {supervisor.pid: "supervisor"}
    ends = time.monotonic() + PATIENCE
    needed = {"recorder" if victim == MEMORY else victim, "loop"}
    while supervisor.poll() is None and time.monotonic() < ends:
        seen.update(_children(supervisor.pid))
        if needed <= {*seen.values()} and (out is None or any(out.glob("**/*.h5"))):
            break
        time.sleep(0.01)
    ends = time.monotonic() + wait
    while time.monotonic() < ends and supervisor.poll() is None:
        seen.update(_children(supervisor.pid))
        time.sleep(0.01)
    if victim == MEMORY:
        from bondloop.realtime.stop_requests import FOLDER, PREFIX

        for path in FOLDER.glob(f"{PREFIX}{supervisor.pid}-*"):
            os.truncate(path, 0)
    for pid in [p for p, name in seen.items() if name == victim]:
        _send(pid, signal.SIGSTOP if pause else signal.SIGKILL)
        if pause:
            time.sleep(pause)
            _send(pid, signal.SIGCONT)
    return seen


def _wait_for_all(supervisor: subprocess.Popen, seen: dict[int, str], outcome: Outcome) -> None:
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        seen.update(_children(supervisor.pid))
        supervisor.poll()
        if all(_is_gone(pid) for pid in seen):
            return
        time.sleep(0.02)
    for pid, name in seen.items():
        if not _is_gone(pid):
            outcome.faults.append(f"the {name} never ended")
            _send(pid, signal.SIGKILL)
    supervisor.wait()


def _look_around(pid: int, victim: str, temporary: Path, out: Path, outcome: Outcome) -> None:
    from bondloop.errors import BondloopError
    from bondloop.realtime.stop_requests import FOLDER, PREFIX
    from bondloop.results import Record

    left = [p.name for p in FOLDER.glob(f"{PREFIX}*{pid}*")]
    if left and victim not in ("supervisor", MEMORY):  # a killed one cannot tidy up; the next run does
        outcome.faults.append(f"shared memory is left: {left}")
    files = [p.name for p in temporary.rglob("*")]
    if files and victim not in ("supervisor", MEMORY):
        outcome.faults.append(f"temporary files are left: {files}")
    for path in sorted(out.glob("**/*.h5")):
        try:
            outcome.rows = (outcome.rows or 0) + len(Record.load(path))
        except BondloopError as error:
            outcome.faults.append(f"the record cannot be read: {error}")


def _children(pid: int) -> dict[int, str]:
    """Return the processes below one, with what they are."""
    found: dict[int, str] = {}
    for child in _read(f"/proc/{pid}/task/{pid}/children").split():
        words = _read(f"/proc/{child}/cmdline")
        name = "loop" if "-loop-" in words else "rig" if "-rig-" in words else ""
        name = name or ("recorder" if "realtime.recorder" in words else "another process")
        found[int(child)] = name
    return {p: n for p, n in found.items() if n != "another process"}


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _is_gone(pid: int) -> bool:
    return _read(f"/proc/{pid}/stat").rpartition(")")[2].split()[:1] in ([], ["Z"])


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def main() -> None:
    """Kill and freeze, and print what was left."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no run after so many")
    given = parser.parse_args()
    bad = without = runs = 0
    ends = time.monotonic() + given.seconds
    for seed in range(given.first, given.first + given.runs):
        if time.monotonic() > ends:
            break
        runs += 1
        o = kill_one(seed)
        bad, without = bad + bool(o.faults), without + (o.rows is None)
        print(
            f"{seed} {o.victim} {o.action}: exit {o.code}, {o.rows} ticks {'; '.join(o.faults)}", flush=True
        )
    print(f"{runs} runs: {bad} with faults, {without} without a record")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
