"""A tick as WebAssembly: the same C, compiled for browsers."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bondloop.compile.c_writer import write_c
from bondloop.compile.toolchain import zig
from bondloop.errors import CompileError, InputError
from bondloop.program.call import calls

if TYPE_CHECKING:
    from bondloop.program.tick import Tick

__all__ = ["wasm_compiler", "write_wasm"]

OPTIONS = ("-std=c99", "-O2", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-nostartfiles")
"""Products and sums stay apart, as in every other build; the numbers are those of a rehearsal, but for the
last digits of sine and its kin, which every library of mathematics rounds its own way."""

LINKED = ("--no-entry", "--strip-all", "--export=__heap_base")

NOT_FOUND = (
    "no compiler for WebAssembly found: neither clang with lld and a C library for it (Debian: apt install "
    "clang lld wasi-libc libclang-rt-dev-wasm32) nor the package ziglang (pip install 'bondloop[zig]')"
)


def write_wasm(tick: Tick) -> bytes:
    """Return a tick as a WebAssembly module that exports ``NAME_run`` and imports nothing.

    Parameters
    ----------
    tick
        What to compile.

    Raises
    ------
    InputError
        If it calls Python functions, which no browser has.
    CompileError
        If there is no compiler, or it refuses.
    """
    outside = ", ".join({f.__qualname__: 0 for f in calls(tick).values()})
    if outside:
        raise InputError(f"{tick.name} cannot run in a browser: {outside} is a Python function")
    exported = [f"-Wl,{option}" for option in (*LINKED, f"--export={tick.name}_run")]
    with tempfile.TemporaryDirectory(prefix="bondloop-wasm-") as scratch:
        source, built = Path(scratch) / "tick.c", Path(scratch) / "tick.wasm"
        source.write_text(write_c(tick), encoding="utf-8")
        call = [*wasm_compiler(), *OPTIONS, *exported, "-o", str(built), str(source)]
        done = subprocess.run(call, capture_output=True, text=True, check=False)  # noqa: S603 - our own words
        if done.returncode or not built.is_file():
            complaint = "; ".join(done.stderr.strip().splitlines()[:4]) or f"exit status {done.returncode}"
            raise CompileError(f"{tick.name} could not be compiled for browsers: {complaint}")
        return built.read_bytes()


def wasm_compiler() -> list[str]:
    """Return how to call the compiler that is found: clang, then zig."""
    clang = shutil.which("clang")
    include = Path("/usr/include/wasm32-wasi")
    if clang and shutil.which("wasm-ld") and include.is_dir():
        found = [clang, "--target=wasm32-wasi", "-isystem", str(include), "-L/usr/lib/wasm32-wasi"]
        return [*found, "--sysroot=/"]
    other = zig()
    if other is not None:
        return [*other.command, "--target=wasm32-wasi"]
    raise CompileError(NOT_FOUND)
