"""The matrix of frequency responses of a system with several inputs and outputs, without a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief
from bondloop.engine.data import POSITIVE
from bondloop.errors import InputError
from bondloop.identify.policy import POLICY, IdentificationPolicy

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
    window = 0.5 - 0.5 * np.cos(2 * np.pi * (np.arange(length) + 0.5) / length)
    firsts = range(0, u.shape[0] - length + 1, max(1, length // 2))

    def spectra(x: Array) -> Complex:
        pieces = np.array([x[k : k + length] - x[k : k + length].mean(axis=0) for k in firsts])
        return np.asarray(np.fft.rfft(pieces * window[None, :, None], axis=1)[:, 1:-1])

    U, Y = spectra(u), spectra(y)
    uu = np.einsum("kfi,kfj->fij", U, U.conj())
    yu = np.einsum("kfi,kfj->fij", Y, U.conj())
    yy = np.einsum("kfi,kfi->fi", Y, Y.conj()).real
    power = np.einsum("fii->fi", uu).real
    strong = power > 1e-12 * power.max(axis=0)
    ridge = 1e-13 * power.max(axis=1)[:, None, None] * np.eye(q) + 1e-300 * np.eye(q)
    inverse = np.linalg.inv(uu + ridge)
    own = 1 / np.maximum(np.einsum("fii->fi", inverse).real, 1e-300)  # what the other inputs do not explain
    told = strong & (own > policy.separable * power)
    H = yu @ inverse
    left = np.maximum(yy - np.einsum("fij,fij->fi", H, yu.conj()).real, 0.0)
    # Overlapping Hann segments are worth 1/1.06 of as many independent ones (Welch 1967).
    freedom = max(1.0, len(firsts) / 1.06 - q)
    deviation = np.sqrt(left[:, :, None] / own[:, None, :] / freedom / 2)
    blank = np.broadcast_to(~told[:, None, :], H.shape)
    H, deviation = np.where(blank, np.nan, H), np.where(blank, np.nan, deviation)
    coherence = 1 - left / np.maximum(yy, 1e-300)
    frequency = np.arange(1, U.shape[1] + 1) / (length * h)
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
