"""Derivatives of expressions, one assignment at a time.

A program is differentiated by differentiating each small assignment and chaining the results; no large
expression is ever formed. Where a function is not differentiable (``sign``, ``floor``, a comparison) the
derivative of the smooth pieces on either side is used.
"""

from __future__ import annotations

from collections.abc import Callable

from bondloop.engine.ir.expr import Const, Expr, Op, Var, function, select

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
