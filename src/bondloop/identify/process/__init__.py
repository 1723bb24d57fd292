"""Fits of process models: structures, starting values, searches, and the choice among them."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__: list[str] = []

__getattr__, __dir__ = lazy_names(__name__, __file__)
