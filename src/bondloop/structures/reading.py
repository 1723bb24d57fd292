"""Reading: one number that an engineer looks at, as a sum over the motion of a structure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.ir import Const, Expr, Op

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.engine.ir import Quantity
    from bondloop.structures.dynamics.history import History
    from bondloop.structures.elements.base import Array


MOTIONS = ("displacement", "velocity", "acceleration")
"""What a reading may be a sum of."""

Row = Mapping[int, float]
"""Weights by the number of a degree of freedom."""


@dataclass(frozen=True)
class Reading:
    """A sum over displacements, velocities and accelerations of degrees of freedom.

    Attributes
    ----------
    quantity
        What it measures.
    displacement, velocity, acceleration
        Weights by the number of a degree of freedom, in the order of the matrices it is of.
    ground
        Weights of the ground's acceleration by direction, ``"ux"``, where the motion is counted from a ground
        that moves.

    Examples
    --------
    >>> from bondloop.engine.ir.quantity import Quantity
    >>> drift = Reading(Quantity("storey drift", "m", "displacement"), {0: -1.0, 1: 1.0})
    >>> drift.of([[0.01, 0.03], [0.02, 0.05]]).round(9).tolist()
    [0.02, 0.03]
    """

    quantity: Quantity
    displacement: Row = field(default_factory=dict)
    velocity: Row = field(default_factory=dict)
    acceleration: Row = field(default_factory=dict)
    ground: Mapping[str, float] = field(default_factory=dict)

    def of(
        self,
        displacement: ArrayLike,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        ground: Mapping[str, ArrayLike] | None = None,
    ) -> NDArray[np.float64]:
        """Return its values over time.

        Parameters
        ----------
        displacement, velocity, acceleration
            Motion of all degrees of freedom, shape (times, n); what is left out is zero, as in statics.
        ground
            Accelerations of the ground by direction, shape (times,).
        """
        values = np.zeros(np.shape(displacement)[:-1])
        for word, motion in zip(MOTIONS, (displacement, velocity, acceleration), strict=True):
            if motion is not None:
                for i, weight in getattr(self, word).items():
                    values = values + weight * np.asarray(motion, dtype=float)[..., i]
        for direction, weight in self.ground.items():
            if ground and direction in ground:
                values = values + weight * np.asarray(ground[direction], dtype=float)
        return values

    def over(self, history: History) -> NDArray[np.float64]:
        """Return its values over a time history of all degrees of freedom."""
        return self.of(history.displacements, history.velocities, history.accelerations)

    def expression(
        self, motion: Callable[[str, int], Expr], ground: Mapping[str, Expr] | None = None
    ) -> Expr:
        """Return it as an expression.

        Parameters
        ----------
        motion
            Gives the displacement, velocity or acceleration (the word) of a degree of freedom (its number).
        ground
            Accelerations of the ground by direction; none where the motion is counted from rest.
        """
        terms = [w * motion(word, i) for word in MOTIONS for i, w in getattr(self, word).items()]
        terms += [w * ground[d] for d, w in self.ground.items() if ground and d in ground]
        return total(terms)


def total(terms: Sequence[Expr]) -> Expr:
    """Return the sum of many terms as one operation, however many there are.

    >>> print(total([Const(2.0), Const(3.0)]), total([]))
    2 + 3 0
    """
    if len(terms) < 2:
        return terms[0] if terms else Const(0.0)
    return Op("add", tuple(terms))


def weights(row: Array) -> dict[int, float]:
    """Return the entries of a vector that are not zero."""
    dense = np.asarray(row, dtype=float).ravel()
    return {int(i): float(dense[i]) for i in np.flatnonzero(dense)}


def single(
    quantity: Quantity, word: str, row: dict[int, float], ground: Mapping[str, float] | None = None
) -> Reading:
    """Return a reading of one kind of motion alone."""
    u, v, a = (row if word == motion else {} for motion in MOTIONS)
    return Reading(quantity, u, v, a, dict(ground or {}))


Maker = Callable[[], Reading]
"""Makes a reading when it is asked for: there are very many."""
