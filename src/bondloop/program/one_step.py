"""One step of a tick as a linear map, with delay lines in closed form: what the check and the studies analyse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.program.delayed_step import DelayedStep, dense_matrix, with_registers
from bondloop.program.expr import Expr, Var
from bondloop.program.slopes import Bend
from bondloop.program.spectrum import Spectrum, spectrum
from bondloop.program.tick import Tick
from bondloop.program.walk import Point, Walk

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["OneStep", "Point", "one_step"]

REST = 1e-5
"""Eigenvalues closer to 1 than this belong to motions that nothing returns, such as a table's position. A Jordan
block of three, which a table has, is split by rounding to about the cube root of 1e-16."""

DENSE = 250
"""States up to which responses are solved for densely, all frequencies at once."""

MARGIN = 1e-9
"""Growth per step that is taken for rounding."""


@dataclass(frozen=True)
class Values:
    """What states, delayed values and probes are before a step, and what states, pushes and outputs are after it."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    u: NDArray[np.float64]
    after: NDArray[np.float64]
    w: NDArray[np.float64]
    o: NDArray[np.float64]


@dataclass(frozen=True)
class OneStep:
    """One step of a tick, linearised: x' = A x + B y + P u, w = C x + E y + Q u, o = L x + M y + N u.

    y is what leaves the delay lines, w what goes into them, u the probes, o the outputs.

    Attributes
    ----------
    step
        A, B, C, E and the delays.
    P, Q, L, M, N
        The rest, dense arrays.
    states, probes, outputs
        Names; states that do not act on what is looked at are left out.
    period
        Seconds.
    bends
        By name of a variable, how its statement departs from a straight line; empty where the step holds for
        any motion.
    branches
        Which piece of every piecewise statement was in force, by the statement's name: steps with equal ones
        are of one regime.
    steepness
        By name of a variable with a curved statement, the largest slope in it: a friction law is steep where it
        sticks and flat where it slides.
    at
        What everything is at the point: the step is about it.
    """

    step: DelayedStep
    P: NDArray[np.float64]
    Q: NDArray[np.float64]
    L: NDArray[np.float64]
    M: NDArray[np.float64]
    N: NDArray[np.float64]
    states: tuple[str, ...]
    probes: tuple[str, ...]
    outputs: tuple[str, ...]
    period: float
    bends: Mapping[str, frozenset[Bend]]
    branches: tuple[tuple[str, int], ...] = ()
    steepness: Mapping[str, float] = field(default_factory=dict)
    at: Values | None = None

    @property
    def linear(self) -> bool:
        """Whether every statement is linear in the states, so that the step holds for any motion."""
        return not self.bends

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The one-step matrix, the places in the delay lines among the states; for short lines."""
        return dense_matrix(with_registers(self.step).A)

    # ---------------------------------------------------------------- eigenvalues

    @cached_property
    def spectrum(self) -> Spectrum:
        """Its eigenvalues, as far as they can be had."""
        return spectrum(self.step, margin=MARGIN, rest=REST)

    @cached_property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Eigenvalues, the largest first; those at rest, within 1e-5 of 1, are left out."""
        found = self.spectrum.eigenvalues
        return np.asarray(found[np.abs(found - 1) > REST])

    @property
    def resting(self) -> int:
        """How many eigenvalues are at 1: states that keep their value, or drift, whatever happens."""
        return len(self.spectrum.eigenvalues) - len(self.eigenvalues)

    @property
    def spectral_radius(self) -> float:
        """Largest magnitude of the eigenvalues that are not at rest; above 1 the test is unstable."""
        return float(abs(self.eigenvalues[0])) if len(self.eigenvalues) else 0.0

    @property
    def frequency(self) -> float:
        """Frequency [Hz] of the motion that grows most, or decays least."""
        if not len(self.eigenvalues):
            return 0.0
        return float(abs(np.angle(self.eigenvalues[0]))) / (2 * np.pi * self.period)

    @property
    def growth(self) -> float:
        """Rate of that motion [1/s]: its envelope goes as exp(growth t)."""
        radius = self.spectral_radius
        return float(np.log(radius)) / self.period if radius else -np.inf

    @property
    def slowest(self) -> float:
        """Rate [1/s] of the motion that changes most slowly, up or down; those at rest are left out."""
        lively = np.abs(self.eigenvalues)
        rates = np.abs(np.log(lively[lively > 1e-3])) / self.period
        return float(rates.min(initial=np.inf)) if len(rates) else 1.0

    @property
    def stable(self) -> bool:
        """Whether nothing grows."""
        return self.spectral_radius <= 1 + MARGIN and not self.spectrum.outside

    # ---------------------------------------------------------------- responses

    def response(self, frequencies: ArrayLike) -> NDArray[np.complex128]:
        """Return outputs per probe at frequencies in Hz, shape (frequencies, outputs, probes)."""
        z = np.exp(2j * np.pi * np.atleast_1d(np.asarray(frequencies, dtype=float)) * self.period)
        seen = np.hstack([self.L, self.M])
        return np.asarray(_solved(self.step, z, self.P, self.Q, seen) + self.N, dtype=complex)

    def fed_back(self, pairs: Sequence[tuple[str, str]], taps: Mapping[int, float]) -> OneStep:
        """Return the step with outputs added to probes: u(k) = sum over taps of weight o(k - ticks).

        Parameters
        ----------
        pairs
            (output, probe) by name.
        taps
            Weight by number of ticks; 0 for at once.
        """
        rows = [self.outputs.index(o) for o, _ in pairs]
        columns = [self.probes.index(p) for _, p in pairs]
        now = taps.get(0, 0.0)
        later = sorted(t for t, w in taps.items() if t > 0 and w)
        m, k = len(pairs), len(later)
        A, B, C, E = (dense_matrix(x) for x in (self.step.A, self.step.B, self.step.C, self.step.E))
        L, M, N = self.L[rows], self.M[rows], self.N[np.ix_(rows, columns)]
        P, Q = self.P[:, columns], self.Q[:, columns]
        # o = L x + M y + N u and u = now o + sum of weight late, so (I - now N) o = L x + M y + N sum
        weights = np.hstack([taps[t] * np.eye(m) for t in later]) if k else np.zeros((m, 0))
        H = np.linalg.inv(np.eye(m) - now * N)
        Lo, Mo, No = H @ L, H @ M, H @ N @ weights
        Ux, Uy, Ul = now * Lo, now * Mo, now * No + weights
        grown = DelayedStep(
            A + P @ Ux,
            np.hstack([B + P @ Uy, P @ Ul]),
            np.vstack([C + Q @ Ux, Lo]) if k else C + Q @ Ux,
            np.block([[E + Q @ Uy, Q @ Ul], [Mo, No]]) if k else E + Q @ Uy,
            (*self.step.sources, *(len(C) + i for _ in later for i in range(m))),
            (*self.step.delays, *(t for t in later for _ in range(m))),
        )
        F = self.N[:, columns]
        return replace(
            self,
            step=grown,
            P=self.P,
            Q=np.vstack([self.Q, np.zeros((m, self.Q.shape[1]))]) if k else self.Q,
            L=self.L + F @ Ux,
            M=np.hstack([self.M + F @ Uy, F @ Ul]),
        )


def one_step(
    tick: Tick,
    parameters: Mapping[str, float] | None = None,
    *,
    at: Point | None = None,
    probes: Mapping[str, Var] | None = None,
    outputs: Mapping[str, Expr] | None = None,
    frozen: Iterable[Var] = (),
    beside: str = "reference.",
) -> OneStep:
    """Return one step of a tick as a linear map.

    Every statement is differentiated as it stands and in the order of execution, so it is the step of what
    runs, not of a model of it. Where a statement is not linear in the states the slopes are those at a point:
    the initial state, with the start-up of controllers over, if none is given.

    Parameters
    ----------
    tick
        What to differentiate.
    parameters
        Values by name instead of the tick's own.
    at
        Where it is linearised.
    probes
        By name, variables to which a disturbance is added.
    outputs
        By name, expressions as in channels whose response is wanted. Where some are given, states that act on
        none of them are left out.
    frozen
        States that count as constants, such as the coefficients of an adaptive controller.
    beside
        States whose names begin so only run beside the test; they are left out if nothing else depends on
        them.

    Examples
    --------
    >>> x, v = Var("x"), Var("v")
    >>> from bondloop.program.tick import Update
    >>> swing = Update(((x, x + 0.1 * v), (v, v - 0.4 * x)))
    >>> tick = Tick("swing", 0.1, Var("t"), Var("k"), (), {x: 0.0, v: 1.0}, {}, (swing,), ())
    >>> found = one_step(tick)
    >>> found.matrix.tolist(), round(found.spectral_radius**2, 12), found.stable
    ([[1.0, 0.1], [-0.4, 1.0]], 1.04, False)
    """
    probes, outputs = dict(probes or {}), dict(outputs or {})
    walk = Walk(tick, at or Point(), parameters or {}, probes.values(), frozen)
    evaluated = [walk.output(e) for e in outputs.values()]
    wanted, given_outputs = [number for number, _ in evaluated], [value for _, value in evaluated]
    numbers = [*walk.after, *walk.pushes, *wanted]
    full = walk.rows(numbers)
    n, q = len(walk.states), len(walk.pushes)
    order = [-1 - walk.start[v] for v in walk.states]
    order += [-1 - c for c in walk.pop_columns if c is not None]
    given = len(order)
    order += [-1 - walk.probe_columns[v] for v in probes.values()]
    full = full[:, order]
    # A command that is held goes into its delay line at every substep: one value, one source.
    same: dict[int | None, int] = {}
    first = [i if k is None else same.setdefault(k, i) for i, k in enumerate(walk.pushes)]
    sources, delays = tuple(first[s] for s, _ in walk.pops), tuple(m for _, m in walk.pops)
    core = [i for i, v in enumerate(walk.states) if not v.name.startswith(beside)]
    kept, lines = _acting(full[:, :given], n, q, sources, core, bool(outputs))
    states = [walk.states[i] for i in kept]
    pushed = sorted({sources[j] for j in lines})
    rows_x, rows_w = np.array(kept, dtype=int), n + np.array(pushed, dtype=int)
    rows_o = np.arange(n + q, full.shape[0])
    cols_x, cols_y = np.array(kept, dtype=int), n + np.array(lines, dtype=int)
    cols_u = np.arange(given, len(order))

    def block(rows: Any, columns: Any) -> Any:
        return full[rows][:, columns]

    involved = [numbers[r] for r in (*rows_x, *rows_w, *rows_o)]
    bends = walk.bends if any(walk.is_bent(k) for k in involved) else {}
    place = {s: i for i, s in enumerate(pushed)}
    return OneStep(
        DelayedStep(
            block(rows_x, cols_x),
            block(rows_x, cols_y),
            block(rows_w, cols_x),
            block(rows_w, cols_y),
            tuple(place[sources[j]] for j in lines),
            tuple(delays[j] for j in lines),
        ),
        dense_matrix(block(rows_x, cols_u)),
        dense_matrix(block(rows_w, cols_u)),
        dense_matrix(block(rows_o, cols_x)),
        dense_matrix(block(rows_o, cols_y)),
        dense_matrix(block(rows_o, cols_u)),
        tuple(v.name for v in states),
        tuple(probes),
        tuple(outputs),
        tick.period,
        {name: frozenset(kinds) for name, kinds in bends.items()},
        tuple(walk.slopes.branches),
        walk.steepness,
        Values(
            np.array([walk.before[v] for v in states]),
            np.array([walk.popped[j] for j in lines]),
            np.array([walk.values[v] for v in probes.values()]),
            np.array([walk.values[v] for v in states]),
            np.array([walk.pushed[s] for s in pushed]),
            np.array(given_outputs),
        ),
    )


def _solved(
    step: DelayedStep, z: NDArray[np.complex128], P: Any, Q: Any, seen: NDArray[np.float64]
) -> NDArray[np.complex128]:
    """Return ``seen`` times (x, y) per probe at each z: (zI - A) x = B y + P u, z^m y = S (C x + E y + Q u)."""
    n, p = step.states, len(step.delays)
    S = np.zeros((p, Q.shape[0]))
    S[np.arange(p), list(step.sources)] = 1.0
    right = np.vstack([P, S @ Q])
    if n + p <= DENSE:
        full = np.block(
            [
                [dense_matrix(step.A), dense_matrix(step.B)],
                [S @ dense_matrix(step.C), S @ dense_matrix(step.E)],
            ]
        )
        left = np.broadcast_to(-full, (len(z), n + p, n + p)).astype(complex)
        places = np.arange(n + p)
        left[:, places[:n], places[:n]] += z[:, None]
        left[:, places[n:], places[n:]] += z[:, None] ** np.array(step.delays, dtype=float)
        return seen @ np.linalg.solve(left, np.broadcast_to(right, (len(z), *right.shape)).astype(complex))
    from scipy import sparse
    from scipy.sparse.linalg import splu

    chosen = sparse.csr_array(S)
    full = sparse.block_array([[step.A, step.B], [chosen @ step.C, chosen @ step.E]], format="csc")
    found = np.empty((len(z), len(seen), right.shape[1]), dtype=complex)
    for i, at in enumerate(z):
        diagonal = np.concatenate([np.full(n, at), at ** np.array(step.delays, dtype=float)])
        found[i] = seen @ splu((sparse.diags_array(diagonal) - full).tocsc()).solve(right.astype(complex))
    return found


def _acting(
    full: Any, n: int, q: int, sources: Sequence[int], core: Sequence[int], watched: bool
) -> tuple[list[int], list[int]]:
    """Return the states, and the delays, that act on the outputs; without outputs on the states of the core."""
    pattern = full != 0
    total = pattern.shape[1]
    # d(next x, next y)/d(x, y), as a pattern: a value that leaves a delay line has been fed by its source
    rows = [*range(n), *(n + s for s in sources)]
    reached = np.zeros(total, dtype=bool)
    if watched:
        reached[pattern[n + q :].nonzero()[1]] = True
    else:
        reached[list(core)] = True
    fresh = np.flatnonzero(reached)
    while len(fresh):
        acting = np.unique(pattern[[rows[i] for i in fresh]].nonzero()[1])
        fresh = acting[~reached[acting]]
        reached[fresh] = True
    return np.flatnonzero(reached[:n]).tolist(), np.flatnonzero(reached[n:]).tolist()
