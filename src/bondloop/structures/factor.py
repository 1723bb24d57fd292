"""One sparse factorisation, many solutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["factor"]


def factor(matrix: Any, *, symmetric: bool = True) -> Callable[[Any], Any]:
    """Return the function b -> matrix⁻¹ b.

    Parameters
    ----------
    matrix
        Sparse and square, real or complex.
    symmetric
        Whether to keep pivots on the diagonal, which keeps the factors of a stiffness matrix sparse. For
        indefinite matrices with zeros on the diagonal it must be False.

    Raises
    ------
    RuntimeError
        If the matrix is exactly singular.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> factor(sparse.csr_array([[2.0, 0.0], [0.0, 4.0]]))(np.array([2.0, 2.0])).tolist()
    [1.0, 0.5]
    """
    from scipy import sparse
    from scipy.sparse.linalg import splu

    columns = sparse.csc_array(matrix)
    if not symmetric:
        return splu(columns).solve
    return splu(
        columns, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.001, options={"SymmetricMode": True}
    ).solve
