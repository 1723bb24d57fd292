"""Static condensation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.data import Kind, register
from bondloop.errors import InputError, SolveError
from bondloop.structures.factor import factor
from bondloop.structures.reduction.base import Reduced, project, remember_reduction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.structures.matrices import Matrices


def constraint_modes(matrices: Matrices, kept: list[int], inner: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the static shapes -K_ii⁻¹ K_ib, shape (inner, kept): one kept at 1, the others held."""
    try:
        solve = factor(matrices.K[inner][:, inner])
    except RuntimeError:
        raise SolveError(
            "what is left when the kept degrees of freedom are held can still move by itself: its stiffness "
            "is singular; keep more of them, or support the structure"
        ) from None
    return -np.asarray(solve(matrices.K[inner][:, kept].toarray()))


def split(matrices: Matrices, names: Sequence[str], what: str) -> tuple[list[int], NDArray[np.int64]]:
    """Return the positions of named degrees of freedom and of all others."""
    if isinstance(names, str):
        names = [names]
    if not names or len(set(names)) < len(names):
        raise InputError(f"{what}: name one or more different degrees of freedom; found {list(names)}")
    kept = matrices.indices(names)
    inner = np.setdiff1d(np.arange(len(matrices)), kept)
    return kept, inner


def guyan(matrices: Matrices, keep: Sequence[str]) -> Reduced:
    """Keep some degrees of freedom; the others follow statically.

    u_i = -K_ii⁻¹ K_ik u_k. Exact at frequency zero for forces on what is kept; frequencies come out too
    high, the more so the nearer they lie to the lowest with everything kept held.

    Parameters
    ----------
    matrices
        The model.
    keep
        Degrees of freedom to keep.

    References
    ----------
    Guyan (1965), Reduction of stiffness and mass matrices, AIAA Journal 3, 380.

    Examples
    --------
    >>> from bondloop.structures.matrices import Matrices
    >>> chain = Matrices(np.eye(2), None, [[2.0, -1.0], [-1.0, 1.0]], ("a.ux", "b.ux"))
    >>> guyan(chain, keep=["b.ux"]).matrices.K.toarray().tolist()
    [[0.5]]
    """
    kept, inner = split(matrices, keep, "keep")
    T = np.zeros((len(matrices), len(kept)))
    T[kept, np.arange(len(kept))] = 1.0
    if len(inner):
        T[inner] = constraint_modes(matrices, kept, inner)
    names = [matrices.dofs[k] for k in kept]
    reduced = project(matrices, T, names, names, f"Guyan reduction to {len(kept)} of {len(matrices)}")
    return remember_reduction(reduced, "guyan", keep=names)


def matrices_by_guyan(of: Matrices, keep: Sequence[str]) -> Matrices:
    """Return the matrices of `guyan`, as a description calls them.

    Parameters
    ----------
    of, keep
        As of `guyan`.
    """
    return guyan(of, keep).matrices


register(Kind("matrices", "guyan", matrices_by_guyan))
