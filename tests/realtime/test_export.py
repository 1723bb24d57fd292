"""A test as a folder of C: it builds with one `make` and computes what the rehearsal computes."""

import importlib.util
import shutil
import subprocess
import sys

import numpy as np
import pytest

from bondloop.errors import InputError
from bondloop.papers import gawthrop_two_actuators
from bondloop.realtime.options import LoopOptions, RigOptions
from bondloop.realtime.process import LoopProcess, RigProcess
from bondloop.realtime.programs.export import export_c
from bondloop.signals.table import Table

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")

STEPS = 101


@pytest.fixture(scope="module")
def test():
    """A test with a tabulated signal, so that all there can be is exported."""
    made = gawthrop_two_actuators.test()
    t = np.linspace(0.0, 1.0, 37)
    return made.replaced(excitation={**made.excitation, "r1": Table(t, 1e-3 * np.sin(20 * t))})


@pytest.fixture(scope="module")
def folder(test, tmp_path_factory):
    made = tmp_path_factory.mktemp("export") / "c"
    export_c(test, made, seconds=0.1)
    return made


@pytest.fixture(scope="module")
def built(folder):
    done = subprocess.run(["make", "-C", folder], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_the_folder_names_everything_it_needs(folder):
    assert {p.name for p in folder.iterdir()} == {
        "Makefile",
        "README.md",
        "common",
        "loop",
        "rig",
        "signals.f64",
    }
    makefile = (folder / "Makefile").read_text()
    for path in folder.rglob("*.c"):
        assert path.relative_to(folder).as_posix() in makefile
    readme = (folder / "README.md").read_text()
    assert "| `command[1]` | to the rig |" in readme
    assert "| `measured.force[0]` | from the rig |" in readme
    # 101 ticks, now and next of one signal.
    assert (folder / "signals.f64").stat().st_size == 101 * 2 * 8


def test_what_make_builds_computes_what_was_rehearsed(built, test):
    """The loop and the rig as any user starts them, in lock-step; the rig at its own, finer steps."""
    table = np.fromfile(built / "signals.f64").reshape(STEPS, 2)
    with RigProcess(built / "bin" / "rig", RigOptions(link="udp://127.0.0.1:0")) as rig:
        options = LoopOptions(link=rig.link, lock_step=True, steps=STEPS, retreat=0.01)
        with LoopProcess(built / "bin" / "loop", options, table) as loop:
            assert loop.wait(30) == 0
            samples = loop.ring.read()
            names = loop.ring.names
    ticks = samples[samples["step"] >= 0]
    rehearsal = test.run((STEPS - 1) * test.period)
    for name in ("command[0]", "command[1]", "desired.displacement[0]"):
        expected = rehearsal[name]
        found = ticks["channels"][:, names.index(name)]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_it_tries_itself(built):
    done = subprocess.run(["make", "-C", built, "try"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("flag", ["-ffast-math", "-ffinite-math-only", "-Ofast"])
@pytest.mark.parametrize("program", ["loop", "rig"])
def test_make_refuses_fast_mathematics(folder, tmp_path, flag, program):
    """Whoever changes the options of the folder's own Makefile gets no program."""
    copy = tmp_path / "c"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("bin"))
    done = subprocess.run(
        ["make", "-C", copy, f"bin/{program}", f"CFLAGS=-std=c99 {flag}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "bondloop refuses -ffast-math" in done.stderr
    assert not (copy / "bin" / program).exists()


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="ziglang is an extra")
def test_it_builds_for_arm_too(folder):
    done = subprocess.run(
        ["make", "-C", folder, "aarch64", f"PYTHON={sys.executable}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    head = (folder / "bin" / "aarch64" / "loop").read_bytes()[:20]
    # ELF, 64 bits, little endian; machine 183 is AArch64 (ELF for the Arm 64-bit Architecture).
    assert head[:6] == b"\x7fELF\x02\x01"
    assert int.from_bytes(head[18:20], "little") == 183


def test_a_folder_with_other_things_in_it_is_left_alone(test, tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(InputError, match=r"not empty and no earlier export \(thesis.tex\)"):
        export_c(test, tmp_path)
    with pytest.raises(InputError, match="it is a file"):
        export_c(test, tmp_path / "thesis.tex")


def test_exporting_twice_replaces(test, folder):
    before = (folder / "Makefile").read_text()
    export_c(test, folder, seconds=0.2)
    assert (folder / "Makefile").read_text() != before
    export_c(test, folder, seconds=0.1)
    assert (folder / "Makefile").read_text() == before
