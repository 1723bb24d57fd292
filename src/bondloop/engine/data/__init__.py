"""Frozen dataclasses to and from TOML, JSON and attributes of HDF5; knows no class of a room.

A class or a function that a file may name is registered in a family by the room that defines it.
"""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = ["Parameter", "Range", "describable"]

__getattr__, __dir__ = lazy_names(__name__, __file__)
