"""The equation of motion of a transfer system as a linear regression for some of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bondloop.errors import InputError, unknown_name

if TYPE_CHECKING:
    from bondloop.transfer import Transfer


Terms = dict[tuple[str, int], float]
"""Coefficients by signal (``"motion"``, ``"command"``, ``"load"``) and order of its derivative."""


@dataclass(frozen=True)
class Regression:
    """``value = sum_i parameter_i regressor_i``, each a sum of derivatives of the measured signals.

    Attributes
    ----------
    value
        The part of the equation without the parameters, with its sign changed.
    regressors
        What stands by each parameter.
    order
        The highest derivative in it.
    """

    value: Terms
    regressors: tuple[Terms, ...]
    order: int


def regression(transfer: Transfer, parameters: Sequence[str]) -> Regression:
    """Derive the regression from a linear model, whatever its structure.

    With the model's transfer functions from command u and load F to the displacement x brought to a common
    denominator, ``a(s) x = b(s) u + c(s) F`` holds with polynomials whose coefficients depend on the
    parameters: m s^2 x + c s x + k x = k u - F for a mass with damper and a spring with a set point. It is a
    regression where the chosen parameters enter linearly.

    Parameters
    ----------
    transfer
        The model; linear.
    parameters
        Full names of the parameters to identify.
    """
    import sympy as sp

    system = transfer.system
    by_name = {v.name: value for v, value in system.parameters_by_var.items()}
    for name in parameters:
        if name not in by_name:
            raise InputError(unknown_name("parameter", name, by_name, system.name))
    missing = [n for n, value in by_name.items() if value is None]
    if missing:
        raise InputError(f"no value for {', '.join(missing)}; give one in the model")
    if not system.is_linear:
        raise InputError(
            f"{system.name} is not linear: its parameters cannot be identified on line from transfer "
            "functions; use a linear model"
        )
    symbols = [sp.Symbol(n) for n in parameters]
    equation = _equation_of_motion(transfer, symbols)
    known: Terms = {}
    regressors: list[Terms] = [{} for _ in parameters]
    for signal, coefficients in equation.items():
        for power, coefficient in enumerate(coefficients):
            _sort(coefficient, symbols, (signal, power), known, regressors, parameters)
    known = {at: -c for at, c in known.items()}
    if not known:
        raise InputError(
            f"{', '.join(parameters)} of {system.name} appear in every term of its equation, so only their "
            "ratios show in the motion; leave one of them out"
        )
    idle = [n for n, terms in zip(parameters, regressors, strict=True) if not terms]
    if idle:
        raise InputError(
            f"{', '.join(idle)} of {system.name} does not show in its motion; leave it out of the parameters"
        )
    order = max(power for terms in (known, *regressors) for _, power in terms)
    return Regression(known, tuple(regressors), order)


def _equation_of_motion(transfer: Transfer, symbols: Sequence[Any]) -> dict[str, list[Any]]:
    """Return a, -b and -c of a(s) x = b(s) u + c(s) F by power of s, polynomials in the symbols.

    All parameters but the symbols are numbers: with letters for all of them, solving s I - A takes SymPy
    minutes for eight states. With χ(A) = det(s I - A) the response of the velocity to one input is
    (χ(A - b c) - χ(A))/χ(A) + d, so that no system of equations is solved at all; χ is had without divisions
    (Berkowitz). The equation is scaled so that the load stands in it as a force, with the values in force.

    Parameters
    ----------
    transfer
        The model; linear.
    symbols
        Of the parameters that stay letters.
    """
    import sympy as sp
    from sympy.polys.matrices import DomainMatrix
    from sympy.polys.polyerrors import CoercionFailed

    system = transfer.system
    values = {
        sp.Symbol(v.name): sp.Rational(repr(float(x or 0.0))) for v, x in system.parameters_by_var.items()
    }
    numbers = {p: x for p, x in values.items() if p not in symbols}
    field = sp.QQ.frac_field(*symbols)

    def over_field(X: Any) -> Any:
        # A root of numbers (a valve's) becomes a rational number of thirty digits.
        X = sp.nsimplify(X.subs(numbers), rational=True).replace(
            lambda e: e.is_Pow and e.is_number and not e.is_rational, lambda e: sp.Rational(str(e.evalf(30)))
        )
        try:
            return DomainMatrix.from_Matrix(X).convert_to(field)
        except (ValueError, CoercionFailed):
            raise InputError(
                f"the equation of motion is not linear in {', '.join(map(str, symbols))}; identify others"
            ) from None

    A, B, C, D = (over_field(X) for X in (system.A, system.B, system.C, system.D))
    n = A.shape[0]
    chi = A.charpoly()
    names = [v.name for v in system.input_vars]
    parts = [[*chi, field.zero]]  # the displacement is the velocity's integral: one power of s more
    for source in (transfer.command, transfer.load):
        j = names.index(source.name)
        b, c, d = B.extract(range(n), [j]), C.extract([0], range(n)), D.extract([0], [j]).to_Matrix()[0]
        direct = field.from_sympy(sp.sympify(d))
        changed = (A - b * c).charpoly()
        parts.append([y - x + direct * x for x, y in zip(chi, changed, strict=True)])
    s = sp.Symbol("s")
    rows = [sum(sp.sympify(field.to_sympy(x)) * s**k for k, x in enumerate(reversed(row))) for row in parts]
    below = sp.lcm_list([sp.fraction(sp.together(row))[1] for row in rows])
    polynomials = [sp.Poly(sp.cancel(row * below), s, *symbols) for row in rows]
    common = polynomials[0]
    for other in polynomials[1:]:
        common = sp.gcd(common, other)
    motion, command, load = (sp.Poly((x.quo(common)).as_expr(), s) for x in polynomials)
    felt = next(
        (x for x in reversed((load if load.as_expr() != 0 else command).all_coeffs()) if x != 0), sp.S.One
    )
    scale = abs(felt.subs(values)) or sp.S.One
    signs = {"motion": (motion, 1), "command": (command, -1), "load": (load, -1)}
    return {
        word: [sp.expand(sign * x / scale) for x in reversed(poly.all_coeffs())]
        for word, (poly, sign) in signs.items()
    }


def _sort(
    coefficient: Any,
    symbols: Sequence[Any],
    at: tuple[str, int],
    known: Terms,
    regressors: Sequence[Terms],
    names: Sequence[str],
) -> None:
    """Put what stands by each parameter, and what by none, in its place."""
    import sympy as sp

    poly = sp.Poly(coefficient, *symbols)
    if poly.total_degree() > 1:
        raise InputError(
            f"the equation of motion is not linear in {', '.join(names)} together (it contains "
            f"{poly.as_expr()}); identify fewer of them on line"
        )
    for powers, c in poly.terms():
        if c == 0:
            continue
        where = regressors[powers.index(1)] if 1 in powers else known
        where[at] = float(c)
