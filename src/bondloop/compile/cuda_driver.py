"""NVIDIA's compiler at run time (NVRTC) and driver, by ctypes: no more is needed to run a kernel.

NVRTC is in the CUDA toolkit and in the package nvidia-cuda-nvrtc; the driver comes with the card.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Sequence
from ctypes.util import find_library
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

from bondloop.errors import CompileError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Device", "Kernels", "device", "gpu_obstacle"]

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
