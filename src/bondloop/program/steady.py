"""Steady states: where nothing changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import SolveError
from bondloop.program.statespace import named_vector

if TYPE_CHECKING:
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

    def rates(x: np.ndarray) -> np.ndarray:
        return np.array(system.rates(x.tolist(), u.tolist(), zero_rates, parameters))

    given = {name: float(value) for name, value in zip(system.inputs, u, strict=True)}
    scale = 1.0
    f = rates(x)
    for _ in range(60):
        local = system.linearise(x, given, values)
        A = np.linalg.solve(local.E.toarray(), local.A.toarray())
        scale = (
            1.0
            + float(np.abs(A).max(initial=0.0)) * float(np.abs(x).max(initial=0.0))
            + float(np.abs(u).max(initial=0.0))
        )
        if np.abs(f).max(initial=0.0) <= 1e-13 * scale:
            break
        step = -np.linalg.lstsq(A, f, rcond=1e-12)[0]
        size = 1.0
        while size > 1e-6:
            trial = rates(x + size * step)
            if np.linalg.norm(trial) < np.linalg.norm(f) or system.is_linear:
                break
            size /= 2
        if np.linalg.norm(trial) >= np.linalg.norm(f) * (1 - 1e-9):
            break
        x, f = x + size * step, trial
    if np.abs(f).max(initial=0.0) > 1e-9 * scale:
        moving = [system.states[i] for i in np.argsort(-np.abs(f))[:4] if abs(f[i]) > 1e-9 * scale]
        raise SolveError(
            f"no steady state found: {', '.join(moving)} keep changing with these inputs; "
            "check whether the system can come to rest, or give a guess"
        )
    return dict(zip(system.states, x.tolist(), strict=True))
