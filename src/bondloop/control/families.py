"""The compensators that `recommend` tries, each with its settings from coarse to fine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict

from bondloop.control.adaptive.adaptive_feedforward import (
    AdaptiveModelBased,
    AdaptiveTimeSeries,
    ConditionalTimeSeries,
)
from bondloop.control.adaptive.adaptive_prediction import AdaptivePrediction
from bondloop.control.adaptive.adaptive_remainder import AdaptiveRemainder
from bondloop.control.adaptive.recursive_fir import RecursiveFir, TwoStageAdaptive
from bondloop.control.family import Family, Setting, Task, between, one_of
from bondloop.control.feedback.outer_loop import OuterLoop
from bondloop.control.feedback.sliding_mode import SlidingMode
from bondloop.control.feedback.smith_predictor import SmithPredictor
from bondloop.control.feedback.tracking_feedback import FeedforwardLQG, LoopShaping
from bondloop.control.feedforward.direct import Direct
from bondloop.control.feedforward.inverse_model import InverseModel, inverse_series
from bondloop.control.feedforward.lead_compensation import LeadCompensation
from bondloop.control.feedforward.polynomial_prediction import PolynomialPrediction
from bondloop.errors import BondloopError
from bondloop.transfer import Process

if TYPE_CHECKING:
    from bondloop.control.adaptive.adaptive_feedforward import AdaptiveFeedforward
    from bondloop.control.base import Compensator, Controller


class Beginning(TypedDict, total=False):
    """Where an adaptive compensator begins: at a process, or at a delay."""

    process: Process
    delay: float


def lags(task: Task) -> Setting:
    """Return delays about the whole lag of the transfer system."""
    return between(*(share * task.lag for share in (0.8, 1.0, 1.25)))


def spans(task: Task, *shares: float) -> Setting:
    """Return histories from a fraction of the lag to several times it, in samples."""
    return one_of(*sorted({task.samples(s * task.lag, least=6) for s in shares or (0.5, 1.0, 2.0, 4.0)}))


def prediction(
    task: Task, delay: float, order: int, samples: int, most_points: int = 24
) -> PolynomialPrediction:
    """Return a prediction by a history of so many samples, its points spread evenly over them.

    More points than ``most_points`` cost time and smooth no better over the same span.
    """
    points = min(samples, most_points) + 1
    return PolynomialPrediction(delay, order=order, span=samples * task.period, points=points)


def quiet(task: Task, share: float = 0.05) -> float:
    """Return the displacement in m below which nothing is adapted, a share of the largest."""
    return share * task.stroke


def highest_corner(task: Task) -> float:
    """Return a corner in Hz well above the motion, below half the rate."""
    return min(5.0 * task.frequency, 0.2 / task.period)


def adaptive_corners(task: Task) -> Setting:
    """Return corners above the motion."""
    return between(*sorted({min(2.0 * task.frequency, highest_corner(task)), highest_corner(task)}))


def longest_delay(task: Task) -> float:
    """Return the longest delay that may be adapted to: twice what is expected, or 50 ms."""
    return max(2 * task.lag, 0.05)


def beginning(task: Task, least: float = 0.5, most: float = 2.0) -> Beginning:
    """Return the process to begin an adaption at; its lag where its own inverse is beyond the bounds.

    The bounds are those that the adaptive compensators have for their gain by default.
    """
    try:
        gain, lag = inverse_series(task.process, 1, "process")
    except BondloopError:  # no static gain
        return {"delay": task.lag}
    if least <= gain <= most and lag >= 0 and max(lag, lag / gain) <= longest_delay(task):
        return {"process": task.process}
    return {"delay": task.lag}


def poles_for(task: Task, poles: int, smallest: float = 1e-60) -> Process:
    """Return a model of so many poles, without zeros and delay, that is the process for slow motions.

    Its denominator is the beginning of the series of 1/G; of a delay it is that of the exponential function,
    whose roots are stable up to the fourth. A coefficient below ``smallest`` is a delay or a lag of nothing.
    """
    series = list(inverse_series(task.process, poles, "process"))
    while len(series) > 2 and abs(series[-1]) < smallest:
        series.pop()
    return Process((1.0,), tuple(reversed(series)))


def forward_settings(task: Task) -> Mapping[str, Setting]:
    """Return what to try of a fixed inverse below a feedback or an adaption."""
    task.process.check_invertible()
    if not task.process.delay:
        return {"ahead": between(0.5, 2.0)}
    return {"samples": spans(task, 0.5, 1.0), "order": one_of(1, 2), "ahead": between(0.5, 2.0)}


def forward(task: Task, ahead: float, samples: int = 0, order: int = 0) -> Compensator:
    """Return that inverse: of a process with a delay, with a prediction over it."""
    if not task.process.delay:
        return InverseModel(task.process, ahead=ahead)
    delay = task.process.delay + ahead * task.period
    return InverseModel(task.process, prediction(task, delay, order, samples))


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
    share = 0.5  # of the lag, which an adaption may add to a fixed inverse, or take away
    # What the motion is to lead by is the adaptive part's to keep: it sees the hold of the command.
    learnt = LEARNS[learns](
        order=degree, ahead=ahead, filter_frequency=filter_frequency, threshold=quiet(task),
        largest_delay=share * task.lag + ahead * task.period,
    )  # fmt: skip
    return AdaptiveRemainder(forward(task, 0.5, **fixed), learnt)


# Speed of a gradient in 1/s, and seconds of motion that least squares count: refined, not tried coarsely.
ADAPTIVE = (
    Family("AdaptiveTimeSeries", _series(window=between(1.0)), _of_series(AdaptiveTimeSeries)),
    Family("AdaptiveModelBased", _series(rate=between(20.0)), _of_series(AdaptiveModelBased)),
    Family("ConditionalTimeSeries", _series(memory=between(4.0)), _of_series(ConditionalTimeSeries)),
    Family("AdaptivePrediction", _prediction_settings, _prediction),
    Family("RecursiveFir", _taps_settings, _taps),
    Family("TwoStageAdaptive", _stages_settings, _stages),
    Family("AdaptiveRemainder", _remainder_settings, _remainder),
)
"""In the order in which they are shown before anything is known of them."""


def _outer(task: Task) -> Mapping[str, Setting]:
    return {
        "proportional": between(0.5, 1.0, 2.0, 4.0),
        "integral": between(*(share / task.lag for share in (0.3, 1.0, 3.0))),
        "lead": between(*(share * task.lag for share in (0.1, 0.3, 1.0))),
    }


def _lag_of(lead: float, gain: float = 20.0) -> float:
    """Return the lag that goes with a lead, whose gain for fast motions is then as given."""
    return lead / gain


def _outer_loop(task: Task, proportional: float, integral: float, lead: float) -> Controller:  # noqa: ARG001
    return OuterLoop(proportional, integral, lead=lead, lag=_lag_of(lead))


def _one_pole(task: Task, most: float = 0.9) -> Process:
    """Return the process as its slowest pole, at most a share of the lag, and a delay for all the rest."""
    gain, lag = inverse_series(task.process, 1, "process")
    late = max(lag / gain, task.period)
    slowest = max((-1 / p.real for p in task.process.poles() if p.real < 0), default=late)
    slow = min(slowest, most * late)
    return replace(Process((1 / gain,), (slow, 1.0)), delay=late - slow)


def _smith(task: Task) -> Mapping[str, Setting]:
    late = _one_pole(task).delay
    return {
        "gain": between(1.0, 2.0, 4.0), "samples": spans(task, 0.5, 1.0), "order": one_of(1, 2),
        "delay": between(*(late + n * task.period for n in (0.5, 2.0))),
    }  # fmt: skip


def _smith_predictor(task: Task, gain: float, samples: int, order: int, delay: float) -> Controller:
    # The loop cancels the pole and leaves one `gain` times as quick, which the lead cancels.
    model = _one_pole(task)
    slow = model.denominator[0]
    lead = slow / (gain * model.gain)
    loop = OuterLoop(gain, gain / slow, lead=lead, lag=min(_lag_of(lead), task.period))
    return SmithPredictor(model, loop, prediction(task, delay, order, samples))


def _sliding(task: Task) -> Mapping[str, Setting]:
    return {
        "poles": one_of(2, 3),
        "bandwidth": between(*(share * task.frequency for share in (2.0, 4.0, 8.0))),
        "ahead": between(0.0, 1.0, 2.0),
    }


def _sliding_mode(task: Task, poles: int, bandwidth: float, ahead: float) -> Controller:
    return SlidingMode(poles_for(task, poles), bandwidth=bandwidth, ahead=ahead)


def _lqg(task: Task) -> Mapping[str, Setting]:
    return {
        **forward_settings(task), "effort": between(0.1), "disturbance": between(0.01, 0.1),
        "corner": between(*(share * task.frequency for share in (0.1, 0.4))),
    }  # fmt: skip


def _feedforward_lqg(
    task: Task, effort: float, disturbance: float, corner: float, ahead: float, **fixed: int
) -> Controller:
    sensed = 1e-3  # noise of the displacement sensor, as a share of the largest displacement
    return FeedforwardLQG(
        task.process, forward(task, ahead, **fixed), effort=effort, disturbance=disturbance * task.stroke,
        corner=corner, noise=sensed * task.stroke,
    )  # fmt: skip


def _shaping(task: Task) -> Mapping[str, Setting]:
    widths = between(*(share / task.lag for share in (0.05, 0.15, 0.45)))
    return {**forward_settings(task), "bandwidth": widths}


def _loop_shaping(task: Task, bandwidth: float, ahead: float, **fixed: int) -> Controller:
    return LoopShaping.for_bandwidth(task.process, bandwidth, forward(task, ahead, **fixed))


FEEDBACK = (
    Family("OuterLoop", _outer, _outer_loop),
    Family("SmithPredictor", _smith, _smith_predictor),
    Family("SlidingMode", _sliding, _sliding_mode),
    Family("FeedforwardLQG", _lqg, _feedforward_lqg),
    Family("LoopShaping", _shaping, _loop_shaping),
)
"""In the order in which they are shown before anything is known of them."""


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
