"""Emulated specimens, sensors, imperfections."""

from __future__ import annotations

from bondloop.rigs.emulated import Emulated, RigSystem
from bondloop.rigs.friction import coulomb, cubic_spring, dead_zone_spring, stribeck
from bondloop.rigs.imperfections import (
    Backlash,
    Bias,
    Context,
    GainError,
    LowPass,
    Noise,
    PureDelay,
    Quantisation,
    RateLimit,
    Saturation,
)
from bondloop.rigs.sensor import Sensor

__all__ = [
    "Backlash",
    "Bias",
    "Context",
    "Emulated",
    "GainError",
    "LowPass",
    "Noise",
    "PureDelay",
    "Quantisation",
    "RateLimit",
    "RigSystem",
    "Saturation",
    "Sensor",
    "coulomb",
    "cubic_spring",
    "dead_zone_spring",
    "stribeck",
]
