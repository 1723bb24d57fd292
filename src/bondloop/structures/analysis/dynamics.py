"""Responses of a structure over time and over frequency."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bondloop.display import brief, with_progress
from bondloop.engine.data import POSITIVE, si_array
from bondloop.errors import InputError, SolveError, unknown_name
from bondloop.structures.analysis.modal_analysis import Modes, modes
from bondloop.structures.factor import factor
from bondloop.structures.loads import Force, Place, courses, pattern
from bondloop.structures.matrices import damping_of, damping_product, dynamic_solver
from bondloop.structures.tolerances import CLOSE_ROOTS, SERIES_TERMS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.structures.matrices import Matrices, Sparse


Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class ModeStep:
    """Coefficients of one step for every mode, shape (modes,) each.

    q⁺ = qq q + qv v + q0 p + q1 p⁺ and v⁺ = vq q + vv v + v0 p + v1 p⁺, with p the modal force at the
    beginning and p⁺ at the end of the step.
    """

    qq: NDArray[np.float64]
    qv: NDArray[np.float64]
    vq: NDArray[np.float64]
    vv: NDArray[np.float64]
    q0: NDArray[np.float64]
    q1: NDArray[np.float64]
    v0: NDArray[np.float64]
    v1: NDArray[np.float64]


def mode_step(stiffness: ArrayLike, damping: ArrayLike, period: float) -> ModeStep:
    """Return the exact coefficients of a step.

    Parameters
    ----------
    stiffness
        λ of each mode in rad²/s², of any sign.
    damping
        c = 2ζω of each mode in 1/s.
    period
        The step h in seconds.

    Examples
    --------
    A rigid body under a constant force moves by h²/2, an undamped oscillator turns.

    >>> step = mode_step([0.0, 4.0], [0.0, 0.0], 0.1)
    >>> float(step.q0[0] + step.q1[0]), bool(np.isclose(step.qq[1], np.cos(0.2)))
    (0.005, True)
    """
    h = float(period)
    k, c = np.broadcast_arrays(np.asarray(stiffness, dtype=float), np.asarray(damping, dtype=float))
    a, d = k * h * h, c * h
    x1, x2 = _roots(a, d)
    s, r, g = (_divided(f, slope, x1, x2) for f, slope in _FUNCTIONS)
    dot = ((np.exp(x1) + np.exp(x2)) / 2).real - d / 2 * s
    return ModeStep(
        dot + d * s, h * s, -k * h * s, dot, h * h * (r - g), h * h * g, h * (s - r), h * r
    )  # fmt: skip


def _roots(a: Array, d: Array) -> tuple[Array, Array]:
    """Roots of x² + d x + a, the smaller of two real ones without cancellation."""
    half = np.sqrt((d * d / 4 - a).astype(complex))
    x2 = -d / 2 - np.where(d >= 0, 1, -1) * half
    real = (half.imag == 0) & (np.abs(x2) > 1e-150)  # below that both are zero for any step
    x1 = np.where(real, a / np.where(real, x2, 1), -d / 2 + np.where(d >= 0, 1, -1) * half)
    return x1, x2


def _phi1(x: Array) -> Array:
    return _series(x, 1, lambda y: (np.exp(y) - 1) / y)


def _phi2(x: Array) -> Array:
    return _series(x, 2, lambda y: ((np.exp(y) - 1) / y - 1) / y)


def _phi3(x: Array) -> Array:
    return _series(x, 3, lambda y: (((np.exp(y) - 1) / y - 1) / y - 0.5) / y)


def _series(x: Array, order: int, closed: Callable[[Array], Array]) -> Array:
    """Σ xⁿ/(n + order)! for small arguments, the closed form for others."""
    small = np.abs(x) < 1
    y = np.where(small, x, 0)
    total = np.zeros_like(x)
    for n in range(SERIES_TERMS, -1, -1):
        total = total * y + 1.0 / _factorial(n + order)
    return np.where(small, total, closed(np.where(small, 1.0, x)))


def _factorial(n: int) -> float:
    return float(np.prod(np.arange(1.0, n + 1)))


_FUNCTIONS: list[tuple[Callable[[Array], Array], Callable[[Array], Array]]] = [
    (np.exp, np.exp),
    (_phi1, lambda x: _phi1(x) - _phi2(x)),
    (_phi2, lambda x: _phi2(x) - 2 * _phi3(x)),
]
"""φ₀, φ₁, φ₂ with their derivatives."""


def _divided(f: Callable[[Array], Array], slope: Callable[[Array], Array], x1: Array, x2: Array) -> Array:
    """(f(x₁) - f(x₂)) / (x₁ - x₂); for roots close together, the mean of f' between them (Gauss)."""
    apart = x1 - x2
    close = np.abs(apart) < CLOSE_ROOTS
    nodes, weights = np.polynomial.legendre.leggauss(10)
    middle = (x1 + x2) / 2
    mean = sum(w / 2 * slope(middle + t * apart / 2) for t, w in zip(nodes, weights, strict=True))
    quotient = (f(x1) - f(x2)) / np.where(close, 1, apart)
    return np.asarray(np.where(close, mean, quotient).real)


MOTIONS = ("displacement", "velocity", "acceleration")


def frequency_response(
    matrices: Matrices,
    force: Place,
    output: str | Sequence[str],
    omega: ArrayLike,
    *,
    motion: Literal["displacement", "velocity", "acceleration"] = "displacement",
) -> NDArray[np.complex128]:
    """Return the motion per unit force, u = (K + jωC - ω²M)⁻¹ F: one sparse factorisation per frequency.

    That of some modes alone is ``modal_system(modes, ...).frequency_response(omega)``.

    Parameters
    ----------
    matrices
        The model.
    force
        Where unit forces act: one degree of freedom or several; a mapping is one pattern of forces.
    output
        Degrees of freedom to report.
    omega
        Angular frequencies in rad/s, shape (f,).
    motion
        What to report.

    Returns
    -------
    complex array
        Shape (f, outputs, forces).

    Examples
    --------
    >>> from bondloop.structures.matrices import Matrices
    >>> one = Matrices([[2.0]], [[0.4]], [[8.0]], ("mass.ux",))
    >>> abs(frequency_response(one, "mass.ux", "mass.ux", [0.0, 2.0])).ravel().round(6).tolist()
    [0.125, 1.25]
    """
    if motion not in MOTIONS:
        raise InputError(unknown_name("motion", motion, MOTIONS))
    w = np.atleast_1d(si_array(omega, "omega", "rad/s"))
    F = pattern(matrices, force)
    rows = matrices.indices([output] if isinstance(output, str) else output)
    H = np.empty((len(w), len(rows), F.shape[1]), dtype=complex)
    right = F.astype(complex)
    for k, frequency in enumerate(w):
        try:
            H[k] = dynamic_solver(matrices, -(frequency**2), 1j * frequency, "symmetric")(right)[rows]
        except RuntimeError:
            raise SolveError(
                f"the response at {frequency:g} rad/s is infinite: an undamped mode lies there; leave this "
                "frequency out"
            ) from None
    return np.asarray(H * (1j * w[:, None, None]) ** MOTIONS.index(motion))


def residual_flexibility(matrices: Matrices, basis: Modes, F: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the static response that given modes leave out, (K⁻¹ - Φ Λ⁻¹ Φᵀ) F, shape (n, forces).

    A structure that can move as a rigid body is bordered with its rigid-body modes: then it is the elastic
    part of the response to forces balanced by inertia.
    """
    from scipy import sparse

    rigid = basis.omega == 0
    elastic = ~rigid
    if rigid.any():
        W = basis.weighted[:, rigid]
        scale = abs(matrices.K).max() / max(float(np.abs(W).max()), 1e-300)
        bordered = sparse.block_array([[matrices.K, scale * W], [scale * W.T, None]])
        right = np.vstack([F - W @ (basis.shapes[:, rigid].T @ F), np.zeros((W.shape[1], F.shape[1]))])
        full = factor(bordered, "any")(right)[: len(matrices)]
    else:
        full = factor(matrices.K)(F)
    shapes = basis.shapes[:, elastic]
    return np.asarray(full - shapes @ ((shapes.T @ F) / basis.omega[elastic, None] ** 2))


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


@with_progress("integrating over time")
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
