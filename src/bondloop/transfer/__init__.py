"""Actuator models, one per file."""

from __future__ import annotations

from bondloop.transfer.base import Transfer, transfer_system
from bondloop.transfer.mass_spring_damper import MassSpringDamper

__all__ = ["MassSpringDamper", "Transfer", "transfer_system"]
