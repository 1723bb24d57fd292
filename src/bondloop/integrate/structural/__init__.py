"""Schemes for structures with a measured restoring force."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "SCHEMES",
    "AlphaOS",
    "CentralDifference",
    "ChenRicles",
    "HHTAlpha",
    "KRAlpha",
    "Motion",
    "NewmarkExplicit",
    "NewmarkImplicit",
    "Response",
    "Restoring",
    "Rosenbrock",
    "Scheme",
    "Stepped",
    "Work",
    "find_scheme",
    "simulate_structure",
    "structure_tick",
    "work",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
