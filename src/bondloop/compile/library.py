"""A compiled tick: its functions, with the types of their arguments."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from bondloop.compile.c_writer import write_c_sized
from bondloop.compile.plan import Plan
from bondloop.compile.toolchain import Compiler, load
from bondloop.errors import CompileError

if TYPE_CHECKING:
    from bondloop.compile.py_writer import PythonRun
    from bondloop.program.tick import Tick

__all__ = ["c_run"]

_DOUBLES = ctypes.c_void_p


def c_run(tick: Tick, using: Compiler) -> PythonRun:
    """Compile a tick and return its run loop, called as that of `bondloop.compile.py_writer.python_run`."""
    plan = Plan(tick)
    source, large = write_c_sized(tick)
    library = load(source, tick.name, using, large=large)
    found = list((ctypes.c_long * 4).in_dll(library, f"{tick.name}_counts"))
    expected = [plan.size, len(tick.inputs), max(1, len(tick.parameters)), len(tick.channels)]
    if found != expected:
        raise CompileError(f"the library of {tick.name} has sizes {found} where {expected} were expected")
    function: Any = getattr(library, f"{tick.name}_run")
    function.restype = ctypes.c_int
    integers = ctypes.POINTER(ctypes.c_long)
    function.argtypes = [
        *(ctypes.c_long, ctypes.c_long, ctypes.c_double),
        *[_DOUBLES] * 4,
        *(ctypes.c_long, integers, integers),
    ]

    def run(
        steps: int,
        first: int,
        period: float,
        inputs: Any,
        state: Any,
        parameters: Any,
        record: Any,
        every: int,
    ) -> tuple[int, int, int]:
        stopped_at, channel = ctypes.c_long(), ctypes.c_long()
        given = None if inputs is None else inputs.ctypes.data
        status = function(
            *(
                steps,
                first,
                period,
                given,
                state.ctypes.data,
                parameters.ctypes.data,
                record.ctypes.data,
                every,
            ),
            *(ctypes.byref(stopped_at), ctypes.byref(channel)),
        )
        return status, stopped_at.value, channel.value

    return run
