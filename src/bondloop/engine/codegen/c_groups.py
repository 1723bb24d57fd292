"""Groups of statements in C: one loop for each, over places in arrays."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.codegen import tolerances
from bondloop.engine.ir import (
    Assign,
    Const,
    Expr,
    Loop,
    Op,
    Product,
    Repeat,
    Step,
    Update,
    Var,
    every,
    reads,
    variables,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bondloop.engine.codegen.c_text import CTables, CText
    from bondloop.engine.codegen.plan import Plan


STATES, PARAMETERS = "((double *)s)", "((const double *)p)"


class CGroups:
    """Writes groups; knows in which array every variable lies that a group reads or computes.

    Parameters
    ----------
    plan
        The tick.
    text
        Writes expressions.
    tables
        Where tables of places and numbers are added.
    places
        The text of a variable, by variable: what a group's loop reads is added.
    elements
        The array and the place of variables that lie in one: what groups compute is added.
    """

    def __init__(
        self,
        plan: Plan,
        text: CText,
        tables: CTables,
        places: dict[Var, str],
        elements: dict[Var, tuple[str, int]],
    ) -> None:
        self.text, self.tables = text, tables
        self.size = 0
        self._places, self._elements = places, elements
        self._at = {v: (STATES, i) for i, v in enumerate(plan.states)}
        self._at |= {v: (PARAMETERS, i) for i, v in enumerate(plan.parameters)}
        self._arrays: dict[Var, Hashable] = {v: array for v, (array, _) in self._at.items()}
        self._again, self._fixed = assigned_again(plan), {*plan.hoisted, *self._at}
        self._kept = {v for c in plan.tick.channels for v in variables(c.value)} | plan.ends
        self._free: list[tuple[int, int]] = []

    def keep(self, step: Product) -> None:
        """Note that the results of a product lie in an array of their own."""
        self._arrays.update((v, id(step)) for v in step.targets if v not in self._fixed)

    def arranged(self, steps: Sequence[Step]) -> Block:
        """Arrange the statements of a block."""
        return Block(self, list(arranged(steps, self._arrays, self._again, self._fixed)))

    def lines(self, group: Group) -> list[str]:
        """Return the loop of a group, whose targets have their places."""
        n = len(group.assigns)
        leaves = [self._leaf(list(column)) for column in zip(*group.leaves, strict=True)]
        value = self.text(filled(group.assigns[0].expr, iter(leaves)))
        target = self._indexed([a.target for a in group.assigns])
        names = f"{group.assigns[0].target.name} to {group.assigns[-1].target.name}"
        safe = names.replace("*/", "* /").replace("/*", "/ *").replace("\n", " ")
        return [f"/* {n} alike: {safe} */", f"for (int i = 0; i < {n}; ++i)", f"    {target} = {value};"]

    def _leaf(self, column: list[Var | Const]) -> Expr:
        first = column[0]
        if isinstance(first, Const):
            values = [c.value for c in column if isinstance(c, Const)]
            numbers = [self.text.number(x) for x in values]
            if numbers.count(numbers[0]) == len(numbers):
                return first
            where = f"{self._table('double', 'numbers', values)}[i]"
        elif first not in self._arrays:
            return first
        else:
            where = self._indexed(column)  # type: ignore[arg-type]
        leaf = Var(where)
        self._places[leaf] = where
        return leaf

    def _indexed(self, column: Sequence[Var]) -> str:
        """Return element i of variables in one array: a place that moves evenly, or one from a table."""
        found = [self._elements.get(v) or self._at[v] for v in column]
        array = found[0][0]
        places = np.array([i for _, i in found])
        steps = np.diff(places)
        first = int(places[0])
        if len(steps) and (steps == steps[0]).all():
            return f"{array}[{_sum(first, int(steps[0]))}]"
        least = int(places.min())
        table = self._table("int", "places", places - least)
        return f"{array}[{least} + {table}[i]]" if least else f"{array}[{table}[i]]"

    def _table(self, kind: str, what: str, entries: ArrayLike) -> str:
        """Return the name of a table; the same one for the same entries."""
        return self.tables.add(kind, f"{what}_of_{len(self.tables) + 1}", entries)

    def take(self, members: Sequence[Var]) -> tuple[int, int]:
        """Give variables neighbouring cells; return the first cell and how many there are."""
        n = len(members)
        for k, (start, length) in enumerate(self._free):
            if length >= n:
                self._free[k : k + 1] = [(start + n, length - n)] if length > n else []
                break
        else:
            start = self.size
            if self._free and sum(self._free[-1]) == self.size:  # the last free cells are at the end
                start = self._free.pop()[0]
            self.size = start + n
        self._elements.update((v, (CELLS, start + i)) for i, v in enumerate(members))
        return start, n

    def release(self, start: int, length: int) -> None:
        """Free cells for others."""
        merged: list[tuple[int, int]] = []
        for a, b in sorted([*self._free, (start, length)]):
            if merged and sum(merged[-1]) == a:
                merged[-1] = (merged[-1][0], merged[-1][1] + b)
            else:
                merged.append((a, b))
        self._free = merged

    def settle(self, wanted: Collection[Var], computed: Collection[Var]) -> None:
        """Variables that no group of their block needs lie in no cell."""
        for v in computed:
            if v not in wanted and self._arrays.get(v) == CELLS:
                del self._arrays[v]

    def lies_in_cells(self, v: Var) -> bool:
        """Whether a variable is to have a cell."""
        return self._arrays.get(v) == CELLS

    def is_kept(self, v: Var) -> bool:
        """Whether a variable is needed until the end of the tick."""
        return v in self._kept


class Block:
    """The statements of a block in their new order, and how long their results are needed."""

    def __init__(self, groups: CGroups, items: list[Group | list[Step]]) -> None:
        self.items = items
        self._groups = groups
        self._last: dict[Var, int] = {}
        self._held: dict[int, list[tuple[int, int]]] = {}
        wanted: set[Var] = set()
        singles: list[Var] = []
        for i, item in enumerate(items):
            if isinstance(item, Group):
                read = {v for row in item.leaves for v in row if isinstance(v, Var)}
                wanted |= read
            else:
                read = reads(item)
                singles += [v for step in every(item) for v in step.writes]
            self._last.update(dict.fromkeys(read, i))
        groups.settle(wanted, singles)

    def begin(self, i: int) -> None:
        """Give the results of an item that groups need their cells."""
        item = self.items[i]
        if isinstance(item, Group):
            members = [] if item.updates else [a.target for a in item.assigns]
        else:
            members = [v for step in item for v in step.writes if self._groups.lies_in_cells(v)]
        if members:
            taken = self._groups.take(members)
            if not any(self._groups.is_kept(v) for v in members):
                self._held.setdefault(max(self._last.get(v, i) for v in members), []).append(taken)

    def end(self, i: int) -> None:
        """Free the cells that nothing after an item needs."""
        for taken in self._held.pop(i, []):
            self._groups.release(*taken)


def _sum(first: int, step: int) -> str:
    moving = "i" if step == 1 else f"{step}*i"
    if step == 0:
        return str(first)
    return f"{first} + {moving}" if first else moving


# Statements of one form over different variables, put together so that each form is written once, as a loop.
#
# A grid of 10,000 masses has 50,000 assignments, but only a handful of forms: a stiffness times a
# displacement, a momentum over a mass, a sum of four forces. Statements that do not wait for one another
# (those of one *level*, which is one more than the highest level of what a statement needs) can be computed
# in any order. Those of a level that have the same form make a group. Every statement computes the same
# number from the same numbers as before, so that no bit of a result changes.


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
            if len(assigns) >= tolerances.SMALLEST_GROUP:
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
    if len(step.pairs) < tolerances.SMALLEST_GROUP:
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
        if len(assigns) >= tolerances.SMALLEST_GROUP:
            yield Group(assigns, leaves, updates=True)
        else:
            left += [(a.target, a.expr) for a in assigns]
    if left:
        yield [Update(tuple(left))]
