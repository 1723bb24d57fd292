"""Slopes of statements in pieces, by what they are in: of the piece that was in force in a walk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["Tangents"]

Pairs = Sequence[tuple[int, float]]


@dataclass
class Tangents:
    """What the statements of a walk follow.

    Attributes
    ----------
    pieces
        By name of a variable with a statement in pieces, its slopes by number, the first time it is executed.
    curves
        The same of a state with a curved statement.
    made
        By number of a variable that a statement makes, its name and slopes.
    given
        By number of a state at the beginning, its name.
    """

    pieces: dict[str, Pairs] = field(default_factory=dict)
    curves: dict[str, Pairs] = field(default_factory=dict)
    made: dict[int, tuple[str, Pairs]] = field(default_factory=dict)
    given: Mapping[int, str] = field(default_factory=dict)

    def of(self, name: str, inner: Callable[[str], bool]) -> dict[str, float]:
        """Return the slopes of a statement that is not linear, by variable; empty where none is so named.

        Parameters
        ----------
        name
            Of the variable.
        inner
            Which variables are only steps on the way, so that what they follow counts instead.
        """
        slopes: dict[str, float] = {}
        left = dict(self._summed(self.pieces.get(name) or self.curves.get(name, ())))
        while left:
            column = max(left)  # what is made later follows what was made before
            slope = left.pop(column)
            made, pairs = self.made.get(column, ("", ()))
            if made and inner(made):
                for other, more in pairs:
                    left[other] = left.get(other, 0.0) + slope * more
            elif made or column in self.given:
                variable = made or self.given[column]
                slopes[variable] = slopes.get(variable, 0.0) + slope
        return slopes

    @staticmethod
    def _summed(pairs: Pairs) -> dict[int, float]:
        total: dict[int, float] = {}
        for column, slope in pairs:
            total[column] = total.get(column, 0.0) + slope
        return total
