"""Halves of a cut model: their interfaces, the assumptions of a cut, rejoin."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "ExternalHalf",
    "FmuHalf",
    "LinearCoupler",
    "Pins",
    "interfaces",
    "loading_block",
    "numerical_half",
    "reference_model",
    "rejoin",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
