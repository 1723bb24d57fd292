"""Which equations of an element have to be solved together, and for what each of them is named.

A causality asks for one unknown of each port. Some of them follow one after another: each by one equation,
so there is nothing to choose, and where that equation does not say what its unknown is, nothing does. Others
stand in each other's equations. Solved one after another these would be divided by single slopes, and a slope
may be zero (two coils that do not couple, a pendulum that hangs straight) though all of them together leave
no doubt. So they are solved together, with the whole matrix of slopes and the pivots of the moment.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.bondgraph.relations import Relations, Solution

__all__ = ["blocks", "largest_pairing"]

FAR = 1e6
"""Cost of naming an equation for an unknown that it hardly holds: more than all powers of two together."""


def blocks(relations: Relations, solution: Solution) -> list[list[Any]]:
    """Return the unknowns in groups that have to be found together (strongly connected components).

    Whichever equation is matched with which unknown, the groups are the same (Dulmage and Mendelsohn 1958).
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    unknowns = [s for port in relations.ports for s in port if s in solution.equations]
    if len(unknowns) == 1:
        return [unknowns]
    needs = [
        [v == u or relations.way(solution.equations[u], v) is not None for v in unknowns] for u in unknowns
    ]
    count, label = connected_components(csr_array(np.array(needs)), connection="strong")
    return [[u for u, own in zip(unknowns, label, strict=True) if own == k] for k in range(count)]


def largest_pairing(slopes: Sequence[Sequence[float]]) -> list[int]:
    """Return a column for every row such that the product of the slopes is as large as it can be.

    It is the same in whatever units equations and unknowns are (Duff and Koster 2001).

    >>> largest_pairing([[1e-200, 3.0], [2.0, 1.0]])
    [1, 0]
    """
    from scipy.optimize import linear_sum_assignment

    cost: NDArray[np.float64] = np.array(
        [[-math.log2(abs(s)) if s and math.isfinite(s) else FAR for s in row] for row in slopes]
    )
    _, columns = linear_sum_assignment(cost)
    return [int(c) for c in columns]
