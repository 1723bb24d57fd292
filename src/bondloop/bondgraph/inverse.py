"""The inverse of a law, found symbolically and tried out numerically."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from typing import Any

from bondloop.errors import InputError
from bondloop.program.expr import Expr, Var, evaluate
from bondloop.program.sympy_bridge import from_sympy

__all__ = ["inverse_of"]

_SIZES = [10.0 ** (k / 8) for k in range(-48, 49)]
"""Sizes of the causes at which a law is tried out: 1e-6 to 1e6, eight to the decade."""
_FAILURES = (ZeroDivisionError, ValueError, OverflowError)


def inverse_of(formula: Any, x: Any, y: Any, values: Mapping[Any, Any]) -> Any:
    """Return the real solution x of ``formula = y``, or None if there is not exactly one.

    A candidate counts only if the law rises or falls throughout and the candidate leads back to the cause
    from every probe; symbolic algebra alone returns roots that are complex or belong to another branch.

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
    candidates = _candidates(formula, x, y)
    if (formula.free_symbols - {x}) - set(numbers):
        # Parameters without values: nothing can be tried out, so only a unique solution is accepted.
        return candidates[0] if len(candidates) == 1 and _readable_as_code(candidates[0]) else None
    law = _Numeric(formula.subs(numbers), x)
    causes = [-s for s in reversed(_SIZES)] + _SIZES
    pairs = [(c, e) for c in causes if (e := law(c)) is not None]
    if not _monotonic([e for _, e in pairs]):
        return None
    for candidate in candidates:
        if _readable_as_code(candidate) and _leads_back(_Numeric(candidate.subs(numbers), y), law, pairs):
            return candidate
    return None


def _candidates(formula: Any, x: Any, y: Any) -> list[Any]:
    import sympy as sp

    found: list[Any] = []
    with contextlib.suppress(NotImplementedError, ValueError, TypeError):
        found += sp.solve(formula - y, x)
    if sp.simplify(formula.subs(x, -x) + formula) == 0:  # odd: solve one half, mirror it
        half, size = sp.Dummy("x", positive=True), sp.Dummy("y", positive=True)
        with contextlib.suppress(NotImplementedError, ValueError, TypeError):
            roots = sp.solve(sp.refine(formula.subs(x, half)) - size, half)
            found += [sp.sign(y) * root.subs(size, sp.Abs(y)) for root in roots]
    return found


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


def _monotonic(effects: list[float]) -> bool:
    """Whether effects rise or fall throughout; equal neighbours (saturation to rounding) are passed over."""
    steps = {b > a for a, b in zip(effects, effects[1:], strict=False) if a != b}
    return len(steps) == 1


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
