"""One step of a sampled loop whose delay lines are kept apart from its states.

``x(k+1) = A x(k) + B y(k)``, ``w(k) = C x(k) + E y(k)`` and ``y_j(k) = w_s(k − m)`` with the source ``s``
and the delay ``m`` of channel ``j``. Ten seconds at 4 kHz are one number here, not 40,000 states;
`with_registers` writes chosen delay lines out as shift registers where a method wants them as states.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from bondloop.engine.ir import COMPARED_POINTS, COMPARED_RESPONSES, DENSE_RESPONSE, SINGLE_POINT_STATES
from bondloop.errors import InputError

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
    if n + q <= DENSE_RESPONSE:
        late = z[:, None] ** -np.array(step.delays, dtype=float)
        if n + q > SINGLE_POINT_STATES and len(z) > 4 * COMPARED_POINTS and step.places <= 2 * q:
            outputs = _through_triangle(step, z, (P, Q), seen)
            tried = np.linspace(0, len(z) - 1, COMPARED_POINTS).astype(int)
            exact = _at_once(step, z[tried], late[tried], right, seen)
            off = np.abs(outputs[tried] - exact).max(axis=0)
            if np.all(off <= COMPARED_RESPONSES * np.abs(exact).max(axis=0)):
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
