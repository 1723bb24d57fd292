"""`bondloop serve`, what it refuses; `--out` of a run in real time; a platform without file locks."""

import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from bondloop.cli.realtime import run_file
from bondloop.errors import InputError
from bondloop.interop import RemoteRig
from bondloop.rehearsal import Run

ROOT = Path(__file__).parents[2]
COLUMN = str(ROOT / "examples" / "opensees" / "column.py")
WITHOUT_LOCKS = "import sys; sys.modules['fcntl'] = None\nfrom bondloop.cli.main import app\napp()"


def run(
    *words: str, code: str = "from bondloop.cli.main import app\napp()"
) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("gawthrop-three-mass",), "has its numerical half in itself"),
        ((COLUMN, "--protocol", "smoke"), "expected the protocol generic-client or plain"),
        ((COLUMN, "--host", "256.0.0.1"), "cannot listen at 256.0.0.1"),
    ],
)
def test_what_cannot_be_served_is_said_in_a_sentence(
    words: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    done = run("serve", *words, "--out", str(tmp_path))
    assert done.returncode == 1
    assert told in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.realtime
def test_an_interrupt_on_the_clock_says_what_was_written(tmp_path: Path) -> None:
    """The first ends the loop; a program that has the rig is waited for until the second."""
    words = ["serve", COLUMN, "--clock", "--set", "gap=60 s", "--protocol", "plain", "--port", "0"]
    words += ["--out", str(tmp_path)]
    with (
        ExitStack() as stack,
        subprocess.Popen(
            [sys.executable, "-c", "from bondloop.cli.main import app\napp()", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as served,
    ):
        try:
            assert served.stdout is not None
            lines = iter(served.stdout.readline, "")
            address = next(line for line in lines if "listening" in line).split(" at ")[1].split(": ")[0]
            remote = RemoteRig(address)
            stack.callback(remote._socket.close)  # it keeps the rig to the last
            remote.move_to([0.001])
            served.send_signal(signal.SIGINT)
            assert any("is told so when it asks next" in line for line in lines)
            served.send_signal(signal.SIGINT)
            said = "".join(lines)
        finally:
            served.kill()
    assert f"wrote {tmp_path / 'serve.h5'}" in said
    assert Run.load(tmp_path / "serve.h5").record.attributes["served"]["moves"] == 1


def test_out_is_a_folder_or_a_run_file(tmp_path: Path) -> None:
    assert run_file(tmp_path / "new", "realtime.h5") == tmp_path / "new" / "realtime.h5"
    assert run_file(tmp_path / "own" / "mine.h5", "realtime.h5") == tmp_path / "own" / "mine.h5"
    assert (tmp_path / "new").is_dir()
    assert (tmp_path / "own").is_dir()
    (tmp_path / "text").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="expected a folder"):
        run_file(tmp_path / "text", "realtime.h5")


def test_without_file_locks_tests_are_exported_and_the_loop_needs_linux(tmp_path: Path) -> None:
    done = run("export", "c", "gawthrop-two-actuators", str(tmp_path / "c"), code=WITHOUT_LOCKS)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "c" / "Makefile").exists()
    done = run("realtime", "gawthrop-two-actuators", code=WITHOUT_LOCKS)
    assert done.returncode == 1
    assert "the real-time loop needs Linux" in done.stderr
    assert "Traceback" not in done.stderr
