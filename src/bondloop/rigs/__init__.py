"""Emulated specimens, sensors, imperfections."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "LVDT",
    "Backlash",
    "Bias",
    "Chain",
    "DamperData",
    "Emulated",
    "FmuSpecimen",
    "Frozen",
    "GainError",
    "Imperfection",
    "Infinite",
    "Jump",
    "LoadCell",
    "LowPass",
    "Nonlinearity",
    "NotANumber",
    "OnBracket",
    "OrificeDamper",
    "PlayData",
    "PureDelay",
    "Quantisation",
    "RampHold",
    "RateLimit",
    "Saturation",
    "Sensor",
    "ShakingTable",
    "Specimen",
    "TableDrive",
    "WhiteNoise",
    "coulomb",
    "cubic_spring",
    "dead_zone_spring",
    "mounted",
    "nothing_mounted",
    "preloaded_spring",
    "stribeck",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
