"""Reduction to fewer degrees of freedom, with its error over a band; coordinates of one's own."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__: list[str] = []

__getattr__, __dir__ = lazy_names(__name__, __file__)
