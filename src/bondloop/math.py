"""Functions for laws of one's own: of numbers, of arrays, and of what is known only when a test runs.

A controller (`bondloop.control.ControlLaw`) or a specimen (`bondloop.devices.OdeSpecimen`) written with these
functions and Python's operators can be tried out with numbers, and becomes a part of the tick: of generated
C, and of the check. Where Python's ``math`` raises an exception (the square root of a negative number), these
give what C gives: NaN, or an infinity. Given SymPy expressions, as the
laws of bond graph elements are, they give SymPy expressions.

>>> from bondloop import math
>>> math.clip(1.7, -1, 1), math.where(2 > 1, 5.0, 6.0)
(1.0, 5.0)
>>> math.sqrt([4.0, 9.0])
array([2., 3.])
"""

from __future__ import annotations

import math as python
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from bondloop.engine.ir import FUNCTIONS, Expr, Op, Var, as_expr
from bondloop.engine.laws import Traced, Value, elementwise, expression

__all__ = [
    "abs",
    "acos",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "clip",
    "cos",
    "cosh",
    "exp",
    "floor",
    "hypot",
    "inf",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "maximum",
    "minimum",
    "nan",
    "pi",
    "power",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "where",
]

pi: float = python.pi
"""Circumference of a circle of diameter 1."""

inf: float = python.inf
"""Infinity."""

nan: float = python.nan
"""Not a number."""


def sin(x: Value) -> Value:
    """Return the sine of an angle in rad.

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    """
    return _apply("sin", x)


def cos(x: Value) -> Value:
    """Return the cosine of an angle in rad.

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    """
    return _apply("cos", x)


def tan(x: Value) -> Value:
    """Return the tangent of an angle in rad.

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    """
    return _apply("tan", x)


def asin(x: Value) -> Value:
    """Return the angle in rad whose sine is x.

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    """
    return _apply("asin", x)


def acos(x: Value) -> Value:
    """Return the angle in rad whose cosine is x.

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    """
    return _apply("acos", x)


def atan(x: Value) -> Value:
    """Return the angle in rad whose tangent is x.

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    """
    return _apply("atan", x)


def atan2(y: Value, x: Value) -> Value:
    """Return the angle in rad of the point (x, y).

    Parameters
    ----------
    y
        Second coordinate: a number, an array, or what is known only when the test runs.
    x
        First coordinate.
    """
    return _apply("atan2", y, x)


def sinh(x: Value) -> Value:
    """Return the hyperbolic sine.

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    """
    return _apply("sinh", x)


def cosh(x: Value) -> Value:
    """Return the hyperbolic cosine.

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    """
    return _apply("cosh", x)


def tanh(x: Value) -> Value:
    """Return the hyperbolic tangent: a sign that is smooth.

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    """
    return _apply("tanh", x)


def asinh(x: Value) -> Value:
    """Return the inverse of the hyperbolic sine.

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    """
    return _apply("asinh", x)


def atanh(x: Value) -> Value:
    """Return the inverse of the hyperbolic tangent.

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    """
    return _apply("atanh", x)


def exp(x: Value) -> Value:
    """Return e to the power of x.

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    """
    return _apply("exp", x)


def log(x: Value) -> Value:
    """Return the natural logarithm.

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    """
    return _apply("log", x)


def sqrt(x: Value) -> Value:
    """Return the square root.

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    """
    return _apply("sqrt", x)


def cbrt(x: Value) -> Value:
    """Return the cube root, with the sign of x.

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    """
    return _apply("cbrt", x)


def power(x: Value, exponent: Value) -> Value:
    """Return x to a power; a broken power of a negative number is NaN (Python's ``**`` makes it complex).

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    exponent
        The power.
    """
    return _apply("pow", x, exponent)


def hypot(x: Value, y: Value) -> Value:
    """Return the square root of x² + y², which is computed as it stands.

    Parameters
    ----------
    x, y
        Numbers, arrays, or what is known only when the test runs.
    """
    x, y = _array(x), _array(y)
    return _apply("sqrt", x * x + y * y)


def abs(x: Value) -> Value:  # noqa: A001 - the word for it; Python's own does the same
    """Return the magnitude.

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    """
    return _apply("fabs", x)


def sign(x: Value) -> Value:
    """Return 1, 0 or -1 where x is above, at or below zero.

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    """
    return _apply("sign", x)


def floor(x: Value) -> Value:
    """Return the whole number below x.

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    """
    return _apply("floor", x)


def ceil(x: Value) -> Value:
    """Return the whole number above x.

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    """
    return -_apply("floor", -_array(x))


def minimum(x: Value, y: Value) -> Value:
    """Return the smaller of two; of one that is NaN, the other.

    Parameters
    ----------
    x, y
        Numbers, arrays, or what is known only when the test runs.
    """
    return _apply("fmin", x, y)


def maximum(x: Value, y: Value) -> Value:
    """Return the larger of two; of one that is NaN, the other.

    Parameters
    ----------
    x, y
        Numbers, arrays, or what is known only when the test runs.
    """
    return _apply("fmax", x, y)


def clip(x: Value, least: Value, most: Value) -> Value:
    """Return x, held between two bounds.

    Parameters
    ----------
    x
        A number, an array, or what is known only when the test runs.
    least, most
        The bounds.
    """
    return minimum(maximum(x, least), most)


def where(condition: Value, if_true: Value, if_false: Value) -> Value:
    """Return one of two values: what ``if`` does for numbers that are known. Both are computed.

    Parameters
    ----------
    condition
        A comparison, or what `logical_and`, `logical_or`, ``&`` and ``|`` make of some.
    if_true, if_false
        The values.
    """
    return _apply("select", condition, if_true, if_false)


def logical_and(a: Value, b: Value) -> Value:
    """Return whether both conditions hold: 1 or 0.

    Parameters
    ----------
    a, b
        Conditions, or numbers: 0 does not hold.
    """
    return _apply("and", a, b)


def logical_or(a: Value, b: Value) -> Value:
    """Return whether one of two conditions holds: 1 or 0.

    Parameters
    ----------
    a, b
        Conditions, or numbers: 0 does not hold.
    """
    return _apply("or", a, b)


def logical_not(a: Value) -> Value:
    """Return whether a condition does not hold: 1 or 0.

    Parameters
    ----------
    a
        A condition, or a number: 0 does not hold.
    """
    return _apply("not", a)


# -------------------------------------------------------------------- how they are applied


def _apply(name: str, *args: Value) -> Value:
    if any(isinstance(a, (list, tuple)) or (isinstance(a, np.ndarray) and a.ndim) for a in args):
        return elementwise(lambda *x: _apply(name, *x), *args)
    if any(isinstance(a, Expr) for a in args):  # of a compensator or an imperfection
        return Op(name, tuple(as_expr(a) for a in args))
    if any(isinstance(a, Traced) for a in args):
        return Traced(Op(name, tuple(expression(a, f"bondloop.math.{name}") for a in args)))
    if (sympy := sys.modules.get("sympy")) and any(isinstance(a, sympy.Basic) for a in args):
        return _in_letters(name, *args)
    return _of_numbers(name, *args)


def _in_letters(name: str, *args: Value) -> Any:
    """Apply a function to SymPy expressions, as the laws of bond graph elements are given them."""
    import sympy

    from bondloop.engine.passes import to_sympy

    places = {Var(f"argument {i}"): sympy.sympify(a) for i, a in enumerate(args)}
    return to_sympy(Op(name, tuple(places)), places.__getitem__)


def _array(x: Value) -> Value:
    return np.asarray(x) if isinstance(x, (list, tuple)) else x


def _of_numbers(name: str, *args: float) -> float:
    """Apply a function to numbers, with C's results where Python raises an exception; NumPy's stay so."""
    numbers = [float(a) for a in args]
    kind = next((type(a) for a in args if isinstance(a, np.float64)), float)
    if name in _ALWAYS:
        return kind(_ALWAYS[name](*numbers))
    try:
        return kind(_PYTHON[name](*numbers))
    except (ValueError, ZeroDivisionError, OverflowError):
        with np.errstate(all="ignore"):
            return kind(getattr(np, _NUMPY.get(name, name))(*numbers))


_ALWAYS: dict[str, Callable[..., float]] = {
    "select": lambda a, b, c: b if a else c,
    "and": lambda a, b: bool(a) and bool(b),
    "or": lambda a, b: bool(a) or bool(b),
    "not": lambda a: not a,
    "fmin": lambda a, b: a if a < b or b != b else b,  # noqa: PLR0124 - NaN
    "fmax": lambda a, b: a if a > b or b != b else b,  # noqa: PLR0124 - NaN
    "sign": FUNCTIONS["sign"],
    "fabs": FUNCTIONS["fabs"],
}
"""Functions that have a value for every number."""

# Python's floor makes 0 of -0.0, on which side of it atan2 depends.
_PYTHON: dict[str, Callable[..., float]] = {**FUNCTIONS, "pow": python.pow, "floor": np.floor}
_NUMPY = {"pow": "power"} | {f"a{w}": f"arc{w}" for w in ("sin", "cos", "tan", "tan2", "sinh", "tanh")}
