"""Limits, switches, trips."""

from __future__ import annotations

from bondloop.safety.limits import Limits

__all__ = ["Limits"]
