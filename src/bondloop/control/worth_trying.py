"""What families of compensators derive from a task: delays, histories, corners, beginnings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

from bondloop.control.family import Setting, Task, between, one_of
from bondloop.control.inverse_model import InverseModel
from bondloop.control.inverse_series import inverse_series
from bondloop.control.polynomial_prediction import PolynomialPrediction
from bondloop.errors import BondloopError
from bondloop.transfer.process import Process

if TYPE_CHECKING:
    from bondloop.control.compensator import Compensator

__all__ = [
    "Beginning", "adaptive_corners", "beginning", "forward", "forward_settings", "highest_corner", "lags",
    "longest_delay", "poles_for", "prediction", "quiet", "spans",
]  # fmt: skip

POINTS = 24
"""Points of a prediction at most: more of them cost time and smooth no better over the same span."""

QUIET = 0.05
"""Share of the largest displacement below which a controller that adapts stands still."""

GAINS = (0.5, 2.0)
"""Between these an adaptive compensator's gain stays unless told otherwise."""


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


def prediction(task: Task, delay: float, order: int, samples: int) -> PolynomialPrediction:
    """Return a prediction by a history of so many samples, its points spread evenly over them."""
    points = min(samples, POINTS) + 1
    return PolynomialPrediction(delay, order=order, span=samples * task.period, points=points)


def quiet(task: Task) -> float:
    """Return the displacement in m below which nothing is adapted."""
    return QUIET * task.stroke


def highest_corner(task: Task) -> float:
    """Return a corner in Hz well above the motion, below half the rate."""
    return min(5.0 * task.frequency, 0.2 / task.period)


def adaptive_corners(task: Task) -> Setting:
    """Return corners above the motion."""
    return between(*sorted({min(2.0 * task.frequency, highest_corner(task)), highest_corner(task)}))


def longest_delay(task: Task) -> float:
    """Return the longest delay that may be adapted to: twice what is expected, or 50 ms."""
    return max(2 * task.lag, 0.05)


def beginning(task: Task) -> Beginning:
    """Return the process to begin an adaption at; its lag where its own inverse is beyond the bounds."""
    least, most = GAINS
    try:
        gain, lag = inverse_series(task.process, 1, "process")
    except BondloopError:  # no static gain
        return {"delay": task.lag}
    if least <= gain <= most and lag >= 0 and max(lag, lag / gain) <= longest_delay(task):
        return {"process": task.process}
    return {"delay": task.lag}


NOTHING = 1e-60
"""A coefficient so small is a delay or a lag of nothing."""


def poles_for(task: Task, poles: int) -> Process:
    """Return a model of so many poles, without zeros and delay, that is the process for slow motions.

    Its denominator is the beginning of the series of 1/G; of a delay it is that of the exponential function,
    whose roots are stable up to the fourth.
    """
    series = list(inverse_series(task.process, poles, "process"))
    while len(series) > 2 and abs(series[-1]) < NOTHING:
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
