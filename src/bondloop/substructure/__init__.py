"""Cut, interface, the assumptions of a cut, rejoin."""

from __future__ import annotations

from bondloop.bondgraph.cut import cut, interfaces, rejoin
from bondloop.substructure.assumptions import Assumption, Assumptions, check_assumptions
from bondloop.substructure.half import NumericalHalf, numerical_half, orientation
from bondloop.substructure.paths import CausalPath, shortest_causal_path

__all__ = [
    "Assumption",
    "Assumptions",
    "CausalPath",
    "NumericalHalf",
    "check_assumptions",
    "cut",
    "interfaces",
    "numerical_half",
    "orientation",
    "rejoin",
    "shortest_causal_path",
]
