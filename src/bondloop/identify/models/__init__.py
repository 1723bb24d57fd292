"""Fits of models with parameters of physics: bond graphs, and laws of specimens."""

from __future__ import annotations

from bondloop.identify.models.bond_graph_fit import BondGraphFit, fit_bond_graph
from bondloop.identify.models.specimen_fit import SpecimenFit, fit_specimen
from bondloop.identify.models.specimen_ranking import SpecimenRanking, Validation, leave_out, rank_specimens

__all__ = [
    "BondGraphFit", "SpecimenFit", "SpecimenRanking", "Validation", "fit_bond_graph", "fit_specimen",
    "leave_out", "rank_specimens",
]  # fmt: skip
