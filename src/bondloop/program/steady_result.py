"""A steady state, and what of it the equations leave open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bondloop.program.null_space import equilibrated, null

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SteadyState", "left_open"]

SHARE = 1e-9
"""Share in a free direction, where the equations are of size one, from which a state takes part."""
NAMED = 4
"""States that a remark names before it counts."""


class SteadyState(dict[str, float]):
    """The states at rest by their paths, and whether the equations have only this rest.

    Where they have more, nearby, the start has decided: what is conserved was kept as it was there.

    Parameters
    ----------
    states
        Every state by its path.
    free
        States that the equations at rest leave open: they may be moved, together, and nothing changes. Of a
        system that is not linear this is so to first order.
    freedom
        In how many independent ways.

    Examples
    --------
    Of two springs side by side, only what they carry together is settled by a force:

    >>> from bondloop.bondgraph import C, I, Model, One, R, Se
    >>> pair = Model("pair")
    >>> pair.v, pair.a, pair.b = One(), C(stiffness=300), C(stiffness=100)
    >>> _ = Se("F") >> pair.v >> [I(mass=1), R(damping=10), pair.a, pair.b]
    >>> rest = pair.compile().steady_state({"F": 40})
    >>> round(rest["a.displacement"], 6), rest.unique, rest.free
    (0.1, False, ('a.displacement', 'b.displacement'))
    >>> print(rest.remark)
    not unique: the equations leave a.displacement and b.displacement open, in one way; the start has decided
    """

    def __init__(self, states: Mapping[str, float], free: tuple[str, ...] = (), freedom: int = 0) -> None:
        super().__init__(states)
        self.free = free
        self.freedom = freedom

    @property
    def unique(self) -> bool:
        """Whether no other rest is near."""
        return not self.freedom

    @property
    def remark(self) -> str:
        """What is to be said of it in words: empty where it is the only rest."""
        if self.unique:
            return ""
        shown = list(self.free)
        if len(shown) > NAMED + 1:
            shown = [*shown[:NAMED], f"{len(shown) - NAMED} more states"]
        names = " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
        ways = "one way" if self.freedom == 1 else f"{self.freedom} independent ways"
        return f"not unique: the equations leave {names} open, in {ways}; the start has decided"


def left_open(A: NDArray[np.float64]) -> tuple[NDArray[np.int_], int]:
    """Return which states A leaves open, by number, and in how many ways.

    >>> left_open(np.array([[0.0, 1.0, 0.0], [0.0, -2.0, 0.0], [0.0, 0.0, -1.0]]))
    (array([0]), 1)
    """
    directions = null(A)
    if not directions.shape[1]:
        return np.array([], dtype=int), 0
    share = np.abs(directions) / equilibrated(A)[2][:, None]
    share /= share.max(axis=0)
    return np.flatnonzero(share.max(axis=1) > SHARE), directions.shape[1]
