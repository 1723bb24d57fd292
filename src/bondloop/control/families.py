"""The compensators that `recommend` tries, each with its settings from coarse to fine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bondloop.control.adaptive_families import ADAPTIVE
from bondloop.control.direct import Direct
from bondloop.control.family import Family, Setting, Task, between, one_of
from bondloop.control.feedback_families import FEEDBACK
from bondloop.control.inverse_model import InverseModel
from bondloop.control.lead_compensation import LeadCompensation
from bondloop.control.worth_trying import lags, prediction, spans

if TYPE_CHECKING:
    from bondloop.control.base import Controller

__all__ = ["FAMILIES"]


def _predictions(task: Task) -> Mapping[str, Setting]:
    return {"samples": spans(task), "order": one_of(1, 2, 3, 4), "delay": lags(task)}


def _inverse(task: Task) -> Mapping[str, Setting]:
    task.process.check_invertible()
    return {"ahead": between(0.0, 1.0, 2.0)}


def _ahead(task: Task) -> Setting:
    """Return predictions of the process's own delay, and of up to three samples more for hold and force."""
    return between(*(task.process.delay + n * task.period for n in (0.0, 1.5, 3.0)))


def _inverse_ahead(task: Task) -> Mapping[str, Setting]:
    task.process.check_invertible()
    ways = ("difference", "polynomial") if task.process.relative_degree <= 2 else ("difference",)
    return {
        "derivatives": one_of(*ways),
        "samples": spans(task),
        "order": one_of(1, 2, 3),
        "delay": _ahead(task),
    }


def _inverse_with(task: Task, derivatives: str, samples: int, order: int, delay: float) -> Controller:
    if derivatives == "polynomial":
        order = max(order, task.process.relative_degree)
    return InverseModel(task.process, prediction(task, delay, order, samples), derivatives)


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family("Direct", lambda task: {}, lambda task: Direct()),  # noqa: ARG005 - as every family
        Family(
            "LeadCompensation",
            lambda task: {"delay": lags(task), "ratio": between(2, 4, 8, 16)},
            lambda task, delay, ratio: LeadCompensation(delay, ratio),  # noqa: ARG005
        ),
        Family("PolynomialPrediction", _predictions, prediction),
        Family("InverseModel", _inverse, lambda task, ahead: InverseModel(task.process, ahead=ahead)),
        Family("InverseModel, predicted", _inverse_ahead, _inverse_with),
        *ADAPTIVE,
        *FEEDBACK,
    )
}
"""By name; add to it what else is to be tried."""
