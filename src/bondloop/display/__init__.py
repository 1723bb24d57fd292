"""How things show themselves to people: HTML and figures in notebooks, short reprs, what is going on."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = ["silent"]

__getattr__, __dir__ = lazy_names(__name__, __file__)
