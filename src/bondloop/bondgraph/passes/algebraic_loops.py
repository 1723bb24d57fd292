"""Algebraic loops: storages that they bind, and laws in the form that is defined everywhere.

Causality looks at which variable follows from which, not by how much. In a ring the gains may cancel: a bond
from a 1-junction to a 0-junction and another one back carry the same flow in and out, so what is stored at
the 0-junction takes none. Two storages then look independent that are not, and the equations between them are
singular. Their null space says which contents are bound; one of those is made to follow, and the causality
is assigned again.

Numbers may also cancel by their values: beside a bond a transformer of modulus 1 carries back the flow that
comes by the bond, one of 1.1 does not. If then another storage can be the state instead (`independent`), it
is one for every modulus. If there is none, the model has fewer states than its neighbours: with 1 ohm
beside -1 ohm a capacitor is empty at once, and charges without bound or discharges in no time as soon as one
of them is changed. That stays refused.

A diode gives its current by its voltage, an exponential. Causality may ask for the voltage by the current,
a logarithm, which ends at the saturation current. Where the current is known that is the simplest formula.
In a loop it is guessed, and a guess may lie beyond; worse, a diode that blocks has the same current in all
sixteen digits whatever its voltage. There the law is kept as the other formula and the voltage becomes an
unknown of the loop: the one at which the law gives the current (`use_total_laws`).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph.elements import fields
from bondloop.bondgraph.passes.flat_graph import R
from bondloop.bondgraph.tolerances import LOOP_SIZES, NO_GAIN
from bondloop.engine import System
from bondloop.engine.ir import (
    Const,
    Expr,
    Interface,
    Op,
    Program,
    Var,
    at_zero,
    components,
    evaluate,
    partials,
    variables,
)
from bondloop.engine.passes import SingularLoopError, check_loops, state_space
from bondloop.errors import BondloopError, ModelError, SolveError

if TYPE_CHECKING:
    from collections.abc import Callable

    from bondloop.bondgraph.passes.causality import CausalGraph
    from bondloop.bondgraph.passes.equations import Derivation

    Derived = tuple[Derivation, System]
    from collections.abc import Mapping, Sequence


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


_ENTRY = re.compile(r"\[(\d+),(\d+)\]$")


def has_rings(graph: CausalGraph) -> bool:
    """Whether bonds close a ring that equations can go round.

    The ports of an element with equations are one node. So are those of a field, unless all are as a field
    likes them best: then contents or flows come in and nothing is solved for, and the matrices of a large
    structure need not be looked at. Those of a matrix transformer always are. Without rings a graph has one
    bond less than nodes in each part that hangs together.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    flat = graph.flat
    turned = {*graph.derivative, *graph.arbitrary}
    joined = [(ranks.nodes[0], n) for ranks in graph.ranks.values() for n in ranks.nodes[1:]]
    for part in flat.multiports:
        first = flat.first[part]
        ports = range(first, first + (part.size or 1))
        if not isinstance(part, fields.Field) or (
            any(n in turned or (flat.kind[n] == R and graph.strokes_at(n)) for n in ports)
        ):
            joined += [(first, n) for n in ports[1:]]
    tails, heads = [*flat.tail, *(a for a, _ in joined)], [*flat.head, *(b for _, b in joined)]
    count = len(flat.kind)
    links = sparse.coo_array((np.ones(len(tails)), (tails, heads)), shape=(count, count))
    parts, _ = connected_components(links, directed=False)
    return len(tails) > count - parts


def independent(first: Derived, again: Callable[[list[int]], Derived]) -> System:
    """Return a system whose states are independent, as far as there is one; else the first.

    Parameters
    ----------
    first
        What was derived with every storage a state that can be one.
    again
        Derives with some storages (nodes) that rather follow others.
    """
    system = first[1]
    followers: list[int] = []
    if not _has_loops(system):
        return system
    derived = first
    while bound := bound_states(derived[1]):
        node = next(iter(_storages(derived, bound, followers)), None)
        if node is None:
            return system
        followers.append(node)
        derived = again(followers)
        if node not in derived[0].graph.derivative:
            return system
    system = derived[1]
    while bound := bound_states(derived[1], as_given=True):
        for node in _storages(derived, bound, followers):
            try:
                other = again([*followers, node])
            except BondloopError:  # it would follow the second rate of an input
                continue
            # One state for another: with fewer the model would change its nature with the last digit.
            if len(other[1].states) == len(system.states) and not bound_states(other[1]):
                break
        else:
            return system
        derived = other
        followers.append(node)
    return derived[1]


def _has_loops(system: System) -> bool:
    """Whether some definitions need each other, or themselves; without numbers, and so quickly."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    dots = set(system.dots.values())
    number = {v: i for i, v in enumerate(v for v in system.definitions if v not in dots)}
    rows, columns = [], []
    for target, i in number.items():
        for v in variables(system.definitions[target]):
            j = number.get(v)
            if j is not None:
                rows.append(i)
                columns.append(j)
    count = len(number)
    needs = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(count, count))
    groups, _ = connected_components(needs, directed=True, connection="strong")
    return bool(groups < count or needs.diagonal().any())


def _storages(derived: Derived, states: list[Var], followers: list[int]) -> list[int]:
    """Return the nodes of the storages that hold some states, without those that follow already."""
    nodes = [derived[0].storage_of(state) for state in states]
    return [n for n in nodes if n is not None and n not in followers]


def bound_states(system: System, *, as_given: bool = False) -> list[Var]:
    """Return the states that an algebraic loop without a unique solution binds, the most bound first.

    ``as_given``: with the very values of the parameters, instead of others near them. Rates that others need
    count as given in the loops: states for which that goes well have equations in letters too.
    """
    if as_given and None in system.parameters_by_var.values():
        return []
    states: list[Var] = []
    for size in LOOP_SIZES:
        try:
            check_loops(system, _numbers(system, size, near=not as_given))
        except SingularLoopError as error:
            weights = error.bound()[: len(system.state_vars)]
            order = np.argsort(-weights)
            states = states or [system.state_vars[i] for i in order if weights[i] > 0]
        except SolveError:
            return []
        else:
            return []
    return states


def cancelled(d: Derivation) -> list[Var]:
    """Return the contents that depend on rates by their formulas, while by numbers these cancel."""
    goals, rates = list(d.rate_goals), list(d.rate_goals.values())
    given = [*d.states, *d.dots.values(), *d.inputs, *d.held, *rates]
    outputs = {goal.name: goal for goal in goals}
    definitions = {v: e for v, e in d.definitions.items() if v not in set(d.dots.values())}
    system = System(
        "contents",
        Interface({}, given, dict(outputs), d.parameters),
        Program(definitions, [*d.bent, *d.tears]),
    )
    try:
        gains = np.abs(state_space(system, _numbers(system), at_point=True).D.toarray())
    except SolveError:
        return []
    own, size = gains[:, -len(rates) :].max(axis=1), gains.max(axis=1)
    return [goal for goal, a, b in zip(goals, own, size, strict=True) if a <= NO_GAIN * max(b, 1.0)]


def _numbers(system: System, size: float = 1.0, *, near: bool = True) -> dict[Var, float]:
    """Return numbers for all variables: parameters near their values, so that none cancel by chance.

    Without ``near`` the parameters have their values.
    """
    rng = np.random.default_rng(0)
    factors: dict[str, float] = {}
    numbers: dict[Var, float] = {}
    for v, value in system.parameters_by_var.items():
        entry = _ENTRY.search(v.name)  # a field stays symmetric, or antisymmetric
        name = v.name if entry is None else v.name[: entry.start()] + str(sorted(entry.groups()))
        factor = factors.setdefault(name, float(np.exp(rng.uniform(-0.3, 0.3))))
        numbers[v] = (factor if near else 1.0) * (1.0 if value is None else value)
    # Slopes of laws anywhere will do: what cancels there by the structure cancels everywhere.
    others = [*system.state_vars, *system.input_vars, *system.input_rates.values(), *system.definitions]
    numbers.update((v, size * float(rng.uniform(0.2, 1.0))) for v in others)
    return numbers
