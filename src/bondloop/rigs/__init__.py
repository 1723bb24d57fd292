"""Emulated specimens, sensors, imperfections."""

from __future__ import annotations

from bondloop.data.described import Parameter
from bondloop.devices.ode_specimen import Imposed, OdeSpecimen
from bondloop.rigs.emulated import Emulated, RigSystem
from bondloop.rigs.fmu_specimen import FmuSpecimen
from bondloop.rigs.friction import coulomb, cubic_spring, dead_zone_spring, preloaded_spring, stribeck
from bondloop.rigs.imperfections import (
    Backlash,
    Bias,
    Chain,
    Context,
    GainError,
    LowPass,
    Noise,
    Nonlinearity,
    PureDelay,
    Quantisation,
    RateLimit,
    Saturation,
    chain,
)
from bondloop.rigs.mounting import OnBracket, mounted, nothing_mounted
from bondloop.rigs.orifice_damper import DamperData, OrificeDamper, PlayData
from bondloop.rigs.sensor import LVDT, LoadCell, Sensor, sensor_from
from bondloop.rigs.shaking_table import ShakingTable, TableDrive
from bondloop.rigs.specimen import Specimen
from bondloop.rigs.sub_stepped import RampHold, SubSteppedRig

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
