"""Ticks in C: compiled, kept by their content, and called."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from bondloop.engine.codegen.backend import one_by_one
from bondloop.engine.codegen.c_writer import write_c_apart
from bondloop.engine.codegen.plan import Plan
from bondloop.engine.codegen.toolchain import NO_COMPILER, Compiler, compiler, load
from bondloop.engine.ir import calls
from bondloop.errors import CompileError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bondloop.engine.codegen.backend import BatchLoop, ScalarLoop
    from bondloop.engine.codegen.c_text import Numbers
    from bondloop.engine.ir import Tick


_DOUBLES = ctypes.c_void_p


@dataclass(frozen=True)
class CBackend:
    """Ticks in C.

    Parameters
    ----------
    using
        The compiler; None for the one that `bondloop.engine.codegen.compiler` finds.
    """

    using: Compiler | None = None
    chunk = 1000

    def obstacle(self, tick: Tick) -> str:
        """Return what stands in the way: calls of Python functions, or no compiler."""
        outside = ", ".join({f.__qualname__: 0 for f in calls(tick, in_python=True).values()})
        if outside:
            return f"not compiled: {outside} is a Python function"
        return "" if self.using or compiler() else NO_COMPILER

    def load(self, tick: Tick, *, quick: bool = False) -> BatchLoop:
        """Compile a tick, or take it from the cache."""
        using = self.using or compiler()
        if using is None:
            raise CompileError("no C compiler found ($CC, cc, gcc, clang); 'pip install ziglang' brings one")
        return one_by_one(_compiled(tick, using, quick), tick.period)


_KEPT: WeakValueDictionary[str, Numbers] = WeakValueDictionary()
"""The tables that loaded libraries read, by their digest, as long as anything can run that reads them."""


def _hand_over(library: ctypes.CDLL, name: str, numbers: Numbers) -> Numbers:
    """Let a library know where its tables lie; return them, to be kept."""
    kept = _KEPT.setdefault(f"{name} {numbers.digest}", numbers)
    take: Any = getattr(library, f"{name}_take")
    take.restype, take.argtypes = None, [_DOUBLES, _DOUBLES]
    take(kept.arrays["double"].ctypes.data, kept.arrays["int"].ctypes.data)
    return kept


def _compiled(tick: Tick, using: Compiler, quick: bool = False) -> ScalarLoop:
    plan = Plan(tick)
    source, large, numbers = write_c_apart(tick)
    library = load(source, tick.name, using, large=large or quick)
    if numbers is not None:
        numbers = _hand_over(library, tick.name, numbers)
    counts = list((ctypes.c_long * 4).in_dll(library, f"{tick.name}_counts"))
    expected = [plan.size, len(tick.inputs), max(1, len(tick.parameters)), len(tick.channels)]
    if counts != expected:
        raise CompileError(f"the library of {tick.name} has sizes {counts} where {expected} were expected")
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
        inputs: NDArray[np.float64] | None,
        state: NDArray[np.float64],
        parameters: NDArray[np.float64],
        record: NDArray[np.float64],
        every: int,
    ) -> tuple[int, int, int]:
        _ = numbers  # alive as long as this can be called
        stopped_at, channel = ctypes.c_long(), ctypes.c_long()
        code = function(
            *(steps, first, period, None if inputs is None else inputs.ctypes.data),
            *(state.ctypes.data, parameters.ctypes.data, record.ctypes.data, every),
            *(ctypes.byref(stopped_at), ctypes.byref(channel)),
        )
        return code, stopped_at.value, channel.value

    return run
