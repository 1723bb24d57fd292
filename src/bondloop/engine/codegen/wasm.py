"""A tick as WebAssembly: the same C, compiled for browsers."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bondloop.engine.codegen.c_writer import write_c
from bondloop.engine.codegen.toolchain import run_compiler, zig
from bondloop.engine.ir import calls
from bondloop.errors import CompileError, InputError

if TYPE_CHECKING:
    from bondloop.engine.ir import Tick


OPTIONS = ("-std=c99", "-O2", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
"""Products and sums stay apart, as in every other build; the numbers are those of a rehearsal, but for the
last digits of sine and its kin, which every library of mathematics rounds its own way."""

LINKED = ("--no-entry", "--strip-all", "--export=__heap_base")

IMPORTS = 2
"""Number of the section of a WebAssembly module that names its imports."""

NO_CANARY = """
__attribute__((weak)) unsigned long __stack_chk_guard = 0x5afec0deul;
__attribute__((weak)) void __stack_chk_fail(void);
__attribute__((weak)) void __stack_chk_fail(void) { __builtin_trap(); }
"""
"""Zig 0.13 brings a library whose functions guard their stack with a number that they ask the system for. In
a browser there is none to ask: with a fixed number nothing is asked."""

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
        source.write_text(write_c(tick) + NO_CANARY, encoding="utf-8")
        command = wasm_compiler()
        done = run_compiler([*command, *OPTIONS, *exported, "-o", str(built), str(source)])
        if done.returncode or not built.is_file():
            complaint = "; ".join(done.stderr.strip().splitlines()[:4]) or f"exit status {done.returncode}"
            raise CompileError(f"{tick.name} could not be compiled for browsers: {complaint}")
        module = built.read_bytes()
    asked = imports_of(module)
    if asked:
        raise CompileError(
            f"{tick.name} was compiled by '{shlex.join(command)}' to a module that asks its browser for "
            f"{', '.join(asked)}, which no browser has; install clang, lld and wasi-libc, or another ziglang"
        )
    return module


def imports_of(module: bytes) -> list[str]:
    """Return what a WebAssembly module imports, as ``module.name``.

    >>> imports_of(
    ...     bytes.fromhex("0061736d01000000 0104 01 60 00 00 0207 01 0161 0162 00 00".replace(" ", ""))
    ... )
    ['a.b']
    >>> imports_of(bytes.fromhex("0061736d01000000"))
    []
    """
    at = 8  # after the magic word and the version
    while at < len(module):
        kind, (size, at) = module[at], _number(module, at + 1)
        if kind == IMPORTS:
            return _imports(module, at)
        at += size
    return []


def _imports(module: bytes, at: int) -> list[str]:
    """Return the names in a section of imports, whose contents begin at a place.

    Only functions are looked for, as a compiler that links all asks for nothing else: what stands after
    another kind is left out.
    """
    count, at = _number(module, at)
    found = []
    for _ in range(count):
        words = []
        for _ in range(2):
            size, at = _number(module, at)
            words.append(module[at : at + size].decode(errors="replace"))
            at += size
        found.append(".".join(words))
        if module[at]:
            break
        _, at = _number(module, at + 1)
    return found


def _number(module: bytes, at: int) -> tuple[int, int]:
    """Return an unsigned number in LEB128 that stands at a place, and where it ends."""
    value = shift = 0
    while True:
        byte = module[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:  # the last byte of a number lacks its highest bit
            return value, at


def wasm_compiler() -> list[str]:
    """Return how to call the compiler that is found: clang, then zig."""
    clang = shutil.which("clang")
    include = Path("/usr/include/wasm32-wasi")
    if clang and shutil.which("wasm-ld") and include.is_dir():
        found = [clang, "--target=wasm32-wasi", "-isystem", str(include), "-L/usr/lib/wasm32-wasi"]
        return [*found, "--sysroot=/", "-nostartfiles"]
    other = zig()
    if other is not None:
        return [*other.command, "--target=wasm32-wasi", "-mexec-model=reactor"]  # a library: no main, no exit
    raise CompileError(NOT_FOUND)
