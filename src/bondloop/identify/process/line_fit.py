"""Process models fitted to the lines of a record's spectrum: nearly the fit in time, a hundred times faster.

A long record of a slow plant has most of its samples in frequencies that say nothing. Of its spectrum only
the lines take part in which the output rises above the noise. The error of the output is least there as it is
in time (Parseval). With x[n+1] = Φ x[n] + Γ u[n], y = C x, the spectrum of a stretch of N samples is
Y = C (zI - Φ)^-1 (Γ U + z (x[0] - x[N])) exactly: what the two ends add is a combination of n rows, and is
projected out. A delay brings in input from before the stretch; the output is moved against the input by its
whole samples, in a second round once it is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import SolveError
from bondloop.identify.least_squares import Minimum, minimise
from bondloop.identify.process.frequency_fit import Lines, rational_starts, rescaled, response_derivatives
from bondloop.identify.process.process_fit import ModelStructure, information
from bondloop.identify.tolerances import (
    FASTEST_POLE,
    HELPFUL,
    IDLE_ROUNDS,
    LEAST_PRODUCT,
    LINES,
    LINES_OF_SEARCH,
    LINES_OF_STARTS,
    MOST_DELAYS,
    MOST_PROMISING,
    PROMISING,
    SEARCHED_POLES,
    SEARCHED_ZEROS,
    SIMILAR_COST,
)
from bondloop.transfer import hold_late, orthonormal, project_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.transfer import Process

    Array = NDArray[np.float64]
    Complex = NDArray[np.complex128]
    Bounds = Callable[[ModelStructure], tuple[Array, Array]]


def search(data: RecordLines | Lines, bounds: Bounds, furthest: float) -> list[LineFit]:
    """Fit structures of growing size to lines.

    Parameters
    ----------
    data
        A record, or lines of a measured response.
    bounds
        Bounds of a structure's coordinates.
    furthest
        Longest delay to begin with, s.

    Returns
    -------
    list of LineFit
        Best by Akaike's criterion first.
    """
    if isinstance(data, RecordLines):
        data = replace(data, most=LINES_OF_SEARCH)
    fits: dict[ModelStructure, LineFit] = {}
    least, idle = math.inf, 0
    for poles in range(1, SEARCHED_POLES + 1):
        for zeros in range(min(SEARCHED_ZEROS, poles - 1) + 1):
            for delay in (False, True):
                wanted = ModelStructure(poles, zeros, delay)
                also = [theta for s in inside(wanted) if s in fits for theta in grown(fits[s], wanted)]
                fit = fit_lines(data, wanted, *bounds(wanted), furthest, also=also, starts_each=1)
                if fit is not None:
                    fits[wanted] = fit
        best = min((criterion(f) for f in fits.values()), default=math.inf)
        idle = 0 if best < least - HELPFUL else idle + 1
        least = min(least, best)
        if idle >= IDLE_ROUNDS:
            break
    return sorted(fits.values(), key=criterion)


def criterion(fit: LineFit) -> float:
    """Return Akaike's criterion of the lines."""
    return information(fit.cost, fit.samples, fit.taken, None)[0]


def promising(fits: list[LineFit], *, plain: bool = True) -> list[LineFit]:
    """Return which structures to fit and compare: those near the best, and simpler ones for contrast.

    Near the best are the simplest few; for contrast come du Bois's four, the best of each smaller number
    of poles, and the simplest with the delay taken away or added, and in exchange for a pole.

    Parameters
    ----------
    fits
        Of `search`.
    plain
        Whether du Bois's four are to be among them.
    """
    if not fits:
        return []
    seen = [f for f in fits if not f.idle_pole] or fits
    least = criterion(seen[0])
    near = [f for f in seen if criterion(f) - least <= PROMISING]
    # Lines are not the record: a simpler structure that leaves hardly more over may do as well there.
    similar = [
        f for f in seen if f.cost <= SIMILAR_COST * seen[0].cost and f.structure.size < seen[0].structure.size
    ]
    first = {size: f for f in reversed(similar) for size in [f.structure.size]}
    near.sort(key=lambda f: (f.structure.size, criterion(f)))
    chosen = [*near[:MOST_PROMISING], *sorted(first.values(), key=criterion)[:MOST_PROMISING], seen[0]]
    s = near[0].structure
    wanted = [ModelStructure(poles, 0, delay) for poles in (1, 2) for delay in (False, True) if plain]
    wanted.append(ModelStructure(s.poles, s.zeros, not s.delay))
    if s.delay and s.poles < SEARCHED_POLES:
        wanted.append(ModelStructure(s.poles + 1, s.zeros, False))
    elif not s.delay and s.poles - 1 > s.zeros:
        wanted.append(ModelStructure(s.poles - 1, s.zeros, True))
    chosen += [f for f in fits if f.structure in wanted]
    chosen += [f for f in seen if f.structure.poles == s.poles - 1][:1]
    return list({f.structure: f for f in chosen}.values())


def inside(s: ModelStructure) -> list[ModelStructure]:
    """Return the structures that this one holds with a pole, a zero, both, or the delay left out."""
    result = []
    if s.delay:
        result.append(ModelStructure(s.poles, s.zeros, False))
    if s.zeros:
        result.append(ModelStructure(s.poles, s.zeros - 1, s.delay))
        result.append(ModelStructure(s.poles - 1, s.zeros - 1, s.delay))
    if s.poles - 1 > s.zeros:
        result.append(ModelStructure(s.poles - 1, s.zeros, s.delay))
    return result


def grown(fit: LineFit, wanted: ModelStructure) -> list[Array]:
    """Return a smaller model's optimum as coordinates of a larger structure, to begin with."""
    b, a, delay = fit.structure.polynomials(fit.theta)
    more = wanted.poles - fit.structure.poles
    if more and wanted.zeros > fit.structure.zeros:
        # A pole and a zero that nearly cancel; at the very same place neither would move.
        speeds = fit.top * np.array([0.01, 0.03, 0.1, 0.3, 1.0])
        return [
            wanted.coordinates(np.convolve(b, [1.0, 1 / (apart * w)]), np.convolve(a, [1.0, 1 / w]), delay)
            for w in speeds
            for apart in (0.8, 1.25)
        ]
    if more:  # a pole beyond what the data show, near enough to be felt
        a = np.convolve(a, [1.0, 0.1 / fit.top])
    return [wanted.coordinates(b, a, delay)]


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

    structure: ModelStructure
    theta: Array
    cost: float
    samples: int
    taken: int
    top: float

    @property
    def idle_pole(self) -> bool:
        """Whether a pole is too fast to leave a trace: a structure with one less says the same."""
        return _fastest(self.structure, self.theta) > FASTEST_POLE * self.top

    @property
    def start(self) -> Array:
        """The coordinates with poles that a simulation in samples can bear."""
        return slowed(self.structure, self.theta, FASTEST_POLE * self.top)


@dataclass(frozen=True)
class RecordLines:
    """A record whose spectrum is to be fitted.

    Attributes
    ----------
    u, y
        Input and output.
    period, hold
        Seconds between samples; what the input does between them.
    most
        Lines that take part; of more, those with the most input.
    """

    u: Array
    y: Array
    period: float
    hold: str
    most: int = LINES

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
            last = last_above_noise(np.abs(Y) ** 2)
        last = min(last, U.size)
        size = np.abs(U[:last])
        few = np.argpartition(size, -self.most)[-self.most :] if last > self.most else np.arange(last)
        index = np.sort(few)
        f = (index + 1) / (n * self.period)
        early = np.exp(2j * np.pi * f * self.period * shift)
        # Scaled so that costs are those of the samples (Parseval, both sides of the spectrum).
        scale = np.sqrt(2 / n)
        return Lines(f, scale * U[index] * early, scale * Y[index], np.ones(f.size), ends=True)


def last_above_noise(power: Array) -> int:
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
    """Lines; of a record, with its period and hold, or of a measured response, whose ends are none."""

    lines: Lines
    period: float = 0.0
    hold: str = "zero"

    def ends(self, structure: ModelStructure) -> int:
        return structure.poles if self.lines.ends else 0

    def evaluate(self, structure: ModelStructure, theta: Array) -> tuple[Array, Array] | None:
        """Return residuals and their derivatives, which take the images of the samples for constant."""
        lines = self.lines
        s = 2j * np.pi * lines.frequency
        G, dG = response_derivatives(structure, theta, s)
        drive, wanted = lines.weight * lines.input, lines.weight * lines.output
        if not lines.ends:
            return _stacked(drive * G - wanted, drive[:, None] * dG)
        exact = sampled(structure.process(theta), lines.frequency, self.period, self.hold)
        if exact is None:  # poles too far apart for a companion form: as if the input were smooth
            _, a, _ = structure.polynomials(theta)
            x = lines.frequency * self.period
            hold = np.sinc(x) * np.exp(-1j * np.pi * x) if self.hold == "zero" else np.sinc(x) ** 2
            H = hold * G
            rows = (s / np.abs(s[-1]))[:, None] ** np.arange(structure.poles) / np.polyval(a[::-1], s)[
                :, None
            ]
        else:
            H, rows = exact
        images = np.divide(H, G, out=np.ones_like(H), where=np.abs(G) > 0)
        r, slopes = _stacked(drive * H - wanted, (drive * images)[:, None] * dG)
        rows = rows * lines.weight[:, None]
        basis = orthonormal(np.vstack([rows.real, rows.imag]).T)
        r, slopes = project_out(basis, r), project_out(basis, slopes)
        return (r, slopes) if np.all(np.isfinite(r)) and np.all(np.isfinite(slopes)) else None


def fit_lines(
    data: RecordLines | Lines,
    structure: ModelStructure,
    low: Array,
    high: Array,
    furthest: float,
    *,
    also: Iterable[Array] = (),
    starts_each: int = 2,
) -> LineFit | None:
    """Fit a structure to lines, from several starts.

    Parameters
    ----------
    data
        A record, or lines of a measured response.
    structure, low, high
        The model, and bounds of its coordinates.
    furthest
        Longest delay with which linear least squares begin.
    also
        More starts: the coordinates of a smaller model's optimum, for one.
    starts_each
        How many starts of either kind are followed.
    """
    lines = data if isinstance(data, Lines) else data.whole
    problem = _Problem(lines) if isinstance(data, Lines) else _Problem(lines, data.period, data.hold)
    needed = 2 * structure.size + problem.ends(structure)
    if lines.frequency.size < needed:
        return None
    starts: list[Array] = []
    for few in _few(problem, needed):
        # A delay is found from a start that is less than half a turn off at the highest frequency.
        count = int(np.clip(3 * furthest * few.frequency[-1], 6, MOST_DELAYS)) + 1
        delays = np.linspace(0.0, furthest, count) if structure.delay else np.zeros(1)
        starts += [theta for _, theta in rational_starts(few, structure, delays, 2)]
    # The best of both kinds: those of linear least squares often share one valley.
    ready: list[Array] = []
    for kind in (starts, list(also)):
        inside = [np.clip(theta, low, high) for theta in kind]
        tried = [rescaled(problem.evaluate(structure, theta), theta) for theta in inside]
        tried = sorted((pair for pair in tried if np.isfinite(pair[0])), key=lambda pair: pair[0])
        ready += [theta for _, theta in tried[:starts_each]]
    best = _least(problem, structure, ready, low, high)
    if best is None:
        return None
    if isinstance(data, RecordLines):
        best = _second_round(data, problem, structure, best, low, high)
    taken, top = structure.size + problem.ends(structure), 2 * np.pi * float(lines.frequency[-1])
    return LineFit(structure, best.theta, best.cost, best.residual.size, taken, top)


def _fastest(structure: ModelStructure, theta: Array) -> float:
    """Return the magnitude of the fastest pole, rad/s."""
    return float(np.max(np.abs(np.roots(structure.polynomials(theta)[1][::-1]))))


def slowed(structure: ModelStructure, theta: Array, most: float) -> Array:
    """Return coordinates whose poles are no faster than so many rad/s."""
    if _fastest(structure, theta) <= most:
        return theta
    b, a, delay = structure.polynomials(theta)
    poles = np.roots(a[::-1])
    poles = poles * np.minimum(1.0, most / np.abs(poles))
    slower = np.real(np.poly(poles))[::-1]
    return structure.coordinates(b, slower / slower[0], delay)


def _few(problem: _Problem, needed: int) -> list[Lines]:
    """Return lines for linear least squares: up to several frequencies, since noise biases them upwards."""
    lines = problem.lines
    x = lines.frequency * problem.period
    hold = np.sinc(x) * np.exp(-1j * np.pi * x) if problem.hold == "zero" else np.sinc(x) ** 2
    smooth = lines.input * hold
    energy = np.cumsum(np.abs(lines.output * lines.weight) ** 2)
    result = []
    for part in (0.9, 0.99, 1.0):
        last = max(int(np.searchsorted(energy, part * energy[-1])) + 1, 2 * needed)
        last = min(last, lines.frequency.size)
        spread = np.unique(np.round(np.linspace(0, last - 1, LINES_OF_STARTS)).astype(int))
        low = np.unique(np.round(np.geomspace(1, last, LINES_OF_STARTS // 2)).astype(int)) - 1
        index = np.union1d(spread, low)
        f, u, y = lines.frequency[index], np.asarray(smooth[index]), lines.output[index]
        result.append(Lines(f, u, y, lines.weight[index], lines.ends))
        if last == lines.frequency.size:
            break
    return result


def _least(
    problem: _Problem, structure: ModelStructure, starts: list[Array], low: Array, high: Array
) -> Minimum | None:
    best: Minimum | None = None
    for theta in starts:
        optimum = minimise(lambda t: problem.evaluate(structure, t), theta, low, high, most=60)
        if optimum is not None and (best is None or optimum.cost < best.cost):
            best = optimum
    return best


def _second_round(
    data: RecordLines, problem: _Problem, structure: ModelStructure, first: Minimum, low: Array, high: Array
) -> Minimum:
    """Fit again, with the output moved by the delay's whole samples."""
    model = structure.process(first.theta)
    shift = min(int(model.delay / data.period), data.u.size // 4)
    if not shift:
        return first
    last = round(float(problem.lines.frequency[-1]) * data.u.size * data.period)
    again = replace(problem, lines=data.lines(shift, last))
    optimum = minimise(lambda t: again.evaluate(structure, t), first.theta, low, high, most=30)
    return first if optimum is None else optimum


def _stacked(e: Complex, J: Complex) -> tuple[Array, Array]:
    """Return complex residuals and derivatives, shape (lines, p), as real ones, shape (p, 2 lines)."""
    return np.concatenate([e.real, e.imag]), np.vstack([J.real, J.imag]).T


def sampled(process: Process, frequency: Array, period: float, hold: str) -> tuple[Complex, Complex] | None:
    """Return the response from samples to samples, and the rows z C (zI - Φ)^-1, shape (lines, poles).

    None where the poles are too far apart for the digits of a companion form.
    """
    A, B, C, _, scale = process.scaled_space()
    if abs(A[-1, 0]) < LEAST_PRODUCT:
        return None
    held = hold_late(A, B, period * scale, process.delay * scale, hold)
    z = np.exp(2j * np.pi * frequency * period)
    resolvent = z[:, None, None] * np.eye(A.shape[0]) - held.transition.T
    try:
        rows = np.linalg.solve(resolvent, np.broadcast_to(C[:, None], (z.size, C.size, 1)).astype(complex))
    except np.linalg.LinAlgError:
        return None
    rows = rows[:, :, 0]
    H = np.zeros(z.size, dtype=complex)
    for j, shift in enumerate(held.shifts):
        H += z ** -float(shift) * (rows @ held.gains[:, j])
    return H, z[:, None] * rows


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
    >>> round(float(-np.angle(ratio)[0] / (2 * np.pi * 0.1)), 5)
    0.0005
    """
    pair = sampled(process, np.asarray(frequency, dtype=float), period, hold)
    if pair is None:
        raise SolveError("the poles of the model are too far apart for its sampled response")
    return pair[0]
