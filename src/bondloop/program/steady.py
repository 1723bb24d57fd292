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

from bondloop.errors import SolveError, StabilityWarning
from bondloop.program.mode_check import warn_of_mode
from bondloop.program.null_space import equilibrated, left_null, null, solved
from bondloop.program.rest import CLOSE, Rest
from bondloop.program.solving import SingularError, factorised
from bondloop.program.steady_result import SteadyState, left_open
from bondloop.program.switching_rest import SwitchingRest

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.program.statespace import StateSpace
    from bondloop.program.system import System

__all__ = ["fastest_growth", "rest_of", "steady_state"]

DENSE = 300
"""States from which a sparse solve is tried first."""

CHAIN = 4
"""Longest chain of integrators that is looked for."""


def steady_state(
    system: System,
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
    local = system.numeric(values) if system.is_linear else system.linearise(x, inputs, values)
    if len(x) <= DENSE:
        _warn_of_growth(system, local)
    free, freedom = _open(local)
    return SteadyState(dict(zip(system.states, x.tolist(), strict=True)), free, freedom)


def _open(local: StateSpace) -> tuple[tuple[str, ...], int]:
    """Return the states that the equations about a rest leave open, and in how many ways."""
    if not local.states:
        return (), 0
    if len(local.states) > DENSE:
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


def rest_of(
    system: System,
    inputs: Mapping[str, float] | None,
    values: Mapping[str, float] | None,
    x0: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return where a system that does not switch comes to rest; arguments as for `steady_state`."""
    if system.is_linear:
        return _linear(system, system.operating_inputs(inputs), values, x0)
    return Rest(system, inputs, values, x0).found()


def _linear(
    system: System,
    u: NDArray[np.float64],
    values: Mapping[str, float] | None,
    x0: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return where a linear system rests: x - x0 has no part in what is conserved."""
    space = system.numeric(values)
    if len(x0) > DENSE:
        try:
            return np.asarray(-factorised(space.A)(space.B @ u), dtype=float)
        except SingularError:
            pass
    solve = factorised(space.E)
    A, b = solve(space.A), solve(space.B @ u)
    # Pascals beside metres: from here on each state is counted in a unit in which it is of the others' size.
    balance, A = state_units(A)
    x0, b = x0 / balance, b / balance
    particular = -solved(A, b)
    # What is left over cannot be balanced; what is less than rounding of the terms is nothing.
    left = A @ particular + b
    # A state that should be zero is rounding of the others, each counted in a unit of its own.
    unit = equilibrated(A)[2]
    rounding = unit * np.abs(particular / unit).max(initial=0.0)
    terms = np.abs(A) @ (CLOSE * np.abs(particular) + 1e-12 * rounding) + CLOSE * np.abs(b)
    if np.any(np.abs(left) > terms):
        raise SolveError(_moving(system, left, terms))
    R = null(A)
    if not R.shape[1]:
        return balance * particular
    away = x0 - particular
    # Where integrators stand in a row, what the first one holds carries the second one away.
    L, power = left_null(A), A
    for _ in range(CHAIN):
        power = power @ A
        more = left_null(power)
        if more.shape[1] <= L.shape[1]:
            break
        L = more
    share = np.linalg.lstsq(L.T @ R, L.T @ away, rcond=1e-12)[0]
    missed = L.T @ (away - R @ share)
    size = np.abs(L.T) @ (np.abs(x0) + np.abs(particular))
    if np.any(np.abs(missed) > CLOSE * size):
        drift = A @ L @ np.linalg.lstsq(L, away, rcond=None)[0]
        raise SolveError(_moving(system, drift, CLOSE * np.abs(drift).max(initial=0.0)))
    return np.asarray(balance * (particular + R @ share), dtype=float)


def state_units(A: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return units of the states in which rows and columns are of like sizes, and the matrix in them.

    >>> import numpy as np
    >>> unit, A = state_units(np.array([[-1.0, 1e-6], [1e6, -1.0]]))
    >>> bool(np.abs(A).max() < 2), bool(np.allclose(unit[:, None] * A / unit, [[-1.0, 1e-6], [1e6, -1.0]]))
    (True, True)
    """
    from scipy.linalg import matrix_balance

    with np.errstate(invalid="ignore"):  # it casts large scales to whole numbers, which are not used here
        balanced, scales = matrix_balance(A, permute=False, separate=True)
    return np.asarray(scales[0], dtype=float), np.asarray(balanced, dtype=float)


def _warn_of_growth(system: System, local: StateSpace) -> None:
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
            stacklevel=5,
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


def _moving(system: System, rates: NDArray[np.float64], tolerance: NDArray[np.float64] | float) -> str:
    """Say what does not come to rest."""
    bound = np.broadcast_to(tolerance, rates.shape)
    worst = [system.states[i] for i in np.argsort(-np.abs(rates))[:4] if abs(rates[i]) > bound[i]]
    return (
        f"no steady state found: {', '.join(worst)} {'keeps' if len(worst) == 1 else 'keep'} changing with "
        "these inputs; check whether the system can come to rest, or give another start with initial={...}"
    )
