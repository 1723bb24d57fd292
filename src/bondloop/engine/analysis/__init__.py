"""Readings of a system: rest, equations, modes, passivity."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = ["positive_realness"]

__getattr__, __dir__ = lazy_names(__name__, __file__)
