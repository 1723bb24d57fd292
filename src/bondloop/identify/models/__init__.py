"""Fits of models with parameters of physics: bond graphs, and laws of specimens."""

from __future__ import annotations

from bondloop.identify.models.bond_graph_fit import BondGraphFit, SensitivityRun, fit_bond_graph
from bondloop.identify.models.specimen_data import SpecimenRecord, specimen_records, whole_cycles
from bondloop.identify.models.specimen_fit import SpecimenFit, fit_specimen
from bondloop.identify.models.specimen_problem import (
    Free,
    Measured,
    Moved,
    MovedSpecimen,
    SpecimenProblem,
    SpecimenRun,
)
from bondloop.identify.models.specimen_ranking import SpecimenRanking, Validation, leave_out, rank_specimens

__all__ = [
    "BondGraphFit", "Free", "Measured", "Moved", "MovedSpecimen", "SensitivityRun", "SpecimenFit",
    "SpecimenProblem", "SpecimenRanking", "SpecimenRecord", "SpecimenRun", "Validation", "fit_bond_graph",
    "fit_specimen", "leave_out", "rank_specimens", "specimen_records", "whole_cycles",
]  # fmt: skip
