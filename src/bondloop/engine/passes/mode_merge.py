"""The programs of several modes as one, with a choice only where they differ.

Each mode has assignments by name. Two modes share an assignment if it reads the same in both and everything
it reads is shared as well: partition refinement, as in minimising an automaton (Moore 1956), starting from
the hope that all is shared. So a switch in one corner of a model leaves the rest of it written once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from bondloop.engine.ir import Const, Expr, Op, Var, components, select, substitute, variables

VARIANT = "~"
"""Between a name and the number of its variant, where a variable is computed differently in some modes."""

Bits = tuple[int, ...]


class Merge:
    """The assignments of several modes, merged.

    Parameters
    ----------
    modes
        For every mode which elements impose their effort (1) and which their flow (0).
    programs
        For every mode its assignments.
    leaves
        By name, the variables that are not assigned: states, inputs, parameters, modes.
    conditions
        The variables of the elements' modes, in the order of the bits.

    Attributes
    ----------
    definitions
        The assignments of all modes together.
    """

    def __init__(
        self,
        modes: Sequence[Bits],
        programs: Sequence[Mapping[Var, Expr]],
        leaves: Mapping[str, Var],
        conditions: Sequence[Var],
    ) -> None:
        self.modes, self.conditions, self.leaves = modes, conditions, leaves
        self.tables: list[dict[Var, Expr]] = [{} for _ in modes]
        self.definitions: dict[Var, Expr] = {}
        shared: dict[tuple[str, int], Var] = {}
        classes = _refined(programs)
        counts: dict[str, int] = {}
        for own in classes:
            for name, number in own.items():
                counts[name] = max(counts.get(name, 0), number + 1)
        for program, own, table in zip(programs, classes, self.tables, strict=True):
            for v in program:
                key = (v.name, own[v.name])
                if key not in shared:
                    suffix = f"{VARIANT}{key[1] + 1}" if counts[v.name] > 1 else ""
                    shared[key] = Var(v.name + suffix, quantity=v.quantity)
                table[v] = shared[key]
        for program, table in zip(programs, self.tables, strict=True):
            for v, expr in program.items():
                merged = table[v]
                assert isinstance(merged, Var)
                if merged not in self.definitions:
                    self.definitions[merged] = self._put(expr, table)
        self._still_loops()

    def _still_loops(self) -> None:
        """Let loops that are not of the present mode be zero: there they need not have a solution."""
        used = [set(table.values()) for table in self.tables]
        for members in components(self.definitions, self.definitions):
            if len(members) == 1 and members[0] not in variables(self.definitions[members[0]]):
                continue
            for v in members:
                own = [Const(float(v in of_mode)) for of_mode in used]
                condition = self._chosen([(b, _shape(e), e) for b, e in zip(self.modes, own, strict=True)])
                self.definitions[v] = select(condition, self.definitions[v], 0.0)

    def _put(self, expr: Expr, table: dict[Var, Expr]) -> Expr:
        for v in variables(expr):
            if v not in table:
                table[v] = self.leaves[v.name]
        return substitute(expr, table)

    def value(self, exprs: Sequence[Expr]) -> Expr:
        """Return what is one expression in each mode as one expression of all."""
        merged = [self._put(e, table) for e, table in zip(exprs, self.tables, strict=True)]
        return self._chosen([(bits, _shape(e), e) for bits, e in zip(self.modes, merged, strict=True)])

    def _chosen(self, cases: Sequence[tuple[Bits, Hashable, Expr]]) -> Expr:
        """Return a choice by as few modes as are needed to tell the cases apart."""
        kinds = {shape for _, shape, _ in cases}
        if len(kinds) == 1:
            return cases[0][2]

        def split(i: int) -> list[list[tuple[Bits, Hashable, Expr]]]:
            return [[c for c in cases if c[0][i] == bit] for bit in (1, 0)]

        def cost(i: int) -> tuple[int, int]:
            sides = split(i)
            return (not all(sides), sum(len({shape for _, shape, _ in side}) for side in sides))

        best = min(range(len(self.conditions)), key=cost)
        yes, no = split(best)
        condition = Op("ne", (self.conditions[best], Const(0.0)))
        return select(condition, self._chosen(yes), self._chosen(no))


def _refined(programs: Sequence[Mapping[Var, Expr]]) -> list[dict[str, int]]:
    """Return for each mode a number for every name: equal ones where it reads the same."""
    shapes: list[dict[str, tuple[int, tuple[str, ...]]]] = []
    known: dict[Hashable, int] = {}
    for program in programs:
        own = {}
        for v, expr in program.items():
            read = tuple(w.name for w in variables(expr))
            own[v.name] = (known.setdefault(_shape(expr), len(known)), read)
        shapes.append(own)
    classes = [dict.fromkeys(own, 0) for own in shapes]
    total = -1
    while True:
        numbers: dict[str, dict[Hashable, int]] = {}
        refined = []
        for own, old in zip(shapes, classes, strict=True):
            fresh = {}
            for name, (shape, read) in own.items():
                key = (old[name], shape, tuple(old.get(r, -1) for r in read))
                of_name = numbers.setdefault(name, {})
                fresh[name] = of_name.setdefault(key, len(of_name))
            refined.append(fresh)
        count = sum(len(n) for n in numbers.values())
        classes = refined
        if count == total:
            return classes
        total = count


def _shape(expr: Expr) -> Hashable:
    """Return an expression as a value that equals that of any expression that reads the same."""
    if isinstance(expr, Var):
        return ("v", expr.name)
    if isinstance(expr, Const):
        return expr.value
    assert isinstance(expr, Op)
    return (expr.name, *map(_shape, expr.args))


def needed(
    definitions: Mapping[Var, Expr], goals: Iterable[Expr], put: Callable[[Expr], Expr]
) -> dict[Var, Expr]:
    """Return the definitions that expressions need, each as ``put`` makes it, in the order met.

    Parameters
    ----------
    definitions
        All that there are.
    goals
        What is to be computed, already put.
    put
        What is done to a definition before it is looked into: constants folded, variables put in.
    """
    found: dict[Var, Expr] = {}
    work = [v for e in goals for v in variables(e)]
    while work:
        v = work.pop()
        if v in definitions and v not in found:
            found[v] = put(definitions[v])
            work += variables(found[v])
    return found


def folded(expr: Expr, values: Mapping[Var, Expr]) -> Expr:
    """Return an expression with some variables replaced by constants, and choices by them made.

    >>> m, x = Var("m"), Var("x")
    >>> print(folded(select(Op("ne", (m, Const(0))), x, -x) + m, {m: Const(0)}))
    -x + 0
    """
    if isinstance(expr, Var):
        return values.get(expr, expr)
    if not isinstance(expr, Op):
        return expr
    if expr.name == "select":
        condition = folded(expr.args[0], values)
        if isinstance(condition, Const):
            return folded(expr.args[1 if condition.value else 2], values)
    args = tuple(folded(a, values) for a in expr.args)
    if expr.name == "ne" and all(isinstance(a, Const) for a in args):
        a, b = args
        return Const(float(a.value != b.value))  # type: ignore[attr-defined]
    return expr if all(a is b for a, b in zip(args, expr.args, strict=True)) else Op(expr.name, args)


def plain_name(v: Var) -> str:
    """Return the name that a variable has in the model, whichever modes it is of.

    >>> plain_name(Var("mass.effort~2"))
    'mass.effort'
    """
    return v.name.partition(VARIANT)[0]
