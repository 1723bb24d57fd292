"""Bond graphs: elements, junctions, fields, ports, models; causality; equations; drawing."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "GY",
    "MC",
    "MGY",
    "MR",
    "MTF",
    "RS",
    "SS",
    "TF",
    "C",
    "CField",
    "Clutch",
    "De",
    "Df",
    "Diode",
    "Domain",
    "Function",
    "I",
    "ICField",
    "IField",
    "Input",
    "MSe",
    "MSf",
    "Model",
    "Multiport",
    "One",
    "Port",
    "R",
    "RField",
    "Se",
    "Sf",
    "SignalIntegrator",
    "Stop",
    "Switch",
    "Zero",
    "bond",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
