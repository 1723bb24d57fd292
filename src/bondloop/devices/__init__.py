"""Dampers, bearings, braces and what else yields: laws with states of their own, as bond graph elements."""

from __future__ import annotations

from bondloop.devices.bilinear import Bilinear
from bondloop.devices.bouc_wen import BaberNoori, BoucWen
from bondloop.devices.brb import BucklingRestrainedBrace
from bondloop.devices.contact import Gap, Hook
from bondloop.devices.device import Device, device_at
from bondloop.devices.friction_pendulums import FrictionPendulum, TripleFrictionPendulum
from bondloop.devices.inerter import Inerter
from bondloop.devices.large_bar import LargeBar
from bondloop.devices.mr_damper import MRDamper
from bondloop.devices.multilinear import Multilinear
from bondloop.devices.ode_specimen import Imposed, OdeSpecimen, ode_element
from bondloop.devices.ramberg_osgood import RambergOsgood
from bondloop.devices.rubber_bearings import ElastomericBearing, LeadRubberBearing
from bondloop.devices.steel02 import GiuffreMenegottoPinto
from bondloop.devices.tuned_dampers import TunedLiquidColumn, TunedMass
from bondloop.devices.viscoelastic import KelvinVoigt, Maxwell
from bondloop.devices.viscous_dampers import FluidViscousDamper, PowerDamper
from bondloop.devices.wire_rope import WireRope

__all__ = [
    "BaberNoori",
    "Bilinear",
    "BoucWen",
    "BucklingRestrainedBrace",
    "Device",
    "ElastomericBearing",
    "FluidViscousDamper",
    "FrictionPendulum",
    "Gap",
    "GiuffreMenegottoPinto",
    "Hook",
    "Imposed",
    "Inerter",
    "KelvinVoigt",
    "LargeBar",
    "LeadRubberBearing",
    "MRDamper",
    "Maxwell",
    "Multilinear",
    "OdeSpecimen",
    "PowerDamper",
    "RambergOsgood",
    "TripleFrictionPendulum",
    "TunedLiquidColumn",
    "TunedMass",
    "WireRope",
    "device_at",
    "ode_element",
]
