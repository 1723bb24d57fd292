"""Fits of process models to a frequency response, and where they start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import with_progress
from bondloop.engine.data import NOT_NEGATIVE, si_array
from bondloop.errors import InputError, SolveError
from bondloop.identify.least_squares import Minimum, minimise
from bondloop.identify.process.process_fit import ModelStructure, ProcessFit, process_fit, structure
from bondloop.identify.tolerances import LINES_IN_TIME, STARTING_ROUNDS
from bondloop.transfer import dot

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]
    Complex = NDArray[np.complex128]


def coherence_weight(coherence: ArrayLike, response: ArrayLike) -> Array:
    """Return weights 1/sigma, up to a constant, of a frequency response estimated with this coherence.

    The variance of H1 is proportional to (1 - C)/C |H|^2 (Bendat and Piersol); coherences are kept a little
    below 1, so that no line rules alone.
    """
    C = np.clip(np.asarray(coherence, dtype=float), 1e-6, 0.9999)
    size = np.maximum(np.abs(np.asarray(response)), 1e-300)
    weight = np.sqrt(C / (1 - C)) / size
    return np.asarray(weight / np.sqrt(np.mean(weight**2)))


@with_progress("fitting a model")
def fit_frequency(
    frequency: ArrayLike,
    response: ArrayLike,
    model: ModelStructure | str,
    *,
    coherence: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    held_period: float | str = 0.0,
    max_delay: float | str | None = None,
) -> ProcessFit:
    """Fit a process model to a frequency response; the weighted complex error is least.

    Parameters
    ----------
    frequency
        In Hz, positive, shape (n,).
    response
        Output over input at these frequencies, complex, shape (n,).
    model
        ``"G2D"`` or the like; see `fit_time`.
    coherence
        Ordinary coherence at each frequency: what is uncertain weighs less (`coherence_weight`).
    weight
        Weights instead, proportional to one over the standard deviation; all alike unless given.
    held_period
        Sample period in seconds of a command that was held between samples, as a converter does; its
        factor (1 - e^(-sT))/(sT), nearly a delay of half a period, is then no part of the model.
    max_delay
        Longest delay in seconds; unless given, what the phase at the highest frequency allows.

    Examples
    --------
    >>> from bondloop.transfer.process import first_order
    >>> f = np.linspace(1, 50, 40)
    >>> fit = fit_frequency(f, first_order(0.9, 0.01, 0.004).response(f), "G1D")
    >>> {name: round(e.value, 6) for name, e in fit.parameters.items()}
    {'gain': 0.9, 'time_constant': 0.01, 'delay': 0.004}
    """
    lines = lines_to_fit(frequency, response, coherence=coherence, weight=weight, held_period=held_period)
    return fit_response(lines, structure(model), max_delay)


def lines_to_fit(
    frequency: ArrayLike,
    response: ArrayLike,
    *,
    coherence: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    held_period: float | str = 0.0,
) -> Lines:
    """Return a measured response as checked lines, sorted by frequency; parameters as for `fit_frequency`."""
    f, H = si_array(frequency, "frequency", "Hz"), np.asarray(response, dtype=complex)
    hold = NOT_NEGATIVE.check(held_period, "held_period", "s")
    w = _checked(f, H, coherence, weight)
    order = np.argsort(f)
    f, H, w = f[order], H[order], w[order]
    held = np.asarray(np.sinc(f * hold) * np.exp(-1j * np.pi * f * hold), dtype=complex)
    return Lines(f, held, H, w, ends=False)


def fit_response(
    lines: Lines, wanted: ModelStructure, max_delay: float | str | None = None, also: Sequence[Array] = ()
) -> ProcessFit:
    """Fit a structure to the lines of a measured response.

    Parameters
    ----------
    lines
        Of `lines_to_fit`.
    wanted
        The structure.
    max_delay
        As for `fit_frequency`.
    also
        Coordinates to begin with, besides those that are looked for.
    """
    f, held, H, w = lines.frequency, lines.input, lines.output, lines.weight
    if 2 * f.size < 2 * wanted.size:
        raise InputError(
            f"too few frequencies: {f.size}, but {wanted.name} has {wanted.size} parameters; measure at "
            "least as many frequencies, better three times as many"
        )
    s = 2j * np.pi * f
    longest = longest_delay(lines, max_delay) if wanted.delay else 0.0
    low, high = response_bounds(wanted, f, longest)

    def evaluate(theta: Array) -> tuple[Array, Array]:
        G, dG = response_derivatives(wanted, theta, s)
        e, J = w * (held * G - H), (w * held)[:, None] * dG
        return np.concatenate([e.real, e.imag]), np.vstack([J.real, J.imag]).T.copy()

    best: Minimum | None = None
    starts = list(also)
    if not starts:
        delays = np.linspace(0.0, longest, 25) if wanted.delay else np.zeros(1)
        starts = [theta for _, theta in rational_starts(lines, wanted, delays, 4)]
        speeds = 2 * np.pi * np.geomspace(max(f[0], f[-1] / 30), 2 * f[-1], 4)
        starts += plain_starts(wanted, speeds, longest / 2)
    tried = [rescaled(evaluate(theta), theta) for theta in starts]
    for _, theta in sorted(tried, key=lambda pair: pair[0])[:3]:
        found = minimise(evaluate, theta, low, high, most=200)
        if found is not None and (best is None or found.cost < best.cost):
            best = found
    if best is None:
        raise SolveError(f"{wanted.name} could not be fitted: no model of this kind follows the response")
    return process_fit(
        wanted,
        best,
        domain="frequency",
        measured=H,
        predicted=np.asarray(held * response_derivatives(wanted, best.theta, s)[0]),
        nuisance=0,
        tests=None,
        warnings=_narrow(wanted, best.theta, f),
    )


def _checked(f: Array, H: Complex, coherence: ArrayLike | None, weight: ArrayLike | None) -> Array:
    """Return the weights, or say what is wrong with the data."""
    if f.ndim != 1 or f.shape != H.shape:
        raise InputError(f"expected one response for each frequency; found {f.shape} and {H.shape}")
    if not (np.all(np.isfinite(f)) and np.all(f > 0) and np.all(np.isfinite(H))):
        raise InputError("frequencies must be positive and responses finite; leave the other lines out")
    if not H.any():
        raise InputError("the response is zero at every frequency; is the sensor connected?")
    if coherence is not None and weight is not None:
        raise InputError("give the coherence or the weights, not both")
    if coherence is not None:
        w = coherence_weight(coherence, H)
    else:
        w = np.ones(f.size) if weight is None else np.asarray(weight, dtype=float)
    if w.shape != f.shape or not (np.all(np.isfinite(w)) and np.all(w >= 0) and w.any()):
        raise InputError("expected one finite weight of at least 0 for each frequency, not all of them zero")
    return w


def longest_delay(lines: Lines, given: float | str | None) -> float:
    """Return the upper bound of the delay: all of the phase at the highest frequency."""
    f, H = lines.frequency, lines.output / lines.input
    if given is not None:
        return NOT_NEGATIVE.check(given, "max_delay", "s")
    phase = np.unwrap(np.angle(H))
    phase -= 2 * np.pi * np.round(phase[0] / (2 * np.pi))
    return float(1.5 * np.max(np.abs(phase) / (2 * np.pi * f)) + 0.05 / f[-1])


def plain_starts(wanted: ModelStructure, speeds: Array, delay: float) -> list[Array]:
    """Return models without zeros, all poles alike, of these speeds in rad/s: such starts always exist."""
    polynomials = [np.poly(np.full(wanted.poles, -speed))[::-1] for speed in speeds]
    return [wanted.coordinates(np.ones(1), a / a[0], delay) for a in polynomials]


def rescaled(pair: tuple[Array, Array] | None, theta: Array) -> tuple[float, Array]:
    """Return the cost with the best gain, and the coordinates with it; the model is linear in its gain.

    Parameters
    ----------
    pair
        Residuals and their derivatives at the coordinates; None where the model has no value.
    theta
        The coordinates, the gain first.
    """
    if pair is None or not theta[0]:
        return np.inf, theta
    r, J = pair
    forced = theta[0] * J[0]
    power = dot(forced, forced)
    change = -dot(r, forced) / power if power > 0 else 0.0
    theta = theta.copy()
    theta[0] *= (1 + change) or 1.0
    return dot(r + change * forced, r + change * forced), theta


def _narrow(wanted: ModelStructure, theta: Array, f: Array) -> list[str]:
    """Warn of a resonance narrower than the spacing of the frequencies: it follows single points."""
    words = []
    for p in wanted.process(theta).poles():
        centre, half = abs(p.imag) / (2 * np.pi), abs(p.real) / (2 * np.pi)
        if p.imag > 0 and f[0] <= centre <= f[-1]:
            at = int(np.clip(np.searchsorted(f, centre), 1, f.size - 1))
            if 2 * half < f[at] - f[at - 1]:
                words.append(
                    f"{wanted.name}: the resonance at {centre:.4g} Hz is narrower than the spacing of "
                    "the frequencies there and may follow a single point; measure more finely around it, or "
                    "take a simpler model"
                )
    return words


def response_bounds(wanted: ModelStructure, f: Array, longest: float) -> tuple[Array, Array]:
    """Return bounds of a structure's coordinates: poles within what the lines can show."""
    return wanted.bounds(1e-4 / f[-1], 1e3 / f[0], longest)


def response_derivatives(wanted: ModelStructure, theta: Array, s: NDArray[Any]) -> tuple[Complex, Complex]:
    """Return the response and its derivatives with respect to the coordinates, shape (n, size)."""
    b, a, delay = wanted.polynomials(theta)
    powers = s[:, None] ** np.arange(wanted.poles + 1)
    above, below, late = powers[:, : b.size] @ b, powers @ a, np.exp(-s * delay)
    G = above / below * late
    db, da = wanted.derivatives(theta)
    dG = (late / below)[:, None] * (powers[:, : b.size] @ db) - (G / below)[:, None] * (powers @ da)
    if wanted.delay:
        dG[:, -1] = -s * G
    return np.asarray(G, dtype=complex), np.asarray(dG, dtype=complex)


@dataclass(frozen=True)
class Lines:
    """Spectral lines: frequency [Hz], input, output, weight; and whether the record's ends show in them."""

    frequency: Array
    input: Complex
    output: Complex
    weight: Array
    ends: bool


def lines_of_record(u: Array, y: Array, period: float, part: float, hold: str) -> Lines:
    """Return the lines that hold the given part of the output's energy, from the lowest up.

    Above them there is mostly noise, which the first rounds take for dynamics.
    """
    n = u.size
    U, Y = np.fft.rfft(u - u.mean())[1:], np.fft.rfft(y - y.mean())[1:]
    f = np.arange(1, U.size + 1) / (n * period)
    energy = np.cumsum(np.abs(Y) ** 2)
    last = int(np.searchsorted(energy, part * energy[-1])) + 1
    last = min(max(last, 12), int(0.8 * U.size) or 1)
    if last > LINES_IN_TIME:  # even spacing in the logarithm, but the lowest lines all
        index = np.unique(np.round(np.geomspace(1, last, LINES_IN_TIME)).astype(int)) - 1
        strong = np.argsort(np.abs(U[:last]))[-LINES_IN_TIME:]  # multisines and stepped sines have few lines
        index = np.union1d(index, strong)
    else:
        index = np.arange(last)
    U, Y, f = U[index], Y[index], f[index]
    x = f * period
    factor = np.sinc(x) * np.exp(-1j * np.pi * x) if hold == "zero" else np.sinc(x) ** 2
    return Lines(f, U * factor, Y, np.ones(f.size), ends=True)


def rational_starts(
    lines: Lines, structure: ModelStructure, delays: Array, best: int
) -> list[tuple[float, Array]]:
    """Return the coordinates of the best few delays of a grid, each with its cost."""
    found = []
    for delay in delays:
        b, a, cost = _sanathanan_koerner(lines, structure.poles, structure.zeros, float(delay))
        if np.isfinite(cost) and a[0] and np.all(np.isfinite(a)) and np.all(np.isfinite(b)):
            found.append((cost, structure.coordinates(b, a, float(delay))))
    found.sort(key=lambda pair: pair[0])
    return found[:best]


def _sanathanan_koerner(lines: Lines, n: int, m: int, delay: float) -> tuple[Array, Array, float]:
    """Return b, a (lowest power first, a(0) = 1) and the weighted sum of squares, for a known delay."""
    top = 2 * np.pi * float(lines.frequency[-1])
    s = 2j * np.pi * lines.frequency / top
    powers = s[:, None] ** np.arange(n + 1)
    U, Y = lines.input * np.exp(-2j * np.pi * lines.frequency * delay), lines.output
    columns = [-Y[:, None] * powers[:, 1:], U[:, None] * powers[:, : m + 1]]
    if lines.ends:
        columns.append(powers)
    table = np.hstack(columns)
    below = np.ones(s.size, dtype=complex)
    b, a, cost = np.zeros(m + 1), np.ones(n + 1), np.inf
    for _ in range(STARTING_ROUNDS):
        weight = lines.weight / np.abs(below)
        rows, right = table * weight[:, None], Y * weight
        real, wanted = np.vstack([rows.real, rows.imag]), np.concatenate([right.real, right.imag])
        size = np.sqrt(np.einsum("ni,ni->i", real, real))
        size[size == 0] = 1.0
        x, *_ = np.linalg.lstsq(real / size, wanted, rcond=1e-12)
        error = wanted - real @ (x / size)
        x = x / size
        a, b = np.concatenate([[1.0], x[:n]]), x[n : n + m + 1]
        below = powers @ a
        below[np.abs(below) < 1e-9] = 1e-9
        cost = dot(error, error)
    scale = top ** np.arange(n + 1.0)
    return b / scale[: m + 1], a / scale, cost


def lag(u: Array, y: Array, period: float) -> float:
    """Return how late the output is, in seconds: the first high maximum of the correlation with the input."""
    n = u.size
    length = 1 << (2 * n - 1).bit_length()
    U, Y = np.fft.rfft(u - u.mean(), length), np.fft.rfft(y - y.mean(), length)
    correlation = np.fft.irfft(np.conj(U) * Y, length)[: max(2, n // 2)]
    size = np.abs(correlation)
    high = int(np.argmax(size >= 0.98 * size.max()))
    while high + 1 < size.size and size[high + 1] > size[high]:
        high += 1
    return high * period
