"""Whether a test may be run, with reasons."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = ["CheckPolicy", "SuggestionPolicy", "read_policy"]

__getattr__, __dir__ = lazy_names(__name__, __file__)
