"""Laws inside algebraic loops, in the form that is defined everywhere.

A diode gives its current by its voltage, an exponential. Causality may ask for the voltage by the current,
a logarithm, which ends at the saturation current. Where the current is known that is the simplest formula.
In a loop it is guessed, and a guess may lie beyond; worse, a diode that blocks has the same current in all
sixteen digits whatever its voltage. There the law is kept as the other formula and the voltage becomes an
unknown of the loop: the one at which the law gives the current.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.engine.ir import Const, Expr, Op, Var, at_zero, components, evaluate, partials, variables
from bondloop.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


_PARTIAL = {"log", "sqrt", "asin", "acos", "acosh", "atanh", "pow", "div", "tan"}
"""Operations that may have no value."""

_PROBES = [sign * 10.0**k for k in range(-15, 16) for sign in (1.0, -1.0)]
"""Where a formula is tried out."""


@dataclass(frozen=True)
class Choice:
    """A law of which a model uses one formula, and could use the other.

    Attributes
    ----------
    path
        Of the element.
    unknown
        What the formula in use computes.
    effect
        What that formula takes.
    other
        Gives the other formula: ``effect`` by ``unknown``.
    """

    path: str
    unknown: Var
    effect: Expr
    other: Callable[[Var], Expr]


def use_total_laws(
    choices: Sequence[Choice],
    definitions: dict[Var, Expr],
    parameters: Mapping[Var, float | None],
) -> list[Var]:
    """Replace formulas in loops that are not defined everywhere; return the unknowns that this makes."""
    partial = [c for c in choices if not _is_total(definitions[c.unknown], parameters)]
    if not partial:
        return []
    inside = {
        v for part in components(definitions, [c.unknown for c in partial]) if len(part) > 1 for v in part
    }
    unknowns = []
    for choice in partial:
        unknown = choice.unknown
        if unknown not in inside:
            continue
        try:
            formula = choice.other(unknown)
        except ModelError:  # it has no other formula
            continue
        if not _is_total(formula, parameters):
            continue
        law = Var(f"{choice.path}.law")
        definitions[law] = formula
        definitions[unknown] = unknown + (choice.effect - law) / _slope_at_zero(formula, unknown, parameters)
        unknowns.append(unknown)
    return unknowns


def _slope_at_zero(formula: Expr, unknown: Var, parameters: Mapping[Var, float | None]) -> Expr:
    """Return the slope of a law where it begins: what is too much of its effect, as so much of its cause.

    Without it amperes of 1e-12 are added to volts, and only four of their digits are left.
    """
    try:
        slope = at_zero(partials(formula)[unknown], unknown)
        size = evaluate(slope, _values(slope, parameters))
    except (ValueError, ZeroDivisionError, OverflowError):
        return Const(1.0)
    return slope if size and math.isfinite(size) else Const(1.0)


def _is_total(formula: Expr, parameters: Mapping[Var, float | None]) -> bool:
    """Whether a formula has a value wherever it is tried out; one that is too large to be written counts."""
    if not _operations(formula) & _PARTIAL:
        return True
    values = _values(formula, parameters)
    causes = [v for v in values if v not in parameters]
    for x in _PROBES:
        values.update(dict.fromkeys(causes, x))
        try:
            evaluate(formula, values)
        except OverflowError:
            continue
        except (ValueError, ZeroDivisionError):
            return False
    return True


def _values(formula: Expr, parameters: Mapping[Var, float | None]) -> dict[Var, float]:
    """Return numbers for all variables of a formula: one where there is none."""
    numbers = {v: parameters.get(v) for v in variables(formula)}
    return {v: 1.0 if number is None else number for v, number in numbers.items()}


def _operations(formula: Expr) -> set[str]:
    if not isinstance(formula, Op):
        return set()
    return {formula.name}.union(*(_operations(a) for a in formula.args))
