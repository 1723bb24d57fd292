"""Ticks as code: C for speed and for the rig, Python as its twin; finding and calling the compiler."""

from __future__ import annotations

from bondloop.compile.c_writer import write_c
from bondloop.compile.py_writer import python_run
from bondloop.compile.runner import Result, Runner
from bondloop.compile.toolchain import Compiler, build, compiler

__all__ = ["Compiler", "Result", "Runner", "build", "compiler", "python_run", "write_c"]
