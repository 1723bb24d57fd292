"""OpenSees itself: the frame of the examples with a column on a rig, against the frame alone; a fault.

OpenSeesPy is in an environment of its own, ``make opensees``, or where BONDLOOP_OPENSEES says (a Python).
"""

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "opensees"


class Laboratory:
    """`bondloop serve` in a process of its own, and what it says."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "bondloop", "serve", str(EXAMPLE / "column.py"), "--port", "0"]
        self.process = subprocess.Popen(
            [*command, "--out", str(folder), *options],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.lines = [self.process.stdout.readline()]
        found = re.search(r":(\d+): listening", self.lines[0])
        assert found, self.lines[0] + self.process.stdout.read()
        self.port = found[1]

    def wait(self) -> tuple[int, str]:
        """Wait for its end: exit code, and all it said."""
        watchdog = threading.Timer(300, self.process.kill)
        watchdog.start()
        assert self.process.stdout is not None
        self.lines += self.process.stdout
        watchdog.cancel()
        return self.process.wait(), "".join(self.lines)


@pytest.fixture
def laboratory(tmp_path: Path, opensees: str) -> Iterator[object]:
    """Return what starts a laboratory; all are ended at the end."""
    assert opensees
    started: list[Laboratory] = []

    def start(*options: str) -> Laboratory:
        started.append(Laboratory(tmp_path, *options))
        return started[-1]

    yield start
    for made in started:
        made.process.kill()
        made.process.wait()
        assert made.process.stdout is not None
        made.process.stdout.close()


def frame(python: str, *arguments: str, script: str = "frame.py") -> str:
    """Run a script of OpenSees', and return what it prints."""
    done = subprocess.run(
        [python, str(EXAMPLE / script), *arguments], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def off(said: str) -> float:
    """Return how far the coupled frame is from the frame alone, as a share of its largest displacement."""
    found = re.search(r"(\S+) off the frame without a rig, beam up to ([\d.]+) mm", said)
    assert found, said
    assert float(found[2]) > 5.0, "the columns yield at 5 mm"
    return float(found[1])


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_frame_with_its_column_on_a_rig_is_the_frame(laboratory, opensees: str, transport: str) -> None:
    steps = "200" if transport == "udp" else "60"  # OpenSees delays each message over TCP by some 40 ms
    made = laboratory(f"--{transport}")
    said = frame(opensees, "--port", made.port, "--steps", steps, *(["--tcp"] if transport == "tcp" else []))
    assert f"{steps} of {steps} steps" in said
    assert off(said) < 1e-4
    code, told = made.wait()
    assert code == 0
    assert f"the rig was moved {steps} times" in told


def test_a_fault_of_the_rig_ends_in_its_safe_state_with_a_message_on_both_sides(
    laboratory, opensees: str
) -> None:
    made = laboratory("--set", "force_limit=8 kN")
    said = frame(opensees, "--port", made.port)
    words = "the measured force went beyond its limit"
    assert f"the rig says: {words}" in said
    assert "400 of 400" not in said
    code, told = made.wait()
    assert code == 1
    assert f"fault: {words}" in told
    assert "the rig was brought to its safe position" in told


def test_opensees_steps_in_python_with_the_rig_in_another_process(laboratory, opensees: str) -> None:
    made = laboratory("--protocol", "plain")
    said = frame(opensees, "--port", made.port, "--steps", "150", script="stepped.py")
    assert off(said) < 1e-4
    assert made.wait()[0] == 0
