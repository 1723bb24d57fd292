"""Whether a formula of the user's is the same each time it is written down."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from bondloop.errors import ModelError
from bondloop.program.expr import Const, Expr, Op, Var
from bondloop.program.traced import operations_of

__all__ = ["same_twice"]


def same_twice(first: Sequence[Expr], again: Sequence[Expr], known: Iterable[Var] | None, what: str) -> None:
    """Refuse a formula that is another one when it is traced again: it is traced only when a test is built.

    Parameters
    ----------
    first, again
        Expressions from two calls with the same arguments; variables are told by their names.
    known
        All variables that the second call could read: those of an earlier call are none of them. None where
        both calls read the same.
    what
        The user's method, for the message.

    Examples
    --------
    >>> x = Var("x")
    >>> same_twice([x + 1], [x + 1], [x], "Mine.step")
    >>> same_twice([x + 1], [x + 2], [x], "Mine.step")
    Traceback (most recent call last):
    bondloop.errors.ModelError: Mine.step gives another formula each time it is called: ...
    """
    numbers: dict[Hashable, int] = {}
    operations, _ = operations_of(again)
    read = {e for e in (*again, *(a for op in operations for a in op.args)) if isinstance(e, Var)}
    foreign = set() if known is None else read - set(known)
    if foreign or _numbered(first, numbers) != _numbered(again, numbers):
        raise ModelError(
            f"{what} gives another formula each time it is called: it keeps something elsewhere than in its "
            "states (a list, a counter, a global), or draws random numbers. It is called only when the test "
            "is built: name what it keeps in states = {...}, and give noise to a sensor or a signal"
        )


def _numbered(exprs: Sequence[Expr], numbers: dict[Hashable, int]) -> list[int]:
    """Return a number for each expression, the same for the same formula."""
    operations, _ = operations_of(exprs)  # operands first
    at: dict[int, int] = {}

    def number(expr: Expr) -> int:
        if isinstance(expr, Op):
            return at[id(expr)]
        key = ("number", repr(expr.value)) if isinstance(expr, Const) else ("variable", str(expr))
        return numbers.setdefault(key, len(numbers))

    for op in operations:
        key = (op.identity, *(number(a) for a in op.args))
        at[id(op)] = numbers.setdefault(key, len(numbers))
    return [number(e) for e in exprs]
