"""Fits of process models to a frequency response, and where they start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import with_progress
from bondloop.engine.data import NOT_NEGATIVE, si_array
from bondloop.errors import InputError, SolveError
from bondloop.identify.process.line_fit import Lines, fit_lines
from bondloop.identify.process.process_fit import ModelStructure, ProcessFit, process_fit, structure

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
    f = lines.frequency
    if f.size < wanted.size:
        raise InputError(
            f"too few frequencies: {f.size}, but {wanted.name} has {wanted.size} parameters; measure at "
            "least as many frequencies, better three times as many"
        )
    longest = longest_delay(lines, max_delay) if wanted.delay else 0.0
    found = fit_lines(lines, wanted, *response_bounds(wanted, f, longest), longest, also=also, most=200)
    if found is None:
        raise SolveError(f"{wanted.name} could not be fitted: no model of this kind follows the response")
    return process_fit(
        wanted,
        found.minimum,
        domain="frequency",
        measured=lines.output,
        predicted=np.asarray(lines.input * wanted.process(found.theta).response(f)),
        nuisance=0,
        tests=None,
        warnings=_narrow(wanted, found.theta, f),
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
