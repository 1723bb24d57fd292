"""Limits, switches, trips: what protects a rig, as blocks of the tick."""

from __future__ import annotations

from bondloop.safety.base import SafetyBlock, safety_from
from bondloop.safety.causes import Cause, cause_words
from bondloop.safety.guard import Guarded
from bondloop.safety.interlock import Interlock, Watch, Watched
from bondloop.safety.limits import Limits
from bondloop.safety.power_trip import PowerTrip
from bondloop.safety.switch import Starting, Switch, start_words

__all__ = [
    "Cause", "Guarded", "Interlock", "Limits", "PowerTrip", "SafetyBlock", "Starting", "Switch", "Watch",
    "Watched", "cause_words", "safety_from", "start_words",
]  # fmt: skip
