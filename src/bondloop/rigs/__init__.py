"""Emulated specimens, sensors, imperfections."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "LVDT",
    "Backlash",
    "Bias",
    "Chain",
    "Context",
    "DamperData",
    "Emulated",
    "FmuSpecimen",
    "GainError",
    "Imposed",
    "LoadCell",
    "LowPass",
    "Noise",
    "Nonlinearity",
    "OdeSpecimen",
    "OnBracket",
    "OrificeDamper",
    "Parameter",
    "PlayData",
    "PureDelay",
    "Quantisation",
    "RampHold",
    "RateLimit",
    "RigSystem",
    "Saturation",
    "Sensor",
    "ShakingTable",
    "Specimen",
    "SubSteppedRig",
    "TableDrive",
    "chain",
    "coulomb",
    "cubic_spring",
    "dead_zone_spring",
    "mounted",
    "nothing_mounted",
    "preloaded_spring",
    "sensor_from",
    "stribeck",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
