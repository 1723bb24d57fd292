"""The order in which a program's assignments are computed, and the loops among them.

A program is a set of definitions ``variable := expression``. Sorting them by what needs what gives the
causal order. Definitions that need each other form an algebraic loop: a few of its variables (the *tears*)
are guessed, the rest follow in order, and a Newton iteration with a bounded number of steps makes the guesses
agree with their definitions. A loop that is linear in its tears needs exactly one step. In one that is not,
every variable that a law takes alone is a tear: so a start at zero is in the middle of every law, whatever
voltages the sources give, and a step can be made as long for each tear as its law allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from bondloop.engine.ir.expr import FUNCTIONS, Const, Expr, Op, Var, function, select, variables
from bondloop.engine.ir.matrices import MatrixRow
from bondloop.engine.ir.statement import Assign, Loop, Statement
from bondloop.engine.ir.tolerances import LAW_FLOOR, NEWTON_ITERATIONS

# Derivatives of expressions, one assignment at a time.
#
# A program is differentiated by differentiating each small assignment and chaining the results; no large
# expression is ever formed. Where a function is not differentiable (``sign``, ``floor``, a comparison) the
# derivative of the smooth pieces on either side is used.


_ONE = Const(1.0)
_ZERO = Const(0.0)


def _rules(op: Op) -> list[Expr]:  # noqa: PLR0911 - one case per operation
    """Partial derivatives of an operation with respect to each of its operands."""
    name, args = op.name, op.args
    if name == "add":
        return [_ONE] * len(args)
    if name == "neg":
        return [Const(-1.0)]
    if name == "mul":
        return [args[1], args[0]]
    if name == "div":
        return [1 / args[1], -(op / args[1])]
    if name == "pow":
        base, exponent = args
        d_base = exponent * base ** (exponent - 1)
        d_exponent = _ZERO if isinstance(exponent, Const) else op * function("log", base)
        return [d_base, d_exponent]
    if name == "select":
        return [_ZERO, select(args[0], 1, 0), select(args[0], 0, 1)]
    if name in _UNARY:
        return [_UNARY[name](args[0], op)]
    if name in ("fmin", "fmax"):
        first = args[0] <= args[1] if name == "fmin" else args[0] >= args[1]
        return [select(first, 1, 0), select(first, 0, 1)]
    if name == "atan2":
        y, x = args
        r2 = y * y + x * x
        return [x / r2, -y / r2]
    return [_ZERO] * len(args)  # comparisons, logic: constant almost everywhere


_UNARY: dict[str, Callable[[Expr, Expr], Expr]] = {
    "sin": lambda x, _f: function("cos", x),
    "cos": lambda x, _f: -function("sin", x),
    "tan": lambda _x, f: 1 + f * f,
    "asin": lambda x, _f: 1 / function("sqrt", 1 - x * x),
    "acos": lambda x, _f: -1 / function("sqrt", 1 - x * x),
    "atan": lambda x, _f: 1 / (1 + x * x),
    "sinh": lambda x, _f: function("cosh", x),
    "cosh": lambda x, _f: function("sinh", x),
    "asinh": lambda x, _f: 1 / function("sqrt", 1 + x * x),
    "atanh": lambda x, _f: 1 / (1 - x * x),
    "tanh": lambda _x, f: 1 - f * f,
    "exp": lambda _x, f: f,
    "log": lambda x, _f: 1 / x,
    "sqrt": lambda _x, f: 0.5 / f,
    "cbrt": lambda _x, f: 1 / (3 * f * f),
    "fabs": lambda x, _f: function("sign", x),
    "floor": lambda _x, _f: _ZERO,
    "sign": lambda _x, _f: _ZERO,
}


def partials(expr: Expr) -> dict[Var, Expr]:
    """Partial derivatives of an expression with respect to each variable in it.

    >>> x, k = Var("x"), Var("k")
    >>> {v.name: str(d) for v, d in partials(k * x**2).items()}
    {'k': 'x**2', 'x': 'k*(2*x)'}
    """
    if isinstance(expr, Var):
        return {expr: _ONE}
    if isinstance(expr, Const):
        return {}
    assert isinstance(expr, Op)
    expr = expr.written_out()
    if not isinstance(expr, Op):
        return partials(expr)
    result: dict[Var, Expr] = {}
    for arg, outer in zip(expr.args, _rules(expr), strict=True):
        if outer is _ZERO or (isinstance(outer, Const) and outer.value == 0.0):
            continue
        if isinstance(arg, Var):
            result[arg] = result[arg] + outer if arg in result else outer
        elif isinstance(arg, Op):
            for var, inner in partials(arg).items():
                term = outer * inner
                result[var] = result[var] + term if var in result else term
    return result


def derivative(expr: Expr, var: Var) -> Expr:
    """Partial derivative with respect to one variable.

    >>> x = Var("x")
    >>> print(derivative(-x + x**3, x))
    -1 + 3*x**2
    """
    return partials(expr).get(var, _ZERO)


def tangent(expr: Expr, seeds: dict[Var, Expr]) -> Expr:
    """Directional derivative: the sum of partials times the tangents of the variables.

    ``seeds`` holds the tangent of every variable that has one; the others are constant.
    """
    if isinstance(expr, Op) and expr.name == "row":  # the rate of a product is the product with the rates
        args = tuple(tangent(a, seeds) for a in expr.args)
        return expr.with_args(args) if any(a is not _ZERO for a in args) else _ZERO
    total: Expr = _ZERO
    for var, d in partials(expr).items():
        if var in seeds:
            total = total + d * seeds[var]
    return total


# What Newton's method needs to know of a loop besides its equations: laws of one tear, sizes of terms.


@dataclass(frozen=True)
class Curve:
    """A law that is not linear, of a single tear.

    Attributes
    ----------
    tear
        The number of the tear.
    law, slope
        Its formula, and the derivative by the tear.
    """

    tear: int
    law: Expr
    slope: Expr


def bent_cause(expr: Expr, inside: Mapping[Var, object]) -> Var | None:
    """Return the only variable of a loop that an expression depends on, if it is not linear in it."""
    causes = {v for v in variables(expr) if v in inside}
    if len(causes) != 1:
        return None
    (cause,) = causes
    slope = partials(expr).get(cause)
    return cause if slope is not None and cause in variables(slope) else None


def beyond_tear(definition: Expr, tear: Var) -> Expr | None:
    """Return g of a definition ``tear + g``, which asks for g = 0; None where it has another form.

    The two have units of their own: where g is 1e-12 newtons and the tear a metre per second, little would be
    left of g in their sum.

    >>> x, effort = Var("x"), Var("effort")
    >>> print(beyond_tear(x + (effort - x**3), x))
    effort - x**3
    """
    if not (isinstance(definition, Op) and definition.name == "add" and definition.args[0] is tear):
        return None
    rest = definition.args[1:]
    return rest[0] if len(rest) == 1 else Op("add", rest)


def implicit(loop: Loop) -> list[Expr | None]:
    """Return what each definition adds to its tear, where it is of that form.

    A linear loop of more than a law is solved as it stands: its pivots are judged beside the one of I - J.
    """
    if loop.linear and (loop.body or len(loop.tears) > 1):
        return [None] * len(loop.tears)
    return [beyond_tear(d, t) for d, t in zip(loop.definitions, loop.tears, strict=True)]


def curves(loop: Loop) -> list[Curve]:
    """Return the laws of single tears in a loop."""
    numbers = {t: i for i, t in enumerate(loop.tears)}
    inside = dict.fromkeys([*loop.tears, *(a.target for a in loop.body)])
    laws = []
    ends = [d if g is None else g for d, g in zip(loop.definitions, implicit(loop), strict=True)]
    for expr in (*(a.expr for a in loop.body), *ends):
        cause = bent_cause(expr, inside)
        if cause is not None and cause in numbers:
            laws.append(Curve(numbers[cause], expr, partials(expr)[cause]))
    return laws


def with_floor(slope: Expr, cause: Var) -> Expr:
    """Return the slope of a law, no flatter than a small part of what it is at zero, where that exists."""
    if not _defined_at_zero(slope, cause):
        return slope
    return slope + Const(LAW_FLOOR) * at_zero(slope, cause)


def at_zero(expr: Expr, cause: Var) -> Expr:
    """Return what an expression is where a variable is zero, as short as that makes it."""
    if expr is cause:
        return Const(0.0)
    if not isinstance(expr, Op):
        return expr
    args = [at_zero(a, cause) for a in expr.args]
    if expr.name == "add":
        return sum(args[1:], start=args[0])
    if expr.name == "neg":
        return -args[0]
    if expr.name == "mul":
        return args[0] * args[1]
    if expr.name == "div":
        return args[0] / args[1]
    if expr.name in FUNCTIONS:
        return function(expr.name, *args)
    return Op(expr.name, tuple(args))


def _defined_at_zero(expr: Expr, cause: Var) -> bool:
    """Whether nothing in an expression can fail because a variable is zero."""
    if not isinstance(expr, Op):
        return True
    risky = {"div": expr.args[1:], "pow": expr.args, "sqrt": expr.args, "log": expr.args}.get(expr.name, ())
    if any(cause in variables(a) for a in risky):
        return False
    return all(_defined_at_zero(a, cause) for a in expr.args)


def sizes(loop: Loop) -> tuple[list[Assign], list[Expr]]:
    """Return the sizes of the terms of each residual before they cancel: what its rounding is relative to.

    The assignments come first: what is needed of the body, and sizes of its variables.
    """
    size_of: dict[Var, Expr] = {}
    every = []
    for a in loop.body:
        target = Var(f"size of {a.target.name}")
        every += [a, Assign(target, _size(a.expr, size_of))]
        size_of[a.target] = target
    totals = []
    for d, t, g in zip(loop.definitions, loop.tears, implicit(loop), strict=True):
        totals.append(_size(d, size_of) + abs(t) if g is None else _size(g, size_of))
    needed = {v for total in totals for v in variables(total)}
    assigns: list[Assign] = []
    for assign in reversed(every):
        if assign.target in needed:
            needed.update(variables(assign.expr))
            assigns.append(assign)
    return assigns[::-1], totals


def _size(expr: Expr, size_of: Mapping[Var, Expr]) -> Expr:
    if isinstance(expr, Var):
        known = size_of.get(expr)
        return abs(expr) if known is None else known
    if isinstance(expr, MatrixRow):  # the forces of a stiff field are small differences of large terms
        terms = tuple(Const(abs(x)) * _size(a, size_of) for a, x in expr.entries())
        return Op("add", terms) if len(terms) > 1 else [*terms, Const(0.0)][0]
    if isinstance(expr, Op):
        args: Sequence[Expr] = expr.args
        if expr.name in ("add", "neg"):
            terms = tuple(_size(a, size_of) for a in args)
            return Op("add", terms) if len(terms) > 1 else terms[0]
        if expr.name == "mul":
            return _size(args[0], size_of) * _size(args[1], size_of)
        if expr.name == "div":
            return _size(args[0], size_of) / abs(args[1])
        if expr.name == "exp":  # its relative error is the absolute one of what it takes
            return expr * (Const(1.0) + _size(args[0], size_of))
    return abs(expr)


@dataclass(frozen=True)
class LoopTerms:
    """What Newton's method needs of a loop, as expressions.

    Attributes
    ----------
    residuals, matrix
        What must vanish, and I - J.
    sizes
        Assignments, and the sizes of the residuals' terms.
    curves
        The laws of single tears.
    """

    residuals: list[Expr]
    matrix: list[list[Expr]]
    sizes: tuple[list[Assign], list[Expr]]
    curves: list[Curve]


@lru_cache(maxsize=256)
def loop_terms(loop: Loop) -> LoopTerms:
    """Return those of a loop; kept, as a tick is walked at a dozen points."""
    return LoopTerms(residuals(loop), matrix(loop), sizes(loop), curves(loop))


def residuals(loop: Loop) -> list[Expr]:
    """Return what each definition gives, less its tear."""
    rows = zip(loop.definitions, loop.tears, implicit(loop), strict=True)
    return [d - t if g is None else g for d, t, g in rows]


def matrix(loop: Loop) -> list[list[Expr]]:
    """Return I - J, row by row: the slopes of the residuals, with the other sign."""
    rows = []
    for i, (entries, g) in enumerate(zip(loop.jacobian, implicit(loop), strict=True)):
        row = [Const(1.0 if i == j else 0.0) - entry for j, entry in enumerate(entries)]
        if g is not None:
            row[i] = -_without_one(entries[i])
        rows.append(row)
    return rows


def _without_one(slope: Expr) -> Expr:
    """Return g' of the slope 1 + g' of a definition ``tear + g``, which the schedule writes so."""
    if isinstance(slope, Op) and slope.name == "add" and len(slope.args) == 2:
        one, rest = slope.args
        if isinstance(one, Const) and one.value == 1.0:
            return rest
    return slope - Const(1.0)


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
