"""Groups of statements in C: one loop for each, over places in arrays."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.compile.groups import CELLS, Group, arranged, assigned_again, filled
from bondloop.program.expr import Const, Expr, Var, variables
from bondloop.program.tick import Product, Step, every, reads

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bondloop.compile.c_tables import CTables
    from bondloop.compile.c_text import CText
    from bondloop.compile.plan import Plan

__all__ = ["CGroups"]

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
