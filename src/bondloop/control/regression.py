"""The equation of motion of a transfer system as a linear regression for some of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bondloop.errors import InputError, unknown_name

if TYPE_CHECKING:
    from bondloop.transfer.base import Transfer

__all__ = ["Regression", "Terms", "regression"]

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
    if not system.is_linear:
        raise InputError(
            f"{system.name} is not linear: its parameters cannot be identified on line from transfer "
            "functions; use a linear model"
        )
    s = sp.Symbol("s")
    output = next(iter(system.output_exprs))
    exact = {
        sp.Symbol(n): sp.Rational(repr(float(v)))
        for n, v in by_name.items()
        if n not in parameters and v is not None
    }
    parts = []
    for source in (transfer.command, transfer.load):
        g = system.transfer_function(output, source.name) / s  # from velocity to displacement
        g = sp.nsimplify(g, rational=True)
        parts.append(sp.fraction(sp.cancel(sp.together(g))))
    (command, below_command), (load, below_load) = parts
    below = sp.lcm(below_command, below_load)
    equation = {
        "motion": below,
        "command": -sp.cancel(command * below / below_command),
        "load": -sp.cancel(load * below / below_load),
    }
    symbols = [sp.Symbol(n) for n in parameters]
    known: Terms = {}
    regressors: list[Terms] = [{} for _ in parameters]
    for signal, polynomial in equation.items():
        for (power,), coefficient in sp.Poly(sp.expand(polynomial), s).terms():
            _sort(coefficient.subs(exact), symbols, (signal, power), known, regressors, parameters)
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
        if not c.is_number:
            raise InputError(f"no value for {', '.join(map(str, c.free_symbols))}; give one in the model")
        where = regressors[powers.index(1)] if 1 in powers else known
        where[at] = float(c)
