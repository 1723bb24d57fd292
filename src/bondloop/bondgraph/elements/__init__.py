"""Elements of bond graphs: storages, resistors, sources, two-ports, fields, signals, switches, one's own."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__: list[str] = []

__getattr__, __dir__ = lazy_names(__name__, __file__, kept=True)
