"""Elements of bond graphs: storages, resistors, sources, two-ports, fields, signals, switches, one's own."""

from __future__ import annotations

from bondloop.bondgraph.elements.fields import CField, Field, IField, RField
from bondloop.bondgraph.elements.inverse import inverse_of, rises
from bondloop.bondgraph.elements.laws import (
    BoundLaw,
    Formula,
    Law,
    check_number,
    check_plain,
    linear,
    modulation_of,
)
from bondloop.bondgraph.elements.multiport import MassIs, Multiport
from bondloop.bondgraph.elements.one_ports import RS, SS, C, I, OnePort, R, Se, Sf, Source
from bondloop.bondgraph.elements.potentials import ICField
from bondloop.bondgraph.elements.relations import (
    BENT,
    EXPLICIT,
    LINEAR,
    PortSymbols,
    Relations,
    Solution,
    StateSymbols,
)
from bondloop.bondgraph.elements.signals import (
    MC,
    MR,
    De,
    Df,
    Function,
    Input,
    Integrator,
    MSe,
    MSf,
)
from bondloop.bondgraph.elements.switching import Clutch, Diode, Stop, Switch, Switching
from bondloop.bondgraph.elements.two_ports import GY, MGY, MTF, TF, TwoPort

__all__ = [
    "BENT", "EXPLICIT", "GY", "LINEAR", "MC", "MGY", "MR", "MTF", "RS", "SS", "TF", "BoundLaw", "C", "CField",
    "Clutch", "De", "Df", "Diode", "Field", "Formula", "Function", "I", "ICField", "IField", "Input",
    "Integrator", "Law", "MSe", "MSf", "MassIs", "Multiport", "OnePort", "PortSymbols", "R", "RField",
    "Relations", "Se", "Sf", "Solution", "Source", "StateSymbols", "Stop", "Switch", "Switching", "TwoPort",
    "check_number", "check_plain", "inverse_of", "linear", "modulation_of", "rises",
]  # fmt: skip
