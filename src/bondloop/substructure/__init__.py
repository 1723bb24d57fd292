"""Cut, interface, the assumptions of a cut, rejoin."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "Assumption",
    "Assumptions",
    "CausalPath",
    "Coupler",
    "ExternalHalf",
    "FmuHalf",
    "LinearCoupler",
    "NumericalHalf",
    "Pins",
    "ReferenceModel",
    "check_assumptions",
    "cut",
    "interfaces",
    "loading_block",
    "numerical_half",
    "orientation",
    "reference_model",
    "rejoin",
    "shortest_causal_path",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
