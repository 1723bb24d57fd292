"""Cut, interface, the assumptions of a cut, rejoin."""

from __future__ import annotations

from bondloop.bondgraph.cut import cut, interfaces
from bondloop.bondgraph.model import rejoin
from bondloop.substructure.assumptions import (
    Assumption,
    Assumptions,
    CausalPath,
    check_assumptions,
    shortest_causal_path,
)
from bondloop.substructure.coupler import Coupler, LinearCoupler, Pins, loading_block
from bondloop.substructure.external_half import ExternalHalf
from bondloop.substructure.fmu_half import FmuHalf
from bondloop.substructure.half import NumericalHalf, numerical_half, orientation
from bondloop.substructure.reference_model import ReferenceModel, reference_model

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
