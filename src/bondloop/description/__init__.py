"""Tests as data: TOML files that say what a test is, checked as a whole, and their JSON Schema.

>>> from bondloop import description, papers
>>> test = papers.find("gawthrop-three-mass").load().test()
>>> description.load_text(description.to_toml(test)).test == test
True
"""

from __future__ import annotations

from bondloop.description.channels_file import channels_schema, read_channels, read_channels_text
from bondloop.description.schema import schema
from bondloop.description.test_file import TestFile, load, load_text, read, to_toml

__all__ = [
    "TestFile",
    "channels_schema",
    "load",
    "load_text",
    "read",
    "read_channels",
    "read_channels_text",
    "schema",
    "to_toml",
]
