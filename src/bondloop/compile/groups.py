"""Statements of one form over different variables, put together so that each form is written once, as a loop.

A grid of 10,000 masses has 50,000 assignments, but only a handful of forms: a stiffness times a
displacement, a momentum over a mass, a sum of four forces. Statements that do not wait for one another
(those of one *level*, which is one more than the highest level of what a statement needs) can be computed in
any order. Those of a level that have the same form make a group. Every statement computes the same number
from the same numbers as before, so that no bit of a result changes.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.program.expr import Const, Expr, Op, Var, variables
from bondloop.program.schedule import Assign, Loop
from bondloop.program.tick import Repeat, Step, Update, every

if TYPE_CHECKING:
    from bondloop.compile.plan import Plan

__all__ = [
    "CELLS",
    "LEAST",
    "MANY",
    "MANY_AROUND_ARRAYS",
    "Form",
    "Group",
    "arranged",
    "assigned_again",
    "filled",
    "form",
]

MANY = 3000
"""Statements of a tick beyond which they are put together. Fewer are faster one by one (2.6 times at 1,000,
1.5 times at 3,000, not at 9,000), and compiled in 3 s at most; that grows with the square of their number."""

MANY_AROUND_ARRAYS = 500
"""The same where products give arrays: statements for one element each are slower than loops over them."""

LEAST = 16
"""Statements that make a group, at the least; fewer are written one by one."""

CELLS = "cells"
"""The array that holds what statements compute and groups need."""

Form = tuple[Hashable, ...]


@dataclass(frozen=True)
class Group:
    """Assignments of one form, none of which needs another.

    Attributes
    ----------
    assigns
        The assignments, in their order.
    leaves
        Of each its variables and numbers, from left to right.
    updates
        Whether the targets are states.
    """

    assigns: list[Assign]
    leaves: list[list[Var | Const]]
    updates: bool = False


def form(expr: Expr) -> tuple[Form, list[Var | Const]] | None:
    """Return the form of an expression and its leaves; None for a row of a matrix, which has its own way.

    An exponent belongs to the form, for small whole ones are written as products.

    >>> x, y = Var("x"), Var("y")
    >>> (one, leaves), (other, _) = form(2 * x - y**3), form(3 * y - x**3)
    >>> one == other, [str(v) for v in leaves]
    (True, ['2', 'x', 'y'])
    """
    tokens: list[Hashable] = []
    leaves: list[Var | Const] = []
    return (tuple(tokens), leaves) if _walk(expr, tokens, leaves) else None


def _walk(expr: Expr, tokens: list[Hashable], leaves: list[Var | Const]) -> bool:
    if not isinstance(expr, Op):
        assert isinstance(expr, (Var, Const))
        tokens.append(isinstance(expr, Const))
        leaves.append(expr)
        return True
    if expr.name == "row":
        return False
    args = expr.args
    tokens.append(expr.name)
    tokens.append(len(args))
    if expr.name == "pow" and isinstance(args[1], Const):
        tokens.append(args[1].value)
        args = args[:1]
    for a in args:
        if isinstance(a, Op):
            if not _walk(a, tokens, leaves):
                return False
        else:
            tokens.append(isinstance(a, Const))
            leaves.append(a)  # type: ignore[arg-type]
    return True


def filled(expr: Expr, leaves: Iterator[Expr]) -> Expr:
    """Return an expression of the same form with other leaves.

    >>> x, y, z = Var("x"), Var("y"), Var("z")
    >>> print(filled(2 * x - y**3, iter([z, y, x])))
    z*y - x**3
    """
    if not isinstance(expr, Op):
        return next(leaves)
    if expr.name == "pow" and isinstance(expr.args[1], Const):
        return Op("pow", (filled(expr.args[0], leaves), expr.args[1]))
    return expr.with_args(tuple(filled(a, leaves) for a in expr.args))


def assigned_again(plan: Plan) -> set[Var]:
    """Return the variables that more than one statement computes."""
    once: set[Var] = set()
    again: set[Var] = set()
    for step in every(plan.tick.steps):
        for v in step.writes:
            (again if v in once else once).add(v)
    return again


def arranged(
    steps: Sequence[Step],
    arrays: MutableMapping[Var, Hashable],
    again: Collection[Var],
    fixed: Collection[Var],
) -> Iterator[Group | list[Step]]:
    """Put the statements of a block into groups, and lists of those that are left.

    Parameters
    ----------
    steps
        The statements.
    arrays
        For variables that lie in an array: which. What the statements compute is added: it lies in `CELLS`.
    again
        Variables that more than one statement computes: such statements stay where they are.
    fixed
        Further variables that lie in no array.
    """
    waiting: list[Step] = []
    for step in steps:
        if isinstance(step, (Update, Repeat)) or (again and any(v in again for v in step.writes)):
            yield from _levels(waiting, arrays, fixed)
            waiting = []
            if isinstance(step, Update):
                yield from _updated(step, arrays, fixed)
            else:
                yield [step]
        else:
            waiting.append(step)
    yield from _levels(waiting, arrays, fixed)


_Alike = dict[Hashable, tuple[list[Assign], list[list[Var | Const]]]]


def _levels(
    steps: Sequence[Step], arrays: MutableMapping[Var, Hashable], fixed: Collection[Var]
) -> Iterator[Group | list[Step]]:
    level: dict[Var, int] = {}
    singles: dict[int, list[Step]] = {}
    alike: dict[int, _Alike] = {}
    last_loop = 0
    for step in steps:
        shape = form(step.expr) if isinstance(step, Assign) and step.target not in fixed else None
        n, kinds = 0, []
        for v in step.reads if shape is None else shape[1]:
            if isinstance(v, Var):
                n = max(n, level.get(v, 0))
                kinds.append(arrays.get(v, v))
        n += 1
        if isinstance(step, Loop):  # which of two loops fails first is part of the result
            n = last_loop = max(n, last_loop)
        for v in step.writes:
            level[v] = n
            if v not in fixed:
                arrays.setdefault(v, CELLS)
        if isinstance(step, Assign) and shape is not None:
            _join(alike.setdefault(n, {}), step, shape, kinds)
        else:
            singles.setdefault(n, []).append(step)
    for n in sorted({*singles, *alike}):
        left = singles.get(n, [])
        for assigns, leaves in alike.get(n, {}).values():
            if len(assigns) >= LEAST:
                yield Group(assigns, leaves)
            else:
                left += assigns
        if left:
            yield left


def _join(
    alike: _Alike, assign: Assign, shape: tuple[Form, list[Var | Const]], kinds: list[Hashable]
) -> None:
    """Put an assignment to those of its form whose variables lie in the same arrays."""
    key = (shape[0], tuple(kinds))
    if key not in alike:
        alike[key] = ([], [])
    assigns, leaves = alike[key]
    assigns.append(assign)
    leaves.append(shape[1])


def _updated(
    step: Update, arrays: MutableMapping[Var, Hashable], fixed: Collection[Var]
) -> Iterator[Group | list[Step]]:
    """All at once: what needs another state's old value, or has it needed, waits in a variable of its own."""
    if len(step.pairs) < LEAST:
        yield [step]
        return
    changed = {v for v, _ in step.pairs}
    shapes = [form(e) for _, e in step.pairs]
    entangled: set[Var] = set()
    for (v, e), shape in zip(step.pairs, shapes, strict=True):
        for u in variables(e) if shape is None else shape[1]:
            if u in changed and u is not v:
                entangled |= {u, v}
    pairs = {v: (e, shape) for (v, e), shape in zip(step.pairs, shapes, strict=True)}
    if entangled:
        before = [Assign(Var(f"{v.name}_next"), pairs[v][0]) for v, _ in step.pairs if v in entangled]
        for v, a in zip([v for v, _ in step.pairs if v in entangled], before, strict=True):
            pairs[v] = a.target, form(a.target)
        yield from _levels(before, arrays, fixed)
    alike: _Alike = {}
    left: list[tuple[Var, Expr]] = []
    for v, (e, shape) in pairs.items():
        if shape is None:
            left.append((v, e))
        else:
            _join(alike, Assign(v, e), shape, [arrays.get(u, u) for u in shape[1] if isinstance(u, Var)])
    for assigns, leaves in alike.values():
        if len(assigns) >= LEAST:
            yield Group(assigns, leaves, updates=True)
        else:
            left += [(a.target, a.expr) for a in assigns]
    if left:
        yield [Update(tuple(left))]
