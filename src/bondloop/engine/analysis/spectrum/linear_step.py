"""One step of a tick as a linear map, with delay lines in closed form: what check and studies analyse."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.analysis import tolerances
from bondloop.engine.analysis.spectrum.delayed_step import DelayedStep, dense_matrix, response, written_out
from bondloop.engine.analysis.spectrum.slope_rows import Tangents
from bondloop.engine.analysis.spectrum.spectrum import Spectrum, spectrum
from bondloop.engine.analysis.spectrum.walk import Point, Walk

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.engine.analysis.spectrum.delayed_step import Matrix
    from bondloop.engine.analysis.spectrum.slopes import Bend
    from bondloop.engine.ir import Expr, Tick, Var

# Paths: to which part of a test or model a variable belongs.


@lru_cache(maxsize=50_000)  # a check asks the same of some hundred states at every point of a run
def within(path: str, *parts: str) -> bool:
    """Whether a path is that of a part, or of something inside it.

    What a variable *is* does not follow from its path; that is carried along with it
    (:mod:`bondloop.engine.ir.quantity`). Where it is, does.

    >>> within("rig.specimen.m3.v.flow", "rig"), within("command[0].held", "rig", "command")
    (True, True)
    >>> within("rigid.mass", "rig")
    False
    """
    return any(path == part or path.startswith((f"{part}.", f"{part}[")) for part in parts)


# Python's collector of cyclic garbage, paused while a large program is written.


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the collector; also a decorator.

    Expressions hold no cycles, so the collector finds nothing among them, but it goes through all of them
    each time that their number has grown by a quarter: 3 of 5 s for the Runge-Kutta step of 30,000 states.

    >>> with collection_paused():
    ...     gc.isenabled()
    False
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@dataclass(frozen=True)
class Values:
    """What everything is at the point about which a step is linearised, in the letters of `OneStep`.

    Attributes
    ----------
    x, y, u
        States, values that leave delay lines, and probes before the step.
    after
        States after it.
    w, o
        What goes into the delay lines, and outputs.
    """

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
        By name of a variable with a curved statement, the largest slope in it: a friction law is steep where
        it sticks and flat where it slides.
    tangents
        What statements in pieces follow, in the piece in force.
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
    tangents: Tangents = field(default_factory=Tangents, repr=False, compare=False)
    at: Values | None = None

    def __repr__(self) -> str:
        kind = "linear" if self.linear else "linearised"
        return f"<OneStep: {len(self.states)} states, a period of {self.period:.6g} s, {kind}>"

    @property
    def linear(self) -> bool:
        """Whether every statement is linear in the states, so that the step holds for any motion."""
        return not self.bends

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The one-step matrix, the places in the delay lines among the states; for short lines."""
        return written_out(self.step)

    # ---------------------------------------------------------------- eigenvalues

    @cached_property
    def spectrum(self) -> Spectrum:
        """Its eigenvalues, as far as they can be had."""
        return spectrum(self.step, margin=tolerances.GROWTH_ROUNDING, rest=tolerances.TRIPLE_EIGENVALUE)

    @cached_property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Eigenvalues, the largest first; those at rest, at 1 but for rounding, are left out."""
        values = self.spectrum.eigenvalues
        off = np.abs(values - 1)
        single = min(
            max(tolerances.SINGLE_EIGENVALUE, tolerances.SLOW_RATE * self.period),
            tolerances.DOUBLE_EIGENVALUE,
        )
        near = values[(off > single) & (off <= tolerances.TRIPLE_EIGENVALUE)]
        # One alone is no Jordan block; two are split by the square root of rounding, three by its cube root.
        split = (
            single
            if len(near) < 2
            else tolerances.DOUBLE_EIGENVALUE
            if len(near) == 2
            else tolerances.TRIPLE_EIGENVALUE
        )
        return np.asarray(values[off > split])

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
        return self.spectral_radius <= 1 + tolerances.GROWTH_ROUNDING and not self.spectrum.outside

    # ---------------------------------------------------------------- responses

    def response(
        self,
        frequencies: ArrayLike,
        outputs: Sequence[str] | None = None,
        probes: Sequence[str] | None = None,
    ) -> NDArray[np.complex128]:
        """Return outputs per probe at frequencies in Hz, shape (frequencies, outputs, probes).

        Parameters
        ----------
        frequencies
            In Hz.
        outputs, probes
            Names of those that are wanted, all if not given.
        """
        z = np.exp(2j * np.pi * np.atleast_1d(np.asarray(frequencies, dtype=float)) * self.period)
        seen, P, Q, N = np.hstack([self.L, self.M]), self.P, self.Q, self.N
        if outputs is not None:
            rows = [self.outputs.index(o) for o in outputs]
            seen, N = seen[rows], N[rows]
        if probes is not None:
            columns = [self.probes.index(p) for p in probes]
            P, Q, N = P[:, columns], Q[:, columns], N[:, columns]
        return np.asarray(response(self.step, z, P, Q, seen) + N, dtype=complex)

    def fed_back(self, outputs: Sequence[str], probes: Sequence[str], weight: float) -> OneStep:
        """Return the step with outputs added to probes at once: u = weight o. For its eigenvalues.

        From o = L x + M y + N u follows u = weight (I - weight N)^-1 (L x + M y). The columns of the probes
        are left as they were, so the responses of the new step mean nothing.

        Parameters
        ----------
        outputs, probes
            Their names, pair by pair.
        weight
            What an output is multiplied by.
        """
        rows = [self.outputs.index(o) for o in outputs]
        columns = [self.probes.index(p) for p in probes]
        A, B, C, E = (dense_matrix(x) for x in (self.step.A, self.step.B, self.step.C, self.step.E))
        P, Q = self.P[:, columns], self.Q[:, columns]
        H = np.linalg.inv(np.eye(len(rows)) - weight * self.N[np.ix_(rows, columns)])
        Ux, Uy = weight * (H @ self.L[rows]), weight * (H @ self.M[rows])
        step = DelayedStep(
            A + P @ Ux, B + P @ Uy, C + Q @ Ux, E + Q @ Uy, self.step.sources, self.step.delays
        )
        F = self.N[:, columns]
        return replace(self, step=step, L=self.L + F @ Ux, M=self.M + F @ Uy)


@collection_paused()
def one_step(
    tick: Tick,
    parameters: Mapping[str, float] | None = None,
    *,
    at: Point | None = None,
    probes: Mapping[str, Var] | None = None,
    outputs: Mapping[str, Expr] | None = None,
    frozen: Iterable[Var] = (),
    always: Iterable[str] = (),
    beside: str = "reference",
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
    always
        States whose names begin so are kept, whether they act on an output or not.
    beside
        States whose names begin so only run beside the test; they are left out if nothing else depends on
        them.

    Examples
    --------
    >>> from bondloop.engine.ir.expr import Var
    >>> from bondloop.engine.ir.tick import Tick, Update
    >>> x, v = Var("x"), Var("v")
    >>> swing = Update(((x, x + 0.1 * v), (v, v - 0.4 * x)))
    >>> tick = Tick("swing", 0.1, Var("t"), Var("k"), (), {x: 0.0, v: 1.0}, {}, (swing,), ())
    >>> step = one_step(tick)
    >>> step.matrix.tolist(), round(step.spectral_radius**2, 12), step.stable
    ([[1.0, 0.1], [-0.4, 1.0]], 1.04, False)
    """
    probes, outputs = dict(probes or {}), dict(outputs or {})
    walk = Walk(tick, at or Point(), parameters or {}, probes.values(), frozen)
    seen = walk.outputs(outputs.values())
    core = _core(walk, always, None if outputs else beside)
    numbers = [*walk.after, *walk.pushes, *(number for number, _ in seen)]
    roots = [*numbers[len(numbers) - len(seen) :], *(walk.start[walk.states[i]] for i in core)]
    full = walk.rows(numbers, roots)[:, _columns(walk, probes.values())]
    n, q, m = len(walk.states), len(walk.pushes), len(walk.pops)
    sources, delays = _sources(walk)
    kept, lines = _acting(full[:, : n + m], n, q, sources, core, bool(outputs))
    pushed = sorted({sources[j] for j in lines})
    rows = _places(kept, [n + s for s in pushed], range(n + q, full.shape[0]))
    columns = _places(kept, [n + j for j in lines], range(n + m, full.shape[1]))
    (A, B, P), (C, E, Q), (L, M, N) = ([full[r][:, c] for c in columns] for r in rows)
    bent = any(walk.is_bent(numbers[r]) for r in np.concatenate(rows))
    states = [walk.states[i] for i in kept]
    place = {s: i for i, s in enumerate(pushed)}
    step = DelayedStep(A, B, C, E, tuple(place[sources[j]] for j in lines), tuple(delays[j] for j in lines))
    return OneStep(
        step=step,
        P=dense_matrix(P),
        Q=dense_matrix(Q),
        L=dense_matrix(L),
        M=dense_matrix(M),
        N=dense_matrix(N),
        states=tuple(v.name for v in states),
        probes=tuple(probes),
        outputs=tuple(outputs),
        period=tick.period,
        bends={name: frozenset(kinds) for name, kinds in walk.bends.items()} if bent else {},
        branches=tuple(walk.slopes.branches),
        steepness=walk.steepness,
        tangents=walk.tangents,
        at=_values(walk, states, (lines, pushed), probes.values(), [value for _, value in seen]),
    )


def _values(
    walk: Walk,
    states: Sequence[Var],
    delayed: tuple[list[int], list[int]],
    probes: Iterable[Var],
    outputs: list[float],
) -> Values:
    """Return what everything is at the point; ``delayed`` are what leaves delay lines and what goes in."""
    lines, pushed = delayed
    return Values(
        x=np.array([walk.before[v] for v in states]),
        y=np.array([walk.popped[j] for j in lines]),
        u=np.array([walk.values[v] for v in probes]),
        after=np.array([walk.values[v] for v in states]),
        w=np.array([walk.pushed[s] for s in pushed]),
        o=np.array(outputs),
    )


def _columns(walk: Walk, probes: Iterable[Var]) -> list[int]:
    """Return the places of what moves: states, values that leave delay lines, probes."""
    moving = [*(walk.start[v] for v in walk.states), *walk.pop_columns]
    return [-1 - number for number in (*moving, *(walk.probe_columns[v] for v in probes))]


def _places(*groups: Iterable[int]) -> list[NDArray[np.int64]]:
    return [np.array([*group], dtype=np.int64) for group in groups]


def _core(walk: Walk, always: Iterable[str], beside: str | None) -> list[int]:
    """Return the states that are kept in any case: all but those beside the test, or those that are named."""
    if beside is None:
        return [i for i, v in enumerate(walk.states) if within(v.name, *always)]
    return [i for i, v in enumerate(walk.states) if not within(v.name, beside)]


def _sources(walk: Walk) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return for every delayed value what goes into its line, and the delay.

    A command that is held goes into its delay line at every substep: one value, one source.
    """
    same: dict[int | None, int] = {}
    first = [i if k is None else same.setdefault(k, i) for i, k in enumerate(walk.pushes)]
    return tuple(first[s] for s, _ in walk.pops), tuple(m for _, m in walk.pops)


def _acting(
    full: Matrix, n: int, q: int, sources: Sequence[int], core: Sequence[int], watched: bool
) -> tuple[list[int], list[int]]:
    """Return the states, and the delays, that act on the core or, where some are watched, on the outputs.

    Parameters
    ----------
    full
        Slopes of the next states, of what goes into the delay lines and of the outputs, per state and value
        that leaves a delay line.
    n, q
        How many states there are, and how many values go into delay lines.
    sources
        For every value that leaves a delay line, the place among those that go in.
    core
        States that matter by themselves.
    watched
        Whether there are outputs to act on.
    """
    # d(next x, next y)/d(x, y): a value that leaves a delay line has been fed by its source.
    rows = [*range(n), *(n + s for s in sources)]
    reached = np.zeros(full.shape[1], dtype=bool)
    reached[list(core)] = True
    if watched:
        reached[full[n + q :].nonzero()[1]] = True
    fresh = np.flatnonzero(reached)
    while len(fresh):
        acting = np.unique(full[[rows[i] for i in fresh]].nonzero()[1])
        fresh = acting[~reached[acting]]
        reached[fresh] = True
    return np.flatnonzero(reached[:n]).tolist(), np.flatnonzero(reached[n:]).tolist()
