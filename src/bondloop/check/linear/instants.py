"""A loop that is not linear, or adapts, linearised at instants of its run: each with its own growth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.check.linear.switched_modes import held, modes_of
from bondloop.engine.analysis.spectrum import Point, collection_paused
from bondloop.errors import BondloopError

if TYPE_CHECKING:
    from bondloop.check.linear.running_loop import RunningLoop
    from bondloop.engine.analysis.spectrum import OneStep


@dataclass(frozen=True)
class Instant:
    """The loop at one instant of a run.

    Attributes
    ----------
    step
        One step of it there, what adapts held as it was.
    point
        Where the run stood.
    """

    step: OneStep
    point: Point

    @property
    def time(self) -> float:
        """When, in s."""
        return self.point.count * self.step.period


@collection_paused()  # once for all points: after each it would go through all that they have made
def instants(loop: RunningLoop, points: Sequence[Point]) -> tuple[Instant, ...]:
    """Return a loop at the points of a run, as far as it can be linearised there.

    Parameters
    ----------
    loop
        The loop.
    points
        Of the run.
    """
    found = []
    for point in points:
        try:
            step = loop.at(point)
            modes = modes_of(loop.test, step)
            found.append(Instant(held(loop, point, modes) if modes else step, point))
        except BondloopError:
            continue  # a slope that does not exist at just this instant
    return tuple(found)
