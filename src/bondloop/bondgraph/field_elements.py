"""Fields: N-port storages and resistors with a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from bondloop.bondgraph.laws import check_number
from bondloop.bondgraph.parts import Element
from bondloop.errors import InputError, unknown_name
from bondloop.program.ranges import POSITIVE, Range

__all__ = ["CField", "Field", "IField", "RField"]


class Field(Element):
    """An N-port element with a matrix; its ports are ``field[0]``, ``field[1]``, ..."""

    word: ClassVar[str] = ""
    symmetric: ClassVar[bool] = True
    state_word: ClassVar[str] = ""
    diagonal: ClassVar[Range | None] = None
    """Which numbers the entries on the diagonal may be."""

    def __init__(self, matrix: Any = None, *, initial: Sequence[float] | None = None, **given: Any) -> None:
        super().__init__()
        kind = type(self).__name__
        for key in given:
            if key != self.word:
                raise InputError(unknown_name("parameter", key, [self.word], where=kind))
        matrix = given.get(self.word, matrix)
        if matrix is None:
            raise InputError(f"{kind} needs its {self.word} matrix")
        self.matrix = matrix if hasattr(matrix, "tocsr") else _matrix(matrix)
        n, m = self.matrix.shape
        if n != m or n < 1:
            raise InputError(f"{kind}({self.word}): expected a square matrix; found shape {(n, m)}")
        self.size = int(n)
        self._check(kind)
        self.start = (
            [0.0] * self.size if initial is None else [check_number(v, f"{kind}(initial)") for v in initial]
        )
        if len(self.start) != self.size:
            raise InputError(f"{kind}(initial): expected {self.size} values; found {len(self.start)}")

    def entries(self) -> list[list[tuple[int, Any]]]:
        """Non-zero entries by row: (column, value)."""
        if hasattr(self.matrix, "tocsr"):
            m = self.matrix.tocsr()
            return [
                [(int(j), float(v)) for j, v in zip(m.indices[a:b], m.data[a:b], strict=True) if v]
                for a, b in zip(m.indptr[:-1], m.indptr[1:], strict=True)
            ]
        return [
            [(j, self.matrix[i, j]) for j in range(self.size or 0) if self.matrix[i, j] != 0]
            for i in range(self.size or 0)
        ]

    def _check(self, kind: str) -> None:
        if self.symmetric and hasattr(self.matrix, "free_symbols") and self.matrix != self.matrix.T:
            raise InputError(
                f"{kind}({self.word}): the matrix is not symmetric; "
                "a storage field that conserves energy needs a symmetric matrix"
            )
        numeric = not hasattr(self.matrix, "free_symbols")
        if numeric and not np.all(
            np.isfinite(self.matrix.data if hasattr(self.matrix, "tocsr") else self.matrix)
        ):
            raise InputError(f"{kind}({self.word}): the matrix has entries that are not finite")
        if numeric and self.symmetric:
            difference = abs(self.matrix - self.matrix.T)
            largest = difference.max()
            if largest > 1e-9 * abs(self.matrix).max():
                raise InputError(
                    f"{kind}({self.word}): the matrix is not symmetric (entries differ by {largest:.3g}); "
                    "a storage field that conserves energy needs a symmetric matrix"
                )


def _matrix(given: Any) -> Any:
    if hasattr(given, "free_symbols"):
        if given.free_symbols:
            return given
        given = given.tolist()
    try:
        rows = [list(r) for r in given]
    except TypeError:
        raise InputError(f"expected a square matrix, as rows of numbers; found {given!r}") from None
    if any(getattr(v, "free_symbols", None) for row in rows for v in row):
        import sympy as sp

        return sp.Matrix(rows)
    try:
        return np.atleast_2d(np.asarray(rows, dtype=float))
    except (TypeError, ValueError):
        raise InputError("expected a matrix of numbers or SymPy expressions") from None


class IField(Field):
    """Inertia field: momentum = mass @ flow, with a symmetric mass matrix. Its states are the flows.

    Flows are kept as states because then mass @ d(flow)/dt = effort holds as it stands: the mass matrix goes
    into E and is never inverted, so that a sparse one stays sparse.
    """

    word: ClassVar[str] = "mass"
    state_word: ClassVar[str] = "flow"
    diagonal: ClassVar[Range | None] = POSITIVE

    def _check(self, kind: str) -> None:
        super()._check(kind)
        if hasattr(self.matrix, "tocsr"):
            diagonal = self.matrix.diagonal()
            if diagonal.min() <= 0:  # all that can be said at little cost; a singular one shows when solved
                raise InputError(
                    f"{kind}(mass): the matrix is not positive definite (diagonal entry "
                    f"{int(diagonal.argmin())} is {diagonal.min():.3g}); every degree of freedom needs a mass"
                )
        elif not hasattr(self.matrix, "free_symbols"):
            smallest = float(np.linalg.eigvalsh(self.matrix).min())
            if smallest <= 0:
                raise InputError(
                    f"{kind}(mass): the matrix is not positive definite (smallest eigenvalue "
                    f"{smallest:.3g}); check for a degree of freedom without mass"
                )


class CField(Field):
    """Compliance field: effort = stiffness @ displacement, with a symmetric stiffness matrix."""

    word: ClassVar[str] = "stiffness"
    state_word: ClassVar[str] = "displacement"


class RField(Field):
    """Resistor field: effort = resistance @ flow."""

    word: ClassVar[str] = "resistance"
    symmetric: ClassVar[bool] = False

    def __init__(self, matrix: Any = None, **given: Any) -> None:
        if "initial" in given:
            raise InputError("RField stores nothing, so it has no initial value")
        super().__init__(matrix, **given)
