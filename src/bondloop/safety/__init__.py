"""Limits, switches, trips: what protects a rig, as blocks of the tick."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = ["Cause", "Interlock", "Limits", "PowerTrip", "RampedSwitch", "cause_words", "start_words"]

__getattr__, __dir__ = lazy_names(__name__, __file__)
