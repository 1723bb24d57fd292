"""The programs of a loop and its rig: generic C and generated ticks, built into executables or exported."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__: list[str] = []

__getattr__, __dir__ = lazy_names(__name__, __file__)
