"""The characteristic function of a delayed step, fast at very many points of the complex plane.

With ``G(z) = E + C (zI − A)⁻¹ B``, a row for each source and a column for each channel, the eigenvalues of
the step are the zeros of ``f(z) = det(I − G(z) D(z))``, where ``D`` holds ``z^−m`` where a channel reads a
source; its poles are the eigenvalues of ``A``. ``A`` is decomposed once: where its eigenvectors are well
conditioned ``G`` is a sum of residues; the defective rest (integrators in series, short registers) stays
triangular and is solved by back-substitution.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from bondloop.engine.analysis.spectrum.delayed_step import dense_matrix
from bondloop.engine.ir import (
    CHUNK,
    DEFECTIVE_GAP,
    EIGENVALUE_CONDITIONS,
    SAFE_CONDITION,
    STEP_ASIDE,
    TRIANGULAR_STATES,
)
from bondloop.errors import SolveError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.analysis.spectrum.delayed_step import DelayedStep


@dataclass(frozen=True, eq=False)
class LoopTransfer:
    """Decomposed step: poles and residues, a triangular rest, feedthrough and delays.

    Attributes
    ----------
    poles
        All eigenvalues of ``A``, those of the triangular part first.
    T, B, C
        Triangular part of ``A`` with its columns and rows of ``B`` and ``C``.
    residues
        One row of q·p numbers for each of the remaining poles.
    E
        Feedthrough (q, p).
    delays
        Delay of each of the p channels in steps.
    reads
        Which of the q sources each channel reads.
    """

    poles: NDArray[np.complex128]
    T: NDArray[np.complex128]
    B: NDArray[np.complex128]
    C: NDArray[np.complex128]
    residues: NDArray[np.complex128]
    E: NDArray[np.float64]
    delays: NDArray[np.float64]
    reads: NDArray[np.intp]

    def __call__(self, z: NDArray[np.complex128]) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
        """``f(z)`` and ``f′(z)/f(z)``; inside the circle ``f`` is scaled to stay finite."""
        value, slope = np.empty_like(z), np.empty_like(z)
        for part in self._chunks(z.size):
            value[part], slope[part] = self._evaluate(z[part])
        return value, slope

    def _chunks(self, size: int) -> Iterator[slice]:
        p = len(self.delays)
        width = max(self.poles.size, self.E.size, 2 * len(self.T) * p, 1)
        length = max(CHUNK // width, 1)
        if len(self.T) > 8:  # back-substitution passes over its block again and again: keep it in the cache
            length = max(min(length, 65536 // (len(self.T) * p)), 64)
        return (slice(first, first + length) for first in range(0, size, length))

    def _evaluate(
        self, z: NDArray[np.complex128], aside: float = 1e-15
    ) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
        G, dG = self.transfer(z)
        m, q = self.delays, len(self.E)
        longest = np.zeros(q)
        np.maximum.at(longest, self.reads, m)
        log = np.log(z)
        # Columns are scaled by z to the longest delay of their source inside the circle, where z^−m would
        # overflow; f'/f does not see the scaling, as tr (M D)⁻¹ N D = tr M⁻¹ N.
        inside = (log.real < 0)[:, None]
        one = np.where(inside, np.exp(np.where(inside, longest * log[:, None], 0)), 1)
        late = np.exp((inside * longest[self.reads] - m) * log[:, None])[:, None, :]
        N: NDArray[np.complex128] = np.zeros((z.size, q, q), complex)
        M: NDArray[np.complex128] = np.zeros((z.size, q, q), complex)
        M[:, np.arange(q), np.arange(q)] = one
        fed, slopes = late * G, late * (dG - (m / z[:, None])[:, None, :] * G)
        for channel, source in enumerate(self.reads):
            M[:, :, source] -= fed[:, :, channel]
            N[:, :, source] += slopes[:, :, channel]
        if q == 1:
            value = M[:, 0, 0]
            return value, -N[:, 0, 0] / np.where(value == 0, 1e-300, value)
        try:
            slope = -np.trace(np.linalg.solve(M, N), axis1=1, axis2=2)
        except np.linalg.LinAlgError:  # exactly on an eigenvalue: step aside by less than its own rounding
            if aside > STEP_ASIDE:
                raise SolveError("the characteristic function of the loop cannot be evaluated") from None
            return self._evaluate(z * (1 + aside * (3 + 2j)), 10 * aside)
        return np.linalg.det(M), slope

    def transfer(self, z: NDArray[np.complex128]) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
        """``G`` and ``dG/dz``, of shape (points, q, p)."""
        k, shape = len(self.T), (z.size, *self.E.shape)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            inverse = 1 / (z[:, None] - self.poles[k:])
        G: NDArray[np.complex128] = (inverse @ self.residues).reshape(shape) + self.E.astype(complex)
        inverse *= inverse
        dG: NDArray[np.complex128] = -(inverse @ self.residues).reshape(shape)
        if k:
            X = self._solved(z, np.repeat(self.B[:, None, :], z.size, axis=1))
            G += np.tensordot(self.C, X, 1).transpose(1, 0, 2)
            dG -= np.tensordot(self.C, self._solved(z, X), 1).transpose(1, 0, 2)
        return G, dG

    def _solved(self, z: NDArray[np.complex128], right: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """``(zI − T)⁻¹`` times a right-hand side of shape (k, points, p), from the last row upwards."""
        X = np.empty_like(right)
        flat = X.reshape(len(X), -1)
        for i in range(len(X) - 1, -1, -1):
            row = right[i] + (self.T[i, i + 1 :] @ flat[i + 1 :]).reshape(right[i].shape)
            X[i] = row / (z - self.T[i, i])[:, None]
        return X


def loop_transfer(step: DelayedStep) -> LoopTransfer | None:
    """Decompose a step; of its channels only those that are part of a loop remain.

    None where a large ``A`` is defective throughout, and back-substitution at every point would take minutes.
    """
    from scipy import linalg

    A, B, C, E = (dense_matrix(each) for each in (step.A, step.B, step.C, step.E))
    delays, reads = np.array(step.delays, float), np.array(step.sources, dtype=np.intp)
    kept = _looped(A, B, C, E, reads)
    sources, reads = np.unique(reads[kept], return_inverse=True)
    B, C, E, delays = B[:, kept], C[sources], E[np.ix_(sources, kept)], delays[kept]
    if not len(A):
        return _assembled(
            A.astype(complex), B.astype(complex), C.astype(complex), np.zeros(0, complex), E, delays, reads
        )
    # Balanced as a loop, inputs and outputs included: balanced alone, two integrators in series would be
    # scaled until the link between them falls below rounding.
    fed = np.zeros((len(delays), len(sources)))
    fed[np.arange(len(delays)), reads] = 1
    square = np.block([[A, abs(B) @ fed], [C, abs(E) @ fed]])
    _, (scale, _) = linalg.matrix_balance(square, permute=False, separate=True)
    states, ends = scale[: len(A)], scale[len(A) :]
    A, B = A * states / states[:, None], B * ends[reads] / states[:, None]
    C, E = C * states / ends[:, None], E * ends[reads] / ends[:, None]
    for T, top, front, modes in _partings(A, B, C):
        return _assembled(T, top, front, modes, E, delays, reads)
    if len(A) > TRIANGULAR_STATES:
        return None
    T, Q = linalg.schur(A, output="complex")
    return _assembled(T, Q.conj().T @ B, C @ Q, np.zeros(0, complex), E, delays, reads)


def _looped(
    A: NDArray[np.float64],
    B: NDArray[np.float64],
    C: NDArray[np.float64],
    E: NDArray[np.float64],
    reads: NDArray[np.intp],
) -> NDArray[np.intp]:
    """Return the channels that are part of a loop: what they carry comes back to what they read.

    The others contribute only eigenvalues at 0, and ``z^m`` of theirs underflows.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n, q, p = len(A), len(C), len(reads)
    follows = np.zeros((n + q + p, n + q + p), dtype=bool)  # entry (i, j): i depends on j
    follows[:n, :n], follows[:n, n + q :] = A != 0, B != 0
    follows[n : n + q, :n], follows[n : n + q, n + q :] = C != 0, E != 0
    follows[n + q + np.arange(p), n + reads] = True
    _, part = connected_components(csr_array(follows), connection="strong")
    return np.flatnonzero(part[n + q :] == part[n + reads])


def _assembled(
    T: NDArray[np.complex128],
    B: NDArray[np.complex128],
    C: NDArray[np.complex128],
    modes: NDArray[np.complex128],
    E: NDArray[np.float64],
    delays: NDArray[np.float64],
    reads: NDArray[np.intp],
) -> LoopTransfer:
    k, p = len(T), len(delays)
    residues = (C.T[k:, :, None] * B[k:, None, :]).reshape(len(modes), len(C) * p)
    poles = np.concatenate([np.diag(T), modes])
    return LoopTransfer(poles, T, B[:k].copy(), C[:, :k].copy(), residues, E, delays, reads)


_Parting: TypeAlias = (
    "tuple[NDArray[np.complex128], NDArray[np.complex128], NDArray[np.complex128], NDArray[np.complex128]]"
)


def _partings(A: NDArray[np.float64], B: NDArray[np.float64], C: NDArray[np.float64]) -> Iterator[_Parting]:
    """Triangular part, B, C and modes, in the basis of both, with ever fewer eigenvalues as modes.

    The eigenvalues that are left triangular belong to the subspace orthogonal to the left eigenvectors of the
    modes. Only partings that give ``G`` to eight digits are handed out.
    """
    from scipy import linalg

    n = len(A)
    eigenvalues, *vectors = linalg.eig(A, left=True, right=True)
    values = eigenvalues.astype(np.complex128)
    left, right = vectors
    with np.errstate(divide="ignore"):
        condition = 1 / np.abs(np.einsum("ij,ij->j", left.conj(), right))
    condition[_gaps(values) < DEFECTIVE_GAP] *= 1e4
    # Beside the poles that nearly coincide a defect shows, if there is one.
    points = values[np.argsort(_gaps(values))[:8]] + 1e-5 * np.exp(0.8j)
    points = np.append(points, np.exp(1j * np.array([0.02, 0.4, 1.5, 3.0])))
    tried = -1
    for ill in EIGENVALUE_CONDITIONS:
        mode = condition <= ill
        k = n - int(mode.sum())
        if k in (tried, n):
            continue
        tried = k
        space = np.linalg.qr(left[:, mode], mode="complete")[0][:, n - k :] if k else np.zeros((n, 0))
        basis = np.concatenate([space, right[:, mode]], axis=1).astype(complex)
        try:
            inverse = np.linalg.inv(basis)
        except np.linalg.LinAlgError:
            continue
        if not np.linalg.norm(basis) * np.linalg.norm(inverse) < SAFE_CONDITION * n:
            continue
        T = np.zeros((0, 0), complex)
        if k:
            T, Q = linalg.schur(inverse[:k] @ (A @ space), output="complex")
            basis[:, :k], inverse[:k] = space @ Q, Q.conj().T @ inverse[:k]
        if all(_solves(z, A, B, C, T, values[mode], basis, inverse) for z in points):
            yield T, inverse @ B.astype(complex), C.astype(complex) @ basis, values[mode]


def _solves(
    z: complex,
    A: NDArray[np.float64],
    B: NDArray[np.float64],
    C: NDArray[np.float64],
    T: NDArray[np.complex128],
    modes: NDArray[np.complex128],
    basis: NDArray[np.complex128],
    inverse: NDArray[np.complex128],
) -> bool:
    """Whether a parting solves ``(zI − A) X = B``, from the correction that its own residual asks for."""
    from scipy import linalg

    def solution(right: NDArray[np.complex128]) -> NDArray[np.complex128]:
        y = inverse @ right
        k = len(T)
        if k:
            y[:k] = linalg.solve_triangular(z * np.eye(k) - T, y[:k])
        y[k:] /= (z - modes)[:, None]
        return basis @ y

    with np.errstate(over="ignore", invalid="ignore"):
        X = solution(B.astype(complex))
        residual = B - (z * X - A @ X)
    if not np.isfinite(residual).all():  # a long triangle beside its own pole: the numbers run out
        return False
    correction = C @ solution(residual)
    # The loop is balanced: next to the 1 of det(1 − …) an entry below 1e-11 is nothing, whatever its digits.
    return bool((np.abs(correction) <= 1e-8 * np.abs(C) @ np.abs(X) + 1e-11).all())


def _gaps(values: NDArray[np.complex128]) -> NDArray[np.float64]:
    """Distance of each value to the next one in the order of the real, or of the imaginary parts."""
    gaps = np.full(values.size, np.inf)
    for part in (values.real, values.imag):
        order = np.argsort(part)
        step = np.abs(np.diff(values[order]))
        gaps[order[1:]] = np.minimum(gaps[order[1:]], step)
        gaps[order[:-1]] = np.minimum(gaps[order[:-1]], step)
    return gaps
