"""Process models fitted in the time domain: the error of the simulated output is least (du Bois 2010, 3.1).

The simulation is exact for a held command and any delay, and so are its derivatives: dy/db_j is s^j/a u,
dy/da_i is -s^i/a y, and dy/d(delay) is -dy/dt. The first are states of a companion form of 1/a driven by the
command, the second those of the same form driven by the output. An offset of the output and the state at the
beginning of the record enter linearly; they are projected out (Golub and Pereyra's variable projection in
Kaufman's form).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import with_progress
from bondloop.engine.data import POSITIVE, number
from bondloop.errors import InputError, SolveError
from bondloop.identify.least_squares import Minimum, check_residuals, minimise
from bondloop.identify.process.frequency_fit import lag, lines_of_record, plain_starts, rational_starts
from bondloop.identify.process.line_fit import RecordLines, fit_lines, grown
from bondloop.identify.process.process_fit import ModelStructure, ProcessFit, process_fit, structure
from bondloop.identify.tolerances import SAMPLES_COMPARED
from bondloop.transfer import (
    HOLDS,
    Held,
    dot,
    gram,
    hold_late,
    linear_recursion,
    mix,
    orthonormal,
    project_out,
    times,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]


STARTS = ("free", "rest")


@with_progress("fitting a model")
def fit_time(
    command: ArrayLike,
    output: ArrayLike,
    sample_period: float | str,
    model: ModelStructure | str,
    *,
    hold: str = "zero",
    start: str = "free",
    offset: bool = True,
    max_delay: float | str | None = None,
) -> ProcessFit:
    """Fit a process model to a record.

    Parameters
    ----------
    command, output
        Samples of input and output, shape (n,).
    sample_period
        Seconds between samples, or text: ``"1 ms"``.
    model
        ``"G1"``, ``"G2"``, ``"G1D"``, ``"G2D"``, a phrase such as ``"3 poles, 1 zero, delay"``, or a
        `ModelStructure`.
    hold
        What the input does between samples: ``"zero"`` keeps its value (a command from a computer),
        ``"first"`` runs straight to the next (a measured, smooth input).
    start
        ``"free"``: the state at the beginning of the record is unknown and estimated; ``"rest"``: everything
        was zero before the record.
    offset
        Whether a constant is added to the output.
    max_delay
        Longest delay in seconds; unless given, a few times what the correlation of output and input shows.

    Examples
    --------
    >>> from bondloop.transfer.process import second_order
    >>> u = np.sign(np.sin(0.13 * np.arange(2000) ** 1.1))
    >>> y = second_order(0.98, 20.0, 0.6, delay=0.0043).simulate(u, 1e-3)
    >>> fit = fit_time(u, y, 1e-3, "G2D", start="rest")
    >>> {name: round(e.value, 6) for name, e in fit.parameters.items()}
    {'gain': 0.98, 'frequency': 20.0, 'damping': 0.6, 'delay': 0.0043}
    """
    wanted = structure(model)
    record = record_to_fit(
        command,
        output,
        sample_period,
        [wanted],
        hold=hold,
        start=start,
        offset=offset,
        max_delay=max_delay,
    )
    return fit_record(record, wanted)


def record_to_fit(
    command: ArrayLike,
    output: ArrayLike,
    sample_period: float | str,
    models: Sequence[ModelStructure],
    *,
    hold: str = "zero",
    start: str = "free",
    offset: bool = True,
    max_delay: float | str | None = None,
) -> _Record:
    """Return checked data, ready for all of these models: the same samples take part in each of their fits.

    Parameters
    ----------
    command, output, sample_period, hold, start, offset, max_delay
        As for `fit_time`.
    models
        What will be fitted.
    """
    h = POSITIVE.check(sample_period, "sample_period", "s")
    u, y = checked_record(command, output)
    if start not in STARTS:
        raise InputError(f"start must be 'free' or 'rest'; found {start!r}")
    if hold not in HOLDS:
        raise InputError(f"hold must be 'zero' or 'first'; found {hold!r}")
    if start == "free" and np.ptp(u) == 0:
        raise InputError(
            f"the input is constant ({u[0]:g}), so nothing can be learnt from its effect; record a changing "
            "input, or, for a step in the first sample of a rig at rest, say start='rest'"
        )
    delayed = any(model.delay for model in models)
    late = lag(u, y, h) if delayed else 0.0
    most = None if max_delay is None else number(max_delay, "max_delay", "s")
    longest = _longest(delayed, most, late, h, u.size)
    return _Record(u, y, h, hold, start, offset, longest, late)


def fit_record(record: _Record, wanted: ModelStructure, theta: Array | None = None) -> ProcessFit:
    """Fit a structure to a record, from coordinates that are nearly right if there are any.

    Parameters
    ----------
    record
        Of `record_to_fit`.
    wanted
        The structure.
    theta
        Coordinates to begin with; unless given, they are looked for.
    """
    needed = 4 * (wanted.size + record.nuisance(wanted.poles))
    if record.used < needed:
        raise InputError(
            f"too few samples: {record.used} take part, but {wanted.name} needs at least {needed}; record "
            "longer"
        )
    if theta is None:
        found = _best(record, wanted)
    else:
        found = minimise(lambda t: record.evaluate(wanted, t), theta, *record.bounds(wanted))
    if found is None:
        raise SolveError(f"{wanted.name} could not be fitted: no model of this kind follows the data")
    predicted = record.predict(wanted, found.theta)
    warnings = []
    if wanted.delay and record.longest > 0 and found.theta[-1] >= record.longest:
        warnings.append(
            f"the delay ran into its greatest value, {record.longest:g} s; give a larger max_delay"
        )
    return process_fit(
        wanted,
        found,
        domain="time",
        measured=record.y[record.first :],
        predicted=predicted,
        nuisance=record.nuisance(wanted.poles),
        tests=check_residuals(found.residual, record.u[record.first :]),
        warnings=warnings,
    )


def checked_record(command: ArrayLike, output: ArrayLike) -> tuple[Array, Array]:
    """Return input and output as arrays, or say what is wrong with them."""
    u, y = np.asarray(command, dtype=float), np.asarray(output, dtype=float)
    if u.ndim != 1 or u.shape != y.shape:
        raise InputError(f"input and output need the same number of samples; found {u.shape} and {y.shape}")
    for name, values in (("input", u), ("output", y)):
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            raise InputError(f"the {name} is {values[bad[0]]} at sample {bad[0]}; leave such samples out")
    if u.size < 16:
        raise InputError(f"too few samples: found {u.size}, and nothing can be fitted to less than 16")
    if np.ptp(y) == 0:
        raise InputError(f"the output is constant ({y[0]:g}); is the sensor connected?")
    if not u.any():
        raise InputError("the input is zero throughout; record a changing input")
    return u, y


def _longest(delayed: bool, given: float | None, late: float, period: float, samples: int) -> float:
    """Return the upper bound of the delay."""
    duration = samples * period
    if not delayed:
        return 0.0
    if given is None:
        return min(max(2 * late, late + 20 * period), duration / 4)
    if given < 0 or given >= duration:
        raise InputError(
            f"max_delay must lie between 0 and the record's length, {duration:g} s; found {given:g} s: a "
            "delay longer than the record cannot be seen in it"
        )
    return float(given)


@dataclass(frozen=True)
class _Record:
    """The data, and what a structure makes of them."""

    u: Array
    y: Array
    period: float
    hold: str
    start: str
    offset: bool
    longest: float
    late: float = 0.0

    @property
    def furthest(self) -> float:
        """The longest delay to begin with."""
        return min(1.2 * self.late + 2 * self.period, self.longest)

    @cached_property
    def lines(self) -> RecordLines:
        """The record as it is fitted in its spectrum."""
        return RecordLines(self.u, self.y, self.period, self.hold)

    @property
    def first(self) -> int:
        """The first sample whose late input is known."""
        return 0 if self.start == "rest" else int(np.ceil(self.longest / self.period))

    @property
    def used(self) -> int:
        """How many samples take part."""
        return self.y.size - self.first

    def nuisance(self, poles: int) -> int:
        """How many parameters are projected out."""
        return int(self.offset) + (poles if self.start == "free" else 0)

    def bounds(self, wanted: ModelStructure) -> tuple[Array, Array]:
        """Bounds of a structure's coordinates: poles within what the record can show."""
        slowest = 100 * self.y.size * self.period
        return wanted.bounds(1e-3 * self.period, slowest, self.longest, fastest_pair=1e-2 * self.period)

    def predict(self, wanted: ModelStructure, theta: Array) -> Array:
        """Return the model's output, offset and beginning included."""
        run = _Run(self, wanted, theta, sensitivities=False)
        y = self.y[self.first :]
        return y - project_out(run.basis, y - run.forced)

    def evaluate(self, wanted: ModelStructure, theta: Array) -> tuple[Array, Array] | None:
        """Return residuals and their derivatives."""
        # Poles a million times apart are beyond the digits of a companion form: such a model has no value.
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                run = _Run(self, wanted, theta, sensitivities=True)
            except np.linalg.LinAlgError:
                return None
            r = project_out(run.basis, run.forced - self.y[self.first :])
            J = project_out(run.basis, run.jacobian)
        return (r, J) if np.all(np.isfinite(r)) and np.all(np.isfinite(J)) else None

    def rescaled(self, wanted: ModelStructure, theta: Array) -> tuple[float, Array]:
        """Return the cost with the best gain, and the coordinates with it."""
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                run = _Run(self, wanted, theta, sensitivities=False)
            except np.linalg.LinAlgError:
                return np.inf, theta
            e, x = (project_out(run.basis, v) for v in (self.y[self.first :], run.forced))
            power = dot(x, x)
        factor = dot(x, e) / power if power > 0 and np.isfinite(power) else 0.0
        theta = theta.copy()
        theta[0] *= factor or 1.0
        error = e - factor * x
        cost = dot(error, error)
        return (cost if np.isfinite(cost) else np.inf), theta


class _Run:
    """One simulation of a record, with or without its derivatives."""

    def __init__(self, record: _Record, wanted: ModelStructure, theta: Array, *, sensitivities: bool) -> None:
        self.record = record
        b, a, delay = wanted.polynomials(theta)
        self.n, self.b, self.a = wanted.poles, b, a
        self.scale = float(np.max(np.abs(np.roots(a[::-1]))))
        powers = self.scale ** np.arange(self.n + 1.0)
        alpha = a * powers
        self.leading = alpha[-1]
        self.A = np.eye(self.n, k=1)
        self.A[-1] = -alpha[:-1] / self.leading
        self.B = np.eye(self.n)[-1]
        self.C = np.zeros(self.n)
        self.C[: b.size] = b * powers[: b.size] / self.leading
        self.late = delay * self.scale
        self._simulate(wanted, theta, sensitivities)

    def _simulate(self, wanted: ModelStructure, theta: Array, sensitivities: bool) -> None:
        n, record, first = self.n, self.record, self.record.first
        A, B = self.A, self.B
        if sensitivities:  # below the model, the same companion form driven by its output
            A = np.block([[A, np.zeros((n, n))], [np.outer(B, self.C), A]])
            B = np.concatenate([B, np.zeros(n)])
        held = hold_late(A, B, record.period * self.scale, self.late, record.hold)
        late = held.forcing(record.u, 0.0)[:, first:]
        full = A.shape[0]
        X = linear_recursion(held.transition, held.gains, late, np.zeros(full), np.eye(full))
        self.forced = mix(self.C, X[:n])
        rows = [np.ones((1, record.used))] if record.offset else []
        if record.start == "free":
            rows.append(self._free(held.transition[:n, :n]))
        table = np.vstack(rows) if rows else np.zeros((0, record.used))
        self.basis = orthonormal(table)
        if not sensitivities:
            return
        if record.start == "free":
            error = record.y[first:] - self.forced
            c = np.linalg.pinv(gram(table, table), rcond=1e-13, hermitian=True) @ times(table, error)
            X[:, : self.length] += self._from_state(held, c[-n:])
        self.jacobian = self._jacobian(wanted, theta, X, mix(held.weights, late))

    def _free(self, transition: Array) -> Array:
        """Return the outputs that follow from each initial state, shape (n, samples): C transition^k."""
        slowest = float(np.min(np.abs(np.log(np.maximum(np.abs(np.linalg.eigvals(transition)), 1e-300)))))
        self.length = int(min(self.record.used, max(50.0, 45.0 / max(slowest, 1e-12))))
        decay = linear_recursion(
            transition.T, np.zeros((self.n, 1)), np.zeros((1, self.length)), self.C, np.eye(self.n)
        )
        result = np.zeros((self.n, self.record.used))
        result[:, : self.length] = decay
        return result

    def _from_state(self, held: Held, state: Array) -> Array:
        """Return what an initial state adds to all states."""
        full = held.transition.shape[0]
        initial = np.concatenate([state, np.zeros(full - self.n)])
        return linear_recursion(
            held.transition, np.zeros((full, 1)), np.zeros((1, self.length)), initial, np.eye(full)
        )

    def _jacobian(self, wanted: ModelStructure, theta: Array, X: Array, late: Array) -> Array:
        """Put the derivatives together: d(output)/d(coordinates), shape (size, samples)."""
        n = self.n
        unit = self.scale ** (np.arange(n) - float(n)) / self.a[-1]
        xi, eta = X[:n] * unit[:, None], X[n:] * unit[:, None]
        output = mix(self.C, X[:n])
        last_xi = (late - mix(self.a[:n], xi)) / self.a[n]
        last_eta = (output - mix(self.a[:n], eta)) / self.a[n]
        xi, eta = np.vstack([xi, last_xi]), np.vstack([eta, last_eta])
        db, da = wanted.derivatives(theta)
        J = mix(db.T, xi[: db.shape[0]]) - mix(da.T, eta)
        if wanted.delay:
            J[-1] = -mix(self.b, xi[1 : self.b.size + 1])
        return J


def _best(record: _Record, wanted: ModelStructure) -> Minimum | None:
    """Fit from the most promising starts, and keep the best."""
    low, high = record.bounds(wanted)
    # In the spectrum a fit takes a moment; where the lines are enough it is nearly the optimum.
    also: list[Array] = []
    if wanted.zeros:  # a pair of pole and zero is best found beside the model without it
        less = ModelStructure(wanted.poles - 1, wanted.zeros - 1, wanted.delay)
        simpler = fit_lines(record.lines, less, *record.bounds(less), record.furthest)
        also = [] if simpler is None else grown(simpler, wanted)
    in_lines = fit_lines(record.lines, wanted, low, high, record.furthest, also=also)
    ready = [] if in_lines is None else [in_lines.start]
    if record.u.size <= SAMPLES_COMPARED or not ready:
        ready += _starts_in_time(record, wanted)
    best: Minimum | None = None
    for theta in ready:
        found = minimise(lambda t: record.evaluate(wanted, t), theta, low, high)
        if found is not None and (best is None or found.cost < best.cost):
            best = found
    return best


def _starts_in_time(record: _Record, wanted: ModelStructure) -> list[Array]:
    """Return the best of many starts by the error of their simulation, and the next that differs."""
    delays = np.linspace(0.0, record.furthest, 13) if wanted.delay else np.zeros(1)
    starts: list[tuple[float, Array]] = []
    for part in (0.9, 0.99, 0.999):
        lines = lines_of_record(record.u, record.y, record.period, part, record.hold)
        if lines.frequency.size > 2 * wanted.size:
            starts += rational_starts(lines, wanted, delays, 3)
    speeds = np.geomspace(2 / (record.used * record.period), 0.5 / record.period, 7)
    starts += [(np.inf, theta) for theta in plain_starts(wanted, speeds, record.furthest / 2)]
    low, high = record.bounds(wanted)
    tried = sorted(
        (record.rescaled(wanted, np.clip(t, low, high)) for _, t in starts), key=lambda pair: pair[0]
    )
    return [theta for _, theta in _distinct(tried)]


def _distinct(tried: list[tuple[float, Array]]) -> list[tuple[float, Array]]:
    """Return the best start, and the next that is not nearly the same."""
    first, *others = tried
    for cost, theta in others:
        if np.any(np.abs(theta - first[1]) > 0.05 * np.abs(first[1]) + 1e-12):
            return [first, (cost, theta)]
    return [first]
