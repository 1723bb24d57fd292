"""Generated C compiles without a warning, under every compiler that is here."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from bondloop import papers
from bondloop.engine.codegen.c_writer import write_c

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "hybrid"))
from compilers_here import COMPILERS, STRICT
from drawn_tests import case
from random_ticks import ticks

TESTS = [entry.name for entry in papers.entries() if entry.kind == "test"]

pytestmark = pytest.mark.skipif(not COMPILERS, reason="neither gcc nor clang nor zig is here")


UNREAD = ["-Wno-unused-variable", "-Wno-unused-but-set-variable"]
"""For ticks drawn statement by statement, which are full of variables that nothing reads."""


def said(text, using, *more):
    with tempfile.TemporaryDirectory() as folder:  # zig reads no standard input
        (Path(folder) / "tick.c").write_text(text)
        command = [*COMPILERS[using].command, "-std=c99", "-O1", "-fno-math-errno", *STRICT, *more]
        command += ["-c", "tick.c", "-o", "tick.o"]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stderr


@pytest.mark.parametrize("using", COMPILERS)
def test_a_warning_would_be_told(using):
    assert "conversion" in said("int f(double x);\nint f(double x) { return (int)x + x; }\n", using)


@pytest.mark.parametrize("using", COMPILERS)
@pytest.mark.parametrize("name", TESTS)
def test_ready_made_tests(name, using):
    assert said(write_c(papers.find(name).load().test().tick), using) == ""


@pytest.mark.slow
@settings(
    deadline=None,
    max_examples=10,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)
@given(tick=ticks())
def test_drawn_ticks(tick):
    for using in COMPILERS:
        assert said(write_c(tick), using, *UNREAD) == ""


@pytest.mark.parametrize("using", COMPILERS)
@pytest.mark.by_day(10)
@pytest.mark.parametrize("seed", range(930_000, 930_010))
def test_drawn_hybrid_tests(seed, using):
    drawn = case(seed)
    if drawn.test is not None:
        assert said(write_c(drawn.test.tick), using) == ""
