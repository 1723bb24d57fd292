"""Mass, damping and stiffness matrices with named degrees of freedom; some of which damp modes alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from bondloop.display import brief
from bondloop.engine.data import FAMILIES, Described, origin_of, stamp
from bondloop.errors import InputError, unknown_name
from bondloop.structures.factor import factor
from bondloop.structures.ground import keep_footing
from bondloop.structures.tolerances import ASYMMETRY, DESCRIBED_BY_ROWS, FULL_DAMPING

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from bondloop.structures.elements.base import Array

    Sparse: TypeAlias = sparse.csr_array[np.float64]


@dataclass(frozen=True, eq=False)
class Matrices(Described, member_of="matrices"):
    """M ü + C u̇ + K u = F with named degrees of freedom.

    Attributes
    ----------
    M, C, K
        Sparse symmetric matrices (CSR), shape (n, n), in SI units.
    dofs
        Names of the degrees of freedom, such as ``"tip.uy"``, in the order of the matrices.
    ground
        How they go with the ground, where neither a structure nor their names tell it: ``dofs``, and by
        direction or support ``motions`` of these, ``loads`` -(M ι + M_a e) on every coordinate, and ``drags``
        -(C ι + C_a e); ``reduced`` where coordinates are left out. Reduced matrices are described with it.
    """

    M: Any
    C: Any
    K: Any
    dofs: tuple[str, ...]
    ground: Any = None

    __repr__ = brief

    def __post_init__(self) -> None:
        from scipy import sparse

        n = len(self.dofs)
        if len(set(self.dofs)) != n:
            twice = sorted({d for d in self.dofs if self.dofs.count(d) > 1})
            raise InputError(f"degrees of freedom named twice: {', '.join(twice[:5])}")
        for name in ("M", "C", "K"):
            given = getattr(self, name)
            matrix = sparse.csr_array(
                np.zeros((n, n)) if given is None else _entries(name, given, n), dtype=float
            )
            if matrix.shape != (n, n):
                raise InputError(f"{name} has shape {matrix.shape}, but there are {n} degrees of freedom")
            fault = matrix_fault(name, matrix, self.dofs)
            if fault:
                raise InputError(fault)
            # One order of entries: matrices that are equal give the same equations to the last digit.
            object.__setattr__(self, name, matrix if matrix.has_sorted_indices else matrix.sorted_indices())
        if self.ground is not None:
            from bondloop.structures.ground import footing_from

            object.__setattr__(self, "_footing", footing_from(self.ground, n))

    def describe(self) -> dict[str, Any]:
        """Describe them by what they were assembled from, or entry by entry."""
        origin = origin_of(self)
        if origin is not None:
            return origin.describe()
        ground = self._ground_data
        return {
            **self._kind.head(),
            **{name: _described(getattr(self, name)) for name in ("M", "C", "K")},
            "dofs": list(self.dofs),
            **({} if ground is None else {"ground": ground}),
        }

    @cached_property
    def _ground_data(self) -> dict[str, Any] | None:
        """How they go with the ground, as data; None where their names say all of it."""
        from bondloop.structures.ground import footing_data, footing_of

        footing = getattr(self, "_footing", None)
        if footing is None:
            return None
        data = footing_data(footing, self.dofs)
        try:
            plain = footing_of(Matrices(self.M, None, self.K, self.dofs))
        except InputError:
            return data
        return None if data == footing_data(plain, self.dofs) else data

    def __len__(self) -> int:
        return len(self.dofs)

    def index(self, dof: str) -> int:
        """Position of the degree of freedom ``dof``; an unknown one is refused."""
        try:
            return self.dofs.index(dof)
        except ValueError:
            raise InputError(self.missing(dof)) from None

    def missing(self, dof: str) -> str:
        """Say that there is no degree of freedom ``dof``, and why, where their structure tells it."""
        absent = self.__dict__.get("_absent")
        return (absent(dof) if absent else "") or unknown_name("degree of freedom", dof, self.dofs)

    def indices(self, dofs: Iterable[str]) -> list[int]:
        """Positions of several ``dofs``, in their order; an unknown one is refused."""
        place = {d: i for i, d in enumerate(self.dofs)}
        wanted = list(dofs)
        for d in wanted:
            if d not in place:
                raise InputError(self.missing(d))
        return [place[d] for d in wanted]

    def sub(self, dofs: Sequence[str]) -> Matrices:
        """Return the matrices of some ``dofs``, in their order, the others held."""
        k = self.indices(dofs)
        matrices = Matrices(self.M[k][:, k], self.C[k][:, k], self.K[k][:, k], tuple(dofs))
        footing = getattr(self, "_footing", None)
        if footing is not None:
            object.__setattr__(matrices, "_footing", footing.held(k, matrices))
        return matrices


def matrix_fault(name: str, matrix: Sparse, labels: Sequence[object]) -> str:
    """Return what is wrong with the entries of a matrix, whose rows have ``labels``; nothing: empty."""
    if not np.all(np.isfinite(matrix.data)):
        return f"{name} has entries that are not finite"
    difference = abs(matrix - matrix.T).tocoo()
    if not difference.nnz or difference.max() <= ASYMMETRY * max(abs(matrix).max(), 1e-300):
        return ""
    k = int(np.argmax(difference.data))
    i, j = (int(c[k]) for c in difference.coords)
    one, other = (f"{name}[{labels[a]}, {labels[b]}] " for a, b in ((i, j), (j, i)))
    return f"{name} is not symmetric: {one}= {matrix[i, j]:g} but {other}= {matrix[j, i]:g}"


def remember(matrices: Matrices, kind: str, **arguments: object) -> Matrices:
    """Let matrices be described by how they were made, in place of their entries.

    Parameters
    ----------
    matrices
        What was made.
    kind
        The maker, among those of the family of matrices.
    **arguments
        What it took.
    """
    stamp(matrices, FAMILIES["matrices"][kind], arguments)
    return matrices


def _described(matrix: Sparse) -> list[list[float]] | dict[str, list[int] | list[float]]:
    """Return a matrix by rows; a large one, or one that keeps entries of zero, by its entries."""
    entries = matrix.tocoo()
    if matrix.shape[0] <= DESCRIBED_BY_ROWS and np.all(entries.data):
        rows: list[list[float]] = matrix.toarray().tolist()
        return rows
    return {
        "rows": entries.coords[0].tolist(),
        "columns": entries.coords[1].tolist(),
        "values": entries.data.tolist(),
    }


def _entries(name: str, given: object, n: int) -> Any:
    """Return a matrix that is given by rows or, as `_described` writes it, by entries; SciPy's as it is."""
    if isinstance(given, (list, tuple, str, int, float)):  # SciPy takes a tuple for something else
        try:
            rows: NDArray[np.float64] = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            rows = np.zeros(0)
        if not n and not rows.size:
            return np.zeros((0, 0))
        if rows.ndim != 2:
            raise InputError(f"Matrices({name}): expected {n} rows of {n} numbers; found {given!r:.60}")
        return rows
    if not isinstance(given, Mapping):
        return given
    from scipy import sparse

    try:
        places = (given["rows"], given["columns"])
        return sparse.coo_array((np.asarray(given["values"], dtype=float), places), shape=(n, n))
    except (KeyError, ValueError, TypeError):
        raise InputError(
            f"Matrices({name}): a matrix by its entries has three lists of the same length: rows, columns "
            f"(counted from 0) and values; found {list(given)}"
        ) from None


class _ModallyDamped(Matrices):
    """Matrices with C + W diag(d) Wᵀ; the sum is made only where something asks for C.

    W = M Φ and d = 2 ζ ω of the modes that are damped (Clough and Penzien 1993, eq. 12-57).
    """

    _sparse: Sparse
    _weights: Array
    _rates: Array

    @property
    def C(self) -> Any:
        """The full damping matrix."""
        from scipy import sparse

        if "_weights" not in self.__dict__:  # while it is made
            return self.__dict__["_sparse"]
        if len(self) > FULL_DAMPING:
            raise InputError(
                f"the modal damping of {len(self)} degrees of freedom is a full matrix; modes, time_history, "
                "frequency_response and reductions do without it: reduce the structure first, with "
                "craig_bampton"
            )
        if "_whole" not in self.__dict__:
            whole = sparse.csr_array(self._sparse + (self._weights * self._rates) @ self._weights.T)
            object.__setattr__(self, "_whole", whole)
        return self.__dict__["_whole"]

    @C.setter
    def C(self, value: Any) -> None:
        self.__dict__["_sparse"] = value

    def sub(self, dofs: Sequence[str]) -> Matrices:
        """Return the matrices of some degrees of freedom, the others held."""
        k = self.indices(dofs)
        plain = Matrices(self.M, self._sparse, self.K, self.dofs)
        keep_footing(plain, getattr(self, "_footing", None))
        return damped(plain.sub(dofs), self._weights[k], self._rates)


def damped(matrices: Matrices, weights: Array, rates: Array) -> Matrices:
    """Return matrices with W diag(d) Wᵀ added to their damping.

    Parameters
    ----------
    matrices
        M, C, K.
    weights, rates
        W, shape (n, k), and d.
    """
    answer = _ModallyDamped(matrices.M, matrices.C, matrices.K, matrices.dofs)
    for name, value in (("_weights", weights), ("_rates", rates)):
        object.__setattr__(answer, name, np.asarray(value, dtype=float))
    keep_footing(answer, getattr(matrices, "_footing", None))
    return answer


def damping_of(matrices: Matrices) -> tuple[Any, Array, Array]:
    """Return the sparse part of the damping, and W and d of the rest; W has no columns where there is none.

    Parameters
    ----------
    matrices
        M, C, K.
    """
    if isinstance(matrices, _ModallyDamped):
        return matrices._sparse, matrices._weights, matrices._rates
    return matrices.C, np.zeros((len(matrices), 0)), np.zeros(0)


def damping_product(matrices: Matrices, motion: Array) -> Array:
    """Return C times a vector or the columns of a matrix, without the full C.

    Parameters
    ----------
    matrices
        M, C, K.
    motion
        Shape (n,) or (n, k).
    """
    C, W, d = damping_of(matrices)
    plain = np.asarray(C @ motion)
    return plain + (W * d) @ (W.T @ motion) if len(d) else plain


def dynamic_solver(
    matrices: Matrices, m: float, c: complex, kind: Literal["positive", "symmetric", "any"] = "positive"
) -> Callable[[Array], Array]:
    """Return the function b -> (K + c C + m M)⁻¹ b, with one sparse factorisation.

    What modal damping adds is of low rank: (A + W D Wᵀ)⁻¹ = A⁻¹ - A⁻¹ W (D⁻¹ + Wᵀ A⁻¹ W)⁻¹ Wᵀ A⁻¹ (Woodbury).

    Parameters
    ----------
    matrices
        M, C, K.
    m, c
        What mass and damping are multiplied by.
    kind
        As of `factor`.
    """
    C, W, d = damping_of(matrices)
    solve = factor(matrices.K + c * C + m * matrices.M, kind)
    acting = np.flatnonzero(d)
    if not len(acting) or c == 0:
        return solve
    W = W[:, acting]
    answers = solve(W.astype(np.result_type(c, float)))
    small = np.linalg.inv(np.diag(1 / (c * d[acting])) + W.T @ answers)
    return lambda b: (x := solve(b)) - answers @ (small @ (W.T @ x))
