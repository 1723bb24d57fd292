"""The compensators that adapt, as `recommend` tries them: all begin at the process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from bondloop.control.adaptive_model_based import AdaptiveModelBased
from bondloop.control.adaptive_prediction import AdaptivePrediction
from bondloop.control.adaptive_remainder import AdaptiveRemainder
from bondloop.control.adaptive_time_series import AdaptiveTimeSeries
from bondloop.control.conditional_time_series import ConditionalTimeSeries
from bondloop.control.family import Family, Setting, Task, between, one_of
from bondloop.control.recursive_fir import RecursiveFir
from bondloop.control.two_stage_adaptive import TwoStageAdaptive
from bondloop.control.worth_trying import (
    adaptive_corners,
    beginning,
    forward,
    forward_settings,
    highest_corner,
    longest_delay,
    prediction,
    quiet,
    spans,
)  # fmt: skip

if TYPE_CHECKING:
    from bondloop.control.adaptive_feedforward import AdaptiveFeedforward
    from bondloop.control.base import Controller

__all__ = ["ADAPTIVE"]

REMAINDER = 0.5
"""Share of the lag that an adaption may add to a fixed inverse, or take away."""

RATE, WINDOW, MEMORY = 20.0, 1.0, 4.0
"""Speed of a gradient in 1/s, and seconds of motion that least squares count: refined, not tried coarsely."""


def _series(**more: Setting) -> Callable[[Task], Mapping[str, Setting]]:
    """Return the settings of a series in derivatives."""

    def settings(task: Task) -> Mapping[str, Setting]:
        return {
            "order": one_of(1, 2, 3), "ahead": between(0.0, 1.0, 2.0),
            "filter_frequency": adaptive_corners(task), **more,
        }  # fmt: skip

    return settings


def _of_series(kind: type[AdaptiveFeedforward]) -> Callable[..., Controller]:
    """Return what makes an adaptive series of a task."""

    def make(task: Task, order: int, **values: float) -> Controller:
        start = beginning(task)
        return kind(
            start.get("delay", 0.0), order, longest_delay(task), threshold=quiet(task),
            process=start.get("process"), **values,
        )  # fmt: skip

    return make


def _prediction_settings(task: Task) -> Mapping[str, Setting]:
    return {"samples": spans(task), "order": one_of(1, 2, 3), "ahead": between(0.0, 1.0, 2.0)}


def _prediction(task: Task, samples: int, order: int, ahead: float) -> Controller:
    plain = prediction(task, 0.0, order, samples)
    return AdaptivePrediction(
        order=order, span=plain.span, points=plain.points, ahead=ahead, largest_delay=longest_delay(task),
        threshold=quiet(task), **beginning(task),
    )  # fmt: skip


def _taps_settings(task: Task) -> Mapping[str, Setting]:
    return {
        "taps": one_of(2, 3, 4, 5),
        "ahead": between(0.0, 1.0, 2.0),
        "filter_frequency": adaptive_corners(task),
    }


def _taps(task: Task, taps: int, ahead: float, filter_frequency: float) -> Controller:
    return RecursiveFir(
        taps, ahead=ahead, filter_frequency=filter_frequency, threshold=quiet(task),
        largest_delay=longest_delay(task), process=beginning(task).get("process"),
    )  # fmt: skip


def _stages_settings(task: Task) -> Mapping[str, Setting]:
    return {
        "taps": one_of(2, 3), "share": between(0.2, 0.5, 1.0), "order": one_of(2, 3),
        "ahead": between(0.0, 1.0, 2.0), "filter_frequency": between(highest_corner(task)),
    }  # fmt: skip


def _stages(
    task: Task, taps: int, share: float, order: int, ahead: float, filter_frequency: float
) -> Controller:
    first = prediction(task, share * task.lag, order, task.samples(share * task.lag, least=6))
    return TwoStageAdaptive(
        taps, ahead=ahead, filter_frequency=filter_frequency, threshold=quiet(task),
        largest_delay=longest_delay(task), process=beginning(task).get("process"), prediction=first,
    )  # fmt: skip


LEARNS = {"time series": AdaptiveTimeSeries, "model based": AdaptiveModelBased}
"""What may learn the remainder of a fixed inverse."""


def _remainder_settings(task: Task) -> Mapping[str, Setting]:
    fixed = {n: s for n, s in forward_settings(task).items() if n != "ahead"}
    return {
        **fixed, "learns": one_of(*LEARNS), "degree": one_of(1, 2), "ahead": between(0.0, 1.0, 2.0),
        "filter_frequency": between(highest_corner(task)),
    }  # fmt: skip


def _remainder(
    task: Task, learns: str, degree: int, ahead: float, filter_frequency: float, **fixed: int
) -> Controller:
    # What the motion is to lead by is the adaptive part's to keep: it sees the hold of the command.
    learnt = LEARNS[learns](
        order=degree, ahead=ahead, filter_frequency=filter_frequency, threshold=quiet(task),
        largest_delay=REMAINDER * task.lag + ahead * task.period,
    )  # fmt: skip
    return AdaptiveRemainder(forward(task, 0.5, **fixed), learnt)


ADAPTIVE = (
    Family("AdaptiveTimeSeries", _series(window=between(WINDOW)), _of_series(AdaptiveTimeSeries)),
    Family("AdaptiveModelBased", _series(rate=between(RATE)), _of_series(AdaptiveModelBased)),
    Family("ConditionalTimeSeries", _series(memory=between(MEMORY)), _of_series(ConditionalTimeSeries)),
    Family("AdaptivePrediction", _prediction_settings, _prediction),
    Family("RecursiveFir", _taps_settings, _taps),
    Family("TwoStageAdaptive", _stages_settings, _stages),
    Family("AdaptiveRemainder", _remainder_settings, _remainder),
)
"""In the order in which they are shown before anything is known of them."""
