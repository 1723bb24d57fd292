"""Response of a structure in time: Newmark's scheme, and the exact one mode by mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bondloop.display import brief, telling
from bondloop.engine.data import POSITIVE
from bondloop.errors import InputError, unknown_name
from bondloop.structures.dynamics.modal_analysis import Modes, modes
from bondloop.structures.dynamics.modal_step import mode_step
from bondloop.structures.factor import factor
from bondloop.structures.loads import Force, courses
from bondloop.structures.modal_damping import damping_of, damping_product, dynamic_solver

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.structures.matrices import Matrices, Sparse


@dataclass(frozen=True)
class History:
    """Motion of chosen degrees of freedom.

    Attributes
    ----------
    time
        Instants in seconds, shape (steps + 1,).
    displacements, velocities, accelerations
        Shape (steps + 1, dofs), in SI units.
    dofs
        Names of the columns.
    """

    time: NDArray[np.float64]
    displacements: NDArray[np.float64]
    velocities: NDArray[np.float64]
    accelerations: NDArray[np.float64]
    dofs: tuple[str, ...]

    __repr__ = brief

    def __getitem__(self, dof: str) -> NDArray[np.float64]:
        """Return the displacement of a degree of freedom over time."""
        if dof not in self.dofs:
            raise InputError(unknown_name("degree of freedom", dof, self.dofs))
        return self.displacements[:, self.dofs.index(dof)]


@telling("integrating over time")
def time_history(  # noqa: PLR0913 - what acts, from where it starts, how it is solved, what is kept
    matrices: Matrices,
    force: Force,
    sample_period: float | str,
    *,
    steps: int | None = None,
    method: Literal["newmark", "modal"] = "newmark",
    initial: Mapping[str, float] | ArrayLike | None = None,
    initial_velocity: Mapping[str, float] | ArrayLike | None = None,
    outputs: Sequence[str] | None = None,
    by_modes: Modes | int | None = None,
) -> History:
    """Return the response to forces that change linearly between instants.

    Parameters
    ----------
    matrices
        The model.
    force
        Forces by degree of freedom, each an array with a value per instant, a function of time or a number;
        or a function of time that gives all n forces; or an array of shape (steps + 1, n).
    sample_period
        From one instant to the next, in seconds or as text.
    steps
        How many; needed where no array says it.
    method
        ``"newmark"``: average acceleration (γ = 1/2, β = 1/4), one sparse factorisation, one solution per
        step, second order and without numerical damping. ``"modal"``: exact for every mode, whatever the
        step.
    initial, initial_velocity
        By degree of freedom, or all n of them; zero where not given.
    outputs
        Degrees of freedom to keep; all by default.
    by_modes
        With ``"modal"``: the modes, or how many; by default all.

    Examples
    --------
    A mass on a spring, pulled and let go: half a period later it is on the other side.

    >>> from bondloop.structures.matrices import Matrices
    >>> one = Matrices([[1.0]], None, [[1.0]], ("mass.ux",))
    >>> run = time_history(one, {}, np.pi / 10, steps=10, method="modal", initial={"mass.ux": 1.0})
    >>> float(run["mass.ux"][-1].round(12))
    -1.0
    """
    h = POSITIVE.check(sample_period, "time_history(sample_period)", "s")
    where, values = courses(matrices, force, h, steps)
    u, v = (_vector(matrices, x) for x in (initial, initial_velocity))
    names = matrices.dofs if outputs is None else tuple(outputs)
    rows = matrices.indices(names)
    if method == "newmark":
        if by_modes is not None:
            raise InputError("by_modes belongs to method='modal'")
        motion = _newmark(matrices, where, values, h, u, v, rows)
    elif method == "modal":
        if by_modes is None:
            by_modes = int(np.count_nonzero(matrices.M.diagonal()))
        basis = modes(matrices, by_modes) if isinstance(by_modes, int) else by_modes
        motion = _modal(basis, where, values, h, u, v, rows)
    else:
        raise InputError(unknown_name("method", method, ["newmark", "modal"]))
    return History(np.arange(len(values), dtype=np.float64) * h, *motion, names)


def _vector(matrices: Matrices, given: Mapping[str, float] | ArrayLike | None) -> NDArray[np.float64]:
    result = np.zeros(len(matrices))
    if isinstance(given, Mapping):
        result[matrices.indices(given)] = list(given.values())
    elif given is not None:
        result[:] = np.asarray(given, dtype=float)
    return result


Motion = tuple["NDArray[np.float64]", "NDArray[np.float64]", "NDArray[np.float64]"]


def _newmark(
    matrices: Matrices,
    where: NDArray[np.float64] | None,
    values: NDArray[np.float64],
    h: float,
    u: NDArray[np.float64],
    v: NDArray[np.float64],
    rows: list[int],
) -> Motion:
    """Newmark 1959 with γ = 1/2, β = 1/4: (K + 2C/h + 4M/h²) u⁺ = F⁺ + M(4u/h² + 4v/h + a) + C(2u/h + v)."""
    from scipy import sparse

    M, K = matrices.M, matrices.K
    C, weights, rates = damping_of(matrices)

    def load(k: int) -> Any:
        return values[k] if where is None else where @ values[k]

    # The masses first, alone: one matrix is factored at a time, for the memory that it takes.
    a = _acceleration(M, load(0) - damping_product(matrices, v) - K @ u)
    solve = dynamic_solver(matrices, 4 / h**2, 2 / h)
    history = sparse.hstack([M, C]).tocsr() if C.nnz else M
    U, V, A = (np.empty((len(values), len(rows))) for _ in range(3))
    U[0], V[0], A[0] = u[rows], v[rows], a[rows]
    p, q = 4 / h**2, 4 / h
    for k in range(1, len(values)):
        carried = p * u + q * v + a
        if C.nnz:
            carried = np.concatenate([carried, 2 / h * u + v])
        right = load(k) + history @ carried
        if len(rates):
            right = right + weights @ (rates * (weights.T @ (2 / h * u + v)))
        after = solve(right)
        moved = after - u
        a = p * moved - q * v - a
        v = 2 / h * moved - v
        u = after
        U[k], V[k], A[k] = u[rows], v[rows], a[rows]
    return U, V, A


def _acceleration(M: Sparse, force: NDArray[np.float64]) -> NDArray[np.float64]:
    """M⁻¹ F on the degrees of freedom that have mass, zero on the others."""
    a = np.zeros(len(force))
    heavy = np.flatnonzero(abs(M).sum(axis=0))
    if np.any(force[heavy]):
        a[heavy] = factor(M[heavy][:, heavy], keep=False)(force[heavy])
    return a


def _modal(
    basis: Modes,
    where: NDArray[np.float64] | None,
    values: NDArray[np.float64],
    h: float,
    u: NDArray[np.float64],
    v: NDArray[np.float64],
    rows: list[int],
) -> Motion:
    step = mode_step(basis.omega**2, basis.damping, h)
    p = values @ (basis.shapes if where is None else where.T @ basis.shapes)
    q, r = basis.weighted.T @ u, basis.weighted.T @ v
    drive_q = p[:-1] * step.q0 + p[1:] * step.q1
    drive_v = p[:-1] * step.v0 + p[1:] * step.v1
    Q, R = np.empty_like(p), np.empty_like(p)
    Q[0], R[0] = q, r
    for k in range(len(p) - 1):
        q, r = step.qq * q + step.qv * r + drive_q[k], step.vq * q + step.vv * r + drive_v[k]
        Q[k + 1], R[k + 1] = q, r
    A = p - basis.damping * R - basis.omega**2 * Q
    out = basis.shapes[rows].T
    return Q @ out, R @ out, A @ out
