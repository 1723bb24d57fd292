"""Schemes for structures with a measured restoring force."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "AlphaOS",
    "CentralDifference",
    "ChenRicles",
    "EquationOfMotion",
    "HHTAlpha",
    "KRAlpha",
    "NewmarkExplicit",
    "NewmarkImplicit",
    "Rosenbrock",
    "Scheme",
    "Stepped",
    "find_scheme",
    "simulate_structure",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
