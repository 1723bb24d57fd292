"""The exact reference: what the complete structure of a test would do, uncut.

Numerical half and specimen are joined ideally, without transfer system, sensors, controller and sampling, and
integrated so finely that a finer integration changes nothing. A linear structure is carried over each step by
the matrix exponential of its equations

    dx/dt = A x + B u,    u(t + τ h) = u₀ (1 - τ)(1 - 2τ) + 4 u_½ τ (1 - τ) + u₁ τ (2τ - 1)

with the inputs as parabolas through their true values (Van Loan 1978); stiffness costs nothing there. Any
other structure is integrated with the classical Runge-Kutta scheme, compiled. Both are repeated with steps
half as long until two successive results agree. Neither knows scheme or rate of the test.

References
----------
C. F. Van Loan, Computing integrals involving the matrix exponential, IEEE Transactions on Automatic Control
23(3), 1978, doi:10.1109/TAC.1978.1101743.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief
from bondloop.engine.analysis.simulation import starting_states
from bondloop.engine.codegen import Runner
from bondloop.engine.ir import Channel, Expr, Tick, Var, substitute
from bondloop.errors import BondloopError
from bondloop.integrate import RK4, Integrator
from bondloop.rehearsal.rehearsal import steps_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine import System
    from bondloop.hybrid import Checkable
    from bondloop.signals import Signal


@dataclass(frozen=True)
class UncutStructure:
    """The complete structure of a test as one system.

    Attributes
    ----------
    system
        Its equations, with the values in force.
    signals
        What drives each of its inputs; what is not named here keeps its default.
    scaled
        Those of the inputs that the scale of the excitation multiplies.
    channels
        Motion and force at the interfaces, by the names of the test's channels.
    integrator
        The scheme of the test's numerical half; None where it has none that integrates such a system.

    Examples
    --------
    >>> from bondloop.papers import gawthrop_three_mass
    >>> whole = gawthrop_three_mass.test().uncut()
    >>> [u.name for u in whole.system.input_vars], sorted(whole.channels)[-2:]
    (['numerical.r'], ['desired.velocity', 'force'])
    """

    system: System
    signals: Mapping[Var, Signal]
    scaled: frozenset[Var]
    channels: Mapping[str, Expr]
    integrator: Integrator | None = None

    __repr__ = brief


@dataclass(frozen=True)
class ExactReference:
    """Motion and force at the interfaces of the complete structure, on the ticks of the test.

    Attributes
    ----------
    time
        Of the ticks, in s.
    channels
        Values by the names of the test's channels; empty where there is no reference.
    error
        How far the last two integrations are apart, rms over rms, in the worst channel.
    agrees_until
        Seconds up to which they agree to the tolerance: less than the whole where two runs part for ever, as
        those of a chaotic or unstable structure do.
    refinement
        Steps in a tick of the finest integration.
    scheme_errors
        By channel, share of error that the test's own scheme makes at the test's rate on the same structure.
        None where that scheme cannot integrate it, as where the specimen has motion too fast for it: the
        test leaves that to the rig.
    missing
        Why there is no reference, in a sentence; empty where there is one.
    """

    time: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    channels: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    error: float = 0.0
    agrees_until: float = 0.0
    refinement: int = 0
    scheme_errors: Mapping[str, float] | None = None
    missing: str = ""

    __repr__ = brief

    def __bool__(self) -> bool:
        return not self.missing

    @property
    def scheme_error(self) -> float | None:
        """Share of error that the test's own scheme makes at the test's rate, in the worst channel."""
        errors = self.scheme_errors
        return None if errors is None else max(errors.values(), default=0.0)


def exact_reference(
    test: Checkable,
    seconds: float,
    held_at: float | None = None,
    scale: float = 1.0,
    *,
    tolerance: float = 1e-3,
    most_states: int = 400,
    most_steps: int = 4_000_000,
    with_scheme: bool = True,
) -> ExactReference:
    """Return what the complete structure of a test does, uncut.

    Parameters
    ----------
    test
        The test.
    seconds
        Length of the run.
    held_at
        After how many seconds the excitation is held; None: never.
    scale
        What the excitation is multiplied by, beside the test's own scale.
    tolerance
        Share of each channel's rms within which two successive integrations agree.
    most_states
        A structure with more states is left out.
    most_steps
        Steps of the finest integration at most.
    with_scheme
        Whether the error of the test's own scheme is wanted too.

    Examples
    --------
    >>> from bondloop.papers import gawthrop_three_mass
    >>> test = gawthrop_three_mass.test()
    >>> exact, run = exact_reference(test, 10.0), test.run(10.0)
    >>> off = run["reference.velocity"] - exact.channels["desired.velocity"]
    >>> bool(abs(off).max() < 1e-6), exact.scheme_error < 1e-6
    (True, True)
    """
    try:
        structure = (test if held_at is None else test.held(held_at)).uncut()
        if len(structure.system.state_vars) > most_states:
            return ExactReference(
                missing=f"the complete structure has {len(structure.system.state_vars)} states; references "
                f"are computed up to {most_states}"
            )
        run = _Run(structure, steps_of(seconds, test.period), test.period, scale * test.scale)
        found = _refined(run, tolerance, most_steps)
        if found.missing or not with_scheme:
            return found
        return _with_scheme(found, run)
    except (BondloopError, np.linalg.LinAlgError) as error:
        return ExactReference(missing=f"{error}")


class _Run:
    """A structure, driven for so many ticks of its test."""

    def __init__(self, structure: UncutStructure, steps: int, period: float, scale: float) -> None:
        self.structure, self.steps, self.period = structure, steps, period
        system = structure.system
        self.time = _grid(steps, period)
        self.sources: dict[Var, tuple[Signal | None, float]] = {}
        for u in system.input_vars:
            signal = structure.signals.get(u)
            factor = scale if u in structure.scaled else 1.0
            own = system.input_defaults.get(u.name, 0.0)
            self.sources[u] = (signal, factor if signal is not None else own)
        for u, rate in system.input_rates.items():
            signal, factor = self.sources[u]
            self.sources[rate] = (None, 0.0) if signal is None else (signal.derivative(), factor)

    def values(self, u: Var, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the true values of an input, or of its rate, at some times."""
        signal, factor = self.sources[u]
        return np.full(len(times), factor) if signal is None else factor * signal(times)

    def count(self, m: float) -> int:
        """Return the steps of a run with ``m`` steps in a tick, or one step over 1/m ticks."""
        return int((self.steps - 1) * m)

    def over_steps(self, u: Var, m: float, aside: float = 1e-6) -> tuple[NDArray[np.float64], ...]:
        """Return an input at the beginning, in the middle and at the end of all steps, ``m`` a tick.

        What jumps is taken aside of the ends by a share of the step, so that a jump at a tick is in neither
        step.
        """
        count, h = self.count(m), self.period / m
        signal, _ = self.sources[u]
        if signal is None or signal.smoothness >= 1:
            values = self.values(u, _grid(2 * count + 1, h / 2))
            return values[:-1:2], values[1::2], values[2::2]
        begin = _grid(count, h)
        return tuple(self.values(u, begin + part * h) for part in (aside, 0.5, 1.0 - aside))

    def as_sampled(self, u: Var, fraction: float) -> NDArray[np.float64]:
        """Return an input at a fraction of each tick, as the test has it: linear in a table."""
        signal, _ = self.sources[u]
        begin = _grid(self.steps, self.period)
        if signal is None or fraction in (0.0, 1.0) or signal.expression(Var("t")) is not None:
            return self.values(u, begin + fraction * self.period)
        ends = self.values(u, _grid(self.steps + 1, self.period))
        return ends[:-1] + fraction * np.diff(ends)


def _grid(count: int, step: float) -> NDArray[np.float64]:
    return np.arange(count, dtype=np.float64) * step


def _refined(run: _Run, tolerance: float, most_steps: int, *, longest: float = 2e-3) -> ExactReference:
    """Integrate in ever smaller steps, half as long each time, until two results agree.

    A step over two ticks is tried first: where it agrees with steps of one tick, these are fine enough. No
    step is longer than ``longest`` seconds: two that are might both pass over an impact.
    """
    linear = _linear(run)
    integrate = _compiled if linear is None else linear
    m = 0.5 if linear is not None else _first_refinement(run.structure.system, run.period)
    m = max(m, 2.0 ** math.ceil(math.log2(run.period / longest)))
    before: dict[str, NDArray[np.float64]] | None = None
    found = ExactReference(
        missing=f"the complete structure would need more than {most_steps} steps to be integrated"
    )
    while run.steps * m <= most_steps:
        now: dict[str, NDArray[np.float64]] | None = integrate(run, m)
        assert now is not None
        if not all(np.isfinite(values).all() for values in now.values()):
            found = ExactReference(missing="the complete structure by itself moves beyond all bounds")
            now = None
        elif before is not None:
            error, until = apart(now, before, run.time, tolerance)
            found = ExactReference(run.time, now, error, until, round(m))
            if error <= tolerance:
                break
        before, m = now, 2 * m
    return found


def apart(
    now: Mapping[str, NDArray[np.float64]],
    before: Mapping[str, NDArray[np.float64]],
    time: NDArray[np.float64],
    tolerance: float,
    peak: float = 10.0,
) -> tuple[float, float]:
    """Return how far two runs are apart, rms over rms in the worst channel, and up to when they agree.

    Parameters
    ----------
    now, before
        The runs, by channel; the second with as many samples as the first, or with every other one of them.
    time
        Of the samples of the first, in s.
    tolerance
        Share of a channel's rms up to which its runs agree.
    peak
        How many times the tolerance a single sample may be off.
    """
    worst, until = 0.0, float(time[-1])
    for name, values in now.items():
        stride = 1 if len(before[name]) == len(values) else 2
        off = np.abs(values[::stride] - before[name])
        size = _rms(values)
        if size:
            worst = max(worst, _rms(off) / size)
            beyond = np.flatnonzero(off > peak * tolerance * size)
            until = min(until, float(time[::stride][beyond[0]]) if len(beyond) else until)
    return worst, until


def _rms(values: NDArray[np.float64]) -> float:
    size = float(np.abs(values).max(initial=0.0))
    return size * float(np.sqrt(np.mean((values / size) ** 2))) if size else 0.0


# ---------------------------------------------------------------- linear structures


class _Linear:
    """A linear structure, carried over its steps by the exponential of its matrix."""

    def __init__(self, run: _Run) -> None:
        structure = run.structure
        system = structure.system.replaced(outputs=dict(structure.channels))
        space = system.numeric()
        driven = [*system.input_vars, *system.input_rates.values()]
        rated = [system.input_vars.index(u) for u in system.input_rates]
        E, A, C = (X.toarray() for X in (space.E, space.A, space.C))
        B = np.hstack([space.B.toarray(), space.F.toarray()[:, rated]])
        D = np.hstack([space.D.toarray(), space.H.toarray()[:, rated]])
        # An input that is zero throughout costs a column of everything.
        used = [j for j, u in enumerate(driven) if run.sources[u] != (None, 0.0)]
        self.inputs = [driven[j] for j in used]
        self.A, self.B = np.linalg.solve(E, A), np.linalg.solve(E, B[:, used])
        self.C, self.D, self.names = C, D[:, used], space.outputs
        start = system.initial_by_var
        self.start = np.array([start.get(v, 0.0) for v in system.state_vars])

    def __call__(self, run: _Run, m: float) -> dict[str, NDArray[np.float64]]:
        """Return the channels at the ticks, or every other one, integrated with ``m`` steps in a tick."""
        phi, parts = parabola_step(self.A, self.B, run.period / m)
        forced = np.zeros((run.count(m), len(self.start)))
        if self.inputs:
            values = [v for u in self.inputs for v in run.over_steps(u, m)]
            forced = np.column_stack(values) @ np.stack(parts, axis=-1).reshape(len(phi), -1).T
        with np.errstate(all="ignore"):  # a structure that moves beyond all bounds
            for _ in range(round(math.log2(max(m, 1)))):  # two steps in one, until one is a tick
                forced, phi = forced[0::2] @ phi.T + forced[1::2], phi @ phi
            states = propagated(phi, forced, self.start)
            outputs = self.C @ states.T
        stride = max(1, round(1 / m))
        for j, u in enumerate(self.inputs):
            if np.any(self.D[:, j]):
                outputs += np.outer(self.D[:, j], run.values(u, run.time[::stride]))
        return dict(zip(self.names, outputs, strict=True))


def _linear(run: _Run) -> _Linear | None:
    """Return a structure as a linear one; None where it is not."""
    structure = run.structure
    system = structure.system.replaced(outputs=dict(structure.channels))
    return _Linear(run) if system.is_linear else None


def parabola_step(
    A: NDArray[np.float64], B: NDArray[np.float64], h: float
) -> tuple[NDArray[np.float64], tuple[NDArray[np.float64], ...]]:
    """Return the matrices of a step: of the state, and of the inputs at its beginning, middle and end.

    Parameters
    ----------
    A, B
        Of dx/dt = A x + B u.
    h
        The step, in s.

    Examples
    --------
    dx/dt = u with u = 6 t² over a step of 1 s ends at 2:

    >>> phi, parts = parabola_step(np.zeros((1, 1)), np.ones((1, 1)), 1.0)
    >>> round(float(sum(part[0, 0] * 6 * t**2 for part, t in zip(parts, (0.0, 0.5, 1.0)))), 12)
    2.0
    """
    from scipy.linalg import expm

    n, m = B.shape
    whole = np.zeros((n + 3 * m, n + 3 * m))
    whole[:n, :n], whole[:n, n : n + m] = h * A, h * B
    whole[n : n + 2 * m, n + m :] = np.eye(2 * m)
    found = expm(whole)[:n]
    phi, flat, rising = found[:, :n], found[:, n : n + m], found[:, n + m : n + 2 * m]
    bent = 2 * found[:, n + 2 * m :]
    parts = flat - 3 * rising + 2 * bent, 4 * (rising - bent), 2 * bent - rising
    return phi, parts


def propagated(
    phi: NDArray[np.float64], forced: NDArray[np.float64], start: NDArray[np.float64], depth: int = 6
) -> NDArray[np.float64]:
    """Return the states x_0 ... x_N of x_{k+1} = phi x_k + f_k.

    Pairs of steps are put into one, ``depth`` times over, so that most of it is products of matrices.

    Parameters
    ----------
    phi
        The matrix.
    forced
        f_k, a row a step.
    start
        x_0.
    depth
        How often.

    Examples
    --------
    >>> propagated(np.array([[2.0]]), np.ones((3, 1)), np.array([0.0])).ravel().tolist()
    [0.0, 1.0, 3.0, 7.0]
    """
    count = len(forced)
    states = np.empty((count + 1, len(start)))
    if depth and count >= 2:
        pairs = count // 2
        both = forced[0 : 2 * pairs : 2] @ phi.T + forced[1 : 2 * pairs : 2]
        states[0 : 2 * pairs + 1 : 2] = propagated(phi @ phi, both, start, depth - 1)
        states[1 : 2 * pairs : 2] = states[0 : 2 * pairs : 2] @ phi.T + forced[0 : 2 * pairs : 2]
        if count % 2:
            states[count] = phi @ states[count - 1] + forced[-1]
        return states
    states[0] = start
    for k in range(count):
        states[k + 1] = phi @ states[k] + forced[k]
    return states


# ---------------------------------------------------------------- all others


def _tick(
    structure: UncutStructure, integrator: Integrator, h: float
) -> tuple[Tick, dict[Var, tuple[Var, float]]]:
    """Return a step of a structure as a tick, and which input at which part of the step each of its is."""
    system = structure.system
    made: dict[tuple[Var, float], Var] = {}

    def at(fraction: float) -> dict[Var, Expr]:
        found: dict[Var, Expr] = {}
        for u in (*system.input_vars, *system.input_rates.values()):
            found[u] = made.setdefault((u, fraction), Var(f"{u.name}@{fraction:g}"))
        return found

    step = integrator.discretise(system, h, at, list(structure.channels.values()))
    channels = tuple(
        Channel(name, substitute(value, step.table)) for name, value in structure.channels.items()
    )
    tick = Tick(
        "uncut_structure", h, Var("t"), Var("k"), tuple(made.values()), starting_states(system),
        system.values(), (*step.first, *step.rest), channels,
    )  # fmt: skip
    return tick, {v: key for key, v in made.items()}


def _compiled(run: _Run, m: float) -> dict[str, NDArray[np.float64]]:
    """Return the channels at the ticks, or every other one, with ``m`` Runge-Kutta steps in a tick."""
    tick, read = _tick(run.structure, RK4(), run.period / m)
    columns = {}
    for u in dict.fromkeys(u for u, _ in read.values()):
        values = run.over_steps(u, m)
        for fraction, part in zip((0.0, 0.5, 1.0), values, strict=True):
            columns[u, fraction] = np.append(part, part[-1:])
    count = run.count(m) + 1
    rows = np.column_stack([columns[key] for key in read.values()]) if read else None
    every = max(1, round(m))
    result = Runner(tick).run(count, rows, every=every)
    return _whole(result.channels, -(-count // every))


def _whole(channels: Mapping[str, NDArray[np.float64]], steps: int) -> dict[str, NDArray[np.float64]]:
    """Return channels at all ticks, without a number after a run has stopped."""
    return {
        name: np.append(values, np.full(steps - len(values), np.nan)) for name, values in channels.items()
    }


def _first_refinement(system: System, period: float, reach: float = 1.0) -> float:
    """Return so many steps in a tick that the fastest motion at the start goes on by less than ``reach``.

    At most half a step a tick; of what is slower than that it need not be known how slow it is.
    """
    try:
        poles = system.linearise().poles()
    except (BondloopError, ArithmeticError, np.linalg.LinAlgError):
        return 0.5
    fastest = float(np.abs(poles).max(initial=0.0)) * period / reach
    return 2.0 ** math.ceil(math.log2(fastest)) if 0.5 < fastest < math.inf else 0.5


# ---------------------------------------------------------------- the test's own scheme


def _with_scheme(found: ExactReference, run: _Run) -> ExactReference:
    """Add the error that the test's own scheme makes at its own rate."""
    from dataclasses import replace

    integrator = run.structure.integrator
    if integrator is None:
        return found
    try:
        tick, read = _tick(run.structure, integrator, run.period)
    except BondloopError:  # a scheme for linear systems only
        return found
    columns = [run.as_sampled(u, fraction) for u, fraction in read.values()]
    rows = np.column_stack(columns) if columns else None
    result = Runner(tick).run(run.steps, rows)
    if not result.finished:
        return found  # fast motion of the specimen, which a test does not leave to this scheme
    sizes = {name: _rms(exact) for name, exact in found.channels.items()}
    errors = {
        name: _rms(result.channels[name] - exact) / sizes[name] if sizes[name] else 0.0
        for name, exact in found.channels.items()
    }
    return replace(found, scheme_errors=errors)
