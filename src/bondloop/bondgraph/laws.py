"""Constitutive laws: a coefficient, or any function of SymPy expressions; and their inverses."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

from bondloop.errors import InputError, ModelError, unknown_name
from bondloop.program.expr import Expr, Op, Var
from bondloop.program.sympy_bridge import from_sympy
from bondloop.units import quantity
import contextlib

__all__ = ["Law", "check_number", "checked_coefficient"]

_PROBES = (-3.7, -1.9, -1.0, -0.31, -0.02, 0.03, 0.27, 1.0, 2.3, 4.1)
"""Where a candidate inverse is tried out."""


def check_number(value: Any, what: str) -> Any:
    """Return a coefficient as a float, or unchanged if it is a SymPy expression; units are converted to SI."""
    if isinstance(value, str):
        return quantity(value)
    if hasattr(value, "free_symbols"):
        if value.free_symbols:
            return value
        value = float(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(
            f"{what}: expected a number, a text with unit or a SymPy expression; found {value!r}"
        ) from None
    if not math.isfinite(number):
        raise InputError(f"{what}: expected a finite number; found {number}")
    return number


def checked_coefficient(
    kind: str, given: Mapping[str, Any], known: Mapping[str, str], positive: bool
) -> tuple[str, Any, str]:
    """Return name, value and form (``mul`` or ``div``) of a linear element's only coefficient."""
    for name in given:
        if name not in known:
            raise InputError(unknown_name("parameter", name, known, where=kind))
    if len(given) != 1:
        found = ", ".join(given) or "none"
        raise InputError(f"{kind} takes exactly one of {', '.join(known)}, or a law; found {found}")
    ((name, value),) = given.items()
    value = check_number(value, f"{kind}({name})")
    if isinstance(value, float):
        if positive and value <= 0:
            raise InputError(f"{kind}({name}={value:g}): a {name} must be positive; check its sign and unit")
        if known[name] == "div" and value == 0:
            raise InputError(
                f"{kind}({name}=0): the law divides by the {name}; leave the element out instead"
            )
    return name, value, known[name]


class Law:
    """``effect = law(cause, *parameters)``, written as a function of SymPy expressions.

    Parameters
    ----------
    law, inverse
        Functions; at least one. ``inverse`` may be ``"newton"``: the law is then solved in every step by a
        Newton iteration with a fixed number of steps.
    parameters
        Named parameters of the functions, with values.
    kind
        For messages: ``"R"``.
    """

    def __init__(
        self,
        law: Callable[..., Any] | None,
        inverse: Callable[..., Any] | str | None,
        parameters: Mapping[str, Any],
        kind: str,
    ) -> None:
        if law is None and not callable(inverse):
            raise InputError(f"{kind}: give a coefficient, a law, or an inverse")
        self.law, self.inverse = law, inverse
        self.parameters = {name: check_number(v, f"{kind}({name})") for name, v in parameters.items()}
        for function in (law, inverse):
            if callable(function):
                self._check_signature(function, kind)

    def _check_signature(self, function: Callable[..., Any], kind: str) -> None:
        names = [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        wanted = [n for n in names[1:] if n not in self.parameters]
        for name in wanted:
            raise InputError(f"{kind}: the law takes a parameter '{name}' that has no value; give {name}=...")
        known = list(inspect.signature(function).parameters)[1:]
        for name in self.parameters:
            if name not in known:
                raise InputError(unknown_name("parameter", name, known, where=f"{kind}'s law"))

    def _call(self, function: Callable[..., Any], cause: Any, symbols: Mapping[str, Any]) -> Any:
        import sympy as sp

        accepted = inspect.signature(function).parameters
        return sp.sympify(function(cause, **{n: s for n, s in symbols.items() if n in accepted}))

    def forward(self, cause: Expr, parameters: Mapping[str, Expr], where: str) -> Expr:
        """Return the effect as an expression of the cause."""
        if self.law is None:
            assert callable(self.inverse)
            return self._inverted(self.inverse, cause, parameters, where)
        return self._expression(self.law, cause, parameters, where)

    def backward(self, effect: Expr, parameters: Mapping[str, Expr], where: str, unknown: Var) -> Expr:
        """Return the cause as an expression of the effect; with ``"newton"`` a self-referring definition."""
        if callable(self.inverse):
            return self._expression(self.inverse, effect, parameters, where)
        assert self.law is not None
        if self.inverse == "newton":
            return unknown + (effect - self._expression(self.law, unknown, parameters, where))
        return self._inverted(self.law, effect, parameters, where)

    def _expression(
        self, function: Callable[..., Any], cause: Expr, parameters: Mapping[str, Expr], where: str
    ) -> Expr:
        import sympy as sp

        x = sp.Symbol("x", real=True)
        symbols = {name: sp.Symbol(name, real=True) for name in parameters}
        table = {x: cause, **{symbols[n]: e for n, e in parameters.items()}}

        def variable(symbol: Any) -> Expr:
            if symbol not in table:
                raise ModelError(
                    f"{where}: the law uses the symbol '{symbol}', which is neither its argument nor a parameter"
                )
            return table[symbol]

        return from_sympy(self._call(function, x, symbols), variable, where)

    def _inverted(
        self, function: Callable[..., Any], effect: Expr, parameters: Mapping[str, Expr], where: str
    ) -> Expr:
        import sympy as sp

        x, y = sp.Symbol("x", real=True), sp.Symbol("y", real=True)
        symbols = {name: sp.Symbol(name, real=True) for name in parameters}
        formula = self._call(function, x, symbols)
        found = _solve_for(formula, x, y, {symbols[n]: v for n, v in self.parameters.items() if n in symbols})
        if found is None:
            raise ModelError(
                f"{where}: its law {formula} has no single inverse, but the causality needs one; "
                "give inverse=..., or inverse='newton' for a monotonic law, or change the causality "
                "(a storage or resistor beside it, an imposed stroke)"
            )
        table = {y: effect, **{symbols[n]: e for n, e in parameters.items()}}
        return from_sympy(found, lambda s: table[s], where)


def _solve_for(formula: Any, x: Any, y: Any, values: Mapping[Any, Any]) -> Any:
    """Return the one real solution x of formula = y, checked at several points; None if there is none."""
    import sympy as sp

    candidates = []
    with contextlib.suppress(NotImplementedError, ValueError, TypeError):
        candidates += [(s, False) for s in sp.solve(formula - y, x)]
    positive, size = sp.Symbol("x_", positive=True), sp.Symbol("y_", positive=True)
    if sp.simplify(formula.subs(x, -x) + formula) == 0:  # odd: solve one half, mirror it
        try:
            half = sp.refine(formula.subs(x, positive))
            candidates += [
                (sp.sign(y) * s.subs(size, sp.Abs(y)), True) for s in sp.solve(half - size, positive)
            ]
        except (NotImplementedError, ValueError, TypeError):
            pass
    numbers = {s: v for s, v in values.items() if isinstance(v, float)}
    for candidate, _ in candidates:
        table: dict[Any, Var] = {}
        expr = None
        try:
            expr = from_sympy(candidate.subs(numbers), lambda s: table.setdefault(s, Var(str(s))))
        except InputError:
            continue
        if set(table) <= {y} and _agrees(expr, table.get(y), formula.subs(numbers), x):
            return candidate
        if not set(table) <= {y} and len(candidates) == 1:
            return candidate  # parameters without values: a unique symbolic solution is accepted
    return None


def _agrees(expr: Expr, y: Var | None, formula: Any, x: Any) -> bool:
    from bondloop.program.expr import evaluate

    if y is None:
        return False
    tried = 0
    for probe in _PROBES:
        try:
            effect = float(formula.subs(x, probe))
        except (TypeError, ValueError):
            continue
        try:
            back = evaluate(expr, {y: effect})
        except (ZeroDivisionError, ValueError, OverflowError):
            return False
        if isinstance(back, complex) or not math.isclose(back, probe, rel_tol=1e-6, abs_tol=1e-9):
            return False
        tried += 1
    return tried >= 4


def linear(form: str, coefficient: Expr, cause: Expr) -> Expr:
    """``coefficient * cause`` or ``cause / coefficient``."""
    return Op("mul", (coefficient, cause)) if form == "mul" else Op("div", (cause, coefficient))
