"""Functions from one form to the next: linear forms, inverses, connected and renamed systems."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = ["Applied", "Context", "Statements"]

__getattr__, __dir__ = lazy_names(__name__, __file__)
