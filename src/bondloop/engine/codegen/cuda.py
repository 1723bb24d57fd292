"""Many tests of one tick on a graphics processor."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import time
from collections.abc import Callable, Sequence
from ctypes.util import find_library
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from bondloop.engine.codegen import tolerances
from bondloop.engine.codegen.c_helpers import codes, helpers
from bondloop.engine.codegen.c_text import c_parts, structure, with_words
from bondloop.engine.codegen.c_writer import CBody
from bondloop.engine.codegen.plan import Line, Plan
from bondloop.errors import CompileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.codegen.backend import Lot
    from bondloop.engine.ir import Tick, Var


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

    def run(self, lot: Lot, progress: Callable[[int, int], None] | None) -> None:
        """Run all tests."""
        tests = len(lot)
        each = 8 * (self._plan.size + lot.table.shape[1] + 3)
        room = self._device.free_bytes - (0 if lot.rows is None else lot.rows.nbytes)
        share = max(1, min(tests, int(0.8 * room) // each))
        for at in range(0, tests, share):
            part = slice(at, min(tests, at + share))

            def so_far(done: float, part: slice = part) -> None:
                if progress is not None:
                    progress(round(part.start + done * (part.stop - part.start)), tests)

            with self._kernels as kernels:
                self._share(kernels, lot.part(part), so_far)

    def _share(self, kernels: Kernels, lot: Lot, so_far: Callable[[float], None]) -> None:
        name, tests, steps = self._tick.name, len(lot), lot.steps
        across = np.ascontiguousarray(lot.state.T)
        place = kernels.array(across)
        varied = kernels.array(np.ascontiguousarray(lot.table.T))
        stops = np.full((3, tests), -1, dtype=np.int64)
        stops[0] = 0
        ended = kernels.array(stops)
        inputs = kernels.array(lot.rows if lot.rows is not None else 8)
        width = len(self._tick.inputs)
        done, chunk = 0, tolerances.FIRST_STEPS
        period = ctypes.c_double(self._tick.period)
        while done < steps:
            n = min(chunk, steps - done)
            count, begin = ctypes.c_longlong(n), ctypes.c_longlong(lot.first + done)
            began = time.perf_counter()
            here = ctypes.c_uint64(inputs.value + 8 * done * width)
            arguments = (ctypes.c_longlong(tests), count, begin, period, here, place, varied, ended)
            kernels.start(f"{name}_tests", tests, tolerances.THREADS, arguments)
            kernels.wait()
            wall = time.perf_counter() - began
            self.kernel_seconds += wall
            done += n
            so_far(done / steps)
            chunk = max(1, int(tolerances.LAUNCH_SECONDS / max(wall, 1e-6) * n))
        kernels.read(place, across)
        kernels.read(ended, stops)
        lot.state[:] = across.T
        lot.ends[:] = stops.T


# NVIDIA's compiler at run time (NVRTC) and driver, by ctypes: no more is needed to run a kernel.
#
# NVRTC is in the CUDA toolkit and in the package nvidia-cuda-nvrtc; the driver comes with the card.


_CAPABILITY = (75, 76)
"""Numbers of the driver's attributes for the version of the card's instructions."""


class Device:
    """A graphics processor: memory on it, and kernels."""

    def __init__(self, driver: ctypes.CDLL, nvrtc: ctypes.CDLL) -> None:
        self._driver, self._nvrtc = driver, nvrtc
        self._done(driver.cuInit(0))
        number, self._context = ctypes.c_int(), ctypes.c_void_p()
        self._done(driver.cuDeviceGet(ctypes.byref(number), 0))
        self._done(driver.cuDevicePrimaryCtxRetain(ctypes.byref(self._context), number))
        self._done(driver.cuCtxSetCurrent(self._context))
        text = ctypes.create_string_buffer(256)
        self._done(driver.cuDeviceGetName(text, 256, number))
        self.name = text.value.decode()
        parts = []
        for attribute in _CAPABILITY:
            value = ctypes.c_int()
            self._done(driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, number))
            parts.append(value.value)
        self.architecture = f"sm_{parts[0]}{parts[1]}"

    @property
    def free_bytes(self) -> int:
        """Memory that is free on the card."""
        self._done(self._driver.cuCtxSetCurrent(self._context))
        free, whole = ctypes.c_size_t(), ctypes.c_size_t()
        self._done(self._driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(whole)))
        return free.value

    def compiled(self, source: str) -> bytes:
        """Return the card's machine code of a source."""
        nvrtc, program = self._nvrtc, ctypes.c_void_p()
        if nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"tick.cu", 0, None, None):
            raise CompileError("NVRTC cannot take the source")
        options = [f"--gpu-architecture={self.architecture}".encode(), b"--std=c++17"]
        array = (ctypes.c_char_p * len(options))(*options)
        failed = nvrtc.nvrtcCompileProgram(program, len(options), array)
        if failed:
            size = ctypes.c_size_t()
            nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            nvrtc.nvrtcGetProgramLog(program, log)
            said = [line for line in log.value.decode(errors="replace").splitlines() if "error" in line]
            raise CompileError(f"NVRTC cannot compile the tick: {'; '.join(said[:4]) or 'it gave no reason'}")
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetCUBIN(program, code)
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
        return code.raw

    def kernels(self, code: bytes) -> Kernels:
        """Load machine code."""
        self._done(self._driver.cuCtxSetCurrent(self._context))
        module = ctypes.c_void_p()
        self._done(self._driver.cuModuleLoadData(ctypes.byref(module), code))
        return Kernels(self, self._driver, module)

    def _done(self, code: int) -> None:
        if code:
            text = ctypes.c_char_p()
            self._driver.cuGetErrorString(code, ctypes.byref(text))
            what = text.value.decode() if text.value else f"error {code}"
            raise CompileError(f"the graphics processor's driver says: {what}")


class Kernels:
    """Kernels that are loaded, and arrays for them."""

    def __init__(self, owner: Device, driver: ctypes.CDLL, module: ctypes.c_void_p) -> None:
        self._device, self._driver, self._module = owner, driver, module
        self._arrays: list[ctypes.c_uint64] = []

    def __enter__(self) -> Self:
        self._device._done(self._driver.cuCtxSetCurrent(self._device._context))
        return self

    def __exit__(self, *_: object) -> None:
        for array in self._arrays:
            self._driver.cuMemFree_v2(array)
        self._arrays.clear()

    def array(self, values: NDArray[np.generic] | int) -> ctypes.c_uint64:
        """Return memory on the card, with a copy of some values, or of so many bytes."""
        place = ctypes.c_uint64()
        size = values if isinstance(values, int) else values.nbytes
        self._device._done(self._driver.cuMemAlloc_v2(ctypes.byref(place), ctypes.c_size_t(max(8, size))))
        self._arrays.append(place)
        if not isinstance(values, int):
            self.write(place, values)
        return place

    def write(self, place: ctypes.c_uint64, values: NDArray[np.generic]) -> None:
        """Copy values to the card."""
        if values.nbytes:
            assert values.flags.c_contiguous
            size = ctypes.c_size_t(values.nbytes)
            self._device._done(
                self._driver.cuMemcpyHtoD_v2(place, values.ctypes.data_as(ctypes.c_void_p), size)
            )

    def read(self, place: ctypes.c_uint64, into: NDArray[np.generic]) -> None:
        """Copy values from the card, when its kernels are done."""
        size = ctypes.c_size_t(into.nbytes)
        self._device._done(self._driver.cuMemcpyDtoH_v2(into.ctypes.data_as(ctypes.c_void_p), place, size))

    def wait(self) -> None:
        """Wait for all kernels."""
        self._device._done(self._driver.cuCtxSynchronize())

    def start(
        self,
        name: str,
        threads: int,
        block: int,
        arguments: Sequence[ctypes.c_longlong | ctypes.c_double | ctypes.c_uint64],
    ) -> None:
        """Start a kernel with so many threads, in blocks."""
        function = ctypes.c_void_p()
        self._device._done(
            self._driver.cuModuleGetFunction(ctypes.byref(function), self._module, name.encode())
        )
        pointers = (ctypes.c_void_p * len(arguments))(
            *(ctypes.cast(ctypes.pointer(a), ctypes.c_void_p) for a in arguments)
        )
        grid = -(-threads // block)
        self._device._done(
            self._driver.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, None, pointers, None)
        )


@cache
def device() -> Device | str:
    """Return the graphics processor, or why there is none."""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return "no NVIDIA driver was found on this machine"
    nvrtc = _nvrtc()
    if nvrtc is None:
        return "NVRTC was not found; 'pip install nvidia-cuda-nvrtc' brings it, or the CUDA toolkit"
    try:
        return Device(driver, nvrtc)
    except CompileError as error:
        return str(error)


def gpu_obstacle() -> str:
    """Return why tests cannot run on a graphics processor here; "" if they can."""
    found = device()
    return found if isinstance(found, str) else ""


def _nvrtc() -> ctypes.CDLL | None:
    places: list[str] = []
    for package in ("nvidia.cu13", "nvidia.cuda_nvrtc"):
        try:
            spec = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            continue
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            places += sorted(map(str, Path(folder).glob("**/libnvrtc.so*")))
    toolkit = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    places += sorted(map(str, Path(toolkit).glob("lib64/libnvrtc.so*")))
    places += [found for found in (find_library("nvrtc"),) if found]
    for place in places:
        try:
            return ctypes.CDLL(place)
        except OSError:
            continue
    return None


# A tick for many tests at once, in CUDA C++: one test in each thread of a graphics processor.
#
# The statements are those of one test, as C has them.


def write_cuda(tick: Tick, varied: Sequence[Var]) -> str:
    """Write a tick as CUDA C++.

    Parameters
    ----------
    tick
        What to write; the values of parameters that are not varied are literals.
    varied
        Parameters that differ from test to test, in their order in memory.
    """
    plan = Plan(tick)
    body = CudaBody(plan, varied)
    lines = body.write()
    scalars = plan.scalar_names
    chosen = plan.names.all(varied)
    members = {"state": scalars, "varied": chosen}
    load = [f"own.{name} = state[{j}*tests + test];" for j, name in enumerate(scalars)]
    load += [f"given.{name} = varied[{j}*tests + test];" for j, name in enumerate(chosen)]
    save = [f"state[{j}*tests + test] = own.{name};" for j, name in enumerate(scalars)]
    outside = [
        line
        for i, test in enumerate(plan.inside("channels"))
        for line in (f"if (channel < 0 && !({test}))", f"    channel = {i};")
    ]
    words = {
        "LOAD": _indented(load, 1), "BODY": _indented(lines, 2), "OUTSIDE": _indented(outside, 2),
        "SAVE": _indented(save, 1), "ROW": max(1, len(tick.channels)), "INPUTS": len(tick.inputs),
        "SCALARS": plan.scalars,
    }  # fmt: skip
    frame = c_parts("tests.cu")
    parts = [
        f"// {tick.name}: a test in each thread. Written by bondloop; changes here are lost.\n",
        frame["preamble"],
        codes(),
        "".join(structure(f"NAME_{what}", found) for what, found in members.items()),
        *(f"__device__ {t}" for t in body.tables),
        helpers(body.text.used, tick.name).replace("static ", "static __device__ "),
        with_words(frame["tests"], words),
    ]
    return "\n".join(part for part in parts if part).replace("NAME_", f"{tick.name}_")


def _indented(lines: Sequence[str], depth: int) -> str:
    return "\n".join("    " * depth + line for line in lines)


class CudaBody(CBody):
    """Writes the statements of one test; parameters that are not varied are literals."""

    def __init__(self, plan: Plan, varied: Sequence[Var]) -> None:
        super().__init__(plan)
        self._groups = None
        self._fix(varied)

    def _element(self, line: Line, at: str) -> str:
        return f"lines[({line.offset - self.plan.scalars} + (long long){at})*tests]"
