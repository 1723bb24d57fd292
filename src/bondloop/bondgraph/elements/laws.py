"""Constitutive laws: a coefficient, or any function of SymPy expressions; and their inverses.

The inverse of a law is found symbolically and tried out numerically.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

from bondloop.bondgraph.domain import units_of
from bondloop.bondgraph.tolerances import OTHER_SIGNALS
from bondloop.engine.data import FINITE, Range, is_truth
from bondloop.engine.ir import Const, Expr, Op, Var, evaluate
from bondloop.engine.passes import from_sympy
from bondloop.errors import InputError, ModelError, unknown_name
from bondloop.units import quantity

_SIZES = [10.0 ** (k / 8) for k in range(-48, 49)]
"""Sizes of the causes at which a law is tried out: 1e-6 to 1e6, eight to the decade."""
_FINE = [10.0 ** (k / 40) for k in range(-240, 81)]
"""Sizes of the causes at which a slope is tried out: 1e-6 to 100, forty to the decade."""
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
    for probe in OTHER_SIGNALS if others else OTHER_SIGNALS[:1]:
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


def check_number(value: Any, what: str, within: Range | None = None, *, units: Sequence[str] = ()) -> Any:
    """Return a coefficient as a float, or unchanged if it is a SymPy expression; units become SI.

    A number must be finite and lie within the range, if there is one; a text must measure the same as one of
    the units, those of the range where none are given.
    """
    within = within or FINITE
    result = _plain_number(value, what, units or within.units)
    return within.check(result, what) if isinstance(result, float) else result


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


@cache
def placeholder(name: str, role: str = "parameter") -> Any:  # noqa: ARG001 - kept by both
    """Return what stands for a name in a formula: the same symbol every time, and none of the user's.

    A parameter called x is not the argument x, so each has its role. SymPy remembers what it has worked out
    for symbols that it knows: a law that is written out again costs a tenth.
    """
    import sympy as sp

    return sp.Dummy(name, real=True)


class BoundLaw:
    """The law of one element: with its path, its parameters, and how free symbols are looked up."""

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
                f"{self.where}: its law cannot be written as a formula ({error}); use the functions of "
                "bondloop.math or SymPy (sin, where or Piecewise) instead of Python's math, if and float()"
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
        The result: a SymPy expression, or a SymPy matrix where the function returns rows; or a product, whose
        symbols are names.
    """

    arguments: tuple[Any, ...]
    parameters: Mapping[str, Any]
    value: Any

    def expression(self, variable: Callable[[Any], Expr], where: str) -> Expr:
        """Return the result, with expressions in the place of its symbols."""
        if isinstance(self.value, _Product):
            return self.value.expression(variable)
        return from_sympy(self.value, variable, where)


class _RewrittenError(TypeError):
    """What is computed is more than a product with a sum, or SymPy would write it in another way."""


_Term = tuple[float, frozenset[str]]
"""A number times variables by name, each once."""


@dataclass(frozen=True)
class _Product:
    """A number times variables, and times a sum of such products: what SymPy changes by its order alone.

    A law is called with such values first. Its factors and terms are ordered as SymPy orders them, so a law
    that is so simple is written the same without SymPy, whose import takes longer than most derivations.
    """

    number: float = 1.0
    factors: frozenset[str] = frozenset()
    terms: tuple[_Term, ...] = ()

    __array_ufunc__ = None

    def __neg__(self) -> _Product:
        if self.terms and not self.factors:  # a sum alone: each of its terms
            return _Product(terms=tuple((-number, factors) for number, factors in self.terms))
        return _Product(-self.number, self.factors, self.terms)

    def __mul__(self, other: object) -> _Product:
        if isinstance(other, (int, float)) and not self.terms and abs(self.number) == 1.0:
            number = float(other)
            if math.isfinite(number) and abs(number) not in (0.0, 1.0):
                return _Product(self.number * number, self.factors)
        if not isinstance(other, _Product):
            raise _RewrittenError
        terms = self.terms or other.terms
        inner = frozenset[str]().union(*(factors for _, factors in terms))
        number, factors = self.number * other.number, self.factors | other.factors
        once = not (self.factors & other.factors or inner & factors or (self.terms and other.terms))
        if not once or (abs(number) != 1.0 if terms else 1.0 not in (abs(self.number), abs(other.number))):
            raise _RewrittenError
        return _Product(number, factors, terms)

    __rmul__ = __mul__

    def _terms(self) -> tuple[_Term, ...]:
        if abs(self.number) != 1.0 or (self.terms and self.factors):
            raise _RewrittenError
        return self.terms or ((self.number, self.factors),)

    def __add__(self, other: object) -> _Product:
        if not isinstance(other, _Product):
            raise _RewrittenError
        terms = (*self._terms(), *other._terms())
        if len({factors for _, factors in terms}) < len(terms):
            raise _RewrittenError
        return _Product(terms=terms)

    def __sub__(self, other: _Product) -> _Product:
        return self + (-other)

    def expression(self, variable: Callable[[Any], Expr]) -> Expr:
        """Return it with expressions in the place of its variables."""

        def product(number: float, names: Iterable[str]) -> list[Expr]:
            ordered = [variable(name) for name in sorted(names)]
            return ordered if number == 1.0 else [Const(number), *ordered]

        names = sorted({name for _, factors in self.terms for name in factors})
        ordered = sorted(self.terms, key=lambda term: [name in term[1] for name in names], reverse=True)
        terms = [reduce(operator.mul, product(*term)) for term in ordered]
        factors = product(self.number, self.factors)
        return reduce(operator.mul, [*factors, reduce(operator.add, terms)] if terms else factors)


def is_matrix(value: Any) -> bool:
    """Whether a value is given as rows: a list of lists, an array, a SymPy matrix."""
    return isinstance(value, (list, tuple)) or bool(getattr(value, "shape", ()))


def modulation_of(function: Callable[..., Any], parameters: Iterable[str], where: str) -> Formula:
    """Call a function of signals with symbols; what SymPy cannot follow is refused, by its place."""
    import sympy as sp

    named = {n: placeholder(n) for n in parameters}
    arguments = tuple(map(placeholder, _arguments(function, named)))
    value = formula_of(function, arguments, named, where)
    return Formula(arguments, named, sp.Matrix(value) if is_matrix(value) else value)


def product_of(function: Callable[..., Any], parameters: Iterable[str]) -> Formula | None:
    """Call a function of signals without SymPy; None where it is more than a product with a sum."""
    named = {n: n for n in parameters}
    arguments = tuple(_arguments(function, named))
    symbols = {n: _Product(factors=frozenset({n})) for n in (*arguments, *named)}
    try:
        value = function(*(symbols[n] for n in arguments), **{n: symbols[n] for n in named})
    except Exception:  # noqa: BLE001 - it is called with SymPy's symbols then, and errors are told then
        return None
    return Formula(arguments, named, value) if isinstance(value, _Product) else None


def _arguments(function: Callable[..., Any], parameters: Mapping[str, Any]) -> list[str]:
    names = [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    return [n for n in names if n not in parameters]


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
            f"{kind}: its equations cannot be written as formulas ({error}); use the functions of "
            "bondloop.math or SymPy (sin, where or Piecewise) instead of Python's math, if and float()"
        ) from error
