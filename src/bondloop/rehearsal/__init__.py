"""Running a test's tick in the computer, and what came of it."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = ["Run", "rerun"]

__getattr__, __dir__ = lazy_names(__name__, __file__)
