"""Truncation to the lowest modes, with what the others contribute statically."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.structures.dynamics.modal_analysis import modes
from bondloop.structures.dynamics.response import residual_flexibility
from bondloop.structures.loads import pattern
from bondloop.structures.reduction.base import Reduced, project

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.structures.matrices import Matrices


def modal_reduction(
    matrices: Matrices,
    count: int,
    static_correction: bool = True,
    interface: Sequence[str] = (),
) -> Reduced:
    """Keep the lowest modes, u = Φ q.

    With the static correction, the residual flexibility of each interface degree of freedom, (K⁻¹ - Φ Λ⁻¹
    Φᵀ) f, is added to the basis. It is orthogonal to the modes through M and through K, so the reduced
    model stays a set of single modes, the last few of them the corrections; the response at the interface
    to forces there is then exact at frequency zero.

    Parameters
    ----------
    matrices
        The model.
    count
        How many modes.
    static_correction
        Whether to correct; it needs an interface.
    interface
        Degrees of freedom where forces will act.

    References
    ----------
    MacNeal (1971), A hybrid method of component mode synthesis; Rubin (1975), AIAA Journal 13, 995-1006.

    Examples
    --------
    >>> from bondloop.structures.matrices import Matrices
    >>> chain = Matrices(np.eye(2), None, [[2.0, -1.0], [-1.0, 1.0]], ("a.ux", "b.ux"))
    >>> small = modal_reduction(chain, 1, interface=["b.ux"])
    >>> float(small.frequency_response("b.ux", "b.ux", [0.0])[0, 0, 0].real.round(9))
    2.0
    """
    places = [interface] if isinstance(interface, str) else list(interface)
    basis = modes(matrices, count)
    T, what = basis.shapes, f"{count} modes"
    if static_correction:
        if not places:
            raise InputError(
                "the static correction needs interface=[...], the degrees of freedom where forces will act; "
                "or give static_correction=False"
            )
        residual = _orthonormal(matrices, residual_flexibility(matrices, basis, pattern(matrices, places)))
        T = np.hstack([T, residual])
        what += f" and {residual.shape[1]} static corrections"
    return project(matrices, T, [f"mode[{i}]" for i in range(T.shape[1])], (), what)


def _orthonormal(matrices: Matrices, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Combine static shapes so that XᵀMX = I and XᵀKX is diagonal; those without mass are left out."""
    from scipy import linalg

    size = np.sqrt(np.maximum(np.einsum("ij,ij->j", X, matrices.K @ X), 0.0))
    X = X[:, size > 0] / size[size > 0]
    if not X.shape[1]:
        return X
    # Largest M for unit K first: what has (nearly) none is rounding, or all modes are there already.
    mass, turn = linalg.eigh(X.T @ (matrices.M @ X), X.T @ (matrices.K @ X))
    keep = mass > 1e-12 * max(float(mass.max()), 1e-300)
    return np.asarray(X @ turn[:, keep] / np.sqrt(mass[keep]))
