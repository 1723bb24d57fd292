"""Dampers, bearings, braces and what else yields: laws with states of their own, as bond graph elements."""

from __future__ import annotations

from bondloop.devices.baber_noori import BaberNoori
from bondloop.devices.bilinear import Bilinear
from bondloop.devices.bouc_wen import BoucWen
from bondloop.devices.brb import BucklingRestrainedBrace
from bondloop.devices.device import Device
from bondloop.devices.elastomeric import ElastomericBearing
from bondloop.devices.fluid_damper import FluidViscousDamper
from bondloop.devices.friction_pendulum import FrictionPendulum
from bondloop.devices.gap import Gap
from bondloop.devices.hook import Hook
from bondloop.devices.inerter import Inerter
from bondloop.devices.kelvin_voigt import KelvinVoigt
from bondloop.devices.large_bar import LargeBar
from bondloop.devices.lead_rubber import LeadRubberBearing
from bondloop.devices.liquid_column import TunedLiquidColumn
from bondloop.devices.maxwell import Maxwell
from bondloop.devices.mr_damper import MRDamper
from bondloop.devices.multilinear import Multilinear
from bondloop.devices.ode_element import device_at, ode_element
from bondloop.devices.ode_specimen import Imposed, OdeSpecimen
from bondloop.devices.power_damper import PowerDamper
from bondloop.devices.ramberg_osgood import RambergOsgood
from bondloop.devices.steel02 import GiuffreMenegottoPinto
from bondloop.devices.triple_pendulum import TripleFrictionPendulum
from bondloop.devices.tuned_mass import TunedMass
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
