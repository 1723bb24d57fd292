"""The test of Bayer, Dorka and Füllekrug 2000 rehearsed many times: one tick, other numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.analysis.spectrum import one_step
from bondloop.engine.codegen import Runner
from bondloop.papers.bayer_substep import peak_errors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.hybrid import PseudoDynamicTest

__all__ = ["Rehearsals", "Rehearsed"]


@dataclass(frozen=True)
class Rehearsed:
    """One rehearsal: the measured coupling force and the exact one.

    Attributes
    ----------
    force, exact
        In N, a value a time step.
    period
        Time step in s.
    growth
        Of the fastest-growing motion of one step, 1/s, and its frequency in Hz; below zero it decays.
    frequency
        See ``growth``.
    stable
        Whether all motions decay or rest.
    """

    force: NDArray[np.float64]
    exact: NDArray[np.float64]
    period: float
    growth: float
    frequency: float
    stable: bool

    @cached_property
    def error(self) -> float:
        """Root mean square of the force's error, relative to that of the exact force."""
        return float(np.sqrt(np.mean((self.force - self.exact) ** 2) / np.mean(self.exact**2)))

    @cached_property
    def peak_errors(self) -> dict[str, float]:
        """Relative errors of the heights of the peaks."""
        return peak_errors(self.force, self.exact, self.period)


class Rehearsals:
    """A test that is compiled once and rehearsed with many values of its parameters.

    Parameters
    ----------
    test
        A test with its reference.
    seconds
        Length of each rehearsal.

    Examples
    --------
    >>> from bondloop.papers import bayer_substep
    >>> many = Rehearsals(bayer_substep.test(9), 4.0)
    >>> for P in (0.0, -1.0):
    ...     print(f"P = {P:2.0f}: {100 * many.at({'scheme.P': P}).peak_errors['second_mode']:+.1f} %")
    P =  0: -16.3 %
    P = -1: +2.2 %
    """

    def __init__(self, test: PseudoDynamicTest, seconds: float) -> None:
        self.test, self.steps = test, round(seconds / test.period)

    @cached_property
    def _runner(self) -> Runner:
        return Runner(self.test.tick)

    def at(self, values: Mapping[str, float] | None = None) -> Rehearsed:
        """Rehearse it with some parameters changed, by path."""
        step = one_step(self.test.tick, values)
        self._runner.reset()
        record = self._runner.run(self.steps, parameters=values).channels
        return Rehearsed(
            record["force"],
            record["reference.force"],
            self.test.period,
            step.growth,
            step.frequency,
            step.stable,
        )
