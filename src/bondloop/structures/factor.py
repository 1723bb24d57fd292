"""One sparse factorisation, many solutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

__all__ = ["factor"]


def factor(matrix: Any, kind: Literal["positive", "symmetric", "any"] = "positive") -> Callable[[Any], Any]:
    """Return the function b -> matrix⁻¹ b.

    Parameters
    ----------
    matrix
        Sparse and square, real or complex.
    kind
        ``"positive"``: all pivots are taken from the diagonal, which keeps the factors of a stiffness matrix
        sparse and is also the most accurate (a beam of 1,000 elements has a condition number of 1e13);
        ``"symmetric"``: they are, unless one is small, as in a dynamic stiffness; ``"any"``: free choice.

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
    if kind == "any":
        return splu(columns).solve
    threshold = 0.0 if kind == "positive" else 0.1
    return splu(
        columns,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=threshold,
        options={"SymmetricMode": True},
    ).solve
