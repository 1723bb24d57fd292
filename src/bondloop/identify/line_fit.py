"""Process models fitted to the lines of a record's spectrum: nearly the fit in time, a hundred times faster.

A long record of a slow plant has most of its samples in frequencies that say nothing. Of its spectrum only
the lines take part in which the output rises above the noise. The error of the output is least there as it is in
time (Parseval); what the record's two ends add is a polynomial over the denominator and is projected out.
Two things the lines do not know, and a second round makes up for: a delay brings in input from before
the record (the output is moved against the input by whole samples), and a sampled response has images of
the higher frequencies (a factor, from the first round's model).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bondloop.identify.fit_frequency import response_derivatives
from bondloop.identify.least_squares import Minimum, minimise
from bondloop.identify.starting_values import Lines, rational_starts
from bondloop.transfer.held_input import hold_late
from bondloop.transfer.thin_products import dot, orthonormal, project_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.identify.structure import Structure
    from bondloop.transfer.process import Process

    Array = NDArray[np.float64]
    Complex = NDArray[np.complex128]

__all__ = ["LineFit", "RecordLines", "fit_lines", "sampled_response"]

MOST = 1500
"""Lines that take part; of more, those with the most input."""
FEW = 200
"""Lines that the starting values are made of."""
FASTEST = 30.0
"""Poles faster than so many times the highest frequency leave hardly a trace in the data."""


@dataclass(frozen=True)
class LineFit:
    """Coordinates of a structure, and the error of the lines they leave.

    Attributes
    ----------
    structure, theta
        The model and its coordinates.
    cost
        Sum of squared errors.
    samples
        Real numbers that took part: two a line.
    taken
        Parameters, those of the record's ends with them.
    top
        Highest frequency of the lines, rad/s.
    """

    structure: Structure
    theta: Array
    cost: float
    samples: int
    taken: int
    top: float

    @property
    def idle_pole(self) -> bool:
        """Whether a pole is too fast to leave a trace in the data: a structure with one less says the same."""
        return _fastest(self.structure, self.theta) > FASTEST * self.top

    @property
    def start(self) -> Array:
        """The coordinates with poles that a simulation in samples can bear."""
        return _slowed(self.structure, self.theta, FASTEST * self.top)


@dataclass(frozen=True)
class RecordLines:
    """A record whose spectrum is to be fitted.

    Attributes
    ----------
    u, y
        Input and output.
    period, hold
        Seconds between samples; what the input does between them.
    """

    u: Array
    y: Array
    period: float
    hold: str

    @cached_property
    def whole(self) -> Lines:
        """The lines of the whole record."""
        return self.lines()

    def lines(self, shift: int = 0, last: int | None = None) -> Lines:
        """Return the lines of the output's stretch from a sample on, and of as long a stretch of input."""
        n = self.u.size - shift
        u, y = self.u[:n], self.y[shift:]
        U, Y = np.fft.rfft(u - u.mean())[1:], np.fft.rfft(y - y.mean())[1:]
        if last is None:
            last = _last_above_noise(np.abs(Y) ** 2)
        last = min(last, U.size)
        size = np.abs(U[:last])
        index = np.arange(last) if last <= MOST else np.sort(np.argpartition(size, -MOST)[-MOST:])
        f = (index + 1) / (n * self.period)
        x = f * self.period
        factor = np.sinc(x) * np.exp(-1j * np.pi * x) if self.hold == "zero" else np.sinc(x) ** 2
        early = np.exp(2j * np.pi * x * shift)
        # Scaled so that costs are those of the samples (Parseval, both sides of the spectrum).
        scale = np.sqrt(2 / n)
        return Lines(f, scale * U[index] * factor * early, scale * Y[index], np.ones(f.size), ends=True)


def _last_above_noise(power: Array) -> int:
    """Return how many lines of a spectrum, from the lowest up, hold what stands out of its noise.

    The noise is what the upper third of the spectrum has; the images of the samples forbid the last fifth.
    """
    most = max(1, int(0.8 * power.size))
    block = max(4, power.size // 300)
    count = power.size // block
    if count < 8:
        return most
    mean = power[: count * block].reshape(count, block).mean(axis=1)
    floor = float(np.median(mean[2 * count // 3 :]))
    above = np.flatnonzero(mean > 3 * floor)
    return most if not above.size else int(np.clip((above[-1] + 2) * block, min(16, most), most))


@dataclass(frozen=True)
class _Problem:
    """Lines, and a factor for what the sampled response has besides."""

    lines: Lines
    factor: Complex

    def ends(self, structure: Structure) -> int:
        return structure.poles + 1 if self.lines.ends else 0

    def evaluate(self, structure: Structure, theta: Array) -> tuple[Array, Array] | None:
        lines = self.lines
        s = 2j * np.pi * lines.frequency
        G, dG = response_derivatives(structure, theta, s)
        drive = lines.weight * lines.input * self.factor
        e, J = drive * G - lines.weight * lines.output, drive[:, None] * dG
        r, slopes = np.concatenate([e.real, e.imag]), np.vstack([J.real, J.imag]).T
        if lines.ends:
            basis = self._basis(structure, theta, s)
            r, slopes = project_out(basis, r), project_out(basis, slopes)
        return (r, slopes) if np.all(np.isfinite(r)) and np.all(np.isfinite(slopes)) else None

    def _basis(self, structure: Structure, theta: Array, s: Complex) -> Array:
        """Return what the record's ends can add: polynomials over the denominator."""
        _, a, _ = structure.polynomials(theta)
        below = np.polyval(a[::-1], s)
        rows = (s / np.abs(s[-1]))[None, :] ** np.arange(structure.poles + 1)[:, None] / below
        rows = rows * self.lines.weight
        return orthonormal(np.hstack([rows.real, rows.imag]))

    def rescaled(self, structure: Structure, theta: Array) -> tuple[float, Array]:
        """Return the cost with the best gain, and the coordinates with it."""
        pair = self.evaluate(structure, theta)
        if pair is None or not theta[0]:
            return np.inf, theta
        r, J = pair
        forced = theta[0] * J[0]
        power = dot(forced, forced)
        change = -dot(r, forced) / power if power > 0 else 0.0
        theta = theta.copy()
        theta[0] *= (1 + change) or 1.0
        return dot(r + change * forced, r + change * forced), theta


def fit_lines(  # noqa: PLR0913 - a fit has data, a model, and bounds
    data: RecordLines | Lines,
    structure: Structure,
    low: Array,
    high: Array,
    delays: Array,
    *,
    also: Iterable[Array] = (),
) -> LineFit | None:
    """Fit a structure to lines, from several starts.

    Parameters
    ----------
    data
        A record, or lines of a measured response.
    structure, low, high
        The model, and bounds of its coordinates.
    delays
        Delays with which linear least squares begin.
    also
        More starts: the coordinates of a smaller model's optimum, for one.
    """
    lines = data if isinstance(data, Lines) else data.whole
    problem = _Problem(lines, np.ones(lines.frequency.size, dtype=complex))
    needed = 2 * structure.size + problem.ends(structure)
    if lines.frequency.size < needed:
        return None
    starts = [theta for few in _few(lines, needed) for _, theta in rational_starts(few, structure, delays, 2)]
    tried = [problem.rescaled(structure, np.clip(t, low, high)) for t in [*starts, *also]]
    tried = sorted((pair for pair in tried if np.isfinite(pair[0])), key=lambda pair: pair[0])
    best = _least(problem, structure, [theta for _, theta in tried[:2]], low, high)
    if best is None:
        return None
    if isinstance(data, RecordLines):
        best = _second_round(data, problem, structure, best, low, high)
    taken, top = structure.size + problem.ends(structure), 2 * np.pi * float(lines.frequency[-1])
    return LineFit(structure, best.theta, best.cost, best.residual.size, taken, top)


def _fastest(structure: Structure, theta: Array) -> float:
    """Return the magnitude of the fastest pole, rad/s."""
    return float(np.max(np.abs(np.roots(structure.polynomials(theta)[1][::-1]))))


def _slowed(structure: Structure, theta: Array, most: float) -> Array:
    """Return coordinates whose poles are no faster than so many rad/s."""
    if _fastest(structure, theta) <= most:
        return theta
    b, a, delay = structure.polynomials(theta)
    poles = np.roots(a[::-1])
    poles = poles * np.minimum(1.0, most / np.abs(poles))
    slower = np.real(np.poly(poles))[::-1]
    return structure.coordinates(b, slower / slower[0], delay)


def _few(lines: Lines, needed: int) -> list[Lines]:
    """Return lines for linear least squares: up to several frequencies, since noise biases them upwards."""
    energy = np.cumsum(np.abs(lines.output * lines.weight) ** 2)
    result = []
    for part in (0.9, 0.99, 1.0):
        last = max(int(np.searchsorted(energy, part * energy[-1])) + 1, 2 * needed)
        last = min(last, lines.frequency.size)
        spread = np.unique(np.round(np.linspace(0, last - 1, FEW)).astype(int))
        low = np.unique(np.round(np.geomspace(1, last, FEW // 2)).astype(int)) - 1
        index = np.union1d(spread, low)
        result.append(
            Lines(
                lines.frequency[index], lines.input[index], lines.output[index], lines.weight[index], lines.ends
            )
        )
        if last == lines.frequency.size:
            break
    return result


def _least(
    problem: _Problem, structure: Structure, starts: list[Array], low: Array, high: Array
) -> Minimum | None:
    best: Minimum | None = None
    for theta in starts:
        optimum = minimise(lambda t: problem.evaluate(structure, t), theta, low, high, most=60)
        if optimum is not None and (best is None or optimum.cost < best.cost):
            best = optimum
    return best


def _second_round(
    data: RecordLines, problem: _Problem, structure: Structure, first: Minimum, low: Array, high: Array
) -> Minimum:
    """Fit again, with the output moved by the delay, and with the images of the sampled response."""
    model = structure.process(first.theta)
    shift = min(int(model.delay / data.period), data.u.size // 4)
    last = round(float(problem.lines.frequency[-1]) * data.u.size * data.period)
    lines = data.lines(shift, last) if shift else problem.lines
    x = lines.frequency * data.period
    hold = np.sinc(x) * np.exp(-1j * np.pi * x) if data.hold == "zero" else np.sinc(x) ** 2
    factor = sampled_response(model, lines.frequency, data.period, data.hold) / (
        hold * model.response(lines.frequency)
    )
    factor = np.where(np.isfinite(factor) & (np.abs(factor - 1) < 1), factor, 1.0)
    if not shift and np.abs(factor - 1).max() < 1e-5:
        return first
    again = replace(problem, lines=lines, factor=factor)
    optimum = minimise(lambda t: again.evaluate(structure, t), first.theta, low, high, most=30)
    return first if optimum is None else optimum


def sampled_response(process: Process, frequency: Array, period: float, hold: str = "zero") -> Complex:
    """Return the response from samples of the input to samples of the output, exact for the hold.

    Parameters
    ----------
    process
        The model; more poles than zeros.
    frequency
        In Hz.
    period, hold
        As for `Process.simulate`.

    Examples
    --------
    At low frequencies the hold is half a period of delay, and no more:

    >>> from bondloop.transfer.process import first_order
    >>> G, f = first_order(1.0, 0.1), np.array([0.1])
    >>> ratio = sampled_response(G, f, 1e-3) / G.response(f)
    >>> round(float(-np.angle(ratio)[0] / (2 * np.pi * 0.1)), 6)
    0.0005
    """
    A, B, C, _, scale = process.scaled_space()
    held = hold_late(A, B, period * scale, process.delay * scale, hold)
    z = np.exp(2j * np.pi * np.asarray(frequency, dtype=float) * period)
    forcing = sum(
        z[:, None] ** -float(shift) * held.gains[None, :, j].astype(complex)
        for j, shift in enumerate(held.shifts)
    )
    resolvent = z[:, None, None] * np.eye(A.shape[0]) - held.transition
    states = np.linalg.solve(resolvent, np.asarray(forcing)[:, :, None])[:, :, 0]
    return np.asarray(states @ C)
