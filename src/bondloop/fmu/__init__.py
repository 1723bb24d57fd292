"""FMUs: models that other programs can simulate, and models of theirs.

A Functional Mock-up Unit (FMI 2.0 or 3.0, https://fmi-standard.org) is a zip of a description in XML, C
sources and native code.
"""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "read_fmu",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
