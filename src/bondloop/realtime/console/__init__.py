"""The console of a running loop: commands, what became of them, the pre-flight list."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__: list[str] = []

__getattr__, __dir__ = lazy_names(__name__, __file__)
