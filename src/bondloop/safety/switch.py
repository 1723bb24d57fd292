"""Switches that couple and uncouple the halves of a test, and what a start does to them."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bondloop.engine.data import Parameter, number
from bondloop.engine.ir import Assign, Const, Expr, Step, Update, Var, select
from bondloop.engine.passes import Applied, Context
from bondloop.errors import InputError
from bondloop.safety.base import SafetyBlock, limited
from bondloop.signals import Signal
from bondloop.units import is_of_kind


@dataclass(frozen=True)
class RampedSwitch(SafetyBlock):
    """A switch γ that moves linearly towards where it is wanted, and to zero when the test trips.

    A displacement switch scales the motion that is asked of the rig; a force switch mixes the measured and
    the simulated force, f = γ f_p + (1 - γ) f_n (du Bois 2010, eq. 25). Where it goes is the smaller of its
    schedule and of the operator's parameter ``NAME.target`` (1 unless changed while the test runs).

    Parameters
    ----------
    schedule
        Where it is wanted: a number from 0 to 1, or a signal over time (kept within 0 and 1).
    ramp
        Seconds that it takes from 0 to 1, and back.
    initial
        Where it stands before the first tick; by default the schedule if that is a number, else 0.

    Examples
    --------
    >>> RampedSwitch("50 %", ramp="200 ms")
    RampedSwitch(schedule=0.5, ramp=0.2, initial=0.5)
    """

    schedule: float | str | Signal = 1.0
    ramp: Parameter = Parameter(1.0, above=0, unit="s")
    initial: float | str | None = None

    def __post_init__(self) -> None:
        schedule = self.schedule
        if isinstance(schedule, Signal):
            if not is_of_kind(f"1 {schedule.unit}", "1"):
                raise InputError(
                    "RampedSwitch(schedule): expected a signal without a unit, or in %; found one in "
                    f"{schedule.unit}"
                )
        else:
            schedule = _fraction(schedule, "RampedSwitch(schedule)")
            object.__setattr__(self, "schedule", schedule)
        if self.initial is None:
            initial = 0.0 if isinstance(schedule, Signal) else schedule
        else:
            initial = _fraction(self.initial, "RampedSwitch(initial)")
        object.__setattr__(self, "initial", initial)

    @property
    def scheduled(self) -> bool:
        """Whether it moves by itself in the course of a test."""
        return isinstance(self.schedule, Signal) or self.schedule != self.initial

    @property
    def last_event(self) -> float:
        """Seconds after which its schedule lets it rest."""
        return self.schedule.last_event + self.ramp if isinstance(self.schedule, Signal) else 0.0

    def apply(self, target: Expr, tripped: Expr, release: float, context: Context) -> Applied:
        """Return the statements that move the switch by one tick.

        Parameters
        ----------
        target
            The schedule at this tick; NaN counts as 0.
        tripped
            Not zero while the test is tripped; the switch then goes to 0, whatever is wanted.
        release
            Seconds that it then takes from 1 to 0.
        context
            Names and period.

        Returns
        -------
        Applied
            The value is γ after this tick's move.
        """
        if not release > 0:
            raise InputError(f"{context.name}: the release must take longer than 0 s; found {release:g} s")
        assert isinstance(self.initial, float)
        gamma, now, goal, step = (Var(f"{context.name}.{w}") for w in ("gamma", "value", "goal", "step"))
        operator = Var(f"{context.name}.target")
        wanted = limited(select(target < operator, target, operator), 0.0, 1.0)
        wanted = select(target >= 0.0, wanted, 0.0)  # NaN is smaller than nothing
        move = select(goal > gamma + step, gamma + step, select(goal < gamma - step, gamma - step, goal))
        steps: list[Step] = [
            Assign(goal, select(tripped, 0.0, wanted)),
            Assign(step, select(tripped, context.period / release, context.period / self.ramp)),
            Assign(now, move),
            Update(((gamma, now),)),
        ]
        return Applied(steps, now, {gamma: self.initial}, {operator: 1.0})

    def target(self, time: Expr) -> Expr | None:
        """Return the schedule as an expression of the time; None where it has no closed form."""
        if isinstance(self.schedule, Signal):
            return self.schedule.expression(time)
        assert isinstance(self.schedule, float)
        return Const(self.schedule)


def _fraction(value: float | str, what: str) -> float:
    result = number(value, what, "1")
    if not 0 <= result <= 1:
        raise InputError(f"{what}: expected a number from 0 to 1; found {result:g}")
    return result


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
