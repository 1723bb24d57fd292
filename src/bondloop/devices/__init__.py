"""Dampers, bearings, braces and what else yields: laws with states of their own, as bond graph elements."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

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
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
