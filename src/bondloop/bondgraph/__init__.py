"""Bond graphs: elements, junctions, fields, ports, models; causality; equations; drawing."""

from __future__ import annotations

from bondloop.bondgraph.elements import (
    GY,
    MC,
    MGY,
    MR,
    MTF,
    RS,
    SS,
    TF,
    C,
    CField,
    Clutch,
    De,
    Df,
    Diode,
    Function,
    I,
    ICField,
    IField,
    Input,
    Integrator,
    MSe,
    MSf,
    Multiport,
    R,
    RField,
    Se,
    Sf,
    Stop,
    Switch,
)
from bondloop.bondgraph.model import Model
from bondloop.bondgraph.parts import Bond, One, Part, Port, Zero, bond

__all__ = [
    "GY", "MC", "MGY", "MR", "MTF", "RS", "SS", "TF", "Bond", "C", "CField", "Clutch", "De", "Df", "Diode",
    "Function", "I", "ICField", "IField", "Input", "Integrator", "MSe", "MSf", "Model", "Multiport", "One",
    "Part", "Port", "R", "RField", "Se", "Sf", "Stop", "Switch", "Zero", "bond",
]  # fmt: skip
