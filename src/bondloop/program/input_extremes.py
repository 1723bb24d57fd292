"""When the inputs of a simulation are largest: states that start at zero get their sizes from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Row: TypeAlias = Sequence[float] | NDArray[np.floating | np.integer]
    InputValue: TypeAlias = float | Callable[[float], float] | tuple[Row, Row]
    """An input as `simulate` takes it: a number, a function of time, or a pair (times, values)."""

__all__ = ["Inputs"]

LOOKS = 200
"""How often inputs that are functions of time are looked at."""


class Inputs:
    """What is known of inputs before a simulation.

    Parameters
    ----------
    given
        Inputs by name, as `simulate` takes them.
    signals, rate_signals
        Inputs, and rates of inputs, as functions of time.
    span
        Start and end.

    >>> triangle = ([0.0, 1.0, 3.0], [0.0, -5.0, 0.0])
    >>> Inputs({"F": triangle}, [lambda t: -5 * t if t < 1 else 2.5 * t - 7.5], [], (0.0, 3.0)).extremes
    [1.0]
    """

    def __init__(
        self,
        given: Mapping[str, InputValue],
        signals: Sequence[Callable[[float], float]],
        rate_signals: Sequence[Callable[[float], float]],
        span: tuple[float, float],
    ) -> None:
        self.steady = not any(callable(v) or isinstance(v, tuple) for v in given.values())
        self.jumps = max(map(abs, span)) if any(map(callable, given.values())) else 0.0
        """The latest time at which an input may jump; zero where none does."""
        self.span = span
        self._given, self._signals = given, [*signals, *rate_signals]

    def value(self, name: str) -> InputValue:
        """Return an input as `simulate` takes it: a number, a function of time or a pair of rows."""
        return self._given.get(name, 0.0)

    @cached_property
    def extremes(self) -> list[float]:
        """When each input is farthest from zero; none where all are constant."""
        if self.steady:
            return []
        start, end = self.span
        times = [np.linspace(start, end, LOOKS + 1)]
        times += [np.asarray(v[0], dtype=float) for v in self._given.values() if isinstance(v, tuple)]
        instants = np.unique(np.clip(np.concatenate(times), start, end))
        sizes = np.abs([[s(t) for t in instants.tolist()] for s in self._signals])
        return sorted({float(instants[k]) for k in np.nanargmax(np.nan_to_num(sizes), axis=1)})
