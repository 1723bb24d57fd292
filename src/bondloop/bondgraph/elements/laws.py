"""Constitutive laws: a coefficient, or any function of SymPy expressions; and their inverses.

Functions that users write, of signals and parameters, called with SymPy symbols.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from bondloop.bondgraph.domain import units_of
from bondloop.bondgraph.elements.inverse import inverse_of, rises
from bondloop.engine.data import FINITE, Range, is_truth
from bondloop.engine.ir import Expr, Op, Var
from bondloop.engine.passes import from_sympy
from bondloop.errors import InputError, ModelError, unknown_name
from bondloop.units import quantity


def check_number(value: Any, what: str, within: Range | None = None, *, units: Sequence[str] = ()) -> Any:
    """Return a coefficient as a float, or unchanged if it is a SymPy expression; units become SI.

    A number must be finite and lie within the range, if there is one; a text must measure the same as one of
    the units, if there are any.
    """
    result = _plain_number(value, what, units)
    return (within or FINITE).check(result, what) if isinstance(result, float) else result


def _plain_number(value: Any, what: str, units: Sequence[str]) -> Any:
    if isinstance(value, str):
        try:
            return quantity(value, *units)
        except InputError as error:
            raise InputError(f"{what}: {error}") from None
    if hasattr(value, "free_symbols"):
        if value.free_symbols:
            return value
        value = float(value)
    try:
        if not is_truth(value):
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError(f"{what}: expected a number, a text with unit or a SymPy expression; found {value!r}")


def check_plain(value: Any, what: str, *, units: Sequence[str] = ()) -> float:
    """Return a number that may not be a symbol, such as an initial value."""
    number = check_number(value, what, units=units)
    if not isinstance(number, float):
        raise InputError(f"{what}: expected a number, not the symbolic {number}; set it when simulating")
    return number


def checked_size(size: Any, kind: str) -> int | None:
    """Return the size of a vector part, or None where it adapts to its bond."""
    if size is None:
        return None
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise InputError(f"{kind}(size): expected a whole number, at least 1; found {size!r}")
    return size


def checked_ranges(ranges: Mapping[str, Range] | None, known: Iterable[str], kind: str) -> dict[str, Range]:
    """Return the ranges that a part is given for its parameters; one for an unknown parameter is refused."""
    given = dict(ranges or {})
    for name, within in given.items():
        if name not in known:
            raise InputError(unknown_name("parameter", name, known, where=f"{kind}(ranges)"))
        if not isinstance(within, Range):
            raise InputError(f"{kind}(ranges): expected a Range for '{name}'; found {within!r:.60}")
    return given


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
    value = check_number(value, f"{kind}({name})", units=units_of(name))
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

    Free SymPy symbols in a law are parameters of the model, as they are in coefficients.

    Parameters
    ----------
    law, inverse
        Functions; at least one. ``inverse`` may be ``"newton"``: the law is then solved in every step by a
        Newton iteration with a fixed number of steps.
    parameters
        Named parameters of the functions, with values.
    kind
        For messages: ``"R"``.
    ranges
        Which numbers the parameters may be; any finite one where none is given.
    """

    def __init__(
        self,
        law: Callable[..., Any] | None,
        inverse: Callable[..., Any] | str | None,
        parameters: Mapping[str, Any],
        kind: str,
        ranges: Mapping[str, Range] | None = None,
    ) -> None:
        if law is not None and not callable(law):
            raise InputError(f"{kind}: expected a law as a function of SymPy expressions; found {law!r}")
        if isinstance(inverse, str) and inverse != "newton":
            raise InputError(f"{kind}: expected inverse='newton' or a function; found {inverse!r}")
        if law is None and not callable(inverse):
            raise InputError(f"{kind}: give a coefficient, a law, or an inverse")
        self.law, self.inverse = law, inverse
        self.ranges = checked_ranges(ranges, parameters, kind)
        self.parameters = {
            name: check_number(v, f"{kind}({name})", self.ranges.get(name)) for name, v in parameters.items()
        }
        for function in (law, inverse):
            if callable(function):
                self._check_signature(function, kind)

    def _check_signature(self, function: Callable[..., Any], kind: str) -> None:
        arguments = inspect.signature(function).parameters
        if not arguments:
            raise InputError(f"{kind}: the law must take at least one argument, its cause")
        names = [p.name for p in arguments.values() if p.default is p.empty]
        wanted = [n for n in names[1:] if n not in self.parameters]
        for name in wanted:
            raise InputError(f"{kind}: the law takes a parameter '{name}' that has no value; give {name}=...")
        known = list(arguments)[1:]
        for name in self.parameters:
            if name not in known:
                raise InputError(unknown_name("parameter", name, known, where=f"{kind}'s law"))

    def bound(self, where: str, parameters: Mapping[str, Expr], symbol: Callable[[Any], Expr]) -> BoundLaw:
        """Return the law of one element: its path, its parameters, and how free symbols are looked up."""
        return BoundLaw(self, where, parameters, symbol)


@cache
def placeholder(name: str, role: str = "parameter") -> Any:  # noqa: ARG001 - kept by both
    """Return what stands for a name in a formula: the same symbol every time, and none of the user's.

    A parameter called x is not the argument x, so each has its role. SymPy remembers what it has worked out
    for symbols that it knows: a law that is written out again costs a tenth.
    """
    import sympy as sp

    return sp.Dummy(name, real=True)


class BoundLaw:
    """The law of one element of a model."""

    def __init__(
        self, law: Law, where: str, parameters: Mapping[str, Expr], symbol: Callable[[Any], Expr]
    ) -> None:
        self.law, self.where, self.symbol = law, where, symbol
        self.x, self.y = placeholder("x", "cause"), placeholder("y", "effect")
        self.dummies = {name: placeholder(name) for name in parameters}
        self.table = {self.dummies[name]: expr for name, expr in parameters.items()}

    def forward(self, cause: Expr, unknown: Var | None = None) -> Expr:
        """Return the effect (``unknown``) as an expression of the cause."""
        if self.law.law is None:
            assert callable(self.law.inverse)
            return self._inverted(self.law.inverse, cause, unknown)
        return self._expression(self.law.law, cause)

    def backward(self, effect: Expr, unknown: Var) -> Expr:
        """Return the cause as an expression of the effect; with ``"newton"`` a self-referring definition."""
        if callable(self.law.inverse):
            return self._expression(self.law.inverse, effect)
        assert self.law.law is not None
        if self.law.inverse == "newton":
            return unknown + (effect - self._expression(self.law.law, unknown))
        return self._inverted(self.law.law, effect, unknown)

    def _formula(self, function: Callable[..., Any]) -> Any:
        import sympy as sp

        accepted = inspect.signature(function).parameters
        keywords = {n: s for n, s in self.dummies.items() if n in accepted}
        try:
            return sp.sympify(function(self.x, **keywords))
        except ModelError as error:  # a law that says itself why it cannot be used so
            raise ModelError(f"{self.where}: {error}") from None
        except (TypeError, ValueError, AttributeError, sp.SympifyError) as error:
            raise ModelError(
                f"{self.where}: its law cannot be written as a formula ({error}); use SymPy's functions "
                "(sympy.sin, sympy.Piecewise) instead of Python's math, if and float()"
            ) from error

    def _read(self, formula: Any, argument: Any, value: Expr) -> Expr:
        def variable(symbol: Any) -> Expr:
            if symbol == argument:
                return value
            known = self.table.get(symbol)
            return self.symbol(symbol) if known is None else known

        return from_sympy(formula, variable, self.where)

    def _expression(self, function: Callable[..., Any], cause: Expr) -> Expr:
        return self._read(self._formula(function), self.x, cause)

    def _inverted(self, function: Callable[..., Any], effect: Expr, unknown: Var | None) -> Expr:
        formula = self._formula(function)
        values = {self.dummies[n]: v for n, v in self.law.parameters.items()}
        found = inverse_of(formula, self.x, self.y, values)
        if found is None and unknown is not None and unknown is not effect and rises(formula, self.x, values):
            return unknown + (effect - self._expression(function, unknown))  # no formula, but one solution
        if found is None:
            raise ModelError(
                f"{self.where}: its law {_readable(formula)} has no single inverse, but the causality needs "
                "one; give inverse=..., or inverse='newton' for a monotonic law, or change the causality "
                "(a storage or resistor beside it, an imposed stroke)"
            )
        return self._read(found, self.y, effect)


def _readable(formula: Any) -> Any:
    import sympy as sp

    return formula.subs({s: sp.Symbol(s.name) for s in formula.free_symbols})


def linear(form: str, coefficient: Expr, cause: Expr) -> Expr:
    """``coefficient * cause`` or ``cause / coefficient``."""
    return Op("mul", (coefficient, cause)) if form == "mul" else Op("div", (cause, coefficient))


@dataclass(frozen=True)
class Formula:
    """What a function gives for symbols.

    Attributes
    ----------
    arguments
        A symbol for each argument that is not a parameter, in order.
    parameters
        A symbol for each parameter, by name.
    value
        The result: a SymPy expression, or a SymPy matrix where the function returns rows.
    """

    arguments: tuple[Any, ...]
    parameters: Mapping[str, Any]
    value: Any


def is_matrix(value: Any) -> bool:
    """Whether a value is given as rows: a list of lists, an array, a SymPy matrix."""
    return isinstance(value, (list, tuple)) or bool(getattr(value, "shape", ()))


def modulation_of(function: Callable[..., Any], parameters: Iterable[str], where: str) -> Formula:
    """Call a function of signals with symbols; what SymPy cannot follow is refused, by its place."""
    import sympy as sp

    named = {n: placeholder(n) for n in parameters}
    names = [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    arguments = tuple(placeholder(n) for n in names if n not in named)
    value = formula_of(function, arguments, named, where)
    return Formula(arguments, named, sp.Matrix(value) if is_matrix(value) else value)


def checked_parameters(
    kind: str,
    function: Callable[..., Any] | None,
    given: Mapping[str, Any],
    ranges: Mapping[str, Range] | None,
) -> tuple[dict[str, Any], dict[str, Range]]:
    """Return the named parameters of a function, as numbers or symbols, and which numbers they may be."""
    within = checked_ranges(ranges, given, kind)
    if given and function is None:
        raise InputError(f"{kind} has no function, so it takes no parameters; found {', '.join(given)}")
    if function is not None:
        accepted = inspect.signature(function).parameters.values()
        if not any(p.kind is p.VAR_KEYWORD for p in accepted):
            known = [p.name for p in accepted]
            for name in given:
                if name not in known:
                    raise InputError(unknown_name("parameter", name, known, where=f"{kind}'s function"))
    return {n: check_number(v, f"{kind}({n})", within.get(n)) for n, v in given.items()}, within


def formula_of(
    function: Callable[..., Any], arguments: Sequence[Any], parameters: Mapping[str, Any], kind: str
) -> Any:
    """Return what a function of SymPy expressions gives: a formula, or several by what they are equal to."""
    import sympy as sp

    try:
        result = function(*arguments, **parameters)
        if not isinstance(result, Mapping):
            return sp.sympify(result)
        return {left: sp.sympify(right) for left, right in result.items()}
    except (TypeError, ValueError, AttributeError, sp.SympifyError) as error:
        raise ModelError(
            f"{kind}: its equations cannot be written as formulas ({error}); use SymPy's functions "
            "(sympy.sin, sympy.Piecewise) instead of Python's math, if and float()"
        ) from error
