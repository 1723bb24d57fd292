"""What Newton's method needs to know of a loop besides its equations: laws of one tear, sizes of terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bondloop.engine.ir.calculus import partials
from bondloop.engine.ir.expr import FUNCTIONS, Const, Expr, Op, Var, function, variables
from bondloop.engine.ir.matrix_rows import MatrixRow
from bondloop.engine.ir.statement import Assign, Loop
from bondloop.engine.ir.tolerances import LAW_FLOOR


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

    @staticmethod
    def of(loop: Loop) -> LoopTerms:
        """Return those of a loop."""
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
