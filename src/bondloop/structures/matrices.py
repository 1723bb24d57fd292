"""Mass, damping and stiffness matrices with named degrees of freedom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bondloop.errors import InputError, unknown_name

__all__ = ["Matrices"]

SYMMETRY = 1e-9
"""Largest relative asymmetry that is taken for rounding."""


@dataclass(frozen=True)
class Matrices:
    """M ü + C u̇ + K u = F with named degrees of freedom.

    Attributes
    ----------
    M, C, K
        Sparse symmetric matrices (CSR), shape (n, n), in SI units.
    dofs
        Names of the degrees of freedom, such as ``"tip.uy"``, in the order of the matrices.
    """

    M: Any
    C: Any
    K: Any
    dofs: tuple[str, ...]

    def __post_init__(self) -> None:
        from scipy import sparse

        n = len(self.dofs)
        if len(set(self.dofs)) != n:
            twice = sorted({d for d in self.dofs if self.dofs.count(d) > 1})
            raise InputError(f"degrees of freedom named twice: {', '.join(twice[:5])}")
        for name in ("M", "C", "K"):
            given = getattr(self, name)
            matrix = sparse.csr_array(np.zeros((n, n)) if given is None else given, dtype=float)
            if matrix.shape != (n, n):
                raise InputError(f"{name} has shape {matrix.shape}, but there are {n} degrees of freedom")
            if not np.all(np.isfinite(matrix.data)):
                raise InputError(f"{name} has entries that are not finite")
            difference = abs(matrix - matrix.T).tocoo()
            if difference.nnz and difference.max() > SYMMETRY * max(abs(matrix).max(), 1e-300):
                k = int(np.argmax(difference.data))
                i, j = int(difference.coords[0][k]), int(difference.coords[1][k])
                raise InputError(
                    f"{name} is not symmetric: entries ({self.dofs[i]}, {self.dofs[j]}) "
                    f"differ by {difference.data[k]:.3g}"
                )
            object.__setattr__(self, name, matrix)

    def __len__(self) -> int:
        return len(self.dofs)

    def index(self, dof: str) -> int:
        """Position of a degree of freedom."""
        try:
            return self.dofs.index(dof)
        except ValueError:
            raise InputError(unknown_name("degree of freedom", dof, self.dofs)) from None

    def indices(self, dofs: Iterable[str]) -> list[int]:
        """Positions of several degrees of freedom."""
        place = {d: i for i, d in enumerate(self.dofs)}
        wanted = list(dofs)
        for d in wanted:
            if d not in place:
                raise InputError(unknown_name("degree of freedom", d, self.dofs))
        return [place[d] for d in wanted]

    def sub(self, dofs: Sequence[str]) -> Matrices:
        """Return the matrices of some degrees of freedom, the others held."""
        k = self.indices(dofs)
        return Matrices(self.M[k][:, k], self.C[k][:, k], self.K[k][:, k], tuple(dofs))
