"""Expressions to and from SymPy.

Laws are written by users as functions of SymPy expressions; results are shown as SymPy expressions.
SymPy is imported here only when a function is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bondloop.errors import InputError
from bondloop.program.expr import Const, Expr, Op, Var, function, select

__all__ = ["Symbols", "from_sympy", "to_sympy"]


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


def to_sympy(expr: Expr, symbol: Callable[[Var], Any]) -> Any:
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
    special = {"fabs": sp.Abs, "fmin": sp.Min, "fmax": sp.Max, "cbrt": sp.cbrt}
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
    "exp": "exp",
    "log": "log",
    "Abs": "fabs",
    "sign": "sign",
    "floor": "floor",
    "Heaviside": "",
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

    def convert(e: Any) -> Expr:
        if e.is_Symbol:
            return variable(e)
        if e.is_number:
            value = complex(e)
            if value.imag or value != value:
                raise InputError(f"{where}: the law contains {e}, which is not a real number")
            return Const(value.real)
        if e is sp.true or e is sp.false:
            return Const(float(bool(e)))
        if e.is_Add:
            terms = [convert(a) for a in e.as_ordered_terms()]
            total = terms[0]
            for t in terms[1:]:
                total = total + t
            return total
        if e.is_Mul:
            numerator, denominator = sp.fraction(e)
            if denominator != 1:
                return convert(numerator) / convert(denominator)
            factors = [convert(a) for a in e.as_ordered_factors()]
            product = factors[0]
            for f in factors[1:]:
                product = product * f
            return product
        if e.is_Pow:
            base, exponent = e.args
            if exponent == sp.Rational(1, 2):
                return function("sqrt", convert(base))
            if exponent == sp.Rational(1, 3):
                return function("cbrt", convert(base))
            if exponent.is_number and exponent.is_negative:
                return 1 / convert(base ** (-exponent))
            return convert(base) ** convert(exponent)
        name = type(e).__name__
        if name in _RELATIONS:
            return Op(_RELATIONS[name], tuple(convert(a) for a in e.args))
        if name in ("Max", "Min"):
            result = convert(e.args[0])
            for a in e.args[1:]:
                result = function("fmax" if name == "Max" else "fmin", result, convert(a))
            return result
        if name in ("And", "Or"):
            result = convert(e.args[0])
            for a in e.args[1:]:
                result = Op(name.lower(), (result, convert(a)))
            return result
        if name == "Not":
            return Op("not", (convert(e.args[0]),))
        if name == "Piecewise":
            result = None
            for value, condition in reversed(e.args):
                if result is None and condition in (True, sp.true):
                    result = convert(value)
                elif result is None:
                    raise InputError(
                        f"{where}: the Piecewise law covers only part of the line; end it with (value, True)"
                    )
                else:
                    result = select(convert(condition), convert(value), result)
            assert result is not None
            return result
        if name == "Heaviside":
            return select(convert(e.args[0]) > 0, 1, 0)
        if name in _FUNCTIONS:
            return function(_FUNCTIONS[name], *(convert(a) for a in e.args))
        raise InputError(
            f"{where}: the law uses '{name}', which bondloop cannot write as code; "
            f"use arithmetic and {', '.join(sorted(_FUNCTIONS))}, Min, Max, Piecewise"
        )

    return convert(sp.sympify(expr))
