"""Expressions to and from SymPy.

Laws are written by users as functions of SymPy expressions; results are shown as SymPy expressions.
SymPy is imported here only when a function is called.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

from bondloop.engine.ir import Const, Expr, Op, Var, function, select
from bondloop.errors import InputError


class Symbols:
    """SymPy symbols of variables, one each, named after the variable's path."""

    def __init__(self) -> None:
        self._symbols: dict[Var, Any] = {}

    def __call__(self, var: Var) -> Any:
        """Return the symbol of a variable."""
        symbol = self._symbols.get(var)
        if symbol is None:
            import sympy as sp

            symbol = self._symbols[var] = sp.Symbol(var.name)
        return symbol


def to_sympy(expr: Expr, symbol: Callable[[Var], Any]) -> Any:  # noqa: PLR0911 - one case per operation
    """Return a SymPy expression.

    >>> x = Var("x")
    >>> to_sympy(x + x**3, Symbols())
    x**3 + x
    """
    import sympy as sp

    if isinstance(expr, Var):
        return symbol(expr)
    if isinstance(expr, Const):
        return sp.Integer(int(expr.value)) if expr.value == int(expr.value) else sp.Float(expr.value)
    assert isinstance(expr, Op)
    if expr.name == "row":
        return to_sympy(expr.written_out(), symbol)
    a = [to_sympy(arg, symbol) for arg in expr.args]
    name = expr.name
    if name == "add":
        return sp.Add(*a)
    if name == "mul":
        return a[0] * a[1]
    if name == "neg":
        return -a[0]
    if name == "div":
        return a[0] / a[1]
    if name == "pow":
        return a[0] ** a[1]
    if name == "select":
        return sp.Piecewise((a[1], _condition(a[0])), (a[2], True))
    if name in ("lt", "le", "gt", "ge", "eq", "ne"):
        return {"lt": sp.Lt, "le": sp.Le, "gt": sp.Gt, "ge": sp.Ge, "eq": sp.Eq, "ne": sp.Ne}[name](*a)
    if name in ("and", "or", "not"):
        return {"and": sp.And, "or": sp.Or, "not": sp.Not}[name](*(_condition(x) for x in a))
    if name == "cbrt":  # the real root; SymPy's own is complex for negative numbers
        return sp.sign(a[0]) * sp.Abs(a[0]) ** sp.Rational(1, 3)
    special = {"fabs": sp.Abs, "fmin": sp.Min, "fmax": sp.Max}
    return (special.get(name) or getattr(sp, name))(*a)


def _condition(value: Any) -> Any:
    import sympy as sp

    return value if isinstance(value, sp.logic.boolalg.Boolean) else sp.Ne(value, 0)


_FUNCTIONS = {
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "asin": "asin",
    "acos": "acos",
    "atan": "atan",
    "atan2": "atan2",
    "sinh": "sinh",
    "cosh": "cosh",
    "tanh": "tanh",
    "asinh": "asinh",
    "atanh": "atanh",
    "exp": "exp",
    "log": "log",
    "Abs": "fabs",
    "sign": "sign",
    "floor": "floor",
}
_RELATIONS = {
    "StrictLessThan": "lt",
    "LessThan": "le",
    "StrictGreaterThan": "gt",
    "GreaterThan": "ge",
    "Equality": "eq",
    "Unequality": "ne",
}


def from_sympy(expr: Any, variable: Callable[[Any], Expr], where: str = "") -> Expr:
    """Return an expression from a SymPy one.

    Parameters
    ----------
    expr : sympy.Expr
    variable : callable
        Maps a SymPy symbol to an expression; raises for a symbol it does not know.
    where : str
        The path of the element, for error messages.
    """
    import sympy as sp

    return _Reader(variable, where).read(sp.sympify(expr))


class _Reader:
    """Reads SymPy expressions, by kind."""

    def __init__(self, variable: Callable[[Any], Expr], where: str) -> None:
        self.variable, self.where = variable, where

    def read(self, e: Any) -> Expr:
        if e.is_Symbol:
            return self.variable(e)
        if e.is_number:
            return self.number(e)
        name = type(e).__name__
        if name in ("BooleanTrue", "BooleanFalse"):
            return Const(float(bool(e)))
        if e.is_Add:
            return self.folded(e.as_ordered_terms(), operator.add)
        if e.is_Mul:
            return self.product(e)
        if e.is_Pow:
            return self.power(*e.args)
        if name == "Piecewise":
            return self.piecewise(e)
        return self.named(name, e.args)

    def number(self, e: Any) -> Expr:
        try:
            value = complex(e)
        except TypeError:
            value = complex("nan")
        if value.imag or not math.isfinite(value.real):
            raise InputError(f"{self.where}: the law contains {e}, which is not a finite real number")
        return Const(value.real)

    def folded(self, args: Iterable[Any], combine: Callable[[Expr, Expr], Expr]) -> Expr:
        return functools.reduce(combine, [self.read(a) for a in args])

    def product(self, e: Any) -> Expr:
        import sympy as sp

        numerator, denominator = sp.fraction(e, exact=True)  # exp(-x) stays: 1/exp(x) would overflow
        if denominator != 1:
            return self.read(numerator) / self.read(denominator)
        return self.folded(e.as_ordered_factors(), operator.mul)

    def power(self, base: Any, exponent: Any) -> Expr:
        import sympy as sp

        if exponent == sp.Rational(1, 2):
            return function("sqrt", self.read(base))
        if exponent == sp.Rational(1, 3):
            return function("cbrt", self.read(base))
        if exponent.is_number and exponent.is_negative:
            return 1 / self.read(base ** (-exponent))
        return self.read(base) ** self.read(exponent)

    def piecewise(self, e: Any) -> Expr:
        *pieces, (value, condition) = e.args
        if condition != True:  # noqa: E712 - SymPy's true is not Python's
            raise InputError(
                f"{self.where}: the Piecewise law covers only part of the line; end it with (value, True)"
            )
        result = self.read(value)
        for value, condition in reversed(pieces):
            result = select(self.read(condition), self.read(value), result)
        return result

    def named(self, name: str, args: tuple[Any, ...]) -> Expr:
        if name in _RELATIONS:
            return Op(_RELATIONS[name], tuple(self.read(a) for a in args))
        if name in ("Max", "Min"):
            which = "fmax" if name == "Max" else "fmin"
            return self.folded(args, lambda a, b: function(which, a, b))
        if name in ("And", "Or"):
            return self.folded(args, lambda a, b: Op(name.lower(), (a, b)))
        if name == "Not":
            return Op("not", (self.read(args[0]),))
        if name == "ITE":
            condition, one, other = (self.read(a) for a in args)
            return Op("or", (Op("and", (condition, one)), Op("and", (Op("not", (condition,)), other))))
        if name == "Heaviside":
            x = self.read(args[0])
            at_zero = self.read(args[1]) if len(args) > 1 else Const(0.5)
            return select(x > 0, 1, select(Op("eq", (x, Const(0.0))), at_zero, 0))
        if name in _FUNCTIONS:
            return function(_FUNCTIONS[name], *(self.read(a) for a in args))
        raise InputError(
            f"{self.where}: the law uses '{name}', which bondloop cannot write as code; "
            f"use arithmetic and {', '.join(sorted(_FUNCTIONS))}, Heaviside, Min, Max, Piecewise"
        )


LONG = 10**6
"""Whole numbers from which a decimal is easier to read than a ratio."""


def cancelled(expression: Any) -> Any:
    """Return an expression cancelled; with decimals where it held decimals.

    >>> import sympy as sp
    >>> x, k = sp.symbols("x k")
    >>> cancelled((0.37 * x + 0.11 * k * x) / (0.37 * x))
    0.297297297297297*k + 1
    >>> cancelled(x / 3 + k * x / (3 * k))
    2*x/3
    """
    import sympy as sp

    return shown(sp.cancel(exact(expression)), like=expression)


def exact(expression: Any) -> Any:
    """Return an expression with its decimals as ratios of whole numbers."""
    import sympy as sp

    expression = sp.sympify(expression)
    return sp.nsimplify(expression, rational=True) if expression.has(sp.Float) else expression


def shown(expression: Any, like: Any = None) -> Any:
    """Return an expression as it is to be read.

    Parameters
    ----------
    expression
        A sum of fractions, without decimals.
    like
        What it was made of: where that held decimals, so does the result. Ratios of long whole numbers become
        decimals anyway.
    """
    import sympy as sp

    if not _is_long(expression) and not (like is not None and sp.sympify(like).has(sp.Float)):
        return expression
    above, below = sp.fraction(sp.together(expression))
    lead = sp.Poly(below).LC() if below.free_symbols else below
    return _decimals(sp.expand(above / lead)) / _decimals(sp.expand(below / lead))


def readable(expression: Any) -> Any:
    """Return an expression of any kind with decimals instead of ratios of long whole numbers."""
    return _decimals(expression) if _is_long(expression) else expression


def _is_long(expression: Any) -> bool:
    import sympy as sp

    return any(abs(n.p) >= LONG or n.q >= LONG for n in expression.atoms(sp.Rational))


def _decimals(expression: Any) -> Any:
    """Return an expression with its coefficients as decimals, unless they are short whole numbers."""
    import sympy as sp

    if expression.is_Rational:
        whole = sp.Integer(round(expression))
        # A whole number but for the rounding of the decimals that it was made of is one: 1*k, not 1.0*k.
        near = whole != 0 and abs(expression - whole) <= abs(whole) * sp.Rational(1, 10**14)
        return whole if near and abs(whole) < LONG else sp.Float(expression) if expression else expression
    if expression.is_Pow:
        return sp.Pow(_decimals(expression.base), expression.exp)
    if expression.args:
        return expression.func(*(_decimals(part) for part in expression.args))
    return expression
