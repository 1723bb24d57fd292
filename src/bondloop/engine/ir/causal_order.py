"""The order in which a program's assignments are computed, and the loops among them.

A program is a set of definitions ``variable := expression``. Sorting them by what needs what gives the
causal order. Definitions that need each other form an algebraic loop: a few of its variables (the *tears*)
are guessed, the rest follow in order, and a Newton iteration with a bounded number of steps makes the guesses
agree with their definitions. A loop that is linear in its tears needs exactly one step. In one that is not,
every variable that a law takes alone is a tear: so a start at zero is in the middle of every law, whatever
voltages the sources give, and a step can be made as long for each tear as its law allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from bondloop.engine.ir.calculus import partials
from bondloop.engine.ir.expr import Const, Expr, Op, Var, variables
from bondloop.engine.ir.loop_terms import bent_cause, beyond_tear, with_floor
from bondloop.engine.ir.statement import Assign, Loop, Statement
from bondloop.engine.ir.tolerances import NEWTON_ITERATIONS


class _Vector:
    """What all rows of a product need, as a node of its own: n of them have n edges to it, not n²."""

    __slots__ = ("args",)

    def __init__(self, args: tuple[Expr, ...]) -> None:
        self.args = args


def _is_row(expr: Expr) -> bool:
    return isinstance(expr, Op) and expr.name == "row"


class _Needs:
    """What definitions need: variables, and in place of a product's vector one node."""

    def __init__(self, definitions: Mapping[Var, Expr]) -> None:
        self.definitions = definitions
        self._vectors: dict[int, _Vector] = {}

    def of(self, node: Var | _Vector) -> Iterator[Var | _Vector]:
        """Return what a variable or a vector needs."""
        if isinstance(node, _Vector):
            return iter(dict.fromkeys(v for e in node.args for v in variables(e)))
        expr = self.definitions[node]
        if _is_row(expr):
            assert isinstance(expr, Op)
            return iter([self._vectors.setdefault(id(expr.args), _Vector(expr.args))])
        return iter(variables(expr))


def components(definitions: Mapping[Var, Expr], roots: Iterable[Var]) -> list[list[Var]]:
    """Strongly connected components of what ``roots`` need, dependencies first (Tarjan 1972, iterative)."""
    found = _components(definitions, roots)
    return [kept for c in found if (kept := [v for v in c if isinstance(v, Var)])]


def _components(definitions: Mapping[Var, Expr], roots: Iterable[Var]) -> list[list[Var | _Vector]]:
    index: dict[Var | _Vector, int] = {}
    low: dict[Var | _Vector, int] = {}
    on_stack: set[Var | _Vector] = set()
    stack: list[Var | _Vector] = []
    result: list[list[Var | _Vector]] = []
    needs = _Needs(definitions)
    for root in roots:
        if root in index or root not in definitions:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        work: list[tuple[Var | _Vector, Iterator[Var | _Vector]]] = [(root, needs.of(root))]
        while work:
            node, children = work[-1]
            advanced = False
            for child in children:
                if isinstance(child, Var) and child not in definitions:
                    continue
                if child not in index:
                    index[child] = low[child] = len(index)
                    stack.append(child)
                    on_stack.add(child)
                    work.append((child, needs.of(child)))
                    advanced = True
                    break
                if child in on_stack and index[child] < low[node]:
                    low[node] = index[child]
            if advanced:
                continue
            work.pop()
            if work and low[node] < low[work[-1][0]]:
                low[work[-1][0]] = low[node]
            if low[node] == index[node]:
                component = []
                while True:
                    member = stack.pop()
                    on_stack.discard(member)
                    component.append(member)
                    if member is node:
                        break
                result.append(component[::-1])
    return result


def _is_loop(component: Sequence[Var], definitions: Mapping[Var, Expr]) -> bool:
    return len(component) > 1 or component[0] in variables(definitions[component[0]])


def tear(
    component: Sequence[Var],
    definitions: Mapping[Var, Expr],
    rank: Mapping[Var, int],
    always: Sequence[Var] = (),
) -> tuple[list[Var], list[Var]]:
    """Choose tears of a loop; return them and the other members in causal order.

    Ranked variables (an arbitrarily assigned resistor's output, a dependent storage's rate) come first;
    after them the member that the most other members need. Those in ``always`` are tears in any case.
    """
    last = len(rank)
    needed_by: dict[Var, int] = dict.fromkeys(component, 0)
    for member in component:
        for var in variables(definitions[member]):
            if var in needed_by:
                needed_by[var] += 1
    tears: list[Var] = list(always)
    rest = {member: definitions[member] for member in component if member not in set(always)}
    work = [p for p in components(rest, rest) if _is_loop(p, rest)] if always else [list(component)]
    while work:
        part = work.pop()
        choice = min(part, key=lambda v: (rank.get(v, last), -needed_by[v]))
        tears.append(choice)
        rest = {member: definitions[member] for member in part if member is not choice}
        work += [p for p in components(rest, rest) if _is_loop(p, rest)]
    torn = set(tears)
    rest = {member: definitions[member] for member in component if member not in torn}
    return tears, [p[0] for p in components(rest, rest)]


def schedule(
    definitions: Mapping[Var, Expr],
    roots: Iterable[Var],
    preferred: Sequence[Var] = (),
    iterations: int = NEWTON_ITERATIONS,
) -> list[Statement]:
    """Order what ``roots`` need into assignments and loops."""
    statements: list[Statement] = []
    rank = {var: i for i, var in enumerate(preferred)}
    for nodes in _components(definitions, roots):
        component = [v for v in nodes if isinstance(v, Var)]
        if not component:
            continue
        expr = definitions[component[0]]
        alone = len(nodes) == 1 and (_is_row(expr) or component[0] not in variables(expr))
        if alone:  # a row that needed itself would be in one component with its vector
            statements.append(Assign(component[0], expr))
        else:
            statements.append(_loop(component, definitions, rank, iterations))
    return statements


def _loop(
    component: Sequence[Var], definitions: Mapping[Var, Expr], rank: Mapping[Var, int], iterations: int
) -> Loop:
    inside = dict.fromkeys(component)
    causes = (bent_cause(definitions[v], inside) for v in component)
    bent = dict.fromkeys(v for v in causes if v is not None)
    tears, order = tear(component, definitions, rank, sorted(bent, key=lambda v: rank.get(v, len(rank))))
    body = tuple(Assign(v, definitions[v]) for v in order)
    tangents: list[Assign] = []
    slopes: list[dict[Var, Expr]] = [{t: Const(1.0)} for t in tears]
    linear = True

    def slope(expr: Expr, j: int, law: bool = False) -> Expr:
        nonlocal linear
        total: Expr = Const(0.0)
        for var, d in partials(expr).items():
            if var in slopes[j]:
                if any(v in inside for v in variables(d)):
                    linear = False
                    if law and bent_cause(expr, inside) is tears[j]:
                        d = with_floor(d, var)  # noqa: PLW2901
                total = total + d * slopes[j][var]
        return total

    for assign in body:
        for j, t in enumerate(tears):
            value = slope(assign.expr, j, law=True)
            if isinstance(value, Const) and value.value == 0.0:
                continue
            if isinstance(value, (Const, Var)):
                slopes[j][assign.target] = value
                continue
            target = Var(f"d({assign.target.name})/d({t.name})")
            tangents.append(Assign(target, value))
            slopes[j][assign.target] = target
    jacobian = [[slope(definitions[t], j) for j in range(len(tears))] for t in tears]
    for i, t in enumerate(tears if not linear or (len(tears) == 1 and not body) else ()):
        rest = beyond_tear(definitions[t], t)
        if rest is not None:  # apart from the one: in the sum, what a small law adds to it would be lost
            jacobian[i][i] = Op("add", (Const(1.0), slope(rest, i)))
    return Loop(
        tears=tuple(tears),
        body=body,
        definitions=tuple(definitions[t] for t in tears),
        tangents=tuple(tangents),
        jacobian=tuple(tuple(row) for row in jacobian),
        linear=linear,
        iterations=1 if linear else iterations,
    )
