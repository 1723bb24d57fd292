"""Virtual junctions: the inverse of a transfer system joined to the numerical half."""

from __future__ import annotations

from bondloop.control.junction.identified_junction import AdaptiveVirtualJunction, SensitivityVirtualJunction
from bondloop.control.junction.observed_junction import ObservedVirtualJunction
from bondloop.control.junction.virtual_junction import VirtualJunction

__all__ = [
    "AdaptiveVirtualJunction",
    "ObservedVirtualJunction",
    "SensitivityVirtualJunction",
    "VirtualJunction",
]
