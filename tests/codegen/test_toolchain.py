"""Finding the compiler, keeping what it built, and saying what went wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bondloop.cli.settings import find_test
from bondloop.engine.codegen import Runner, toolchain
from bondloop.engine.codegen.toolchain import build, cache_folder, compiler, load
from bondloop.engine.ir.expr import Var
from bondloop.engine.ir.tick import Channel, Tick, Update
from bondloop.errors import CompileError

SOURCE = 'int demo_run(void);\n__attribute__((visibility("default"))) int demo_run(void) { return 42; }\n'

pytestmark = pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("BONDLOOP_CACHE", str(tmp_path))
    return tmp_path


def tick():
    x = Var("x")
    return Tick(
        "small", 0.1, Var("t"), Var("k"), (), {x: 1.0}, {}, (Update(((x, x / 2),)),), (Channel("x", x),)
    )


def test_builds_once(folder):
    library = build(SOURCE, "demo", compiler())
    stamp = library.stat().st_mtime_ns
    assert build(SOURCE, "demo", compiler()).stat().st_mtime_ns == stamp
    assert build(SOURCE + "\n", "demo", compiler()) != library
    assert len(list(folder.glob(f"*{library.suffix}"))) == 2
    assert len(list(folder.iterdir())) == 4  # each with its note


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("damage", [b"", b"not a library", None])
def test_a_damaged_library_is_built_anew(damage):
    library = build(SOURCE, "demo", compiler())
    library.write_bytes(library.read_bytes()[:200] if damage is None else damage)
    assert load(SOURCE, "demo", compiler()).demo_run() == 42


def test_processes_build_the_same_library_at_once(folder):
    code = "from bondloop.engine.codegen.toolchain import *; "
    code += f"print(load({SOURCE!r}, 'demo', compiler()).demo_run())"
    processes = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(3)]
    assert [p.communicate()[0].split() for p in processes] == [[b"42"]] * 3
    assert len(list(folder.iterdir())) == 2  # it and its note


def test_says_what_the_compiler_said(folder):
    with pytest.raises(
        CompileError, match=r"cannot build demo\.c: .*undeclared|cannot build demo\.c: .*error"
    ):
        build("int demo_run(void) { return wrong; }", "demo", compiler())
    assert not list(folder.iterdir())


def test_a_cache_that_cannot_be_written_is_done_without(folder, monkeypatch):
    blocked = folder / "file"
    blocked.write_text("")
    monkeypatch.setenv("BONDLOOP_CACHE", str(blocked / "cache"))
    assert load(SOURCE, "demo", compiler()).demo_run() == 42


def test_cache_folder(monkeypatch):
    monkeypatch.delenv("BONDLOOP_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/bondloop")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "bondloop"


def test_environment_names_the_compiler(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    with pytest.raises(CompileError, match=r"\$CC is 'no-such-compiler -m64'"):
        compiler()
    for spoilt in ('"', "gcc 'x"):
        monkeypatch.setenv("CC", spoilt)
        with pytest.raises(CompileError, match=r"\$CC is .*, which is no command \(No closing quotation\)"):
            compiler()
    monkeypatch.setenv("CC", f"{sys.executable} -X utf8")
    assert compiler().command == (sys.executable, "-X", "utf8")


@pytest.mark.parametrize("name", ["dubois-damper", "gawthrop-two-actuators", "wagg-two-mass-rig"])
def test_options_of_ones_own_come_last_and_optimisation_changes_no_bit(name, folder, monkeypatch):
    test, _ = find_test(name, [])
    runs = []
    for options in ("", "-O1", "-O0 -g"):
        monkeypatch.setenv("BONDLOOP_CFLAGS", options)
        assert compiler().flags[-2:] == (*toolchain.FLAGS, *options.split())[-2:]
        record = test.prepare("c").run(None, 600 * test.period).record  # a test alone compiles once
        runs.append(b"".join(record[channel].tobytes() for channel in record))
    assert runs[0] == runs[1] == runs[2]
    assert len(list(folder.glob(f"{test.tick.name}-*.sha256"))) == 3
    monkeypatch.setenv("BONDLOOP_CFLAGS", "-D'x")
    with pytest.raises(CompileError, match=r"\$BONDLOOP_CFLAGS is '-D'x', which are no options"):
        _ = compiler().flags


def test_without_a_compiler_python_runs_and_says_so(monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.setattr(toolchain, "zig", lambda: None)
    runner = Runner(tick())
    assert runner.backend == "numpy"
    assert "no C compiler" in runner.message
    assert "\n" not in runner.message
    assert runner.run(2).finished
    with pytest.raises(CompileError, match="no C compiler"):
        Runner(tick(), backend="c")


def test_a_header_that_is_not_there_is_named_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("BONDLOOP_CACHE", str(tmp_path))
    with pytest.raises(CompileError, match=r"needs nowhere\.h, which .* does not find: install the library"):
        load("#include <nowhere.h>\n", "none", compiler(), entry="0")


def test_the_compiler_speaks_the_language_in_which_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv("BONDLOOP_CACHE", str(tmp_path))
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    script = tmp_path / "cc"
    script.write_text('#!/bin/sh\necho "error: spoken in $LC_ALL" >&2\nexit 1\n')
    script.chmod(0o755)
    with pytest.raises(CompileError, match=r"error: spoken in C$"):
        load(SOURCE, "demo", toolchain.Compiler((str(script),), "1"), entry="demo_run")
