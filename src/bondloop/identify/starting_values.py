"""Where a fit begins: rational functions by linear least squares, over a grid of delays.

Y a(s) = U b(s) e^(-s delay) + t(s) is linear in the coefficients of a, b and t; dividing by the a of the
round before makes it the error of the output (Sanathanan and Koerner 1963, doi:10.1109/TAC.1963.1105517). The
polynomial t takes up what the record's two ends add to its spectrum (Pintelon and Schoukens), so any record
will do: noise, sweep, or step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.identify.tolerances import LINES_IN_TIME, STARTING_ROUNDS
from bondloop.transfer.thin_products import dot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.identify.structure import Structure

    Array = NDArray[np.float64]
    Complex = NDArray[np.complex128]

__all__ = ["Lines", "lag", "lines_of_record", "rational_starts"]


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
    lines: Lines, structure: Structure, delays: Array, best: int
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
