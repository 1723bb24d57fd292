"""Controllers, one per file."""

from __future__ import annotations

from bondloop.control.base import Controller, Design
from bondloop.control.direct import Direct
from bondloop.control.mcs import MCS
from bondloop.control.virtual_junction import VirtualJunction

__all__ = ["MCS", "Controller", "Design", "Direct", "VirtualJunction"]
