"""Natural frequencies and mode shapes of large sparse models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import brief, with_progress
from bondloop.engine.data import Described, number
from bondloop.errors import InputError, SolveError, unknown_name
from bondloop.structures.factor import factor
from bondloop.structures.ground import keep_footing
from bondloop.structures.matrices import damping_product
from bondloop.structures.tolerances import DENSE_MODES, ENERGY_ROUNDING, MODE_RESIDUAL, RIGID_BODY

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from bondloop.structures.elements.base import Array
    from bondloop.structures.matrices import Matrices, Sparse


DIRECTIONS = ("ux", "uy", "uz", "rx", "ry", "rz")


@dataclass(frozen=True, eq=False)
class Modes(Described, family="modes", alone=True):
    """Natural modes, lowest first, mass-normalised: Φᵀ M Φ = I, Φᵀ K Φ = Λ.

    Attributes
    ----------
    omega
        Natural angular frequencies in rad/s, shape (count,); zero for rigid-body modes.
    shapes
        Mode shapes as columns, shape (n, count); the largest component of each is positive.
    dofs
        Names of the rows of ``shapes``.
    damping
        φᵀ C φ of each mode, in 1/s, shape (count,).
    coupling
        Largest φᵢᵀ C φⱼ between two modes, relative to the larger of their own; 0 for Rayleigh damping.
    weighted
        M Φ, shape (n, count).
    ground
        How the modes go with the ground, where a description says it: as of `Matrices`, with loads on modes.
    """

    omega: NDArray[np.float64]
    shapes: NDArray[np.float64]
    dofs: tuple[str, ...]
    damping: NDArray[np.float64]
    coupling: float
    weighted: NDArray[np.float64]
    ground: Any = None

    __repr__ = brief

    def __post_init__(self) -> None:
        for name in ("omega", "shapes", "damping", "weighted"):  # a description has lists
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=float))
        object.__setattr__(self, "coupling", number(self.coupling, "Modes(coupling)", "1"))

    def __len__(self) -> int:
        return len(self.omega)

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Natural frequencies in Hz."""
        return self.omega / (2 * np.pi)

    @property
    def damping_ratios(self) -> NDArray[np.float64]:
        """Share of critical damping φᵀCφ / 2ω; 0 for rigid-body modes, which have no critical damping."""
        elastic = self.omega > 0
        return np.where(elastic, self.damping / (2 * np.where(elastic, self.omega, 1.0)), 0.0)

    @property
    def participation(self) -> dict[str, NDArray[np.float64]]:
        """Participation factors φᵀ M r by direction (``"ux"`` ...).

        r is 1 at every such translation; of a rotation it is the rigid motion about the origin, which is
        known where the matrices come from a structure with coordinates, and left out elsewhere.
        """
        found = {d: np.array([name.endswith(f".{d}") for name in self.dofs]) for d in DIRECTIONS[:3]}
        motions = {d: r.astype(float) for d, r in found.items() if r.any()}
        footing = getattr(self, "_footing", None)
        if footing is not None and footing.basis is None:
            motions.update({d: footing.rigid[d][0] for d in DIRECTIONS[3:] if d in footing.rigid})
        return {d: self.weighted.T @ r for d, r in motions.items() if np.any(r)}

    def effective_masses(self, direction: str | ArrayLike) -> NDArray[np.float64]:
        """Mass that each mode moves along with a rigid motion of the ground, in kg: (φᵀ M r)².

        Parameters
        ----------
        direction
            ``"ux"`` and so on, or the rigid motion r itself, shape (n,). Of a rotation, ``"rz"``, the ground
            turns about the origin, and the answer is a moment of inertia in kg m².
        """
        if isinstance(direction, str):
            factors = self.participation
            if direction not in factors and direction in DIRECTIONS[3:]:
                raise InputError(
                    f"effective_masses('{direction}'): a rigid rotation needs the nodes' coordinates, which "
                    "these modes do not have; take modes of a structure's own matrices, or give the motion r"
                )
            if direction not in factors:
                raise InputError(unknown_name("direction", direction, factors))
            return np.asarray(factors[direction] ** 2)
        r = np.asarray(direction, dtype=float)
        if r.shape != (len(self.dofs),):
            raise InputError(f"direction: expected {len(self.dofs)} values, found shape {r.shape}")
        return np.asarray((self.weighted.T @ r) ** 2)

    def rows(self, dofs: Sequence[str]) -> NDArray[np.float64]:
        """Mode shapes at some degrees of freedom, shape (len(dofs), count)."""
        place = {d: i for i, d in enumerate(self.dofs)}
        for d in dofs:
            if d not in place:
                raise InputError(unknown_name("degree of freedom", d, place))
        return np.asarray(self.shapes[[place[d] for d in dofs]])

    def first(self, count: int) -> Modes:
        """Return the lowest modes, ``count`` of them, or all where there are fewer."""
        return Modes(
            self.omega[:count], self.shapes[:, :count], self.dofs, self.damping[:count], self.coupling,
            self.weighted[:, :count],
        )  # fmt: skip


@with_progress("solving for modes")
def modes(matrices: Matrices, count: int = 10, shift: float | None = None) -> Modes:
    """Return the lowest natural modes, K φ = ω² M φ.

    Shift-invert Lanczos (ARPACK) with one sparse factorisation of K - σ M; a dense solution for small
    models and where nearly all modes are wanted. Rigid-body modes are found with a small negative shift.
    The start vector is fixed and signs are normalised, so the same model always gives the same modes.

    Parameters
    ----------
    matrices
        M, C, K. M may be singular (massless degrees of freedom).
    count
        How many; at most as many as there are degrees of freedom with mass.
    shift
        σ in rad²/s²: the modes nearest to it from above come out most accurate. By default 0, or a small
        negative value if K is singular.

    Examples
    --------
    Two equal masses in a row on equal springs: ω² = (3 ± √5)/2.

    >>> from bondloop.structures.matrices import Matrices
    >>> chain = Matrices(np.eye(2), None, [[2.0, -1.0], [-1.0, 1.0]], ("a.ux", "b.ux"))
    >>> found = modes(chain, 2)
    >>> print(found.omega.round(6), found.effective_masses("ux").sum().round(6))
    [0.618034 1.618034] 2.0
    """
    n, most = len(matrices), int(np.count_nonzero(_column_sizes(matrices.M)))
    if not 1 <= count <= most:
        raise InputError(
            f"{count} modes are wanted of a model with {n} degrees of freedom, {most} of them with mass; "
            f"ask for 1 to {most}"
        )
    scale = largest_ratio(matrices)
    pencil = Pencil(matrices, scale, shift)
    found = pencil.solve(count)
    order = np.argsort(found[0], kind="stable")
    values, shapes = found[0][order], found[1][:, order]
    weighted = matrices.M @ shapes
    shapes = shapes / np.sqrt(np.einsum("ij,ij->j", shapes, weighted))
    shapes = shapes * _signs(shapes)
    weighted = np.asarray(matrices.M @ shapes)
    if pencil.singular:
        size = np.abs(shapes)
        rounding = np.einsum("ij,ij->j", size, abs(matrices.K) @ size)
        values = np.where(np.abs(values) <= RIGID_BODY * rounding, 0.0, values)
    _check(matrices, values, shapes, weighted, scale)
    values = np.where(values < 0, 0.0, values)
    C = shapes.T @ damping_product(matrices, shapes)
    own = np.abs(np.diag(C)).copy()
    pair = np.maximum(own[:, None], own[None, :])
    outside = np.abs(C - np.diag(np.diag(C)))
    coupling = float(np.max(outside / np.where(pair > 0, pair, 1.0), initial=0.0))
    answer = Modes(
        np.sqrt(values),
        shapes,
        matrices.dofs,
        np.diag(C).copy(),
        coupling if coupling > 1e-6 else 0.0,
        weighted,
    )
    keep_footing(answer, getattr(matrices, "_footing", None))
    return answer


def _column_sizes(M: Sparse) -> NDArray[np.float64]:
    return np.asarray(abs(M).sum(axis=0)).ravel()


def _signs(shapes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sign of the first component that is as large as any."""
    size = np.abs(shapes)
    largest = np.argmax(size >= (1 - 1e-6) * size.max(axis=0), axis=0)
    return np.where(shapes[largest, np.arange(shapes.shape[1])] < 0, -1.0, 1.0)


def _check(
    matrices: Matrices,
    values: NDArray[np.float64],
    shapes: NDArray[np.float64],
    weighted: NDArray[np.float64],
    scale: float,
) -> None:
    force = np.asarray(matrices.K @ shapes)
    rounding = np.asarray(abs(matrices.K) @ np.abs(shapes))
    wrong = np.linalg.norm(force - weighted * values, axis=0)
    allowed = MODE_RESIDUAL * np.linalg.norm(weighted * values, axis=0) + 1e-9 * np.linalg.norm(
        rounding, axis=0
    )
    bad = np.flatnonzero(wrong > allowed)
    if len(bad):
        raise SolveError(
            f"mode {bad[0] + 1} leaves a residual of {wrong[bad[0]] / allowed[bad[0]]:.2g} times what is "
            "allowed; give another shift, or ask for more modes"
        )
    if np.any(values < -1e-8 * scale):
        raise SolveError(f"K is not positive: ω² = {values.min():.3g} rad²/s²")


class Pencil:
    """K φ = λ M φ, with the shift at which it is inverted."""

    def __init__(self, matrices: Matrices, scale: float, shift: float | None) -> None:
        self.K, self.M, self.scale = matrices.K, matrices.M, scale
        self.singular = not _resists(self.K)
        self.shift = shift if shift is not None else -1e-11 * scale if self.singular else 0.0

    def solve(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lowest eigenvalues and their vectors as columns, in any order."""
        n = self.K.shape[0]
        small = n <= DENSE_MODES or count > n // 3
        values, shapes = self._dense(count) if small else self._lanczos(count)
        elastic = values[values > 1e-14 * self.scale]
        if self.singular and len(elastic) and elastic.min() < -self.shift and not small:
            # The first shift lay far below the lowest elastic mode: once more, closer.
            self.shift = -0.1 * float(elastic.min())
            values, shapes = self._lanczos(count)
        return values, shapes

    def _dense(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        from scipy import linalg

        K, M = self.K.toarray(), self.M.toarray()
        n = len(K)
        if count > n // 2:
            try:
                high, upper = linalg.eigh(K, M)
            except linalg.LinAlgError:
                pass  # massless degrees of freedom: the inverted problem has no such trouble
            else:
                return self._joined(K, M, high, upper, count)
        shift = min(self.shift, -1e-6 * self.scale) if self.singular else self.shift
        values, shapes = self._inverted(K, M, shift, count)
        elastic = values[values > 1e-10 * self.scale]
        if self.singular and len(elastic):
            values, shapes = self._inverted(K, M, -0.1 * float(elastic.min()), count)
        return values, shapes

    @staticmethod
    def _inverted(
        K: NDArray[np.float64], M: NDArray[np.float64], shift: float, count: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        from scipy import linalg

        n = len(K)
        try:
            inverse, shapes = linalg.eigh(M, K - shift * M, subset_by_index=(n - count, n - 1))
        except linalg.LinAlgError:
            raise SolveError(_unsolved(shift)) from None
        return shift + 1 / inverse, shapes

    def _joined(
        self,
        K: NDArray[np.float64],
        M: NDArray[np.float64],
        high: NDArray[np.float64],
        upper: NDArray[np.float64],
        count: int,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the upper half of the spectrum as it is, the lower from the inverted problem.

        Rounding leaves an error of the largest eigenvalue's size in one and of the smallest's inverse in
        the other.
        """
        positive = high[high > 1e-12 * self.scale]
        middle = np.sqrt(positive[0] * positive[-1]) if len(positive) else 0.0
        low = int(np.count_nonzero(high < middle))
        if not low:
            return high[:count], upper[:, :count]
        shift = -0.1 * float(positive[0]) if self.singular else self.shift
        values, lower = self._inverted(K, M, shift, low)
        values = np.concatenate([values[::-1], high[low:]])
        return values[:count], np.hstack([lower[:, ::-1], upper[:, low:]])[:, :count]

    def _lanczos(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

        n = self.K.shape[0]
        solve = _factorised(self.K - self.shift * self.M, self.shift)
        inverse: LinearOperator[np.float64] = LinearOperator((n, n), matvec=solve, dtype=float)
        start = np.random.default_rng(2010).standard_normal(n)
        try:
            values, shapes = eigsh(
                self.K, count, self.M, sigma=self.shift, OPinv=inverse, v0=solve(self.M @ start),
                ncv=min(n, max(2 * count + 1, count + 30)),
            )  # fmt: skip
        except ArpackError as error:
            raise SolveError(
                f"{count} modes did not converge: {error}; ask for fewer, or give another shift"
            ) from None
        return values, shapes


def largest_ratio(matrices: Matrices) -> float:
    """Return the order of the largest eigenvalue: the largest K_ii / M_ii."""
    k, m = matrices.K.diagonal(), matrices.M.diagonal()
    ratios = k[m > 0] / m[m > 0]
    return float(np.max(ratios, initial=0.0)) or 1.0


def _factorised(K: Sparse, sigma: float) -> Callable[[Array], Array]:
    try:
        return factor(K)
    except RuntimeError:
        raise SolveError(_unsolved(sigma)) from None


def _unsolved(sigma: float) -> str:
    return (
        f"K - shift M cannot be factorised with a shift of {sigma:g}: a degree of freedom has neither mass "
        "nor stiffness, or the shift is an eigenvalue; support it, or give another shift"
    )


def _resists(K: Any) -> bool:
    """Whether K has no rigid-body motion: no motion is free of energy."""
    try:
        solve = _factorised(K, 0.0)
    except SolveError:
        return False
    x = np.random.default_rng(1994).standard_normal(K.shape[0])
    y = solve(K @ x)
    if not np.all(np.isfinite(y)) or np.linalg.norm(y - x) > 1e-2 * np.linalg.norm(x):
        return False
    for _ in range(4):  # towards the softest motion: is its energy more than rounding?
        x = x / np.linalg.norm(x)
        x = solve(x)
        if not np.all(np.isfinite(x)):
            return False
    size = np.abs(x)
    return bool(x @ (K @ x) > ENERGY_ROUNDING * (size @ (abs(K) @ size)))
