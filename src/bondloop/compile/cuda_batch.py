"""Many tests of one tick on a graphics processor."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.compile.cuda_driver import Device, Kernels, device
from bondloop.compile.cuda_writer import write_cuda
from bondloop.errors import CompileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.compile.plan import Plan
    from bondloop.program.expr import Var
    from bondloop.program.tick import Tick

__all__ = ["CudaBatch"]

BLOCK = 128
"""Threads in a block."""

FIRST_STEPS, LAUNCH_SECONDS = 500, 0.5
"""Ticks of the first launch, and how long later ones may take: between them progress is shown."""


class CudaBatch:
    """A tick as kernels that are loaded; ``kernel_seconds`` grows with every run.

    Parameters
    ----------
    tick
        What to execute.
    varied
        Parameters that differ from test to test.
    plan
        Of the tick.
    """

    def __init__(self, tick: Tick, varied: Sequence[Var], plan: Plan) -> None:
        found = device()
        if not isinstance(found, Device):
            raise CompileError(f"there is no graphics processor to run on: {found}")
        self._device, self._tick, self._plan = found, tick, plan
        self._kernels = found.kernels(found.compiled(write_cuda(tick, varied)))
        self.kernel_seconds, self.card = 0.0, found.name

    def run(
        self,
        steps: int,
        rows: NDArray[np.float64] | None,
        state: NDArray[np.float64],
        table: NDArray[np.float64],
        ends: NDArray[np.int64],
        progress: Callable[[int, int], None] | None,
    ) -> None:
        """Run all tests; states and ends are changed in place."""
        tests = len(state)
        each = 8 * (self._plan.size + table.shape[1] + 3)
        room = self._device.free_bytes - (0 if rows is None else rows.nbytes)
        share = max(1, min(tests, int(0.8 * room) // each))
        for at in range(0, tests, share):
            part = slice(at, min(tests, at + share))

            def so_far(done: float, part: slice = part) -> None:
                if progress is not None:
                    progress(round(part.start + done * (part.stop - part.start)), tests)

            with self._kernels as kernels:
                self._share(kernels, steps, rows, state[part], table[part], ends[part], so_far)

    def _share(
        self,
        kernels: Kernels,
        steps: int,
        rows: NDArray[np.float64] | None,
        state: NDArray[np.float64],
        table: NDArray[np.float64],
        ends: NDArray[np.int64],
        so_far: Callable[[float], None],
    ) -> None:
        name, tests = self._tick.name, len(state)
        across = np.ascontiguousarray(state.T)
        place = kernels.array(across)
        varied = kernels.array(np.ascontiguousarray(table.T))
        stops = np.full((3, tests), -1, dtype=np.int64)
        stops[0] = 0
        ended = kernels.array(stops)
        inputs = kernels.array(rows if rows is not None else 8)
        width = len(self._tick.inputs)
        first, chunk = 0, FIRST_STEPS
        period = ctypes.c_double(self._tick.period)
        while first < steps:
            n = min(chunk, steps - first)
            count, begin = ctypes.c_longlong(n), ctypes.c_longlong(first)
            began = time.perf_counter()
            here = ctypes.c_uint64(inputs.value + 8 * first * width)
            arguments = (ctypes.c_longlong(tests), count, begin, period, here, place, varied, ended)
            kernels.start(f"{name}_tests", tests, BLOCK, arguments)
            kernels.wait()
            wall = time.perf_counter() - began
            self.kernel_seconds += wall
            first += n
            so_far(first / steps)
            chunk = max(1, int(LAUNCH_SECONDS / max(wall, 1e-6) * n))
        kernels.read(place, across)
        kernels.read(ended, stops)
        state[:] = across.T
        ends[:] = stops.T
