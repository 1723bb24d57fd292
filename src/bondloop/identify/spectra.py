"""Spectra of long records: responses to one or several inputs, coherence, power spectral density."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief, with_progress
from bondloop.engine.data import POSITIVE, si_array
from bondloop.errors import InputError
from bondloop.identify.policy import POLICY, IdentificationPolicy
from bondloop.identify.stepped_sines import FrequencyResponse
from bondloop.results.assess import same_length

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]
    Complex = NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class MatrixResponse:
    """Responses of every output to every input.

    Attributes
    ----------
    frequency
        In Hz, shape (n,).
    response
        Shape (n, outputs, inputs); where an input says nothing at a frequency, its column is NaN.
    deviation
        Standard deviation of real and of imaginary part, same shape.
    coherence
        The part of each output that all inputs together explain, shape (n, outputs).
    """

    frequency: Array
    response: Complex
    deviation: Array
    coherence: Array

    __repr__ = brief

    def entry(self, output: int, input: int) -> tuple[Array, Complex, Array]:  # noqa: A002 - as in `Data`
        """Return frequencies, response and deviation of ``output`` to ``input``, by number, where known."""
        known = np.isfinite(self.deviation[:, output, input])
        return (
            self.frequency[known],
            self.response[known, output, input],
            self.deviation[known, output, input],
        )


def matrix_response(
    inputs: ArrayLike,
    outputs: ArrayLike,
    sample_period: float | str,
    *,
    segments: int = 16,
    policy: IdentificationPolicy = POLICY,
) -> MatrixResponse:
    """Estimate all responses at once from averaged spectra: H = S_yu S_uu^-1, with Hann's window.

    The inputs may act together, if they are not alike (different noises, multisines on lines of their own or
    with other phases in every segment), or one after another in one record.

    Parameters
    ----------
    inputs, outputs
        Shapes (samples, inputs) and (samples, outputs).
    sample_period
        Seconds between samples.
    segments
        Into how many, overlapping by half, the record is cut; more than there are inputs.
    policy
        Thresholds of judgement.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> u = rng.normal(size=(8000, 2))
    >>> y = u @ np.array([[1.0, 0.1], [0.2, 2.0]]).T
    >>> matrix_response(u, y, 1e-3).response[10].real.round(6).tolist()
    [[1.0, 0.1], [0.2, 2.0]]
    """
    from scipy.signal import csd

    h = POSITIVE.check(sample_period, "sample_period", "s")
    u, y = checked_matrix(inputs, outputs)
    q = u.shape[1]
    if segments < q + 1:
        raise InputError(f"{q} inputs need at least {q + 1} segments to be told apart; found {segments}")
    length = int(2 * u.shape[0] / (segments + 1))
    if length < 16:
        raise InputError(
            f"{u.shape[0]} samples make {segments} segments of {length}; a spectrum needs 16 or more in "
            "each: record longer"
        )
    x = np.hstack([u, y]).T
    frequency, S = csd(x[None], x[:, None], 1 / h, "hann", length, length // 2)
    frequency, S = frequency[1:-1], np.moveaxis(S, 2, 0)[1:-1]
    uu, yu, yy = S[:, :q, :q], S[:, q:, :q], np.einsum("fii->fi", S[:, q:, q:]).real
    power = np.einsum("fii->fi", uu).real
    strong = power > 1e-12 * power.max(axis=0)
    ridge = 1e-13 * power.max(axis=1)[:, None, None] * np.eye(q) + 1e-300 * np.eye(q)
    inverse = np.linalg.inv(uu + ridge)
    own = 1 / np.maximum(np.einsum("fii->fi", inverse).real, 1e-300)  # what the other inputs do not explain
    told = strong & (own > policy.separable * power)
    H = yu @ inverse
    left = np.maximum(yy - np.einsum("fij,fij->fi", H, yu.conj()).real, 0.0)
    # Overlapping Hann segments are worth 1/1.06 of as many independent ones (Welch 1967).
    freedom = max(1.0, (1 + (len(u) - length) // (length - length // 2)) / 1.06 - q)
    deviation = np.sqrt(left[:, :, None] / own[:, None, :] / freedom / 2)
    blank = np.broadcast_to(~told[:, None, :], H.shape)
    H, deviation = np.where(blank, np.nan, H), np.where(blank, np.nan, deviation)
    coherence = 1 - left / np.maximum(yy, 1e-300)
    return MatrixResponse(frequency, H, deviation, coherence)


def checked_matrix(inputs: ArrayLike, outputs: ArrayLike) -> tuple[Array, Array]:
    """Return inputs and outputs as arrays of two dimensions, or say what is wrong with them."""
    pair = []
    for name, values in (("inputs", inputs), ("outputs", outputs)):
        x = np.asarray(values, dtype=float)
        x = x[:, None] if x.ndim == 1 else x
        if x.ndim != 2 or not x.size:
            raise InputError(f"{name} need the shape (samples, {name}); found {x.shape}")
        bad = np.argwhere(~np.isfinite(x))
        if bad.size:
            raise InputError(f"{name[:-1]} {bad[0][1]} is {x[tuple(bad[0])]} at sample {bad[0][0]}")
        still = np.flatnonzero(np.ptp(x, axis=0) == 0)
        if still.size:
            raise InputError(
                f"{name[:-1]} {still[0]} is constant; every one must move for its column or row to be found"
            )
        pair.append(x)
    u, y = pair
    if u.shape[0] != y.shape[0]:
        raise InputError(
            f"inputs and outputs need the same number of samples; found {u.shape[0]} and {y.shape[0]}"
        )
    return u, y


@dataclass(frozen=True, eq=False)
class Spectral:
    """A frequency response estimated from averaged spectra.

    Attributes
    ----------
    frequency
        Where [Hz], shape (n,); without zero, which the removed mean has emptied.
    h1
        Cross spectrum over input spectrum: unbiased by noise on the output.
    h2
        Output spectrum over conjugate cross spectrum: unbiased by noise on the input.
    coherence
        γ² = H1/H2, from 0 to 1: the part of the output that the input explains linearly.
    averages
        Independent averages that the overlapping segments are worth.
    sample_period
        Seconds between samples.
    """

    frequency: NDArray[np.float64]
    h1: NDArray[np.complex128]
    h2: NDArray[np.complex128]
    coherence: NDArray[np.float64]
    averages: float
    sample_period: float

    __repr__ = brief

    @property
    def deviation(self) -> NDArray[np.float64]:
        """Standard deviation of the real and of the imaginary part of H1: |H1| √((1 − γ²)/(2 γ² n))."""
        g = np.maximum(self.coherence, 1e-12)
        return np.abs(self.h1) * np.sqrt((1 - g) / (2 * g * self.averages))

    @property
    def noise_to_signal(self) -> NDArray[np.float64]:
        """Power of what the input does not explain over that of what it does: (1 − γ²)/γ²."""
        g = np.maximum(self.coherence, 1e-12)
        return (1 - g) / g

    def response(self, least_coherence: float = 0.5) -> FrequencyResponse:
        """Return H1 where the coherence is at least ``least_coherence``, with its deviation."""
        good = self.coherence >= least_coherence
        if not good.any():
            raise InputError(
                f"the coherence reaches {self.coherence.max():.2g} at most; {least_coherence:g} is wanted: "
                "excite more, record longer, or check that the output belongs to the input"
            )
        return FrequencyResponse(self.frequency[good], self.h1[good], self.deviation[good])


def spectral_response(
    input: ArrayLike,  # noqa: A002 - the word of the interface
    output: ArrayLike,
    sample_period: float | str,
    *,
    segments: int = 8,
    window: str = "hann",
    overlap: float = 0.5,
) -> Spectral:
    """Return H1, H2 and coherence by Welch's averaged periodograms.

    Parameters
    ----------
    input, output
        Signals, shape (n,).
    sample_period
        Seconds between samples.
    segments
        Into how many the record is cut. More of them: less scatter, coarser frequencies. Each must be several
        times as long as the system's memory (settling time, delay), or gain and coherence come out too low.
    window
        As ``scipy.signal.get_window`` names them.
    overlap
        Part of a segment that the next one shares.

    References
    ----------
    Welch (1967), IEEE Trans. Audio Electroacoust. 15(2); Bendat and Piersol (2010), Random Data, chapter 9.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> u = rng.normal(size=20000)
    >>> found = spectral_response(u, 2 * u + rng.normal(size=20000), 1e-3, segments=32)
    >>> round(float(found.coherence.mean()), 1)  # 1/(1 + 1/4)
    0.8
    """
    from scipy.signal import csd, welch

    h = POSITIVE.check(sample_period, "sample_period", "s")
    u, y = same_length(input=input, output=output)
    length, shared = _segment(u.size, segments, overlap)
    if segments < 2:
        raise InputError(
            "one segment has the coherence 1 whatever the data; take at least 2, better 8 or more"
        )
    frequency, uu = welch(u, 1 / h, window, length, shared)
    _, yy = welch(y, 1 / h, window, length, shared)
    _, uy = csd(u, y, 1 / h, window, length, shared)
    if uu.max() == 0:
        raise InputError("the input does not vary; excite it with a sweep, a multisine or noise")
    frequency, uu, yy, uy = frequency[1:], uu[1:], yy[1:], uy[1:]
    # Lines without any input say nothing, and lines without output cannot be divided by.
    heard = uu > 1e-20 * uu.max()
    joined = heard & (np.abs(uy) > 0)
    h1 = np.divide(uy, uu, out=np.zeros_like(uy), where=heard)
    h2 = np.divide(yy, np.conj(uy), out=np.zeros_like(uy), where=joined)
    g = np.divide(np.abs(uy) ** 2, uu * yy, out=np.zeros_like(uu), where=joined & (yy > 0))
    averages = _averages(window, length, shared, 1 + (u.size - length) // (length - shared))
    return Spectral(frequency, h1, h2, np.clip(g, 0.0, 1.0), averages, h)


@dataclass(frozen=True, eq=False)
class PowerSpectrum:
    """A one-sided power spectral density.

    Attributes
    ----------
    frequency
        Where [Hz], shape (n,).
    density
        Power per hertz, unit² / Hz, shape (n,); its integral is the variance.
    """

    frequency: NDArray[np.float64]
    density: NDArray[np.float64]

    __repr__ = brief


def power_spectrum(
    signal: ArrayLike,
    sample_period: float | str,
    *,
    segments: int = 8,
    window: str = "hamming",
    overlap: float = 0.0,
) -> PowerSpectrum:
    """Return the power spectral density, by default from 8 segments with a Hamming window.

    That is what du Bois 2010 (section 2.2, Figure 5) uses; whether their segments overlap is not said.

    Parameters
    ----------
    signal
        Samples.
    sample_period
        In s, or text: ``"1 ms"``.
    segments
        Number of pieces whose spectra are averaged.
    window
        Name of a window of ``scipy.signal``.
    overlap
        Share of a piece that the next one repeats, from 0 up to 1.

    Examples
    --------
    >>> t = np.arange(8000) * 1e-3
    >>> found = power_spectrum(np.sqrt(2) * np.sin(2 * np.pi * 50 * t), 1e-3)
    >>> (
    ...     float(found.frequency[found.density.argmax()]),
    ...     round(float(found.density.sum() * found.frequency[1]), 6),
    ... )
    (50.0, 1.0)
    """
    (x,) = same_length(signal=signal)
    length, shared = _segment(x.size, segments, overlap)
    return _welch(x, POSITIVE.check(sample_period, "sample_period", "s"), length, shared, window)


@dataclass(frozen=True, eq=False)
class SpectralSurface:
    """Power spectral densities of the responses to many excitation frequencies.

    Attributes
    ----------
    excitation
        Frequency of each excitation [Hz], increasing, shape (m,).
    frequency
        Of the response [Hz], shape (n,).
    density
        Power per hertz, unit² / Hz, shape (m, n).

    Examples
    --------
    >>> SpectralSurface(np.array([1.0, 2.0]), np.linspace(0, 10, 6), np.zeros((2, 6))).density.shape
    (2, 6)
    """

    excitation: NDArray[np.float64]
    frequency: NDArray[np.float64]
    density: NDArray[np.float64]

    __repr__ = brief


@with_progress("working out spectra")
def spectral_surface(
    responses: Sequence[ArrayLike],
    excitations: Sequence[float | str],
    sample_period: float | str,
    *,
    segments: int = 8,
    window: str = "hamming",
    overlap: float = 0.0,
) -> SpectralSurface:
    """Return the power spectral density of each measured response over the excitation frequencies.

    The shortest record is cut into `segments`; longer ones into more segments of the same length, so that all
    rows share one frequency axis (du Bois 2010, Figure 5).

    Parameters
    ----------
    responses
        Measured output of each excitation, settled.
    excitations
        Their frequencies [Hz], or texts.
    sample_period
        Seconds between samples.
    segments, window, overlap
        As in `power_spectrum`.
    """
    rows = [np.asarray(response, dtype=np.float64) for response in responses]
    if not rows or len(rows) != len(excitations):
        raise InputError(
            f"{len(rows)} responses and {len(excitations)} excitation frequencies; give one for each"
        )
    h = POSITIVE.check(sample_period, "sample_period", "s")
    length, shared = _segment(min(row.size for row in rows), segments, overlap)
    driven = si_array(excitations, "excitations", "Hz")
    order = np.argsort(driven)
    found = [_welch(rows[i], h, length, shared, window) for i in order]
    density = np.array([spectrum.density for spectrum in found])
    return SpectralSurface(driven[order], found[0].frequency, density)


def _welch(x: NDArray[np.float64], h: float, length: int, shared: int, window: str) -> PowerSpectrum:
    from scipy.signal import welch

    if not np.isfinite(x).all():
        raise InputError("the signal has values that are not finite; measure it again, or cut them out")
    frequency, density = welch(x, 1 / h, window, length, shared)
    return PowerSpectrum(frequency, density)


def _segment(count: int, segments: int, overlap: float) -> tuple[int, int]:
    """Return length and overlap, in samples, of so many segments of a record."""
    if segments < 1 or not 0 <= overlap < 1:
        raise InputError(
            f"segments must be at least 1 and overlap in [0, 1); found {segments} and {overlap:g}"
        )
    length = int(count / (1 + (segments - 1) * (1 - overlap)))
    if length < 16:
        raise InputError(
            f"{count} samples make {segments} segments of {length}; a spectrum needs 16 or more in each: "
            "record longer, or take fewer segments"
        )
    return length, int(overlap * length)


def _averages(window: str, length: int, shared: int, count: int) -> float:
    """Return how many independent segments the overlapping ones are worth (Welch 1967)."""
    from scipy.signal import get_window

    w = get_window(window, length)
    step, total = length - shared, float((w**2).sum())
    worth = 1.0
    for j in range(1, min(count - 1, (length - 1) // step) + 1):
        alike = float((w[j * step :] * w[: length - j * step]).sum()) / total
        worth += 2 * (1 - j / count) * alike**2
    return count / worth
