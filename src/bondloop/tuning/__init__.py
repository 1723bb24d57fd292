"""Which compensator with which settings: a search over families, rehearsed and checked."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = ["TuningPolicy", "recommend"]

__getattr__, __dir__ = lazy_names(__name__, __file__)
