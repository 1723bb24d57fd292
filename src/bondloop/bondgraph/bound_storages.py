"""Storages that are bound to others by numbers, not by the structure of the graph.

Causality looks at which variable follows from which, not by how much. In a ring the gains may cancel: a bond
from a 1-junction to a 0-junction and another one back carry the same flow in and out, so what is stored at
the 0-junction takes none. Two storages then look independent that are not, and the equations between them are
singular. Their null space says which contents are bound; one of those is made to follow, and the causality
is assigned again.

Only what cancels whatever the parameters are is looked for: with 1 ohm beside -1 ohm a model changes its
nature as soon as one of them is changed, and stays refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import elements as el
from bondloop.bondgraph.flatten import R
from bondloop.errors import SolveError
from bondloop.program.linear import SingularLoopError, state_space
from bondloop.program.system import System

if TYPE_CHECKING:
    from bondloop.bondgraph.causality import Causality
    from bondloop.bondgraph.derive import Derivation
    from bondloop.bondgraph.flatten import Flat
    from bondloop.program.expr import Var

__all__ = ["bound_states", "cancelled", "has_rings"]

SIZES = (1.0, 1e-2, 1e-4)
"""Sizes of the variables at which a loop must be singular: a steep law (a diode at half a volt) drowns all
others at one of them, and only what is bound by the structure is so at all."""

CANCELS = 1e-12
"""Gain, against the others of its row, that counts as none."""

_ENTRY = re.compile(r"\[(\d+),(\d+)\]$")


def has_rings(flat: Flat, causality: Causality) -> bool:
    """Whether bonds close a ring that equations can go round.

    The ports of a field are one node, unless all are as a field likes them best: then contents or flows come
    in and nothing is solved for, and the matrices of a large structure need not be looked at.
    """
    turned = {*causality.derivative, *causality.arbitrary}
    joined = 0
    for part, first in flat.first.items():
        if isinstance(part, el.Field):
            ports = range(first, first + (part.size or 1))
            if any(n in turned or (flat.kind[n] == R and causality.strokes_at(flat, n)) for n in ports):
                joined += len(ports) - 1
    return len(flat.tail) >= len(flat.kind) - joined


def bound_states(system: System) -> list[Var]:
    """Return the states that an algebraic loop without a unique solution binds, the most bound first."""
    states: list[Var] = []
    for size in SIZES:
        try:
            state_space(system, _numbers(system, size), at_point=True)
        except SingularLoopError as error:
            weights = error.bound()[: len(system.state_vars)]
            order = np.argsort(-weights)
            states = states or [system.state_vars[i] for i in order if weights[i] > 0]
        except SolveError:
            return []
        else:
            return []
    return states


def cancelled(derivation: Derivation) -> list[Var]:
    """Return the contents that depend on rates by their formulas, while by numbers these cancel."""
    d = derivation
    goals, rates = list(d.rate_goals), list(d.rate_goals.values())
    given = [*d.states, *d.dots.values(), *d.inputs, *d.held, *rates]
    outputs = {goal.name: goal for goal in goals}
    definitions = {v: e for v, e in d.definitions.items() if v not in set(d.dots.values())}
    system = System(
        "contents", {}, given, dict(outputs), d.parameters, definitions, tears=[*d.bent, *d.tears]
    )
    try:
        gains = np.abs(state_space(system, _numbers(system), at_point=True).D.toarray())
    except SolveError:
        return []
    own, size = gains[:, -len(rates) :].max(axis=1), gains.max(axis=1)
    return [goal for goal, a, b in zip(goals, own, size, strict=True) if a <= CANCELS * max(b, 1.0)]


def _numbers(system: System, size: float = 1.0) -> dict[Var, float]:
    """Return numbers for all variables: parameters near their values, so that none cancel by chance."""
    rng = np.random.default_rng(0)
    factors: dict[str, float] = {}
    numbers: dict[Var, float] = {}
    for v, value in system.parameters_by_var.items():
        entry = _ENTRY.search(v.name)  # a field stays symmetric, or antisymmetric
        name = v.name if entry is None else v.name[: entry.start()] + str(sorted(entry.groups()))
        factor = factors.setdefault(name, float(np.exp(rng.uniform(-0.3, 0.3))))
        numbers[v] = factor * (1.0 if value is None else value)
    # Slopes of laws anywhere will do: what cancels there by the structure cancels everywhere.
    others = [*system.state_vars, *system.input_vars, *system.input_rates.values(), *system.definitions]
    numbers.update((v, size * float(rng.uniform(0.2, 1.0))) for v in others)
    return numbers
