"""Fractions of polynomials with decimals: cancelled as ratios of whole numbers, shown as decimals.

Over decimals common divisors are not found, for they differ by rounding; over ratios they are, but the ratios
are as long as all the decimals that went into them.
"""

from __future__ import annotations

from typing import Any

__all__ = ["cancelled", "exact", "readable", "shown"]

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
