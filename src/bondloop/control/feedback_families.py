"""The compensators with a loop of their own around the transfer system, as `recommend` tries them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from bondloop.control.family import Family, Setting, Task, between, one_of
from bondloop.control.feedforward_lqg import FeedforwardLQG
from bondloop.control.inverse_series import inverse_series
from bondloop.control.loop_shaping import LoopShaping
from bondloop.control.outer_loop import OuterLoop
from bondloop.control.sliding_mode import SlidingMode
from bondloop.control.smith_predictor import SmithPredictor
from bondloop.control.worth_trying import forward, forward_settings, poles_for, prediction, spans
from bondloop.transfer.process import Process

if TYPE_CHECKING:
    from bondloop.control.base import Controller

__all__ = ["FEEDBACK"]

LEAD = 20.0
"""Gain of a lead for fast motions; its lag is so much shorter."""

SENSED = 1e-3
"""Noise of the displacement sensor, as a share of the largest displacement, beside which LQG is designed."""

SLOWEST = 0.9
"""Share of the lag that the slowest pole of a simple model may make up."""


def _outer(task: Task) -> Mapping[str, Setting]:
    return {
        "proportional": between(0.5, 1.0, 2.0, 4.0),
        "integral": between(*(share / task.lag for share in (0.3, 1.0, 3.0))),
        "lead": between(*(share * task.lag for share in (0.1, 0.3, 1.0))),
    }


def _outer_loop(task: Task, proportional: float, integral: float, lead: float) -> Controller:  # noqa: ARG001
    return OuterLoop(proportional, integral, lead=lead, lag=lead / LEAD)


def _one_pole(task: Task) -> Process:
    """Return the process as its slowest pole, and a delay for all the rest."""
    gain, lag = inverse_series(task.process, 1, "process")
    late = max(lag / gain, task.period)
    slowest = max((-1 / p.real for p in task.process.poles() if p.real < 0), default=late)
    slow = min(slowest, SLOWEST * late)
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
    loop = OuterLoop(gain, gain / slow, lead=lead, lag=min(lead / LEAD, task.period))
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
    return FeedforwardLQG(
        task.process, forward(task, ahead, **fixed), effort=effort, disturbance=disturbance * task.stroke,
        corner=corner, noise=SENSED * task.stroke,
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
