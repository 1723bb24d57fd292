"""Ticks as code: C for speed and for the rig, Python as its twin; finding and calling the compiler."""

from __future__ import annotations

from bondloop.compile.backend import Backend, Ends
from bondloop.compile.c_writer import write_c
from bondloop.compile.runner import BACKENDS, Result, Runner
from bondloop.compile.toolchain import Compiler, build, compiler

__all__ = ["BACKENDS", "Backend", "Compiler", "Ends", "Result", "Runner", "build", "compiler", "write_c"]
