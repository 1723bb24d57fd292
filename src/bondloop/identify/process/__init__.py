"""Fits of process models: structures, starting values, searches, and the choice among them."""

from __future__ import annotations

from bondloop.identify.process.fit_frequency import fit_frequency
from bondloop.identify.process.fit_time import checked_record, fit_time
from bondloop.identify.process.matrix_fit import MatrixFit, fit_matrix
from bondloop.identify.process.process_fit import ProcessFit, information
from bondloop.identify.process.ranking import Ranking, rank, rank_frequency, rank_time
from bondloop.identify.process.structure import Structure

__all__ = [
    "MatrixFit", "ProcessFit", "Ranking", "Structure", "checked_record", "fit_frequency", "fit_matrix",
    "fit_time", "information", "rank", "rank_frequency", "rank_time",
]  # fmt: skip
