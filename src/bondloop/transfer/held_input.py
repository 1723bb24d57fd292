"""The exact response of a linear system to a sampled input that a hold makes continuous, and that is late.

Between samples the input keeps its value (``"zero"``, what a converter does) or runs straight to the next one
(``"first"``). With a delay of k whole periods and a fraction f of one, the input changes once within each
period, f T after its beginning; both parts are integrated by the matrix exponential, so the samples of the
response are exact for any delay, and smooth in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]


HOLDS = ("zero", "first")


@dataclass(frozen=True)
class Held:
    """x[n+1] = transition x[n] + sum over j of gains[:, j] u[n - shifts[j]].

    The late input at the samples themselves is the sum of ``weights[j] u[n - shifts[j]]``.
    """

    transition: Array
    gains: Array
    shifts: tuple[int, ...]
    weights: Array

    def forcing(self, u: Array, before: float) -> Array:
        """Return the columns u[n - shift], shape (shifts, samples); ``before`` is the input before it began.

        After the record the input keeps its last value.
        """
        n = np.arange(u.size)
        rows = []
        for shift in self.shifts:
            index = n - shift
            rows.append(np.where(index < 0, before, u[np.clip(index, 0, u.size - 1)]))
        return np.array(rows)


def hold_late(A: Array, B: Array, period: float, delay: float, hold: str = "zero") -> Held:
    """Discretise dx/dt = A x + B u(t - delay), with one input, exactly.

    Parameters
    ----------
    A, B
        Shapes (n, n) and (n,).
    period, delay
        In seconds (or any other unit, if A has its inverse).
    hold
        ``"zero"`` or ``"first"``.

    Examples
    --------
    A pure integrator after half a period: the old input acts for one half, the new one for the other.

    >>> held = hold_late(np.zeros((1, 1)), np.ones(1), period=1.0, delay=0.5)
    >>> held.gains.tolist(), held.shifts
    ([[0.5, 0.5]], (1, 0))
    """
    if hold not in HOLDS:
        raise InputError(f"hold must be 'zero' or 'first'; found {hold!r}")
    whole = int(np.floor(delay / period))
    f = delay / period - whole
    early, step_a, ramp_a = _integrals(A, B, f * period)
    late, step_c, ramp_c = _integrals(A, B, (1 - f) * period)
    first, second = late @ step_a, step_c
    if hold == "zero":
        gains = np.column_stack([first, second])
        weights = np.array([1.0, 0.0]) if f > 0 else np.array([0.0, 1.0])
        return Held(late @ early, gains, (whole + 1, whole), weights)
    # The late input runs from v0 to v1 = u[n-k] in the first part, and on to v2 in the second.
    rise_a, rise_c = late @ ramp_a, ramp_c
    v0, v1, v2 = np.array([[f, 1 - f, 0.0], [0.0, 1.0, 0.0], [0.0, f, 1 - f]])
    gains = (
        np.outer(first - rise_a, v0)
        + np.outer(rise_a, v1)
        + np.outer(second - rise_c, v1)
        + np.outer(rise_c, v2)
    )
    return Held(late @ early, gains, (whole + 1, whole, whole - 1), v0)


def _integrals(A: Array, B: Array, h: float) -> tuple[Array, Array, Array]:
    """Return e^(Ah), and the integrals of e^(A(h-s)) B and of e^(A(h-s)) B s/h over a step (Van Loan)."""
    n = A.shape[0]
    block = np.zeros((n + 2, n + 2))
    block[:n, :n], block[:n, n], block[n, n + 1] = A * h, B * h, 1.0
    full = _exponential(block)
    return full[:n, :n], full[:n, n], full[:n, n + 1]


def _exponential(M: Array) -> Array:
    """Return e^M of a small matrix: a Taylor series of 16 terms at a norm below 1/2, squared again.

    SciPy's expm factorises, which wakes the threads of BLAS at every call; a fit makes thousands of calls.
    """
    halvings = max(0, int(np.ceil(np.log2(max(np.abs(M).sum(axis=0).max(), 1e-300)))) + 1)
    M = M / 2.0**halvings
    term = np.eye(M.shape[0])
    total = term.copy()
    for k in range(1, 17):
        term = term @ M / k
        total += term
    for _ in range(halvings):
        total = total @ total
    return total


def linear_recursion(transition: Array, gains: Array, forcing: Array, initial: ArrayLike, C: Array) -> Array:
    """Return y[n] = C x[n] of x[n+1] = transition x[n] + gains forcing[:, n], for all n at once.

    In the coordinates of the complex Schur form the states follow one another, each a filter of first order:
    backward stable whatever the poles, where a filter of high order in z loses digits with every pole near 1.

    Parameters
    ----------
    transition, gains, C
        Shapes (n, n), (n, m) and (outputs, n).
    forcing
        Shape (m, samples); its last sample acts only after the record.
    initial
        The state at the first sample, shape (n,).

    Returns
    -------
    array
        Shape (outputs, samples).
    """
    from scipy.linalg import schur
    from scipy.signal import lfilter

    n, samples = transition.shape[0], forcing.shape[1]
    T, Q = schur(transition, output="complex")
    inward, z0, outward = Q.conj().T @ gains, Q.conj().T @ np.asarray(initial, dtype=float), C @ Q
    z = np.empty((n, samples), dtype=complex)
    for i in range(n - 1, -1, -1):
        right = sum(g * row for g, row in zip(inward[i], forcing[:, :-1], strict=True))
        for j in range(i + 1, n):
            if T[i, j] != 0:
                right += T[i, j] * z[j, :-1]
        z[i, 0] = z0[i]
        z[i, 1:], _ = lfilter([1.0], [1.0, -T[i, i]], right, zi=[T[i, i] * z0[i]])
    y = mix(outward.real, z.real)
    y -= mix(outward.imag, z.imag)
    return y


def dot(a: Array, b: Array) -> float:
    """Sum of a[n] b[n]."""
    return float(np.einsum("n,n->", a, b))


def times(rows: Array, b: Array) -> Array:
    """Sum over n of rows[i, n] b[n]."""
    return np.asarray(np.einsum("in,n->i", rows, b))


def gram(a: Array, b: Array) -> Array:
    """Sum over n of a[i, n] b[j, n]."""
    total = np.zeros((a.shape[0], b.shape[0]))
    for piece in _pieces(total.size, a.shape[1]):
        total += a[:, piece] @ b[:, piece].T
    return total


def mix(weights: Array, rows: Array) -> Array:
    """Sum over j of weights[i, j] rows[j, n]; or, with weights[j], one row."""
    if weights.ndim == 1:
        return np.asarray(np.einsum("j,jn->n", weights, rows))
    result = np.empty((weights.shape[0], rows.shape[1]))
    for piece in _pieces(weights.size, rows.shape[1]):
        result[:, piece] = weights @ rows[:, piece]
    return result


def _pieces(work: int, length: int) -> list[slice]:
    """Return stretches in each of which BLAS has fewer multiplications to do than it shares (262,144)."""
    step = max(16, 100_000 // max(1, work))
    return [slice(k, k + step) for k in range(0, length, step)]


def orthonormal(rows: Array) -> Array:
    """Return orthonormal rows that span the same space, fewer where some depend on others.

    >>> orthonormal(np.array([[3.0, 0.0, 4.0], [6.0, 0.0, 8.0]])).round(3).tolist()
    [[0.6, 0.0, 0.8]]
    """
    for _ in range(2):  # twice is enough: the second round works on nearly orthonormal rows
        if not rows.shape[0]:
            return rows
        size = np.sqrt(np.einsum("in,in->i", rows, rows))
        rows = rows[size > 0] / size[size > 0, None]
        values, vectors = np.linalg.eigh(gram(rows, rows))
        kept = values > 1e-13 * values[-1:]
        rows = mix((vectors[:, kept] / np.sqrt(values[kept])).T, rows)
    sign = np.sign(rows[np.arange(rows.shape[0]), np.argmax(np.abs(rows), axis=1)])
    return np.asarray(rows * sign[:, None])


def project_out(basis: Array, rows: Array) -> Array:
    """Return rows (or one row) less their part in the space of an orthonormal basis."""
    if not basis.shape[0]:
        return rows
    if rows.ndim == 1:
        return np.asarray(rows - mix(times(basis, rows), basis))
    return np.asarray(rows - mix(gram(rows, basis), basis))
