"""Drawings of bond graphs: what a model shows, where it is placed, and how it is drawn."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__: list[str] = []

__getattr__, __dir__ = lazy_names(__name__, __file__)
