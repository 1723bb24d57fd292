"""The compiler of bond graphs and tests: it knows nothing of tests, rigs or structures."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = ["System", "system_from_matrices"]

__getattr__, __dir__ = lazy_names(__name__, __file__)
