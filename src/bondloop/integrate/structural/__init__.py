"""Schemes for structures with a measured restoring force, one per file."""

from __future__ import annotations

from bondloop.integrate.structural.base import Motion, Restoring, Scheme, Stepped

__all__ = ["Motion", "Restoring", "Scheme", "Stepped"]
