"""A console that has few letters gets all answers, and no traceback."""

import json
import os
import subprocess
import sys

import pytest

from bondloop.cli.output import plainly


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")

    def run(*words, encoding="ascii"):
        environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "LC_ALL": "C"}
        return subprocess.run(
            [sys.executable, "-m", "bondloop", *words],
            cwd=folder, env=environment, capture_output=True, check=False,
        )  # fmt: skip

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    "encoding", ["ascii", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("latin-1", "utf-8"))]
)
def test_a_rehearsal_its_report_and_the_help_are_printed(command, encoding):
    """Its delay is printed in µs, its tracking indicator in mm²."""
    rehearsed = command("run", "gawthrop-three-mass", "--out", encoding, encoding=encoding)
    assert rehearsed.returncode == 0, rehearsed.stderr
    text = rehearsed.stdout.decode(encoding)
    assert (" us\n" if encoding == "ascii" else " µs\n") in text, text
    assert (" mm^2\n" if encoding == "ascii" else " mm²\n") in text, text
    for words in (
        ("show", f"{encoding}/run.h5"),
        ("report", f"{encoding}/run.h5", "--out", f"{encoding}.html"),
        ("check", "gawthrop-three-mass"),
        ("doctor",),
        ("realtime", "--help"),
        ("run", "--help"),
    ):
        done = command(*words, encoding=encoding)
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr
        assert done.stdout.decode(encoding)


@pytest.mark.realtime
def test_the_loop_tells_what_it_did(command):
    done = command(
        "realtime",
        "gawthrop-two-actuators",
        "--seconds",
        "0.1",
        "--out",
        "rt",
        "--retreat",
        "0.02",
        "--set",
        "gap=60",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode("ascii")


def test_a_refusal_names_what_cannot_be_written(command):
    done = command("check", "gawthrop-three-mass", "--set", "mµ²=3")
    assert done.returncode == 1
    assert done.stderr.startswith(b"bondloop: ")


def test_json_says_the_same_everywhere(command):
    texts = [command("schema", encoding=encoding).stdout.decode(encoding) for encoding in ("ascii", "utf-8")]
    assert texts[0].isascii()
    assert not texts[1].isascii()
    assert json.loads(texts[0]) == json.loads(texts[1])


def test_only_what_a_console_lacks_is_replaced():
    error = UnicodeEncodeError("latin-1", "5 µm in 2 s⁻² → 1 Ω, ∂\udcc2", 0, 0, "")
    for start, end, plain in ((2, 3, "u"), (11, 13, "^-2"), (14, 15, "->"), (18, 19, "ohm"), (21, 23, "??")):
        error.start, error.end = start, end
        assert plainly(error) == (plain, end), error.object[start:end]
    with pytest.raises(UnicodeDecodeError):
        plainly(UnicodeDecodeError("ascii", b"\xc2", 0, 1, ""))
