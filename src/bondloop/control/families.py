"""The compensators that `recommend` tries, each with its settings from coarse to fine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bondloop.control.adaptive_model_based import AdaptiveModelBased
from bondloop.control.adaptive_prediction import AdaptivePrediction
from bondloop.control.adaptive_time_series import AdaptiveTimeSeries
from bondloop.control.direct import Direct
from bondloop.control.family import Family, Setting, Task, between, one_of
from bondloop.control.inverse_model import InverseModel
from bondloop.control.lead_compensation import LeadCompensation
from bondloop.control.outer_loop import OuterLoop
from bondloop.control.polynomial_prediction import PolynomialPrediction

if TYPE_CHECKING:
    from bondloop.control.base import Controller

__all__ = ["FAMILIES"]

POINTS = 24
"""Points of a prediction at most: more of them cost time and smooth no better over the same span."""

QUIET = 0.05
"""Share of the largest displacement below which a controller that adapts stands still."""


def _lags(task: Task) -> Setting:
    """Return delays about the whole lag of the transfer system."""
    return between(*(share * task.lag for share in (0.8, 1.0, 1.25)))


def _spans(task: Task) -> Setting:
    """Return histories from a fraction of the lag to several times it, in samples."""
    spans = sorted({task.samples(share * task.lag, least=6) for share in (0.5, 1.0, 2.0, 4.0)})
    return one_of(*spans)


def _prediction(task: Task, delay: float, order: int, samples: int) -> PolynomialPrediction:
    """Return a prediction by a history of so many samples, its points spread evenly over them."""
    points = min(samples, POINTS) + 1
    return PolynomialPrediction(delay, order=order, span=samples * task.period, points=points)


def _predictions(task: Task) -> Mapping[str, Setting]:
    return {"samples": _spans(task), "order": one_of(1, 2, 3, 4), "delay": _lags(task)}


def _inverse(task: Task) -> Mapping[str, Setting]:
    task.process.check_invertible()
    return {}


def _ahead(task: Task) -> Setting:
    """Return predictions of the process's own delay, and of up to three samples more for hold and force."""
    return between(*(task.process.delay + n * task.period for n in (0.0, 1.5, 3.0)))


def _inverse_ahead(task: Task) -> Mapping[str, Setting]:
    task.process.check_invertible()
    ways = ("difference", "polynomial") if task.process.relative_degree <= 2 else ("difference",)
    return {
        "derivatives": one_of(*ways),
        "samples": _spans(task),
        "order": one_of(1, 2, 3),
        "delay": _ahead(task),
    }


def _inverse_with(task: Task, derivatives: str, samples: int, order: int, delay: float) -> Controller:
    if derivatives == "polynomial":
        order = max(order, task.process.relative_degree)
    return InverseModel(task.process, _prediction(task, delay, order, samples), derivatives)


def _threshold(task: Task) -> float:
    return QUIET * task.stroke


def _filters(task: Task) -> Setting:
    """Return corners well above the motion, below half the rate."""
    most = 0.2 / task.period
    return between(*sorted({min(share * task.frequency, most) for share in (2.0, 5.0)}))


def _adapted(task: Task) -> Mapping[str, Setting]:
    return {"order": one_of(1, 2, 3), "ahead": between(0.0, 1.0, 2.0), "filter_frequency": _filters(task)}


def _time_series(task: Task, order: int, ahead: float, filter_frequency: float) -> Controller:
    return AdaptiveTimeSeries(
        task.lag, order=order, ahead=ahead, filter_frequency=filter_frequency, threshold=_threshold(task),
        largest_delay=_longest(task),
    )  # fmt: skip


def _model_based(task: Task, order: int, ahead: float, filter_frequency: float) -> Controller:
    return AdaptiveModelBased(
        task.lag, order=order, ahead=ahead, filter_frequency=filter_frequency, threshold=_threshold(task),
        largest_delay=_longest(task),
    )  # fmt: skip


def _longest(task: Task) -> float:
    """Return the longest delay that may be adapted to: twice what is expected, or 50 ms."""
    return max(2 * task.lag, 0.05)


def _adaptive_prediction(task: Task, samples: int, order: int) -> Controller:
    plain = _prediction(task, task.lag, order, samples)
    return AdaptivePrediction(
        plain.delay, order=order, span=plain.span, points=plain.points, largest_delay=_longest(task),
        threshold=_threshold(task),
    )  # fmt: skip


def _outer(task: Task) -> Mapping[str, Setting]:
    return {
        "proportional": between(0.5, 1.0, 2.0, 4.0),
        "integral": between(*(share / task.lag for share in (0.3, 1.0, 3.0))),
        "lead": between(*(share * task.lag for share in (0.1, 0.3, 1.0))),
    }


def _outer_loop(task: Task, proportional: float, integral: float, lead: float) -> Controller:  # noqa: ARG001
    return OuterLoop(proportional, integral, lead=lead, lag=lead / LEAD)


LEAD = 20.0
"""Gain of an outer loop's lead for fast motions; its lag is so much shorter."""

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("Direct", lambda task: {}, lambda task: Direct()),  # noqa: ARG005 - as every family
        Family(
            "LeadCompensation",
            lambda task: {"delay": _lags(task), "ratio": between(2, 4, 8, 16)},
            lambda task, delay, ratio: LeadCompensation(delay, ratio),  # noqa: ARG005
        ),
        Family("PolynomialPrediction", _predictions, _prediction),
        Family("InverseModel", _inverse, lambda task: InverseModel(task.process)),
        Family("InverseModel, predicted", _inverse_ahead, _inverse_with),
        Family("AdaptiveTimeSeries", _adapted, _time_series),
        Family("AdaptiveModelBased", _adapted, _model_based),
        Family(
            "AdaptivePrediction",
            lambda task: {"samples": _spans(task), "order": one_of(1, 2, 3)},
            _adaptive_prediction,
        ),
        Family("OuterLoop", _outer, _outer_loop),
    )
}
"""By name; add to it what else is to be tried."""
