"""Ring, mailbox and link, read while they are written: under ThreadSanitizer, and at full speed.

`races.c` has the package's own C in it. What a reader may accept is decided there, message by message.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bondloop.engine.codegen import compiler
from bondloop.engine.codegen.toolchain import build_program
from bondloop.errors import CompileError

if sys.platform != "linux" or compiler() is None:
    pytest.skip("the loop on a clock needs Linux and a C compiler", allow_module_level=True)

from two_halves import make_computer, make_rig

from bondloop.realtime import Ring
from bondloop.realtime.programs.build import loop_sources
from bondloop.realtime.segment import fresh_name, remove

KINDS = ["ring", "link", "mailbox", "executive"]
THREADS = ("-fsanitize=thread", "-g", "-O1", "-pthread")
SEEDS = range(3)

pytestmark = [pytest.mark.nightly, pytest.mark.realtime, pytest.mark.timeout(300)]


def program(*extra, without=()):
    """Build races.c with all C of a loop but its main; `without` are pieces of that C to leave out."""
    files = loop_sources(make_computer(), rig=make_rig())
    del files["loop_main.c"]
    files["link_shm.inc"] = files["link_shm.c"]
    for name, piece, instead in without:
        assert files[name].count(piece) == 1, f"{name} no longer has {piece}"
        files[name] = files[name].replace(piece, instead)
    files["races.c"] = (Path(__file__).parent / "races.c").read_text()
    return build_program(files, "races", compiler(), extra=extra or ("-pthread",))


@pytest.fixture(scope="module")
def sanitized():
    try:
        return program(*THREADS)
    except CompileError:
        pytest.skip("this compiler has no ThreadSanitizer")


def run(program, *words):
    done = subprocess.run(
        [program, *map(str, words)],
        check=False,
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "TSAN_OPTIONS": "history_size=7"},  # a race with what it has forgotten is not told
    )
    return done.returncode, done.stdout + done.stderr


def counts(said):
    return [int(n) for n in re.fullmatch(r"(\d+) accepted, (\d+) lost\n", said).groups()]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_race_in_one_process(sanitized, kind, seed):
    code, said = run(sanitized, kind, "threads", 5_000 if kind == "mailbox" else 50_000, seed)
    assert "ThreadSanitizer" not in said, said[:3000]
    assert code == 0, said
    accepted, _ = counts(said)
    assert accepted > 0


PLAIN = [
    ("link", ("link_shm.inc", "bl_words_put(m->values, values,", "memcpy(m->values, values, 8*")),
    ("executive", ("executive.c", "bl_words_put(slot, &now, sizeof now/8);", "*slot = now;")),
]
"""What is written as if nobody read it meanwhile."""


@pytest.mark.parametrize(("kind", "change"), PLAIN)
@pytest.mark.usefixtures("sanitized")
def test_the_sanitizer_sees(kind, change):
    """That it would tell: it forgets, so that one run in a few may pass."""
    racing = program(*THREADS, without=[change])
    assert any("data race" in run(racing, kind, "threads", 100_000, seed)[1] for seed in range(20))


SUM = ("link_shm.inc", "if (head[2] != sum_of(", "if (0 && head[2] != sum_of(")
"""The sum is a second line of defence: the order of loads and stores must do without it."""


@pytest.fixture(scope="module")
def fast():
    return program("-O3", "-pthread", without=[SUM])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_torn_or_stale_is_accepted(fast, kind, seed):
    """Message passing between two processes, millions in all: a litmus test of the fences."""
    count = 50_000 if kind == "mailbox" else 300_000
    code, said = run(fast, kind, "processes", count, seed)
    assert code == 0, said
    accepted, lost = counts(said)
    assert accepted > 0
    assert accepted + lost >= count


def test_a_message_that_is_not_marked_while_it_is_written_shows():
    """That the litmus test can fail: without its first store the lock over a message is none."""
    mark = ("link_shm.inc", "__atomic_store_n(&m->turn, turn + 1, __ATOMIC_RELAXED);", "")
    broken = program("-O3", "-pthread", without=[SUM, mark])
    said = (run(broken, "link", "processes", 300_000, seed) for seed in range(20))
    assert any(code == 1 and "torn" in words for code, words in said)


MIX = [np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)]


def mixed(x):
    """As in races.c."""
    x = x + MIX[0]
    x = (x ^ x >> np.uint64(30)) * MIX[1]
    x = (x ^ x >> np.uint64(27)) * MIX[2]
    return x ^ x >> np.uint64(31)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_ring_in_python(fast, seed):
    """The reader that recorders use, on a ring of few samples that is written without a pause."""
    name, count = fresh_name(), 200_000
    command = [fast, "publish", name, str(count), str(seed)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        try:
            word, slots, channels = writer.stdout.readline().split()
            assert word == "ready"
            with Ring.attach(name) as ring:
                assert (ring.slots, len(ring.names)) == (int(slots), int(channels))
                writer.stdin.write("\n")
                writer.stdin.flush()
                accepted = 0
                while ring.cursor < count:
                    block = ring.read()
                    number = block["cycle"].astype(np.uint64)
                    assert (block["sequence"] == number + np.uint64(1)).all()
                    assert (block["step"].astype(np.uint64) == mixed(number)).all()
                    at = np.uint64(512) * number[:, None] + np.arange(int(channels), dtype=np.uint64)
                    assert (block["channels"] == (mixed(at) >> np.uint64(12)).astype(float)).all()
                    accepted += len(block)
                assert accepted > 0
                assert accepted + ring.lost == count
        finally:
            remove(name)
    assert writer.returncode == 0
