"""Options with which a compiler may assume that no value is NaN are refused by every route.

What is refused is what GCC's and clang's manuals say of their options, not what the package lists.
"""

import os
import re
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from bondloop.engine.codegen import Runner, write_c
from bondloop.engine.codegen.c_lanes import write_lanes
from bondloop.engine.codegen.c_text import REFUSAL
from bondloop.engine.codegen.toolchain import build, compiler, own_flags
from bondloop.engine.ir.expr import Var
from bondloop.engine.ir.tick import Channel, Tick, Update
from bondloop.errors import CompileError

sys.path.insert(0, str(Path(__file__).parent))
from compilers_here import COMPILERS

REALTIME = Path(str(resources.files("bondloop.realtime")))
TELLING = {
    "gcc": (
        "-ffast-math",
        "-Ofast",
        "-ffinite-math-only",
        "-funsafe-math-optimizations",
        "-freciprocal-math",
    ),
    "clang": ("-ffast-math", "-Ofast", "-ffinite-math-only", "-ffp-model=fast"),
}
SILENT = (
    "-fno-honor-nans", "-fno-honor-infinities", "-fassociative-math", "-fno-signed-zeros", "-menable-no-nans",
    "-ffp-contract=fast", "-ffp-contract=on", "-fsingle-precision-constant", "-mfpmath=387", "-mdaz-ftz",
)  # fmt: skip
ROUTES = [(name, flag) for name in TELLING if name in COMPILERS for flag in TELLING[name]]


def tick():
    x = Var("x")
    return Tick(
        "small", 0.1, Var("t"), Var("k"), (), {x: 1.0}, {}, (Update(((x, x / 2),)),), (Channel("x", x),)
    )


@pytest.mark.parametrize("where", ["$CC", "$BONDLOOP_CFLAGS"])
@pytest.mark.parametrize("flag", [*dict.fromkeys(f for flags in TELLING.values() for f in flags), *SILENT])
def test_an_option_that_is_named_is_refused(where, flag, monkeypatch):
    monkeypatch.setenv("CC", f"cc {flag} -g" if where == "$CC" else "cc")
    monkeypatch.setenv("BONDLOOP_CFLAGS", f"-g {flag}" if where != "$CC" else "")
    if shutil.which("cc") is None:
        pytest.skip("no cc")
    with pytest.raises(CompileError) as found:
        Runner(tick(), backend="c")
    assert flag in str(found.value)
    assert where in str(found.value)


@pytest.mark.parametrize(
    "flag", ["-O1", "-ffp-contract=off", "-fno-fast-math", "-march=native", "-fno-math-errno"]
)
def test_others_are_taken(flag, monkeypatch):
    monkeypatch.setenv("BONDLOOP_CFLAGS", flag)
    assert own_flags() == (flag,)


@pytest.mark.parametrize(("name", "flag"), ROUTES)
@pytest.mark.parametrize("kind", ["tick", "lanes"])
def test_a_generated_tick_refuses(name, flag, kind, tmp_path, monkeypatch):
    """However the option comes in: here behind all of ours, where none of them takes it back."""
    monkeypatch.setenv("BONDLOOP_CACHE", str(tmp_path / "cache"))
    source = write_c(tick()) if kind == "tick" else write_lanes(tick(), (), 4)
    with pytest.raises(CompileError, match="the guard of a rig would not see a dead sensor"):
        build(source, "small", COMPILERS[name], extra=(flag,))
    assert not list((tmp_path / "cache").glob("*.so"))


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        pytest.param(name, flag, marks=() if flag == "-ffinite-math-only" else pytest.mark.nightly)
        for name, flag in ROUTES
    ],
)
def test_every_file_that_looks_for_nan_refuses(name, flag):
    """Every file of C that could look for NaN, drivers too, by whatever name it calls that."""
    found = 0
    for path in sorted([*(REALTIME / "c").glob("*.c"), *(REALTIME / "drivers").glob("*.c")]):
        text = path.read_text()
        assert not re.search(r"(?<!\w)(isfinite|isnan|isinf)\(", text)
        done = subprocess.run(
            [*COMPILERS[name].command, "-std=c99", flag, "-fsyntax-only", f"-I{REALTIME / 'c'}", path],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if "bl_is_" in text or path.stem in ("guard", "executive", "commands", "model"):
            assert done.returncode != 0
            if re.search(r"\.h(:|') (No such )?file", done.stderr):
                continue  # a board's own library is not here
            assert "bondloop refuses" in done.stderr
            found += 1
    assert found >= 9


def test_both_refusals_are_the_same():
    assert REFUSAL in (REALTIME / "c" / "finite.h").read_text()


def test_a_compiler_behind_a_script_is_found_out(tmp_path, monkeypatch):
    if "gcc" not in COMPILERS:
        pytest.skip("no gcc")
    script = tmp_path / "mycc"
    script.write_text(f'#!/bin/sh\nexec {COMPILERS["gcc"].command[0]} "$@" -Ofast\n')
    script.chmod(0o755)
    monkeypatch.setenv("CC", os.fspath(script))
    monkeypatch.setenv("BONDLOOP_CACHE", str(tmp_path / "cache"))
    assert compiler().command == (str(script),)
    with pytest.raises(CompileError, match="called with options of fast mathematics"):
        Runner(tick(), backend="c")
