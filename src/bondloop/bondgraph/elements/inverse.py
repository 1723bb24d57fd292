"""The inverse of a law, found symbolically and tried out numerically."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bondloop.engine.ir import Expr, Var, evaluate
from bondloop.engine.passes import from_sympy
from bondloop.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping


_SIZES = [10.0 ** (k / 8) for k in range(-48, 49)]
"""Sizes of the causes at which a law is tried out: 1e-6 to 1e6, eight to the decade."""
_FINE = [10.0 ** (k / 40) for k in range(-240, 81)]
"""Sizes of the causes at which a slope is tried out: 1e-6 to 100, forty to the decade."""
_OTHERS = (-1.3, 0.4, 2.1)
"""Values of signals with which a law is tried out."""
_FAILURES = (ZeroDivisionError, ValueError, OverflowError)


def inverse_of(formula: Any, x: Any, y: Any, values: Mapping[Any, Any]) -> Any:
    """Return the real solution x of ``formula = y``, or None if there is not exactly one.

    A candidate counts only if it leads back to the cause from every probe: two causes of one effect cannot
    both be found again, and a formula alone may be complex or belong to another branch.

    Parameters
    ----------
    formula : sympy.Expr
        The law, in ``x`` and parameters.
    x, y : sympy.Symbol
        Cause and effect.
    values
        Values of the parameters; those that are not numbers stay symbols.
    """
    numbers = {s: v for s, v in values.items() if isinstance(v, float)}
    candidates = _candidates(formula, x, y, numbers)
    if (formula.free_symbols - {x}) - set(numbers):
        # Parameters without values: nothing can be tried out; a closed form on the whole line is accepted.
        usable = [c for c in candidates if _readable_as_code(c)]
        return usable[0] if usable else None
    law = _Numeric(formula.subs(numbers), x)
    causes = [-s for s in reversed(_SIZES)] + _SIZES
    pairs = [(c, e) for c in causes if (e := law(c)) is not None]
    for candidate in candidates:
        if _readable_as_code(candidate) and _leads_back(_Numeric(candidate.subs(numbers), y), law, pairs):
            return candidate
    return None


def rises(formula: Any, x: Any, values: Mapping[Any, Any]) -> bool:
    """Whether a law rises, or falls, wherever it is tried out: then it has one inverse, formula or not.

    The sign of its slope is looked at, at more places than a law that turns back could hide between.
    Parameters without values (signals) are given some.
    """
    import sympy as sp

    formula = formula.subs({s: v for s, v in values.items() if isinstance(v, float)})
    others = sorted(formula.free_symbols - {x}, key=str)
    slope = sp.diff(formula, x)
    signs: set[bool] = set()
    for probe in _OTHERS if others else _OTHERS[:1]:
        numbers = {s: probe * (1 + 0.1 * i) for i, s in enumerate(others)}
        at = _Numeric(slope.subs(numbers), x)
        if at.expr is None:
            return False
        found = [v for size in _FINE for c in (-size, size) if (v := at(c)) is not None and v != 0.0]
        if len(found) < len(_FINE):
            return False
        signs |= {v > 0 for v in found}
    return len(signs) == 1


def _candidates(formula: Any, x: Any, y: Any, numbers: Mapping[Any, float]) -> list[Any]:
    """Solutions in closed form; general solvers are not asked, they may take minutes."""
    import sympy as sp

    found = [_peeled(formula, x, y), _piecewise(formula, x, y), _polynomial(formula, x, y, numbers)]
    if sp.expand(formula.subs(x, -x) + formula) == 0:  # odd: solve one half, mirror it
        half, size = sp.Dummy("x", positive=True), sp.Dummy("y", positive=True)
        upper = formula.subs(x, half)
        halves = [_peeled(upper, half, size), _polynomial(upper, half, size, numbers)]
        found += [sp.sign(y) * h.subs(size, sp.Abs(y)) for h in halves if h is not None]
    return [f for f in found if f is not None]


def _peeled(formula: Any, x: Any, y: Any) -> Any:
    """Undo one operation after another, where ``x`` occurs only once."""
    import sympy as sp

    inverses = {
        sp.exp: sp.log, sp.log: sp.exp, sp.tanh: sp.atanh, sp.atanh: sp.tanh, sp.sinh: sp.asinh,
        sp.asinh: sp.sinh, sp.atan: sp.tan, sp.asin: sp.sin, sp.acos: sp.cos,
    }  # fmt: skip
    if sum(1 for node in sp.preorder_traversal(formula) if node == x) != 1:
        return None
    result = y
    while formula != x:
        holder = next(a for a in formula.args if a.has(x))
        if formula.is_Add:
            result = result - (formula - holder)
        elif formula.is_Mul:
            result = result / (formula / holder)
        elif formula.is_Pow and holder == formula.base:
            result = _root(result, formula.exp, positive=bool(x.is_positive))
        elif formula.is_Pow:
            result = sp.log(result) / sp.log(formula.base)
        else:
            inverse = inverses.get(formula.func)
            result = None if inverse is None else inverse(result)
        if result is None:
            return None
        formula = holder
    return result


def _root(value: Any, exponent: Any, *, positive: bool) -> Any:
    import sympy as sp

    if positive or exponent == -1:
        return value ** (1 / exponent)
    if exponent.is_Integer and exponent % 2:
        return sp.sign(value) * sp.Abs(value) ** (1 / exponent)
    return None


def _piecewise(formula: Any, x: Any, y: Any) -> Any:
    """Inverse of ``Piecewise((a(x), x < c), ...)``, rising and continuous: the corners move to law(c)."""
    import sympy as sp

    if not isinstance(formula, sp.Piecewise):
        return None
    pieces = []
    for value, condition in formula.args:
        inner = _peeled(value, x, y)
        if inner is None:
            return None
        if condition == True:  # noqa: E712 - SymPy's true is not Python's
            pieces.append((inner, True))
        elif isinstance(condition, sp.core.relational.Relational) and condition.lhs == x:
            pieces.append((inner, condition.func(y, formula.subs(x, condition.rhs))))
        else:
            return None
    return sp.Piecewise(*pieces)


def _polynomial(formula: Any, x: Any, y: Any, numbers: Mapping[Any, float]) -> Any:
    """Root of a polynomial (or quotient of two) of degree one to three that rises or falls throughout.

    The forms are those that do not cancel for small effects: on the half line the quadratic formula with the
    root in the denominator, on the whole line the hyperbolic form of the cubic (Vieta's with sinh).
    """
    import sympy as sp

    above, below = sp.fraction(sp.together(formula))
    if not (above.is_polynomial(x) and below.is_polynomial(x)):
        return None
    coefficients = sp.Poly(above - y * below, x).all_coeffs()
    if len(coefficients) == 2:
        a, b = coefficients
        return -b / a
    if len(coefficients) == 3 and x.is_positive:
        a, b, c = coefficients
        return -2 * c / (b + sp.sqrt(b**2 - 4 * a * c))
    if len(coefficients) == 4:
        a, b, c, d = coefficients
        p = (3 * a * c - b**2) / (3 * a**2)
        q = (2 * b**3 - 9 * a * b * c + 27 * a**2 * d) / (27 * a**3)
        size = p.subs(numbers)
        if size.is_number and size > 0:
            inner = sp.asinh(3 * q / (2 * p) * sp.sqrt(3 / p)) / 3
            return -2 * sp.sqrt(p / 3) * sp.sinh(inner) - b / (3 * a)
        if size == 0:
            return -sp.sign(q) * sp.Abs(q) ** sp.Rational(1, 3) - b / (3 * a)
    return None


def _readable_as_code(candidate: Any) -> bool:
    try:
        from_sympy(candidate, lambda s: Var(str(s)))
    except InputError:
        return False
    return True


class _Numeric:
    """A formula of one symbol as a function; None where it has no finite real value."""

    def __init__(self, formula: Any, symbol: Any) -> None:
        self.var = Var(str(symbol))
        self.expr: Expr | None
        try:
            self.expr = from_sympy(formula, lambda _: self.var)
        except InputError:
            self.expr = None

    def __call__(self, value: float) -> float | None:
        if self.expr is None:
            return None
        try:
            result = evaluate(self.expr, {self.var: value})
        except _FAILURES:
            return None
        return result if math.isfinite(result) else None


def _leads_back(inverse: _Numeric, law: _Numeric, pairs: list[tuple[float, float]]) -> bool:
    tried = 0
    for cause, effect in pairs:
        near = law(cause * (1 + 1e-6))
        if near is None or abs(near - effect) <= 1e-9 * abs(effect):
            continue  # saturated: the effect says nothing about the cause
        back = inverse(effect)
        if back is None or not math.isclose(back, cause, rel_tol=1e-4, abs_tol=1e-12):
            return False
        tried += 1
    return tried >= 4
