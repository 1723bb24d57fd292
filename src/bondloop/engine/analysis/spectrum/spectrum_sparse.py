"""Eigenvalues of a step with thousands of states, nearest to the unit circle, by shift and invert.

The registers are written out as sparse shifts. Arnoldi's method with ``(M − σ)⁻¹`` finds the eigenvalues
nearest to a shift σ, and so knows a whole disc; discs are set side by side along the upper half circle, from
z = 1 on, for a bounded number of shifts. The same method without a shift points at what lies far outside (an
explicit integrator beyond its limit). Saad 2011, Numerical methods for large eigenvalue problems, ch. 6, 8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.analysis.spectrum.delayed_step import with_registers
from bondloop.engine.analysis.spectrum.spectrum_roots import with_conjugates
from bondloop.engine.ir import ARNOLDI_PRODUCTS, ARNOLDI_VECTORS, SHIFT_OFFSET, SHIFTS

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from bondloop.engine.analysis.spectrum.delayed_step import DelayedStep


@dataclass(frozen=True, eq=False)
class SparseSearch:
    """What a bounded search found.

    Attributes
    ----------
    eigenvalues
        In no order, conjugates included.
    covered
        Radians of the upper half circle from z = 1 along which discs overlap.
    note
        A sentence on both.
    """

    eigenvalues: NDArray[np.complex128]
    covered: float
    note: str


def sparse_search(step: DelayedStep) -> SparseSearch:
    """Eigenvalues of largest magnitude, and those nearest to the circle from z = 1 on."""
    from scipy import sparse

    M = _balanced(sparse.csc_array(with_registers(step).A))
    size = M.shape[0]
    vectors = min(max(20, min(ARNOLDI_VECTORS, int(np.sqrt(ARNOLDI_PRODUCTS / size)))), size)
    outermost, largest = _outermost(M, vectors)
    values = [outermost]
    # It is an estimate from the inside, or from a matrix far from normal: look there.
    if abs(largest) > 1 + SHIFT_OFFSET:
        values.append(_around(M, largest * (1 + 1e-7), vectors)[0])
    covered = angle = 0.0
    for _ in range(SHIFTS):
        shift = (1 + SHIFT_OFFSET) * np.exp(1j * angle)
        nearest, radius = _around(M, shift, vectors)
        values.append(nearest)
        # The disc cuts the unit circle where |e^{iθ} − σ| = radius, 2 |σ|^½ sin(θ/2) = √(radius² − offset²).
        half = 2 * float(np.arcsin(min(np.sqrt(max(radius**2 - SHIFT_OFFSET**2, 0.0)) / 2, 1.0)))
        if half == 0:
            break
        if angle - half > covered:  # a gap: the disc turned out smaller than the one before it
            angle = covered + 0.7 * half
            continue
        covered = max(covered, angle + half)
        if covered >= np.pi:
            break
        angle = min(covered + 0.9 * half, np.pi)
    covered = min(covered, np.pi)
    eigenvalues = _distinct(np.concatenate(values))
    note = (
        f"{eigenvalues.size} eigenvalues were computed: those beside the circle from 0 to "
        f"{covered / np.pi:.3g} of the Nyquist angle, and of the outermost those that stand apart."
    )
    return SparseSearch(eigenvalues, covered, note)


def _balanced(M: sparse.csc_array[np.float64]) -> sparse.csc_array[np.float64]:
    """Return a similar matrix whose rows and columns are of like size (Osborne 1960), all states at once."""
    from scipy import sparse

    off = sparse.csc_array(abs(M))
    off.setdiag(0)
    scale: NDArray[np.float64] = np.ones(M.shape[0])
    for _ in range(20):
        rows = np.asarray(off.dot(scale)) / scale
        columns = np.asarray(off.T.dot(1 / scale)) * scale
        both = (rows > 0) & (columns > 0)
        # All at once, half the exponent: the full one would swap rows and columns for ever.
        scale[both] *= (rows[both] / columns[both]) ** 0.25
    scale = np.exp2(np.round(np.log2(scale)))
    return sparse.csc_array(sparse.diags_array(1 / scale) @ M @ sparse.diags_array(scale))


def _outermost(M: sparse.csc_array[np.float64], vectors: int) -> tuple[NDArray[np.complex128], complex]:
    """Eigenvalues of largest magnitude that converge, often none, and an estimate of the very largest."""
    values, errors = _arnoldi(lambda v: np.asarray(M.dot(v), complex), M.shape[0], vectors)
    order = np.argsort(-np.abs(values))
    values, errors = values[order], errors[order]
    return values[errors < 1e-8 * np.abs(values)], complex(values[0])


def _around(
    M: sparse.csc_array[np.float64], shift: complex, vectors: int
) -> tuple[NDArray[np.complex128], float]:
    """Eigenvalues nearest to a shift, and the radius of the disc around it in which no other one lies."""
    from scipy import sparse
    from scipy.sparse.linalg import splu

    size = M.shape[0]
    try:
        factor = splu(sparse.csc_array(M - sparse.diags_array(np.full(size, shift))))
    except RuntimeError:  # the shift is an eigenvalue, to the last digit
        return _around(M, shift * (1 + 1e-6j) + 1e-6, vectors)
    inverted, errors = _arnoldi(factor.solve, size, vectors)
    order = np.argsort(-np.abs(inverted))
    inverted, errors = inverted[order], errors[order]
    # An error δ of 1/(z − σ) is one of δ |z − σ|² of z.
    settled = errors < 1e-9 * np.maximum(np.abs(inverted), np.abs(inverted) ** 2)
    first_open = int(np.argmin(settled)) if not settled.all() else settled.size
    values = shift + 1 / inverted[:first_open]
    # What has not converged yet may still come a little nearer.
    return values, 0.95 * float(np.abs(values[-1] - shift)) if first_open else 0.0


def _arnoldi(
    product: Callable[[NDArray[np.complex128]], NDArray[np.complex128]], size: int, vectors: int
) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
    """Ritz values of an operator and their residuals, without restarts.

    Written out rather than left to ARPACK, which tells neither which values have converged when not all have,
    nor where the others stand: both decide here how large a disc is known.
    """
    rng = np.random.default_rng(0)
    V = np.zeros((vectors + 1, size), complex)
    H = np.zeros((vectors + 1, vectors), complex)
    V[0] = rng.normal(size=size)
    V[0] /= np.linalg.norm(V[0])
    steps = vectors
    for j in range(vectors):
        w = product(V[j])
        before = np.linalg.norm(w)
        for _ in range(2):  # twice is enough (Parlett 1998)
            # Row by row: OpenBLAS would set its threads on each of these short products, which wait for each
            # other five times as long as they compute where other programs keep the cores busy.
            overlap = np.vecdot(V[: j + 1], w)
            for part, vector in zip(overlap, V, strict=False):
                w = w - part * vector
            H[: j + 1, j] += overlap
        H[j + 1, j] = after = np.linalg.norm(w)
        if not after > 1e-14 * before:  # an invariant subspace: all of its values are exact
            steps = j + 1
            H[j + 1, j] = 0
            break
        V[j + 1] = w / after
    values, Y = np.linalg.eig(H[:steps, :steps])
    return values, np.abs(H[steps, steps - 1] * Y[-1])


def _distinct(values: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Each eigenvalue once, from overlapping discs and from both half planes, and with its conjugate."""
    upper = np.where(values.imag < 0, values.conj(), values)
    kept = np.zeros(0, complex)
    for value in upper[np.argsort(-np.abs(upper))]:
        if (np.abs(value - kept) > 1e-9).all():
            kept = np.append(kept, value)
    return with_conjugates(kept, 1e-12)
