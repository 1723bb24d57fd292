"""Families of compensators: which settings of each are worth trying for a transfer system."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from bondloop.control.adaptive.adaptive_feedforward import (
    AdaptiveModelBased,
    AdaptiveTimeSeries,
    ConditionalTimeSeries,
)
from bondloop.control.adaptive.adaptive_prediction import AdaptivePrediction
from bondloop.control.adaptive.recursive_fir import RecursiveFir, TwoStageAdaptive
from bondloop.control.combinations import AdaptiveRemainder
from bondloop.control.feedback.outer_loop import OuterLoop, SmithPredictor
from bondloop.control.feedback.sliding_mode import SlidingMode
from bondloop.control.feedback.tracking_feedback import FeedforwardLQG, LoopShaping
from bondloop.control.feedforward.direct import Direct
from bondloop.control.feedforward.inverse_model import InverseModel, LeadCompensation, inverse_series
from bondloop.control.feedforward.polynomial_prediction import PolynomialPrediction
from bondloop.engine.data import POSITIVE
from bondloop.errors import BondloopError, InputError
from bondloop.transfer import Process

if TYPE_CHECKING:
    from bondloop.control.adaptive.adaptive_feedforward import AdaptiveFeedforward
    from bondloop.control.base import Compensator, Controller


Value = float | int | str


@dataclass(frozen=True)
class Task:
    """What a compensator is to do.

    Parameters
    ----------
    process
        Model of the transfer system.
    period
        Seconds between samples.
    frequency
        Highest frequency of interest, in Hz.
    stroke
        Largest displacement, in m.

    Examples
    --------
    A delay of 9 ms and a lag of 5 ms are together late by nearly their sum, and half a sample for the hold:

    >>> from bondloop.transfer import first_order
    >>> task = Task(first_order(1.0, 0.005, delay=0.009), period=0.001, frequency=5.0)
    >>> round(1e3 * task.lag, 2)
    14.46
    """

    process: Process
    period: float
    frequency: float
    stroke: float = 0.01

    def __post_init__(self) -> None:
        if not isinstance(self.process, Process):
            raise InputError(
                "process: expected a model of the transfer system, such as first_order(gain, time_constant) "
                f"or the process of a fit; found {type(self.process).__name__}"
            )
        for word in ("period", "frequency", "stroke"):
            POSITIVE.check(getattr(self, word), f"Task({word})")
        if not (self.process.denominator[-1] and self.process.numerator[-1]):
            raise InputError(
                f"process: {self.process} does not follow a constant command; give a model of the "
                "displacement, with neither a zero nor a pole at 0"
            )

    @cached_property
    def lag(self) -> float:
        """Seconds by which a motion of the highest frequency comes late, the hold of the command included."""
        f = np.linspace(0.0, self.frequency, 200)[1:]
        angle = np.unwrap(np.angle(self.process.response(f) / self.process.gain))
        return max(float(-angle[-1] / (2 * np.pi * f[-1])), 0.0) + self.period / 2

    def samples(self, seconds: float, least: int = 1) -> int:
        """Return a time in whole samples, at least so many."""
        return max(round(seconds / self.period), least)


@dataclass(frozen=True)
class Setting:
    """Values of one setting that are tried.

    Parameters
    ----------
    values
        In order.
    between
        Whether they are marks on a scale, with numbers between them and beyond them to be tried too.
    """

    values: tuple[Value, ...]
    between: bool = False

    @property
    def even(self) -> bool:
        """Whether steps of the scale are equal; otherwise they are equal factors."""
        return any(float(v) <= 0 for v in self.values)

    def around(self, value: float) -> tuple[float, float]:
        """Return the marks on both sides of a value, continued beyond the ends by the last step."""
        if len(self.values) < 2:
            at = self._scale([value])[0]
            return self._back(at - 0.3), self._back(at + 0.3)
        first, second, *_ = self._scale(self.values)
        last_but_one, last = self._scale(self.values[-2:])
        below, above = self._back(2 * first - second), self._back(2 * last - last_but_one)
        if self.even:
            below = max(below, 0.0)
        marks = [below, *(float(v) for v in self.values), above]
        low = max((m for m in marks if m < value), default=min(below, value))
        return low, min((m for m in marks if m > value), default=max(above, value))

    def share(self, low: float, high: float, value: float) -> float:
        """Return at which share of the way from one value to another a third one lies, on the scale."""
        a, b, x = self._scale([low, high, value])
        return (x - a) / (b - a) if b > a else 0.5

    def finer(self, times: int) -> Setting:
        """Return it with so many steps for each of its own."""
        if not self.between or len(self.values) < 2 or times == 1:
            return self
        marks = np.asarray(self._scale(self.values))
        places = np.linspace(0, len(marks) - 1, times * (len(marks) - 1) + 1)
        values = np.interp(places, np.arange(len(marks)), marks)
        return Setting(tuple(self._back(float(v)) for v in values), between=True)

    def middle(self, low: float, high: float, share: float) -> float:
        """Return the value at a share of the way from one to another, on the scale."""
        a, b = self._scale([low, high])
        return self._back(a + share * (b - a))

    def _scale(self, values: Sequence[Value]) -> list[float]:
        return [float(v) if self.even else float(np.log(float(v))) for v in values]

    def _back(self, mark: float) -> float:
        return mark if self.even else float(np.exp(mark))


def between(*values: float) -> Setting:
    """Return a setting on a scale: these values are tried first, then those about the best.

    Parameters
    ----------
    *values
        The marks, least first.

    Examples
    --------
    >>> [round(value, 9) for value in between(2.0, 8.0).finer(2).values]
    [2.0, 4.0, 8.0]
    """
    return Setting(tuple(float(v) for v in values), between=True)


def one_of(*values: Value) -> Setting:
    """Return a setting that is one of some values, with nothing between them: an order, a word.

    Parameters
    ----------
    *values
        The choices.

    Examples
    --------
    >>> one_of(1, 2, 3).finer(4).values
    (1, 2, 3)
    """
    return Setting(tuple(values))


@dataclass(frozen=True)
class Family:
    """Compensators of one kind, with what to try.

    Parameters
    ----------
    name
        What it is called.
    settings
        Of a task, what to try of each setting by name: `between` or `one_of`. It may raise an error of
        bondloop's where the kind does not suit the task: its words are shown.
    make
        Of a task, and the settings by name, the controller.

    Examples
    --------
    >>> from bondloop.control import LeadCompensation
    >>> from bondloop.transfer import first_order
    >>> lead = Family(
    ...     "lead",
    ...     lambda task: {"delay": between(0.8 * task.lag, 1.2 * task.lag), "ratio": one_of(3, 6)},
    ...     lambda task, delay, ratio: LeadCompensation(delay, ratio),
    ... )
    >>> task = Task(first_order(1.0, 0.01), period=0.001, frequency=5.0)
    >>> [candidate.values["ratio"] for candidate in lead.candidates(task)]
    [3, 6, 3, 6]
    """

    name: str
    settings: Callable[[Task], Mapping[str, Setting]] = field(repr=False)
    make: Callable[..., Controller] = field(repr=False)

    def candidates(self, task: Task, finer: int = 1) -> Iterator[Candidate]:
        """Yield all combinations of the settings.

        Parameters
        ----------
        task
            What they are to do.
        finer
            How many steps to make of each step of a scale.
        """
        settings = {name: s.finer(finer) for name, s in self.settings(task).items()}
        for values in itertools.product(*(s.values for s in settings.values())):
            yield Candidate(self, task, dict(zip(settings, values, strict=True)))

    def star(self, task: Task) -> Iterator[Candidate]:
        """Yield the middle of all settings, and each setting's other values beside it.

        Parameters
        ----------
        task
            What they are to do.
        """
        settings = self.settings(task)
        middle = Candidate(self, task, {n: s.values[(len(s.values) - 1) // 2] for n, s in settings.items()})
        yield middle
        for name, setting in settings.items():
            for value in setting.values:
                if value != middle.values[name]:
                    yield middle.other(**{name: value})


@dataclass(frozen=True)
class Candidate:
    """One compensator to try.

    Attributes
    ----------
    family, task
        Its kind, and what it is to do.
    values
        Its settings by name.
    carried
        Whether the measured force is carried on over the step, not held.
    """

    family: Family
    task: Task
    values: Mapping[str, Value]
    carried: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from others of the same task."""
        return self.family.name, self.carried, *self.values.values()

    def controller(self) -> Controller:
        """Return the controller."""
        return self.family.make(self.task, **self.values)

    def other(self, **values: Value) -> Candidate:
        """Return it with some settings changed."""
        return replace(self, values={**self.values, **values})


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
