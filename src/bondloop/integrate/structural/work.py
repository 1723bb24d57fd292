"""How much a step computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.program.expr import Const, Expr, Op
from bondloop.program.factored import Factored
from bondloop.program.schedule import Loop
from bondloop.program.tick import Product, Repeat, Step

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Work", "work"]


@dataclass(frozen=True)
class Work:
    """Work of a list of statements.

    Attributes
    ----------
    statements
        Assignments, each target of a matrix product and of an update counting as one.
    multiplications
        Multiplications, divisions and function calls; entries of a matrix that are zero do not count.
    """

    statements: int
    multiplications: int


def work(steps: Iterable[Step]) -> Work:
    """Count what a list of statements without algebraic loops computes.

    Parameters
    ----------
    steps
        The statements.

    Examples
    --------
    >>> from bondloop.program.expr import Var
    >>> from bondloop.program.schedule import Assign
    >>> work([Assign(Var("y"), 2 * Var("x") + 1)])
    Work(statements=1, multiplications=1)
    """
    statements = multiplications = 0
    for step in steps:
        if isinstance(step, Loop):
            raise TypeError("the work of an algebraic loop depends on its solver")
        if isinstance(step, Repeat):
            once = work(step.body)
            statements += step.count * once.statements
            multiplications += step.count * once.multiplications
            continue
        statements += len(step.writes)
        multiplications += sum(_count(e) for e in step.expressions)
        if isinstance(step, Product):
            kept = [not isinstance(e, Const) or e.value != 0.0 for e in step.sources]
            multiplications += _entries(step.matrix, kept)
    return Work(statements, multiplications)


def _entries(matrix: Any, kept: list[bool]) -> int:
    """Return how many numbers of a matrix are multiplied."""
    if isinstance(matrix, Factored):
        return matrix.entries
    return int(
        matrix[:, kept].count_nonzero() if hasattr(matrix, "tocsr") else np.count_nonzero(matrix[:, kept])
    )


def _count(expr: Expr) -> int:
    if not isinstance(expr, Op):
        return 0
    own = 0 if expr.name in ("add", "neg", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not") else 1
    return own + sum(_count(a) for a in expr.args)
