"""How large the terms of a sum are before they cancel: the scale of what rounding leaves of it."""

from __future__ import annotations

from collections.abc import Sequence

from bondloop.program.expr import Const, Expr, Op, Var, function, select
from bondloop.program.schedule import Assign, Statement

__all__ = ["with_sizes"]


def with_sizes(statements: Sequence[Statement], goals: Sequence[Expr]) -> tuple[list[Statement], list[Expr]]:
    """Return a program that computes sizes beside values, and the sizes of some expressions of it.

    The size of a variable that is not computed is its magnitude, that of a sum the sum of the sizes.

    >>> a, b, c = Var("a"), Var("b"), Var("c")
    >>> _, (size,) = with_sizes([Assign(c, a - b)], [2 * c])
    >>> print(size)
    2*c.size
    """
    table: dict[Var, Expr] = {}

    def size(e: Expr) -> Expr:
        if isinstance(e, Var):
            return table[e] if e in table else function("fabs", e)
        if isinstance(e, Const):
            return Const(abs(e.value))
        assert isinstance(e, Op)
        if e.name == "add":
            return Op("add", tuple(size(a) for a in e.args))
        if e.name == "neg":
            return size(e.args[0])
        if e.name == "mul":
            return size(e.args[0]) * size(e.args[1])
        if e.name == "div":
            return size(e.args[0]) / function("fabs", e.args[1])
        if e.name == "select":
            return select(e.args[0], size(e.args[1]), size(e.args[2]))
        return function("fabs", e)

    result: list[Statement] = []

    def sized(target: Var, expr: Expr) -> None:
        own = Var(f"{target.name}.size")
        result.append(Assign(own, size(expr)))
        table[target] = own

    for statement in statements:
        result.append(statement)
        for target, expr in statement.defines:  # what is guessed counts with its magnitude
            sized(target, expr)
    return result, [size(g) for g in goals]
