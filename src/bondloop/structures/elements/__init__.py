"""Finite elements, one per file; each computes the matrices of many elements of its kind at once."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = ["DOFS", "Member"]

__getattr__, __dir__ = lazy_names(__name__, __file__)
