"""What a controller is asked for in the field's benchmark, and whether it reaches it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.papers.silva_criteria import NUMBERS

if TYPE_CHECKING:
    from bondloop.papers.silva_comparison import Comparison, Outcome

__all__ = ["ALLOWANCE", "GOALS", "Goal", "missed", "worst"]

ALLOWANCE = 0.3
"""What a plant that differs may add, in points (of J1, in ms)."""


@dataclass(frozen=True)
class Goal:
    """A bound on the size of a criterion.

    Parameters
    ----------
    name
        The criterion.
    most
        In its unit, or in the case's noise floor.
    of_floor
        Whether the bound is in the floor.
    """

    name: str
    most: float
    of_floor: bool = False

    def bound(self, floor: float) -> float:
        """Return the bound for a case with a noise floor in per cent."""
        return self.most * floor if self.of_floor else self.most


GOALS = (
    Goal("delay_ms", 0.5),
    Goal("tracking_rms_percent", 1.1, of_floor=True),
    Goal("floor_1_rms_percent", 1.1, of_floor=True),
    Goal("floor_2_rms_percent", 0.5),
    Goal("floor_3_rms_percent", 0.5),
)
"""Motion in time (a small lead makes up for the hold and a late force), hardly more error than the sensor's
noise makes, and the floors in the computer within half a per cent of the whole frame's."""


def worst(outcomes: Sequence[Outcome], name: str) -> float:
    """Return the largest size of a criterion, with its sign; infinite where a run stopped, NaN of no runs.

    Parameters
    ----------
    outcomes
        Of some runs.
    name
        The criterion.
    """
    values = [o.criteria.get(name, math.inf) for o in outcomes]
    return max(values, key=abs, default=math.nan)


def missed(comparison: Comparison, controller: str, case: int, *, nominal: bool) -> list[str] | None:
    """Return the numbers of the goals that a controller misses; None where nothing was run.

    Parameters
    ----------
    comparison
        All runs.
    controller, case
        Which.
    nominal
        Whether on the nominal plant, or on the others, with `ALLOWANCE`.
    """
    outcomes = comparison.of(controller, case, nominal=nominal)
    if not outcomes:
        return None
    floor, more = comparison.floors[case], 0.0 if nominal else ALLOWANCE
    return [
        NUMBERS[goal.name]
        for goal in GOALS
        if not abs(worst(outcomes, goal.name)) <= goal.bound(floor) + more
    ]
