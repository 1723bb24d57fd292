"""Fits of process models: structures, starting values, searches, and the choice among them."""

from __future__ import annotations

from bondloop.identify.process.fit_frequency import (
    Lines,
    coherence_weight,
    fit_frequency,
    fit_response,
    lag,
    lines_of_record,
    lines_to_fit,
    longest_delay,
    rational_starts,
    response_bounds,
    response_derivatives,
)
from bondloop.identify.process.fit_time import checked_record, fit_record, fit_time, record_to_fit
from bondloop.identify.process.line_fit import (
    LineFit,
    RecordLines,
    fit_lines,
    last_above_noise,
    sampled,
    sampled_response,
    slowed,
)
from bondloop.identify.process.matrix_fit import Joint, MatrixFit, MatrixProblem, fit_matrix
from bondloop.identify.process.process_fit import ProcessFit, information
from bondloop.identify.process.ranking import (
    AUTO,
    USUAL,
    Ranking,
    cancelling_words,
    delay_words,
    either_words,
    other_words,
    rank,
    rank_frequency,
    rank_time,
)
from bondloop.identify.process.search import criterion, grown, inside, promising, search
from bondloop.identify.process.structure import Structure, structure

__all__ = [
    "AUTO", "USUAL", "Joint", "LineFit", "Lines", "MatrixFit", "MatrixProblem", "ProcessFit", "Ranking",
    "RecordLines", "Structure", "cancelling_words", "checked_record", "coherence_weight", "criterion",
    "delay_words", "either_words", "fit_frequency", "fit_lines", "fit_matrix", "fit_record", "fit_response",
    "fit_time", "grown", "information", "inside", "lag", "last_above_noise", "lines_of_record",
    "lines_to_fit", "longest_delay", "other_words", "promising", "rank", "rank_frequency", "rank_time",
    "rational_starts", "record_to_fit", "response_bounds", "response_derivatives", "sampled",
    "sampled_response", "search", "slowed", "structure",
]  # fmt: skip
