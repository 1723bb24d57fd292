"""Families of compensators: which settings of each are worth trying for a transfer system."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.data import POSITIVE
from bondloop.errors import InputError
from bondloop.transfer import Process

if TYPE_CHECKING:
    from bondloop.control.base import Controller


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
