"""The trapezoidal step of a large linear system, by products and factors that stay sparse.

(E - h/2 A) x⁺ = (E + h/2 A) x + h/2 B (u + u⁺). A state whose rate is one other state alone (a displacement)
is eliminated first: what is left, M + h/2 C + h²/4 K of a structure, is symmetric where the structure is, and
its factors are those of a structural program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.program.expr import Expr, Var
from bondloop.program.factored import Factored, worth_factors
from bondloop.program.solving import SingularError
from bondloop.program.tick import Product

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy import sparse

    from bondloop.program.statespace import StateSpace

__all__ = ["followers", "implicit_products"]


def implicit_products(
    space: StateSpace,
    h: float,
    states: Sequence[Var],
    targets: Sequence[Var],
    inputs: Sequence[Expr],
    *,
    full: bool = False,
    worked_in: frozenset[str] = frozenset(),
) -> list[Product] | None:
    """Return the products of a step; None where one with a full matrix is less work.

    Parameters
    ----------
    space
        The system.
    h
        The step.
    states, targets
        Variables of the states now and at the end of the step.
    inputs
        The inputs now, then those at the end of the step.
    full
        Where factors are more work than an inverse, take that of the states that are not eliminated; and
        eliminate stretches, too.
    worked_in
        Names of the parameters that the system's matrices are made of.
    """
    from scipy import sparse

    E, A, B = space.E, space.A, space.B
    follows = followers(E, A, stretches=full)
    lead, follow = np.flatnonzero(~follows).tolist(), np.flatnonzero(follows).tolist()
    left = sparse.csr_array(E - h / 2 * A)
    right = sparse.csr_array(sparse.hstack([E + h / 2 * A, h / 2 * B, h / 2 * B]))
    over = sparse.diags_array(1.0 / left.diagonal()[follow]) if len(follow) else sparse.csr_array((0, 0))
    moved = over @ -left[follow][:, lead]  # how the eliminated states follow the others
    known = over @ right[follow]
    among = left[lead][:, lead] + left[lead][:, follow] @ moved
    factors = Factored(among)
    inner: Factored | NDArray[np.float64] = factors
    try:
        if not worth_factors(factors):
            if not full:
                return None
            inner = np.linalg.inv(among.toarray())
    except SingularError:
        return None  # the full matrix says so, too
    sums = tuple(Var(f"{states[i].name}@right") for i in lead)
    leading = tuple(targets[i] for i in lead)
    sources = (*states, *inputs)
    products = [
        Product(sums, _kept(right[lead] - left[lead][:, follow] @ known), sources, worked_in),
        Product(leading, inner, sums),
    ]
    if len(follow):
        rest = _kept(sparse.hstack([known, moved]))
        products.append(Product(tuple(targets[i] for i in follow), rest, (*sources, *leading)))
    return products


def followers(
    E: sparse.csr_array[np.float64], A: sparse.csr_array[np.float64], *, stretches: bool
) -> NDArray[np.bool_]:
    """Find states that stand in E on the diagonal alone and whose rate is one state, none of them.

    Parameters
    ----------
    E, A
        Of the system.
    stretches
        Whether to find those whose rate is a sum of states that do not follow, too: devices' displacements.
    """
    from scipy import sparse

    E, A = (sparse.csr_array(M, copy=True) for M in (E, A))
    for M in (E, A):
        M.eliminate_zeros()
    n = E.shape[0]
    alone = (np.diff(E.indptr) == 1) & (np.diff(sparse.csc_array(E).indptr) == 1) & (E.diagonal() != 0)
    candidates = alone & (np.diff(A.indptr) == 1)
    leader = np.full(n, -1)
    leader[candidates] = A.indices[A.indptr[:-1][candidates]]
    follows = np.asarray(candidates & (leader >= 0) & ~candidates[leader], dtype=bool)
    if stretches:
        row = np.repeat(np.arange(n), np.diff(A.indptr))
        more = alone & ~follows & (np.bincount(row, follows[A.indices], n) == 0) & (np.diff(A.indptr) > 0)
        follows = follows | (more & (np.bincount(row, more[A.indices], n) == 0))
    return follows


def _kept(matrix: Any) -> sparse.csr_array[np.float64]:
    from scipy import sparse

    kept = sparse.csr_array(matrix)
    kept.eliminate_zeros()
    return kept
