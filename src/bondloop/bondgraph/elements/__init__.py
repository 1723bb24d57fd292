"""Elements of bond graphs: storages, resistors, sources, two-ports, fields, signals, switches, one's own."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "BENT",
    "EXPLICIT",
    "LINEAR",
    "BoundLaw",
    "Field",
    "Formula",
    "Law",
    "MassIs",
    "OnePort",
    "PortSymbols",
    "Relations",
    "Solution",
    "Source",
    "StateSymbols",
    "Switching",
    "TwoPort",
    "check_number",
    "check_plain",
    "inverse_of",
    "linear",
    "modulation_of",
    "rises",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
