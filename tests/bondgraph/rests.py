"""Where drawn graphs come to rest: steady states against the ends of long motions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import expm, matrix_balance

sys.path.insert(0, str(Path(__file__).parent))  # for tableau.py

from tableau import Tableau

from bondloop.errors import BondloopError, SolveError

if TYPE_CHECKING:
    from bondloop.engine.system import System

SLOWEST = 0.01
"""Decay, against the fastest motion, from which a motion is not followed: it would take too many steps."""


def settled(graph: Any, seed: int) -> float | None:
    """Return how far a steady state is from the end of a long motion; None where nothing is conserved.

    None also where the motion does not come to rest. Linear graphs are followed by the matrix exponential.
    """
    try:
        system = graph.model().compile(outputs=[])
        if not system.is_linear:
            return _followed(system, seed)
        space = system.numeric()
    except BondloopError:
        return None
    E, A, B = (M.toarray() for M in (space.E, space.A, space.B))
    if not len(E) or Tableau(graph).stored > 12:
        return None
    A, B = np.linalg.solve(E, A), np.linalg.solve(E, B)
    rng = np.random.default_rng(seed)
    # Pascals beside metres: all states are counted in units in which they are of like sizes.
    unit = np.diag(matrix_balance(A, permute=False)[1])
    A, B = A * unit / unit[:, None], B / unit[:, None]
    x = rng.normal(size=len(A))
    u = rng.normal(size=B.shape[1]) / np.where((reach := np.abs(B).max(axis=0, initial=0.0)) > 0, reach, 1.0)
    poles = np.linalg.eigvals(A)
    size = max(np.abs(poles).max(), 1e-300)
    still = np.abs(poles) < 1e-9 * size
    rank = np.linalg.matrix_rank(A, 1e-9 * size)
    moving = poles[~still]
    if not still.any() or len(A) - rank != still.sum() or moving.real.max(initial=-1.0) > -1e-3 * size:
        return None
    push = B @ u
    along = push * size / max(np.abs(push).max(initial=0.0), 1e-300)
    if np.linalg.matrix_rank(np.column_stack([A, along]), 1e-9 * size) > rank:
        u, push = 0 * u, 0 * push  # what is pushed without end comes to no rest
    slow = -moving.real.max(initial=-size)
    whole = np.block([[A, push[:, None]], [np.zeros((1, len(A) + 1))]])
    end = (expm(whole * 45 / slow) @ np.append(x, 1.0))[:-1]
    inputs = dict(zip(system.inputs, u.tolist(), strict=True))
    rest = system.steady_state(inputs, initial=unit * x)
    ours = np.array([rest[name] for name in system.states]) / unit
    return float(np.abs(ours - end).max() / max(np.abs(end).max(), np.abs(x).max()))


def _followed(system: System, seed: int) -> float | None:
    """Return how far the steady state of a system that is not linear is from where its motion ends."""
    n = len(system.states)
    if not 0 < n <= 12:
        return None
    rng = np.random.default_rng(seed)
    x, u = 0.5 * rng.normal(size=n), 0.5 * rng.normal(size=len(system.inputs))
    inputs = dict(zip(system.inputs, u.tolist(), strict=True))
    motion = _LongMotion(system, inputs)
    try:
        end = motion.end(x)
    except (BondloopError, ArithmeticError):
        return None  # somewhere on the way the equations have no solution: it ends nowhere
    if end is None:
        return None
    try:
        rest = system.steady_state(inputs, initial=x)
    except SolveError:
        return float("inf")
    ours = np.array([rest[name] for name in system.states])
    return float(np.abs(ours - end).max() / max(np.abs(end).max(), np.abs(x).max()))


class _LongMotion:
    """A motion that is followed until it is over, with bounded work."""

    def __init__(self, system: System, inputs: dict[str, float]) -> None:
        self.system, self.inputs = system, inputs
        self.u = [inputs[name] for name in system.inputs]
        self.parameters = list(system.values().values())

    def end(self, x: Any) -> Any:
        """Return where it ends; None where it does not, or where nothing is conserved."""
        seconds = 20.0
        near = self._moved(x, seconds, "LSODA", 1e-6, 4_000)  # a quick look first: most do not come to rest
        for _ in range(3):
            decay = None if near is None else self._decay(near)
            if decay is None:
                return None
            seconds, before = 45 / decay, seconds
            if seconds <= before:
                break
            near = self._moved(x, seconds, "LSODA", 1e-6, 8_000)
        end = self._followed(x, seconds)
        later = None if end is None else self._moved(end, seconds / 4, "DOP853", 1e-12, 60_000)
        # Where it still moves it creeps: a law without a slope, which has no end in this time.
        if later is None or np.abs(later - end).max() > 1e-10 * np.abs(end).max():
            return None
        return later

    def _followed(self, x: Any, seconds: float) -> Any:
        """Return the states after some time, as two methods of different kinds have them.

        Where these differ the equations divide by zero on the way (a ring whose gain passes one). A method
        that comes as near to such a place as it likes is left with rounding there; Radau's, which is
        implicit, is not and decides.
        """
        one, other = (self._moved(x, seconds, method, 1e-12, 60_000) for method in ("DOP853", "LSODA"))
        if one is None or other is None:
            return one
        if np.abs(one - other).max() <= 1e-10 * np.abs(one).max():
            return one
        return self._moved(x, seconds, "Radau", 1e-11, 300_000)

    def _decay(self, x: Any) -> float | None:
        """Return the slowest decay near a rest where something is conserved; None where there is none."""
        local = self.system.linearise(x, self.inputs)
        A = np.linalg.solve(local.E.toarray(), local.A.toarray())
        poles = np.linalg.eigvals(A)
        size = max(np.abs(poles).max(), 1e-300)
        # A quick look has not come all the way: what will stand still moves a little yet.
        still = np.abs(poles) < 1e-6 * size
        slow = -poles[~still].real.max(initial=-size)
        return float(slow) if still.any() and slow > SLOWEST * size else None

    def _moved(self, x: Any, seconds: float, method: str, rtol: float, most: int) -> Any:
        """Return the states after some time; None where that takes too many evaluations, or they grow."""
        left = [most]

        def rates(_: float, z: Any) -> Any:
            left[0] -= 1
            if left[0] < 0 or not np.abs(z).max() < 1e4:
                raise _Endless
            return self.system.rates(z.tolist(), self.u, self.still, self.parameters)

        try:
            run = solve_ivp(rates, (0, seconds), x, method, rtol=rtol, atol=rtol / 10, t_eval=[seconds])
        except _Endless:
            return None
        return run.y[:, -1] if run.success else None

    @property
    def still(self) -> list[float]:
        """Rates of inputs: none."""
        return [0.0] * len(self.system.input_rates)


class _Endless(Exception):  # noqa: N818 - it never leaves this file
    """A motion grows, or takes too long."""
