"""From a tick to C, lanes, CUDA, WebAssembly and Python."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = ["BACKENDS", "Backend", "Compiler", "Ends", "Result", "Runner", "build", "compiler", "write_c"]

__getattr__, __dir__ = lazy_names(__name__, __file__)
