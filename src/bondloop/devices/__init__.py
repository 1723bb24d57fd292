"""Dampers, bearings, braces and what else yields: laws with states of their own, as bond graph elements."""

from __future__ import annotations

from bondloop.devices.bilinear import Bilinear
from bondloop.devices.device import Device
from bondloop.devices.mr_damper import MRDamper
from bondloop.devices.ode_element import ode_element
from bondloop.devices.ode_specimen import Imposed, OdeSpecimen

__all__ = ["Bilinear", "Device", "Imposed", "MRDamper", "OdeSpecimen", "ode_element"]
