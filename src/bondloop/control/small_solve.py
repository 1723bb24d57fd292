"""Small symmetric systems of equations, solved by statements of a tick."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bondloop.program.expr import Const, Expr, Var, select
from bondloop.program.schedule import Assign

if TYPE_CHECKING:
    from bondloop.program.tick import Step

__all__ = ["solve_symmetric"]

LEAST_PIVOT = 1e-14
"""Pivots below this share of their diagonal entry are rounding errors, and are replaced by it."""


def solve_symmetric(
    matrix: Sequence[Sequence[Expr]], right: Sequence[Expr], name: str
) -> tuple[list[Step], list[Var]]:
    """Solve M x = r for a positive definite M of a few rows, by the factors L D L^T.

    Parameters
    ----------
    matrix
        Entries of M; only those on and below the diagonal are read. The diagonal must be positive.
    right
        Entries of r.
    name
        Prefix of the variables.
    """
    n = len(right)
    steps: list[Step] = []

    def put(word: str, value: Expr) -> Var:
        v = Var(f"{name}.{word}")
        steps.append(Assign(v, value))
        return v

    lower: dict[tuple[int, int], Expr] = {}
    pivots: list[Var] = []
    for j in range(n):
        diagonal = put(f"diagonal[{j}]", matrix[j][j])
        rest: Expr = diagonal
        for k in range(j):
            rest = rest - lower[j, k] * lower[j, k] * pivots[k]
        raw = put(f"raw_pivot[{j}]", rest)
        least = LEAST_PIVOT * diagonal
        pivots.append(put(f"pivot[{j}]", select(raw > least, raw, least)))
        for i in range(j + 1, n):
            entry: Expr = matrix[i][j]
            for k in range(j):
                entry = entry - lower[i, k] * lower[j, k] * pivots[k]
            lower[i, j] = put(f"factor[{i}][{j}]", entry / pivots[j])
    forward: list[Var] = []
    for i in range(n):
        value: Expr = right[i]
        for k in range(i):
            value = value - lower[i, k] * forward[k]
        forward.append(put(f"forward[{i}]", value))
    result: list[Var] = [Var("")] * n
    for i in reversed(range(n)):
        value = forward[i] / pivots[i] + Const(0.0)
        for k in range(i + 1, n):
            value = value - lower[k, i] * result[k]
        result[i] = put(f"solution[{i}]", value)
    return steps, result
