"""Steady states: where nothing changes, as the motion from the start leads to it.

A system may have many. Two springs side by side hold any difference of their lengths that they began with;
two capacitors hold the charge that they were given. What is conserved keeps its value, so the steady state is
the one that has it. Of a linear system that is a projection; one that is not linear is followed in time where
its equations alone leave a choice.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.analysis.one_mode import local_space
from bondloop.engine.analysis.rest import equilibrated, null, rest_of, state_units
from bondloop.engine.analysis.switching_rest import SwitchingRest
from bondloop.engine.ir import DENSE_REST, FREE_SHARE, MODE_SLACK, SingularError, evaluator, factorised
from bondloop.engine.passes import with_sizes
from bondloop.errors import ModeWarning, SolveError, StabilityWarning

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.engine.ir import StateSpace, SystemData


NAMED = 4
"""States that a remark names before it counts."""


class SteadyState(dict[str, float]):
    """The states at rest by their paths, and whether the equations have only this rest.

    Where they have more, nearby, the start has decided: what is conserved was kept as it was there.

    Parameters
    ----------
    states
        Every state by its path.
    free
        States that the equations at rest leave open: they may be moved, together, and nothing changes. Of a
        system that is not linear this is so to first order.
    freedom
        In how many independent ways.

    Examples
    --------
    Of two springs side by side, only what they carry together is settled by a force:

    >>> from bondloop.bondgraph import C, I, Model, One, R, Se
    >>> pair = Model("pair")
    >>> pair.v, pair.a, pair.b = One(), C(stiffness=300), C(stiffness=100)
    >>> _ = Se("F") >> pair.v >> [I(mass=1), R(damping=10), pair.a, pair.b]
    >>> rest = pair.compile().steady_state({"F": 40})
    >>> round(rest["a.displacement"], 6), rest.unique, rest.free
    (0.1, False, ('a.displacement', 'b.displacement'))
    >>> print(rest.remark)
    not unique: the equations leave a.displacement and b.displacement open, in one way; the start has decided
    """

    def __init__(self, states: Mapping[str, float], free: tuple[str, ...] = (), freedom: int = 0) -> None:
        super().__init__(states)
        self.free = free
        self.freedom = freedom

    @property
    def unique(self) -> bool:
        """Whether no other rest is near."""
        return not self.freedom

    @property
    def remark(self) -> str:
        """What is to be said of it in words: empty where it is the only rest."""
        if self.unique:
            return ""
        shown = list(self.free)
        if len(shown) > NAMED + 1:
            shown = [*shown[:NAMED], f"{len(shown) - NAMED} more states"]
        names = " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
        ways = "one way" if self.freedom == 1 else f"{self.freedom} independent ways"
        return f"not unique: the equations leave {names} open, in {ways}; the start has decided"


def left_open(A: NDArray[np.float64]) -> tuple[NDArray[np.int_], int]:
    """Return which states A leaves open, by number, and in how many ways.

    >>> left_open(np.array([[0.0, 1.0, 0.0], [0.0, -2.0, 0.0], [0.0, 0.0, -1.0]]))
    (array([0]), 1)
    """
    directions = null(A)
    if not directions.shape[1]:
        return np.array([], dtype=int), 0
    share = np.abs(directions) / equilibrated(A)[2][:, None]
    share /= share.max(axis=0)
    return np.flatnonzero(share.max(axis=1) > FREE_SHARE), directions.shape[1]


def steady_state(
    system: SystemData,
    inputs: Mapping[str, float] | None = None,
    values: Mapping[str, float] | None = None,
    initial: Mapping[str, float] | ArrayLike | None = None,
) -> SteadyState:
    """Return the states at which nothing changes, as the motion from the start leads to them.

    Parameters
    ----------
    system
        The system.
    inputs
        Constant inputs by name; those left out keep the model's value, or zero.
    values
        Parameter values that replace the model's own.
    initial
        Where the motion starts: states by name (others as the model says), or a full vector. It decides where
        something is conserved, and where there are several steady states.

    Raises
    ------
    SolveError
        Where nothing comes to rest, or where it cannot be known at which of several steady states it does.

    Warns
    -----
    StabilityWarning
        Where the only steady state is unstable: it is returned, but the motion leads away from it. Of more
        than 300 states this is not looked at.
    ModeWarning
        Where the system is of one mode, and that does not hold there.
    """
    x0 = system.initial(initial)
    if not len(x0):
        return SteadyState({})
    if system.switching:
        x = SwitchingRest(system, inputs, values, x0).found()
    else:
        x = rest_of(system, inputs, values, x0)
        warn_of_mode(system, x, inputs, values)
    local = local_space(system, x, inputs, values)
    if len(x) <= DENSE_REST:
        _warn_of_growth(system, local)
    free, freedom = _open(local)
    return SteadyState(dict(zip(system.states, x.tolist(), strict=True)), free, freedom)


def _open(local: StateSpace) -> tuple[tuple[str, ...], int]:
    """Return the states that the equations about a rest leave open, and in how many ways."""
    if not local.states:
        return (), 0
    if len(local.states) > DENSE_REST:
        try:
            factorised(local.A)
        except SingularError:
            pass
        else:
            return (), 0
    try:
        which, freedom = left_open(state_units(factorised(local.E)(local.A))[1])
    except SolveError:
        return (), 0  # a slope that does not exist just here
    return tuple(local.states[i] for i in which), freedom


def _warn_of_growth(system: SystemData, local: StateSpace) -> None:
    """Say so where something grows that is near a steady state."""
    try:
        rate = fastest_growth(factorised(local.E)(local.A))
    except SolveError:
        return  # a slope that does not exist just here
    if rate > 0:
        warnings.warn(
            f"{system.name}: the steady state is unstable: what is near it moves away, e times as far in "
            f"{1 / rate:.3g} s, and no other was found to which the motion from the start leads; take it "
            "for a point at which to linearise, not for an end",
            StabilityWarning,
            stacklevel=4,
        )


def fastest_growth(A: NDArray[np.float64]) -> float:
    """Return the largest real part of the eigenvalues, in 1/s; zero where it may be rounding.

    The rounding of an eigenvalue is that of the matrix, balanced, over the cosine between its left and right
    vectors (Wilkinson 1965). Integrators in a row have one that is nearly zero, and eigenvalues far off.

    >>> import numpy as np
    >>> fastest_growth(np.array([[0.0, 1.0], [0.0, 0.0]]))
    0.0
    >>> round(fastest_growth(np.array([[0.0, 1.0], [4.0, 0.0]])), 12)
    2.0
    """
    from scipy.linalg import eig

    solver: Any = eig  # its types know one kind of result only
    balanced = state_units(A)[1]
    p, left, right = solver(balanced, left=True, right=True)
    cosines = np.maximum(np.abs(np.einsum("ij,ij->j", left.conj(), right)), np.finfo(float).eps)
    rounding = 1e3 * np.finfo(float).eps * np.linalg.norm(balanced) / cosines
    return float(np.max(p.real[p.real > rounding], initial=0.0))


def warn_of_mode(
    system: SystemData,
    x: NDArray[np.float64],
    inputs: Mapping[str, float] | None,
    values: Mapping[str, float] | None,
) -> None:
    """Say so where a system of one mode rests where that mode does not hold."""
    if not system.modes.held:
        return
    goals = [g for held in system.modes.held for g in (held.rule.effort, held.rule.flow, *held.rule.terms)]
    statements = system.schedule(goals)
    groups = [
        system.state_vars,
        system.input_vars,
        tuple(system.input_rates.values()),
        tuple(system.parameters_by_var),
    ]
    numbers = [
        x.tolist(),
        system.operating_inputs(inputs).tolist(),
        [0.0] * len(system.input_rates),
        list(system.values(values).values()),
    ]
    try:
        seen = evaluator(statements, groups, goals)(*numbers)
        sized, ends = with_sizes(statements, goals)
        sizes = evaluator(sized, groups, ends)(*numbers)
    except SolveError:
        return  # what acts on an element cannot be computed here
    reasons, first = [], 0
    for held in system.modes.held:
        count = 2 + len(held.rule.terms)
        of_rule = seen[first : first + count]
        slack = [MODE_SLACK * size for size in sizes[first : first + count]]
        why = held.rule.broken(held.mode, of_rule[0], of_rule[1], of_rule[2:], slack)
        if why:
            reasons.append(f"{held.words} does not hold there: {why}")
        first += count
    if reasons:
        warnings.warn(
            f"{system.name}: this is the steady state of one mode, but {'; '.join(reasons)}. Compile the "
            "model without modes={...}: its steady state is where the motion leads, in the mode that holds",
            ModeWarning,
            stacklevel=4,
        )
