"""Steady states: where nothing changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import SolveError
from bondloop.program.solving import factorised
from bondloop.program.statespace import named_vector

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.program.system import System

__all__ = ["steady_state"]


def steady_state(
    system: System,
    inputs: Mapping[str, float] | None = None,
    values: Mapping[str, float] | None = None,
    guess: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Solve ``f(x, u) = 0`` by Newton's method with the program's own Jacobian.

    Where the steady state is not unique (a body free to drift), the one nearest to the guess is returned;
    where none exists, an error names the states that keep changing.
    """
    numbers = system.values(values)
    parameters = list(numbers.values())
    u = named_vector("input", {**system.input_defaults, **(inputs or {})}, system.inputs)
    x = system.initial(guess)
    zero_rates = [0.0] * len(system.input_rates)

    def rates(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array(system.rates(x.tolist(), u.tolist(), zero_rates, parameters))

    given = {name: float(value) for name, value in zip(system.inputs, u, strict=True)}
    f = rates(x)
    worst = np.abs(f).max(initial=0.0)
    tolerance = np.zeros(len(x))
    for _ in range(60):
        local = system.linearise(x, given, values)
        solve = factorised(local.E)
        A, B = solve(local.A), solve(local.B)
        tolerance = 1e-9 * (np.abs(A) @ np.abs(x) + np.abs(B) @ np.abs(u)) + 1e-12 * worst
        if not f.any():
            break
        step = -_least_squares(A, f)
        size = 1.0
        trial = rates(x + step)
        while size > 1e-6 and not np.linalg.norm(trial) < np.linalg.norm(f) and not system.is_linear:
            size /= 2
            trial = rates(x + size * step)
        if not np.linalg.norm(trial) < np.linalg.norm(f) * (1 - 1e-9):
            break
        x, f = x + size * step, trial
    if np.any(np.abs(f) > tolerance):
        moving = [system.states[i] for i in np.argsort(-np.abs(f))[:4] if abs(f[i]) > tolerance[i]]
        raise SolveError(
            f"no steady state found: {', '.join(moving)} keep changing with these inputs; "
            "check whether the system can come to rest, or give a guess"
        )
    return dict(zip(system.states, x.tolist(), strict=True))


def _least_squares(A: NDArray[np.float64], f: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve A x = f, by the smallest x where A is singular; rows and columns may have any units."""
    rows, columns = np.ones(A.shape[0]), np.ones(A.shape[1])
    M = A
    for _ in range(4):
        size = np.sqrt(np.abs(M).max(axis=1, initial=0.0))
        rows /= np.where(size > 0, size, 1.0)
        size = np.sqrt(np.abs(rows[:, None] * A * columns).max(axis=0, initial=0.0))
        columns /= np.where(size > 0, size, 1.0)
        M = rows[:, None] * A * columns
    z = np.linalg.lstsq(M, rows * f, rcond=1e-12)[0]
    return np.asarray(columns * z, dtype=float)
