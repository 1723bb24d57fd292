"""What a start will do to the switches, in words: one that is open may close at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Starting", "start_words"]


@dataclass(frozen=True)
class Starting:
    """What a start does to one switch.

    Attributes
    ----------
    switch
        ``"displacement"`` or ``"force"``; empty for a test that has none.
    words
        What it does.
    couples
        Whether it couples the halves, a little or at some time, without another command.

    Examples
    --------
    >>> print(Starting("force", "closes in 0.5 s after Start", couples=True))
    force: closes in 0.5 s after Start
    """

    switch: str
    words: str
    couples: bool

    def __str__(self) -> str:
        return f"{self.switch}: {self.words}" if self.switch else self.words


def start_words(
    switches: Mapping[str, Mapping[str, Any] | None], targets: Mapping[str, float]
) -> tuple[Starting, ...]:
    """Return what a start will do to each switch, given the targets that the operator has set.

    A switch goes from ``initial`` to the smaller of its schedule and its target, at 1/``ramp`` a second.

    Parameters
    ----------
    switches
        By name: ``initial``, ``ramp`` in s, and ``schedule``, which is None for a signal over time; None for
        a switch of which nothing is known. Empty for a test without switches.
    targets
        By the same names, from 0 to 1; 1 where there is none.

    Examples
    --------
    >>> waiting = {"initial": 0.0, "ramp": 0.5, "schedule": 1.0}
    >>> start_words({"force": waiting}, {"force": 1.0})[0].words
    'closes in 0.5 s after Start'
    >>> start_words({"force": waiting}, {"force": 0.0})[0].words
    'stays out until ramped in'
    >>> print(*start_words({}, {}))
    Start couples the halves at once
    """
    if not switches:
        return (Starting("", "Start couples the halves at once", couples=True),)
    return tuple(
        Starting(name, "not known: expect that Start couples", couples=True)
        if switch is None
        else _starting(
            name, switch["initial"], switch["ramp"], switch["schedule"], _within(targets.get(name, 1.0))
        )
        for name, switch in switches.items()
    )


def _starting(name: str, initial: float, ramp: float, schedule: float | None, target: float) -> Starting:
    if schedule is None and target > 0:
        begins = f"begins at {_percent(initial)}, then " if initial > 0 else ""
        most = f", up to {_percent(target)}" if target < 1 else ""
        return Starting(name, f"{begins}follows its schedule{most}", couples=True)
    goal = 0.0 if schedule is None else min(schedule, target)
    seconds = f"{abs(goal - initial) * ramp:.3g} s"
    couples = max(goal, initial) > 0
    if not couples:
        words = "stays out until ramped in" if target <= 0 else "stays out: so its schedule says"
    elif goal == initial:
        words = f"coupled{'' if goal == 1 else f' at {_percent(goal)}'} from the first tick on"
    elif goal > initial:
        begins = f"begins at {_percent(initial)}, then " if initial > 0 else ""
        words = f"{begins}closes{'' if goal == 1 else f' to {_percent(goal)}'} in {seconds} after Start"
    else:
        words = (
            f"begins at {_percent(initial)}, then opens{f' to {_percent(goal)}' if goal else ''} in {seconds}"
        )
    return Starting(name, words, couples=couples)


def _within(target: float) -> float:
    """Return a target as the tick takes it: within 0 and 1; one that is no number might be anything."""
    return min(max(target, 0.0), 1.0) if target == target else 1.0  # noqa: PLR0124 - NaN


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
