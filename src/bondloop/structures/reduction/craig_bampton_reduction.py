"""Component modes with a kept interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.data import Kind, register
from bondloop.errors import InputError
from bondloop.structures.dynamics.modal_analysis import modes
from bondloop.structures.reduction.base import Reduced, project, remember_reduction
from bondloop.structures.reduction.guyan_reduction import constraint_modes, split

if TYPE_CHECKING:
    from bondloop.structures.matrices import Matrices


def craig_bampton(matrices: Matrices, interface: Sequence[str], count: int = 20) -> Reduced:
    """Keep the interface, and the lowest modes of the rest with the interface held.

    u_i = -K_ii⁻¹ K_ib u_b + Φ q. The interface keeps its own degrees of freedom, so specimens and other
    models can be bonded to it; static forces there are exact.

    Parameters
    ----------
    matrices
        The model.
    interface
        Degrees of freedom that are kept.
    count
        Fixed-interface modes; with all of them nothing is lost.

    References
    ----------
    Craig and Bampton (1968), Coupling of substructures for dynamic analyses, AIAA Journal 6, 1313-1319.

    Examples
    --------
    >>> from bondloop.structures.matrices import Matrices
    >>> chain = Matrices(np.eye(2), None, [[2.0, -1.0], [-1.0, 1.0]], ("a.ux", "b.ux"))
    >>> craig_bampton(chain, interface=["b.ux"], count=1).matrices.dofs
    ('b.ux', 'mode[0]')
    """
    kept, inner = split(matrices, interface, "interface")
    b = len(kept)
    if count < 0:
        raise InputError(f"count must not be negative; found {count}")
    T = np.zeros((len(matrices), b + count))
    T[kept, np.arange(b)] = 1.0
    if len(inner):
        T[inner, :b] = constraint_modes(matrices, kept, inner)
    if count:
        T[inner, b:] = modes(matrices.sub([matrices.dofs[i] for i in inner]), count).shapes
    names = [matrices.dofs[k] for k in kept]
    reduced = project(
        matrices,
        T,
        [*names, *(f"mode[{i}]" for i in range(count))],
        names,
        f"Craig-Bampton with {b} interface degrees of freedom and {count} modes",
    )
    return remember_reduction(reduced, "craig_bampton", interface=names, count=count)


def matrices_by_craig_bampton(of: Matrices, interface: Sequence[str], count: int) -> Matrices:
    """Return the matrices of `craig_bampton`, as a description calls them.

    Parameters
    ----------
    of, interface, count
        As of `craig_bampton`.
    """
    return craig_bampton(of, interface, count).matrices


register(Kind("matrices", "craig_bampton", matrices_by_craig_bampton))
