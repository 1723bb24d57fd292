"""Equations (1) to (9) of Bayer, Dorka and Füllekrug 2000, written down once more in plain NumPy.

Nothing here comes from bondloop but the numbers of Table 1 and the base's motion: the scheme as the paper
prints it, and the payload on the table by its own matrix exponential. Beside it bondloop's test must give the
same force.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import expm

from bondloop.papers.bayer_substep import MASSES, RAYLEIGH, STIFFNESSES, StageSeparation

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["coupling_force"]

ALPHA, DELTA = 1 / 4, 1 / 2
"""Newmark's constants: constant average acceleration."""


def coupling_force(
    sub_steps: int,
    h: float,
    seconds: float,
    P: float = 0.0,
    I: float = 0.0,
    D: float = 0.0,
    overshoot: float = 0.0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the measured coupling force F_m and the error force E at the beginning of every time step."""
    M, C, K = _chain(0, 2)
    a6, a7, a8, a9, a10 = (1 - DELTA) * h, DELTA * h, ALPHA * h**2, h, (0.5 - ALPHA) * h**2  # (7)
    inverse = np.linalg.inv(M + a7 * C + a8 * K)  # (5)
    carry, pull = _payload(h / sub_steps)
    loads = _loads(h, round(seconds / h))
    z = np.zeros(6)
    u, v, a, f, total, before = (np.zeros(2) for _ in range(6))
    force, ramp, forces, errors = 0.0, 0.0, [], []
    for now, then in itertools.pairwise(loads):
        error = M @ a + C @ v + K @ u - np.array([0.0, force]) - now - f  # (1), f in it
        total = total + error
        f = P * (error + h * I * total + D / h * (error - before))  # (9)
        before = error
        forces.append(force)
        errors.append(error[1])
        known = -C @ (v + a6 * a) - K @ (u + a9 * v + a10 * a)  # (6)
        explicit = inverse @ (known + f + then)  # the first part of (8)
        for j in range(1, sub_steps + 1):
            measured = force
            command = ramp + (explicit[1] - ramp) * j / sub_steps + inverse[1, 1] * measured
            z = carry @ np.append(z, (1 + overshoot) * command)
            force = float(pull @ z)
        new = explicit + inverse @ np.array([0.0, measured])  # (2)
        u = u + h * v + ((0.5 - ALPHA) * a + ALPHA * new) * h**2  # (4)
        v = v + ((1 - DELTA) * a + DELTA * new) * h  # (3)
        a, ramp = new, explicit[1]
    return np.array(forces), np.array(errors)


def _chain(first: int, last: int) -> tuple[NDArray[np.float64], ...]:
    """M, C, K of some of the masses, the spring below the first one fixed at its foot."""
    count = last - first
    M, K = np.diag(MASSES[first:last]), np.zeros((count, count))
    for i, k in enumerate(STIFFNESSES[first:last]):
        K[i, i] += k
        if i:
            K[i - 1, i - 1] += k
            K[i - 1, i] -= k
            K[i, i - 1] -= k
    return M, RAYLEIGH[0] * M + RAYLEIGH[1] * K, K


def _payload(period: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How (x, v of the table, u and w of the payload) go on with a held acceleration; the coupling force."""
    M, C, K = _chain(2, 4)
    k, c = STIFFNESSES[2], RAYLEIGH[1] * STIFFNESSES[2]
    rates = np.zeros((7, 7))
    rates[0, 1] = rates[1, 6] = 1.0
    rates[2:4, 4:6] = np.eye(2)
    rates[4:6, 2:4], rates[4:6, 4:6] = -np.linalg.inv(M) @ K, -np.linalg.inv(M) @ C
    rates[4, :2] = k / MASSES[2], c / MASSES[2]
    return expm(rates * period)[:6], np.array([-k, -c, k, 0.0, c, 0.0])


def _loads(h: float, steps: int) -> NDArray[np.float64]:
    base = StageSeparation()
    t = h * np.arange(steps + 1)
    k = STIFFNESSES[0]
    on_first = k * base(t) + RAYLEIGH[1] * k * base.derivative()(t)
    return np.column_stack([on_first, np.zeros_like(t)])
