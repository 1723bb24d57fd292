"""Matrices of which some modes are damped, without the full matrix that this damping is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bondloop.errors import InputError
from bondloop.structures.factor import factor
from bondloop.structures.ground import keep_footing
from bondloop.structures.matrices import Matrices
from bondloop.structures.tolerances import FULL_DAMPING

if TYPE_CHECKING:
    from bondloop.structures.elements.base import Array
    from bondloop.structures.matrices import Sparse


class _ModallyDamped(Matrices):
    """Matrices with C + W diag(d) Wᵀ; the sum is made only where something asks for C.

    W = M Φ and d = 2 ζ ω of the modes that are damped (Clough and Penzien 1993, eq. 12-57).
    """

    _sparse: Sparse
    _weights: Array
    _rates: Array

    @property
    def C(self) -> Any:
        """The full damping matrix."""
        from scipy import sparse

        if "_weights" not in self.__dict__:  # while it is made
            return self.__dict__["_sparse"]
        if len(self) > FULL_DAMPING:
            raise InputError(
                f"the modal damping of {len(self)} degrees of freedom is a full matrix; modes, time_history, "
                "frequency_response and reductions do without it: reduce the structure first, with "
                "craig_bampton"
            )
        if "_whole" not in self.__dict__:
            whole = sparse.csr_array(self._sparse + (self._weights * self._rates) @ self._weights.T)
            object.__setattr__(self, "_whole", whole)
        return self.__dict__["_whole"]

    @C.setter
    def C(self, value: Any) -> None:
        self.__dict__["_sparse"] = value

    def sub(self, dofs: Sequence[str]) -> Matrices:
        """Return the matrices of some degrees of freedom, the others held."""
        k = self.indices(dofs)
        plain = Matrices(self.M, self._sparse, self.K, self.dofs)
        keep_footing(plain, getattr(self, "_footing", None))
        return damped(plain.sub(dofs), self._weights[k], self._rates)


def damped(matrices: Matrices, weights: Array, rates: Array) -> Matrices:
    """Return matrices with W diag(d) Wᵀ added to their damping.

    Parameters
    ----------
    matrices
        M, C, K.
    weights, rates
        W, shape (n, k), and d.
    """
    answer = _ModallyDamped(matrices.M, matrices.C, matrices.K, matrices.dofs)
    for name, value in (("_weights", weights), ("_rates", rates)):
        object.__setattr__(answer, name, np.asarray(value, dtype=float))
    keep_footing(answer, getattr(matrices, "_footing", None))
    return answer


def damping_of(matrices: Matrices) -> tuple[Any, Array, Array]:
    """Return the sparse part of the damping, and W and d of the rest; W has no columns where there is none.

    Parameters
    ----------
    matrices
        M, C, K.
    """
    if isinstance(matrices, _ModallyDamped):
        return matrices._sparse, matrices._weights, matrices._rates
    return matrices.C, np.zeros((len(matrices), 0)), np.zeros(0)


def damping_product(matrices: Matrices, motion: Array) -> Array:
    """Return C times a vector or the columns of a matrix, without the full C.

    Parameters
    ----------
    matrices
        M, C, K.
    motion
        Shape (n,) or (n, k).
    """
    C, W, d = damping_of(matrices)
    plain = np.asarray(C @ motion)
    return plain + (W * d) @ (W.T @ motion) if len(d) else plain


def dynamic_solver(
    matrices: Matrices, m: float, c: complex, kind: Literal["positive", "symmetric", "any"] = "positive"
) -> Callable[[Array], Array]:
    """Return the function b -> (K + c C + m M)⁻¹ b, with one sparse factorisation.

    What modal damping adds is of low rank: (A + W D Wᵀ)⁻¹ = A⁻¹ - A⁻¹ W (D⁻¹ + Wᵀ A⁻¹ W)⁻¹ Wᵀ A⁻¹ (Woodbury).

    Parameters
    ----------
    matrices
        M, C, K.
    m, c
        What mass and damping are multiplied by.
    kind
        As of `factor`.
    """
    C, W, d = damping_of(matrices)
    solve = factor(matrices.K + c * C + m * matrices.M, kind)
    acting = np.flatnonzero(d)
    if not len(acting) or c == 0:
        return solve
    W = W[:, acting]
    answers = solve(W.astype(np.result_type(c, float)))
    small = np.linalg.inv(np.diag(1 / (c * d[acting])) + W.T @ answers)
    return lambda b: (x := solve(b)) - answers @ (small @ (W.T @ x))
