"""Tests as data: TOML files that say what a test is, checked as a whole, and their JSON Schema.

>>> from bondloop import files, papers
>>> test = papers.find("gawthrop-three-mass").load().test()
>>> files.load_text(files.to_toml(test)).test == test
True
"""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "load",
    "load_text",
    "read",
    "read_channels",
    "read_channels_text",
    "schema",
    "to_toml",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
