"""A judge of the delay margin of linear tests, written from the mechanics: nothing of the package is in it.

The numerical half is a chain of masses on springs and dampers from a wall on, advanced by the polynomial of
a Runge-Kutta step with the measured force held. The rig is an actuator with its specimen, continuous in time,
advanced exactly from one edge of its command to the next. A command is a weighted sum of the newest demands.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import expm

OUTSIDE = 1e-9
"""Beyond the unit circle, at which a motion grows: less is rounding of the eigenvalues."""

FARTHEST = 60.0
"""Samples up to which every lateness is looked at; beyond them only what is claimed."""

BEYOND = (1e-4, 1e-3, 3e-3, 0.01, 0.02, 0.03, 0.05)
"""How far beyond a border growth is looked for, relative and in samples: a window may be as narrow."""


@dataclass(frozen=True)
class Case:
    """A linear test in plain numbers.

    Attributes
    ----------
    masses, springs, dampers
        Of the numerical half, from the wall on.
    actuator
        ``"second order"``: mass, damper and spring whose far end is commanded; ``"first order"``: a lag, and
        the stiffness by which the load sets it back.
    servo
        Mass, damper and spring, or lag and stiffness.
    near, far
        Mass of the specimen at the interface, and beyond its spring; 0 for none.
    stiffness, damping
        Of the specimen's spring, to ground or to the far mass.
    compensator
        ``"direct"``, ``"polynomial"`` or ``"inverse"``.
    ahead
        Of a polynomial, in s; of an inverse, the lag that it inverts.
    order
        Of the polynomial, through as many samples and one.
    rate, latency, substeps
        1/s, samples, and fine steps a sample of the emulated rig.
    """

    masses: tuple[float, ...]
    springs: tuple[float, ...]
    dampers: tuple[float, ...]
    actuator: str
    servo: tuple[float, ...]
    near: float
    far: float
    stiffness: float
    damping: float
    compensator: str
    ahead: float
    order: int
    rate: float
    latency: float
    substeps: int
    seed: int = field(default=0, compare=False)

    def numerical(self):
        """Matrices of position and speed of all masses, driven by the force on the last."""
        n = len(self.masses)
        K, C = np.zeros((n, n)), np.zeros((n, n))
        for i, (k, c) in enumerate(zip(self.springs, self.dampers, strict=True)):
            for M, x in ((K, k), (C, c)):
                M[i, i] += x
                if i:
                    M[i - 1, i - 1] += x
                    M[i - 1, i] -= x
                    M[i, i - 1] -= x
        inverse = np.diag(1 / np.array(self.masses))
        A = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ K, -inverse @ C]])
        B = np.concatenate([np.zeros(n), -inverse[:, -1]])
        return A, B

    def rig(self):
        """A, B, C, D of the rig: states per command, and the measured force."""
        k, c = self.stiffness, self.damping
        far = bool(self.far)
        n = (2 if self.actuator == "second order" else 1) + 2 * far
        x = np.eye(n + 1)  # every quantity is a row over the states and, last, the command
        u = x[n]
        if self.actuator == "second order":
            m, ca, ka = self.servo
            position, speed = x[0], x[1]
            y, w = (x[2], x[3]) if far else (0 * u, 0 * u)
            drawn = k * (position - y) + c * (speed - w)
            acceleration = (ka * (u - position) - ca * speed - drawn) / (m + self.near)
            rates = [speed, acceleration]
            force = drawn + self.near * acceleration
        else:
            lag, ka = self.servo
            position = x[0]
            y, w = (x[1], x[2]) if far else (0 * u, 0 * u)
            # v = (u - x)/lag - f/(ka lag), with f = k (x - y) + c (v - w)
            speed = ((u - position) / lag - (k * (position - y) - c * w) / (ka * lag)) / (1 + c / (ka * lag))
            drawn = force = k * (position - y) + c * (speed - w)
            rates = [speed]
        if far:
            rates += [w, drawn / self.far]
        R = np.array(rates)
        return R[:, :n], R[:, n], force[:n], force[n]

    def weights(self):
        """Weights of the newest demands in a command."""
        T = 1 / self.rate
        if self.compensator == "direct":
            return np.ones(1)
        if self.compensator == "inverse":
            return np.array([1.0, 0, 0]) + self.ahead / T * np.array([1.5, -2.0, 0.5])
        points = -np.arange(self.order + 1.0)
        powers = np.vander(points, increasing=True)
        return np.linalg.solve(powers.T, (self.ahead / T) ** np.arange(self.order + 1.0))


class Judge:
    """Whether a case is stable with its commands late by so many samples more."""

    def __init__(self, case: Case, loudness: float = 1.0) -> None:
        self.case, self.T = case, 1 / case.rate
        A, B = case.numerical()
        hA, n = self.T * A, len(A)
        powers = [np.linalg.matrix_power(hA, j) for j in range(5)]
        self.step = sum(P / math.factorial(j) for j, P in enumerate(powers))
        self.push = self.T * sum(P / math.factorial(j + 1) for j, P in enumerate(powers[:4])) @ B
        self.n, self.demand = n, n // 2 - 1
        self.A, self.B, force, at_once = case.rig()
        self.C, self.D = loudness * force, loudness * at_once
        self.w = case.weights()

    def _over(self, seconds):
        """What the rig does in a time with its command held."""
        r = len(self.A)
        M = np.zeros((r + 1, r + 1))
        M[:r, :r], M[:r, r] = self.A, self.B
        E = expm(seconds * M)
        return E[:r, :r], E[:r, r]

    def matrix(self, *late):
        """One step for each lateness in turn, in samples beyond the latency of the case."""
        total = self.case.latency + np.array(late)
        depth = math.floor(total.max()) + 2
        whole = np.eye(self.n + len(self.A) + len(self.w) - 1 + depth)
        for tick in range(len(late)):
            whole = self._one([total[(tick - age) % len(late)] for age in range(depth + 1)]) @ whole
        return whole

    def _one(self, total):
        """One step in which the command of each age is so late; none overtakes another."""
        n, r, p, h = self.n, len(self.A), len(self.w) - 1, len(total) - 1
        size = n + r + p + h
        rows = np.eye(size)
        x, q, past, sent = rows[:n], rows[n : n + r], rows[n + r : n + r + p], rows[n + r + p :]
        command = self.w[0] * x[self.demand] + self.w[1:] @ past
        commands = [command, *sent]
        edges = [late - age for age, late in enumerate(total)]  # when each acts, in this sample
        before = next(age for age, e in enumerate(edges) if age and e < 1e-12 and edges[age] <= 0)
        # What is measured at the beginning still has the command before one that comes at this very instant.
        last = next((age for age in range(1, h + 1) if edges[age] < -1e-12), h)
        force = self.C @ q + self.D * commands[last]
        new_x = self.step @ x + np.outer(self.push, force)
        state, now, acting = q, 0.0, before if edges[0] > 1e-12 else 0
        for age in range(before, -1, -1):
            edge = min(max(edges[age], 0.0), 1.0)
            if edge > now:
                Phi, gamma = self._over((edge - now) * self.T)
                state = Phi @ state + np.outer(gamma, commands[acting])
                now = edge
            if edges[age] < 1.0:
                acting = age
        if now < 1.0:
            Phi, gamma = self._over((1.0 - now) * self.T)
            state = Phi @ state + np.outer(gamma, commands[acting])
        demands = [x[self.demand], *past[:-1]] if p else []
        return np.vstack([new_x, state, *demands, command, *sent[:-1]])

    def radius(self, *late):
        """The largest eigenvalue, a sample."""
        return float(np.abs(np.linalg.eigvals(self.matrix(*late))).max()) ** (1 / len(late))

    def stable(self, *late):
        """Whether nothing grows."""
        return self.radius(*late) <= 1 + OUTSIDE

    def grid(self, most):
        """Delays in samples up to one that are tried: every 20th of a sample up to 3, then ever coarser.

        And all with which a command comes at the very instant of a sample: there a force that the command
        makes at once is measured a sample later than just before.
        """
        fine = np.arange(0.0, 3.0, 0.05)
        wider = np.arange(3.0, 15.0, 0.2) + 0.013
        far = np.geomspace(15.0, FARTHEST, 60)
        small = np.geomspace(1e-3, 0.05, 10)
        at_samples = math.ceil(self.case.latency) - self.case.latency + np.arange(60.0)
        d = np.concatenate([small, fine, wider, far, at_samples])
        return np.unique(np.append(d[(d > 0) & (d <= most)], min(most, FARTHEST)))

    def smallest(self, most, fail=None):
        """The smallest lateness that makes it unstable, up to so much; infinite if none does."""
        unstable = fail or (lambda d: not self.stable(d))
        good = 0.0
        if unstable(0.0):
            return 0.0
        for d in self.grid(most).tolist():
            if unstable(d):
                break
            good = d
        else:
            return math.inf
        while d - good > 1e-3 * d:
            middle = 0.5 * (good + d)
            good, d = (good, middle) if unstable(middle) else (middle, d)
        return d

    def borders(self, said):
        """Whether something grows just beyond a lateness, and nothing does at those just before it."""
        at_sample = round(said + self.case.latency) - self.case.latency
        said = at_sample if abs(said - at_sample) < 1e-6 * (1 + said) else said
        beyond = [said, *(said * (1 + x) for x in BEYOND), *(said + x for x in BEYOND)]
        return any(not self.stable(d) for d in beyond) and all(self.stable(x * said) for x in (0.9, 0.95))
