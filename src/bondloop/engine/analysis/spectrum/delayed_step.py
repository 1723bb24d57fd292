"""One step of a sampled loop whose delay lines are kept apart from its states.

``x(k+1) = A x(k) + B y(k)``, ``w(k) = C x(k) + E y(k)`` and ``y_j(k) = w_s(k − m)`` with the source ``s``
and the delay ``m`` of channel ``j``. Ten seconds at 4 kHz are one number here, not 40,000 states;
`with_registers` writes chosen delay lines out as shift registers where a method wants them as states.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from bondloop.engine.analysis import tolerances
from bondloop.errors import InputError, SolveError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    Matrix: TypeAlias = (
        NDArray[np.float64]
        | sparse.csr_array[np.float64]
        | sparse.csc_array[np.float64]
        | sparse.csr_matrix[np.float64]
        | sparse.csc_matrix[np.float64]
    )


@dataclass(frozen=True, eq=False)
class DelayedStep:
    """A linear step with delay lines.

    Attributes
    ----------
    A, B, C, E
        Matrices of the step, dense or sparse, of shapes (n, n), (n, p), (q, n) and (q, p).
    sources
        For each of the ``p`` channels ``y_j`` the number of the ``w`` that it reads, from 0.
    delays
        For each channel how many steps old that value is; 1 or more.

    Examples
    --------
    ``x(k+1) = 0.5 x(k) + 0.25 x(k−3)``: one state, and a register of three places.

    >>> one = np.ones((1, 1))
    >>> step = DelayedStep(0.5 * one, 0.25 * one, one, 0 * one, sources=(0,), delays=(3,))
    >>> step.states, step.places
    (1, 3)
    """

    A: Matrix
    B: Matrix
    C: Matrix
    E: Matrix
    sources: tuple[int, ...]
    delays: tuple[int, ...]

    def __post_init__(self) -> None:
        n, p, q = self.A.shape[0], len(self.delays), self.C.shape[0]
        shapes = {"A": (n, n), "B": (n, p), "C": (q, n), "E": (q, p)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise InputError(f"{name} has shape {getattr(self, name).shape}; {shape} fits the others")
        if len(self.sources) != p or any(not 0 <= source < q for source in self.sources):
            raise InputError(f"{p} delays need {p} sources from 0 to {q - 1}, not {self.sources}")
        if any(delay < 1 for delay in self.delays):
            raise InputError(f"a delay is 1 step or more, not {min(self.delays)}")

    @property
    def states(self) -> int:
        """Number of states, without the delay lines."""
        return int(self.A.shape[0])

    @property
    def lengths(self) -> dict[int, int]:
        """Places of the register of each source that is read: its longest delay."""
        longest: dict[int, int] = {}
        for source, delay in zip(self.sources, self.delays, strict=True):
            longest[source] = max(delay, longest.get(source, 0))
        return longest

    @property
    def places(self) -> int:
        """Places of all registers together."""
        return sum(self.lengths.values())

    @cached_property
    def triangular(self) -> tuple[NDArray[np.complex128], NDArray[np.complex128], NDArray[np.complex128]]:
        """``T``, ``S`` and the inverse of ``S``: `written_out` is ``S T S^-1``, with ``T`` triangular.

        Balanced first: with forces in N beside displacements in m a rotation would lose the small numbers.
        """
        from scipy.linalg import matrix_balance, schur

        with np.errstate(invalid="ignore"):  # it casts large scales to whole numbers, which are not used here
            balanced, (scale, _) = matrix_balance(written_out(self), permute=False, separate=True)
        T, U = schur(balanced, output="complex")
        return T, scale[:, None] * U, U.conj().T / scale


def dense_matrix(matrix: Matrix) -> NDArray[np.float64]:
    """Return a matrix of a step as an array."""
    return np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray(), float)


def with_registers(step: DelayedStep, chosen: Collection[int] | None = None) -> DelayedStep:
    """Return the same step with the delay lines of chosen sources written out as states.

    The register of a source shifts once a step, ``r_0(k+1) = w(k)`` and ``r_i(k+1) = r_{i−1}(k)``, so that
    ``y(k) = r_{m−1}(k)``: one register serves every channel that reads the source.

    Parameters
    ----------
    step
        The step; it is not changed.
    chosen
        Sources whose registers become states; all if None.

    Returns
    -------
    DelayedStep
        With sparse matrices, and only the channels of the other sources.
    """
    from scipy import sparse

    lengths = {w: m for w, m in step.lengths.items() if chosen is None or w in chosen}
    firsts = dict(zip(lengths, np.cumsum([0, *lengths.values()]).tolist(), strict=False))
    places = sum(lengths.values())
    written = [j for j, source in enumerate(step.sources) if source in lengths]
    kept = [j for j, source in enumerate(step.sources) if source not in lengths]
    A, B, C, E = (sparse.csc_array(matrix, dtype=np.float64) for matrix in (step.A, step.B, step.C, step.E))
    q = C.shape[0]
    read = [firsts[step.sources[j]] + step.delays[j] - 1 for j in written]
    pick = sparse.csr_array(
        (np.ones(len(written)), (range(len(written)), read)), shape=(len(written), places)
    )
    push = sparse.csr_array((np.ones(len(firsts)), (list(firsts.values()), list(firsts))), shape=(places, q))
    starts = set(firsts.values())
    inner = [i for i in range(places) if i not in starts]
    shift = sparse.csr_array((np.ones(len(inner)), (inner, [i - 1 for i in inner])), shape=(places, places))
    through = E[:, written] @ pick
    above = sparse.hstack([A, B[:, written] @ pick])
    below = sparse.hstack([push @ C, push @ through + shift])
    return DelayedStep(
        sparse.csr_array(sparse.vstack([above, below])),
        sparse.csr_array(sparse.vstack([B[:, kept], push @ E[:, kept]])),
        sparse.csr_array(sparse.hstack([C, through])),
        sparse.csr_array(E[:, kept]),
        tuple(step.sources[j] for j in kept),
        tuple(step.delays[j] for j in kept),
    )


def written_out(step: DelayedStep) -> NDArray[np.float64]:
    """Return the matrix of the step with all its delay lines written out as states, dense."""
    n, lengths = step.states, step.lengths
    firsts = dict(zip(lengths, np.cumsum([n, *lengths.values()]).tolist(), strict=False))
    matrix = np.zeros((n + step.places, n + step.places))
    matrix[:n, :n] = dense_matrix(step.A)
    columns = [firsts[w] + m - 1 for w, m in zip(step.sources, step.delays, strict=True)]
    sources, rows = list(firsts), list(firsts.values())
    matrix[rows, :n] = dense_matrix(step.C)[sources]
    np.add.at(matrix[:n].T, columns, dense_matrix(step.B).T)
    through = np.zeros((len(matrix), len(rows)))
    np.add.at(through, columns, dense_matrix(step.E)[sources].T)
    matrix[rows] += through.T
    inner = np.setdiff1d(np.arange(n, len(matrix)), rows)
    matrix[inner, inner - 1] = 1.0
    return matrix


def response(
    step: DelayedStep,
    z: NDArray[np.complex128],
    P: NDArray[np.float64],
    Q: NDArray[np.float64],
    seen: NDArray[np.float64],
) -> NDArray[np.complex128]:
    """Return ``seen`` times (x, y) per unit of a drive u.

    They follow from ``(zI − A) x = B D w + P u`` and ``w = C x + E D w + Q u``, where ``D`` holds ``z^−m``
    where a channel reads a source: ``y = D w``. There are fewer sources than channels: a rig in many substeps
    reads one line in as many places.

    Parameters
    ----------
    step
        The step.
    z
        Points of the complex plane.
    P, Q
        How the drive acts on the states, shape (n, drives), and on what goes into the delay lines, shape
        (q, drives).
    seen
        What is looked at, shape (outputs, n + p).

    Returns
    -------
    array
        Of shape (points, outputs, drives).
    """
    from scipy import sparse
    from scipy.sparse.linalg import splu

    n, p, q = step.states, len(step.delays), Q.shape[0]
    right = np.vstack([P, Q]).astype(complex)
    reads = list(step.sources)
    if n + q <= tolerances.DENSE_RESPONSE:
        late = z[:, None] ** -np.array(step.delays, dtype=float)
        if (
            n + q > tolerances.SINGLE_POINT_STATES
            and len(z) > 4 * tolerances.COMPARED_POINTS
            and step.places <= 2 * q
        ):
            outputs = _through_triangle(step, z, (P, Q), seen)
            tried = np.linspace(0, len(z) - 1, tolerances.COMPARED_POINTS).astype(int)
            exact = _at_once(step, z[tried], late[tried], right, seen)
            off = np.abs(outputs[tried] - exact).max(axis=0)
            if np.all(off <= tolerances.COMPARED_RESPONSES * np.abs(exact).max(axis=0)):
                return outputs
        return _at_once(step, z, late, right, seen)
    late = z[:, None] ** -np.array(step.delays, dtype=float)
    outputs = np.empty((len(z), len(seen), right.shape[1]), dtype=complex)
    above = sparse.vstack([sparse.csr_array(step.A), sparse.csr_array(step.C)])
    carried_far = sparse.csr_array(sparse.vstack([sparse.csr_array(step.B), sparse.csr_array(step.E)]))
    for i, (point, factors) in enumerate(zip(z, late, strict=True)):
        D_sparse = sparse.csr_array((factors, (range(p), reads)), shape=(p, q))
        full = sparse.hstack([above, carried_far @ D_sparse])
        diagonal = np.concatenate([np.full(n, point), np.ones(q)])
        inner = splu(sparse.csc_array(sparse.diags_array(diagonal) - full)).solve(right)
        outputs[i] = seen[:, :n] @ inner[:n] + seen[:, n:] @ (D_sparse @ inner[n:])
    return outputs


def _carried(
    step: DelayedStep, late: NDArray[np.complex128], matrix: NDArray[np.float64], q: int
) -> NDArray[np.complex128]:
    """Return a matrix times ``D`` at every point, shape (points, rows, q): channels of a source summed."""
    carried = np.zeros((len(late), len(matrix), q), dtype=complex)
    channels: dict[int, list[int]] = {}
    for j, source in enumerate(step.sources):
        channels.setdefault(source, []).append(j)
    # Most sources are read once: all of those together, without a sum.
    once = [js[0] for js in channels.values() if len(js) == 1]
    carried[:, :, [step.sources[j] for j in once]] = late[:, None, once] * matrix[:, once]
    for source, js in channels.items():
        if len(js) > 1:
            carried[:, :, source] = late[:, js] @ matrix[:, js].T
    return carried


def _through_triangle(
    step: DelayedStep,
    z: NDArray[np.complex128],
    drive: tuple[NDArray[np.float64], NDArray[np.float64]],
    seen: NDArray[np.float64],
) -> NDArray[np.complex128]:
    """Return the response at points, delay lines written out, by substitutions instead of factors.

    ``(zI − T) S^−1 x = S^−1 P u`` is solved for all points together, row by row from the last.
    """
    n, (P, Q) = step.states, drive
    T, S, inverse = step.triangular
    lengths = step.lengths
    firsts = dict(zip(lengths, np.cumsum([n, *lengths.values()]).tolist(), strict=False))
    driven, shown = np.zeros((len(T), P.shape[1])), np.zeros((len(seen), len(T)))
    driven[:n], shown[:, :n] = P, seen[:, :n]
    driven[list(firsts.values())] = Q[list(firsts)]
    for j, (source, delay) in enumerate(zip(step.sources, step.delays, strict=True)):
        shown[:, firsts[source] + delay - 1] += seen[:, n + j]
    x = np.repeat((inverse @ driven)[:, None, :], len(z), axis=1)
    flat = x.reshape(len(T), -1)
    for i in range(len(T) - 1, -1, -1):
        flat[i] += T[i, i + 1 :] @ flat[i + 1 :]
        x[i] /= (z - T[i, i])[:, None]
    felt = ((shown @ S) @ flat).reshape(len(shown), len(z), -1)
    return np.asarray(felt.transpose(1, 0, 2))


def _at_once(
    step: DelayedStep,
    z: NDArray[np.complex128],
    late: NDArray[np.complex128],
    right: NDArray[np.complex128],
    seen: NDArray[np.float64],
) -> NDArray[np.complex128]:
    """Return the response at points by solving for states and delay lines together."""
    n, q = step.states, len(right) - step.states
    left = np.zeros((len(z), n + q, n + q), dtype=complex)
    left[:, :n, :n], left[:, n:, :n] = -dense_matrix(step.A), -dense_matrix(step.C)
    left[:, :, n:] = -_carried(step, late, np.vstack([dense_matrix(step.B), dense_matrix(step.E)]), q)
    places = np.arange(n + q)
    left[:, places, places] += np.where(places < n, z[:, None], 1.0)
    inside = np.linalg.solve(left, np.broadcast_to(right, (len(z), *right.shape)))
    return np.asarray(seen[:, :n] @ inside[:, :n] + _carried(step, late, seen[:, n:], q) @ inside[:, n:])


# The characteristic function of a delayed step, fast at very many points of the complex plane.
#
# With ``G(z) = E + C (zI − A)⁻¹ B``, a row for each source and a column for each channel, the eigenvalues of
# the step are the zeros of ``f(z) = det(I − G(z) D(z))``, where ``D`` holds ``z^−m`` where a channel reads a
# source; its poles are the eigenvalues of ``A``. ``A`` is decomposed once: where its eigenvectors are well
# conditioned ``G`` is a sum of residues; the defective rest (integrators in series, short registers) stays
# triangular and is solved by back-substitution.


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
        length = max(tolerances.CHUNK // width, 1)
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
            if aside > tolerances.STEP_ASIDE:
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
    with np.errstate(invalid="ignore"):  # it casts large scales to whole numbers, which are not used here
        _, (scale, _) = linalg.matrix_balance(square, permute=False, separate=True)
    states, ends = scale[: len(A)], scale[len(A) :]
    A, B = A * states / states[:, None], B * ends[reads] / states[:, None]
    C, E = C * states / ends[:, None], E * ends[reads] / ends[:, None]
    for T, top, front, modes in _partings(A, B, C):
        return _assembled(T, top, front, modes, E, delays, reads)
    if len(A) > tolerances.TRIANGULAR_STATES:
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
    condition[_gaps(values) < tolerances.DEFECTIVE_GAP] *= 1e4
    # Beside the poles that nearly coincide a defect shows, if there is one.
    points = values[np.argsort(_gaps(values))[:8]] + 1e-5 * np.exp(0.8j)
    points = np.append(points, np.exp(1j * np.array([0.02, 0.4, 1.5, 3.0])))
    tried = -1
    for ill in tolerances.EIGENVALUE_CONDITIONS:
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
        if not np.linalg.norm(basis) * np.linalg.norm(inverse) < tolerances.SAFE_CONDITION * n:
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
