"""Reduction to fewer degrees of freedom, with its error over a band: Guyan, Craig-Bampton, modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief
from bondloop.engine.data import Kind, number, origin_of, register
from bondloop.errors import InputError, SolveError
from bondloop.structures.analysis.dynamics import frequency_response, residual_flexibility
from bondloop.structures.analysis.modal_analysis import Modes, modes
from bondloop.structures.factor import factor
from bondloop.structures.ground import footing_of, keep_footing
from bondloop.structures.loads import Place, pattern
from bondloop.structures.matrices import Matrices, damping_product, remember

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class ReductionError:
    """Frequency responses of the full and the reduced model over a band.

    Attributes
    ----------
    frequencies
        In Hz, shape (f,).
    full, reduced
        Displacement per force in m/N, shape (f, outputs, forces).
    what
        The reduction, in words.

    Examples
    --------
    >>> import numpy as np
    >>> found = ReductionError(
    ...     np.array([1.0]), np.array([[[2.0 + 0j]]]), np.array([[[1.9 + 0j]]]), "two modes"
    ... )
    >>> round(found.largest, 3)
    0.05
    """

    frequencies: NDArray[np.float64]
    full: NDArray[np.complex128]
    reduced: NDArray[np.complex128]
    what: str

    @property
    def relative(self) -> NDArray[np.float64]:
        """Error at every frequency, |ΔH| / |H| with all outputs and forces together, shape (f,)."""
        size = np.linalg.norm(self.full, axis=(1, 2))
        return np.asarray(
            np.linalg.norm(self.reduced - self.full, axis=(1, 2)) / np.where(size > 0, size, 1.0)
        )

    @property
    def largest(self) -> float:
        """Largest relative error in the band."""
        return float(self.relative.max())

    @property
    def worst(self) -> float:
        """Frequency of the largest error, in Hz."""
        return float(self.frequencies[int(np.argmax(self.relative))])

    @property
    def rms(self) -> float:
        """Root mean square of ΔH over the band, relative to that of H."""
        return float(np.linalg.norm(self.reduced - self.full)) / max(float(np.linalg.norm(self.full)), 1e-300)

    def __str__(self) -> str:
        low, high = self.frequencies[0], self.frequencies[-1]
        return (
            f"{self.what}: from {low:.4g} to {high:.4g} Hz the response is wrong by {_percent(self.rms)} "
            f"(rms) and by at most {_percent(self.largest)}, at {self.worst:.4g} Hz"
        )


@dataclass(frozen=True)
class Reduced:
    """A reduced model, u ≈ T q.

    Attributes
    ----------
    matrices
        Reduced M, C, K; degrees of freedom that are kept have their names, generalised ones are
        ``mode[0]``, ...
    basis
        T, shape (n, r).
    kept
        Names of the degrees of freedom that are kept as they are.
    full
        The model that was reduced.
    method
        In words.
    """

    matrices: Matrices
    basis: NDArray[np.float64]
    kept: tuple[str, ...]
    full: Matrices
    method: str

    __repr__ = brief

    def __len__(self) -> int:
        return len(self.matrices)

    def expand(self, q: ArrayLike) -> NDArray[np.float64]:
        """Return the motion of all degrees of freedom, (n,) or (..., n), from that of the reduced, ``q``."""
        values = np.asarray(q, dtype=float)
        if values.shape[-1:] != (len(self),):
            raise InputError(f"expected {len(self)} reduced coordinates, found shape {values.shape}")
        return np.asarray(values @ self.basis.T)

    def loads(self, pattern: Mapping[str, float] | ArrayLike) -> dict[str, float]:
        """Return forces on the reduced degrees of freedom, by name, from forces on those of the full model.

        Parameters
        ----------
        pattern
            By name, or one for each degree of freedom of the full model: ``structure.base_excitation("ux")``.
        """
        if isinstance(pattern, Mapping):
            f = np.zeros(len(self.full))
            f[self.full.indices(pattern)] = [float(x) for x in pattern.values()]
        else:
            f = np.asarray(pattern, dtype=float)
            if f.shape != (len(self.full),):
                raise InputError(f"expected {len(self.full)} forces, found shape {f.shape}")
        values = self.basis.T @ f
        return {d: float(x) for d, x in zip(self.matrices.dofs, values, strict=True) if x}

    def modes(self, count: int | None = None) -> Modes:
        """Natural modes of the reduced model, ``count`` or all, with shapes at all degrees of freedom."""
        found = modes(self.matrices, len(self) if count is None else count)
        return replace(
            found, shapes=self.basis @ found.shapes, dofs=self.full.dofs,
            weighted=np.asarray(self.full.M @ (self.basis @ found.shapes)),
        )  # fmt: skip

    def frequency_response(
        self, force: Place, output: str | Sequence[str], omega: ArrayLike
    ) -> NDArray[np.complex128]:
        """Displacement per unit force at degrees of freedom of the full model, shape (f, outputs, forces).

        Parameters
        ----------
        force
            Where a unit force acts: a degree of freedom, several (a column each), or amplitudes by degree
            of freedom.
        output
            Degrees of freedom whose displacement is wanted.
        omega
            Angular frequencies in rad/s.
        """
        w = np.atleast_1d(np.asarray(omega, dtype=float))
        F = self.basis.T @ pattern(self.full, force)
        rows = self.basis[self.full.indices([output] if isinstance(output, str) else output)]
        M, C, K = (m.toarray() for m in (self.matrices.M, self.matrices.C, self.matrices.K))
        return np.stack([rows @ np.linalg.solve(K + 1j * x * C - x * x * M, F) for x in w])

    def error(
        self,
        band: tuple[float | str, float | str],
        force: Place,
        output: str | Sequence[str],
        points: int = 100,
    ) -> ReductionError:
        """Compare with the full model.

        Parameters
        ----------
        band
            Lowest and highest frequency in Hz.
        force, output
            Where unit forces act, and what is compared.
        points
            Frequencies in the band, evenly spaced; each costs one sparse factorisation of the full model.
        """
        low, high = (number(f, "band", "Hz") for f in band)
        if not 0 <= low < high:
            raise InputError(f"band: expected two frequencies in Hz, the lower first; found {band}")
        if points < 2:
            raise InputError(f"points must be at least 2; found {points}")
        f = np.linspace(low, high, points)
        w = 2 * np.pi * f
        return ReductionError(
            f,
            frequency_response(self.full, force, output, w),
            self.frequency_response(force, output, w),
            self.method,
        )


def project(
    full: Matrices, T: NDArray[np.float64], names: Sequence[str], kept: Sequence[str], method: str
) -> Reduced:
    """Return TᵀMT, TᵀCT, TᵀKT as a reduced model."""

    def small(product: NDArray[np.float64]) -> NDArray[np.float64]:
        B = T.T @ product
        return (B + B.T) / 2

    C = damping_product(full, T)
    matrices = Matrices(small(full.M @ T), small(C), small(full.K @ T), tuple(names))
    with suppress(InputError):  # names that tell no directions: these matrices go with no ground
        keep_footing(matrices, footing_of(full).projected(T))
    reduced = Reduced(matrices, T, tuple(kept), full, method)
    object.__setattr__(matrices, "_reduced", reduced)  # so that members can still be read
    return reduced


def remember_reduction(reduced: Reduced, kind: str, **arguments: object) -> Reduced:
    """Let reduced matrices be described by what they were reduced from, where a structure describes that.

    Parameters
    ----------
    reduced
        What a reduction gives.
    kind
        The reduction.
    **arguments
        What it took beside the matrices.
    """
    if origin_of(reduced.full) is not None:
        remember(reduced.matrices, kind, of=reduced.full, **arguments)
    return reduced


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share >= 1e-6 else f"{share:.1e}"


def constraint_modes(matrices: Matrices, kept: list[int], inner: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the static shapes -K_ii⁻¹ K_ib, shape (inner, kept): one kept at 1, the others held."""
    try:
        solve = factor(matrices.K[inner][:, inner])
    except RuntimeError:
        raise SolveError(
            "what is left when the kept degrees of freedom are held can still move by itself: its stiffness "
            "is singular; keep more of them, or support the structure"
        ) from None
    return -np.asarray(solve(matrices.K[inner][:, kept].toarray()))


def split(matrices: Matrices, names: Sequence[str], what: str) -> tuple[list[int], NDArray[np.int64]]:
    """Return the positions of named degrees of freedom and of all others."""
    if isinstance(names, str):
        names = [names]
    if not names or len(set(names)) < len(names):
        raise InputError(f"{what}: name one or more different degrees of freedom; found {list(names)}")
    kept = matrices.indices(names)
    inner = np.setdiff1d(np.arange(len(matrices)), kept)
    return kept, inner


def guyan(matrices: Matrices, keep: Sequence[str]) -> Reduced:
    """Keep some degrees of freedom; the others follow statically.

    u_i = -K_ii⁻¹ K_ik u_k. Exact at frequency zero for forces on what is kept; frequencies come out too
    high, the more so the nearer they lie to the lowest with everything kept held.

    Parameters
    ----------
    matrices
        The model.
    keep
        Degrees of freedom to keep.

    References
    ----------
    Guyan (1965), Reduction of stiffness and mass matrices, AIAA Journal 3, 380.

    Examples
    --------
    >>> from bondloop.structures.matrices import Matrices
    >>> chain = Matrices(np.eye(2), None, [[2.0, -1.0], [-1.0, 1.0]], ("a.ux", "b.ux"))
    >>> guyan(chain, keep=["b.ux"]).matrices.K.toarray().tolist()
    [[0.5]]
    """
    kept, inner = split(matrices, keep, "keep")
    T = np.zeros((len(matrices), len(kept)))
    T[kept, np.arange(len(kept))] = 1.0
    if len(inner):
        T[inner] = constraint_modes(matrices, kept, inner)
    names = [matrices.dofs[k] for k in kept]
    reduced = project(matrices, T, names, names, f"Guyan reduction to {len(kept)} of {len(matrices)}")
    return remember_reduction(reduced, "guyan", keep=names)


def matrices_by_guyan(of: Matrices, keep: Sequence[str]) -> Matrices:
    """Return the matrices of `guyan`, as a description calls them.

    Parameters
    ----------
    of, keep
        As of `guyan`.
    """
    return guyan(of, keep).matrices


register(Kind("matrices", "guyan", matrices_by_guyan))


def craig_bampton(matrices: Matrices, interface: Sequence[str], count: int = 20) -> Reduced:
    """Keep the interface, and the lowest modes of the rest with the interface held.

    u_i = -K_ii⁻¹ K_ib u_b + Φ q. The interface keeps its own degrees of freedom, so specimens and other
    models can be bonded to it; static forces there are exact.

    Parameters
    ----------
    matrices
        The model.
    interface
        Degrees of freedom that are kept.
    count
        Fixed-interface modes; with all of them nothing is lost.

    References
    ----------
    Craig and Bampton (1968), Coupling of substructures for dynamic analyses, AIAA Journal 6, 1313-1319.

    Examples
    --------
    >>> from bondloop.structures.matrices import Matrices
    >>> chain = Matrices(np.eye(2), None, [[2.0, -1.0], [-1.0, 1.0]], ("a.ux", "b.ux"))
    >>> craig_bampton(chain, interface=["b.ux"], count=1).matrices.dofs
    ('b.ux', 'mode[0]')
    """
    kept, inner = split(matrices, interface, "interface")
    b = len(kept)
    if count < 0:
        raise InputError(f"count must not be negative; found {count}")
    T = np.zeros((len(matrices), b + count))
    T[kept, np.arange(b)] = 1.0
    if len(inner):
        T[inner, :b] = constraint_modes(matrices, kept, inner)
    if count:
        T[inner, b:] = modes(matrices.sub([matrices.dofs[i] for i in inner]), count).shapes
    names = [matrices.dofs[k] for k in kept]
    reduced = project(
        matrices,
        T,
        [*names, *(f"mode[{i}]" for i in range(count))],
        names,
        f"Craig-Bampton with {b} interface degrees of freedom and {count} modes",
    )
    return remember_reduction(reduced, "craig_bampton", interface=names, count=count)


def matrices_by_craig_bampton(of: Matrices, interface: Sequence[str], count: int) -> Matrices:
    """Return the matrices of `craig_bampton`, as a description calls them.

    Parameters
    ----------
    of, interface, count
        As of `craig_bampton`.
    """
    return craig_bampton(of, interface, count).matrices


register(Kind("matrices", "craig_bampton", matrices_by_craig_bampton))


def modal_reduction(
    matrices: Matrices,
    count: int,
    static_correction: bool = True,
    interface: Sequence[str] = (),
) -> Reduced:
    """Keep the lowest modes, u = Φ q.

    With the static correction, the residual flexibility of each interface degree of freedom, (K⁻¹ - Φ Λ⁻¹
    Φᵀ) f, is added to the basis. It is orthogonal to the modes through M and through K, so the reduced
    model stays a set of single modes, the last few of them the corrections; the response at the interface
    to forces there is then exact at frequency zero.

    Parameters
    ----------
    matrices
        The model.
    count
        How many modes.
    static_correction
        Whether to correct; it needs an interface.
    interface
        Degrees of freedom where forces will act.

    References
    ----------
    MacNeal (1971), A hybrid method of component mode synthesis; Rubin (1975), AIAA Journal 13, 995-1006.

    Examples
    --------
    >>> from bondloop.structures.matrices import Matrices
    >>> chain = Matrices(np.eye(2), None, [[2.0, -1.0], [-1.0, 1.0]], ("a.ux", "b.ux"))
    >>> small = modal_reduction(chain, 1, interface=["b.ux"])
    >>> float(small.frequency_response("b.ux", "b.ux", [0.0])[0, 0, 0].real.round(9))
    2.0
    """
    places = [interface] if isinstance(interface, str) else list(interface)
    basis = modes(matrices, count)
    T, what = basis.shapes, f"{count} modes"
    if static_correction:
        if not places:
            raise InputError(
                "the static correction needs interface=[...], the degrees of freedom where forces will act; "
                "or give static_correction=False"
            )
        residual = _orthonormal(matrices, residual_flexibility(matrices, basis, pattern(matrices, places)))
        T = np.hstack([T, residual])
        what += f" and {residual.shape[1]} static corrections"
    return project(matrices, T, [f"mode[{i}]" for i in range(T.shape[1])], (), what)


def _orthonormal(matrices: Matrices, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Combine static shapes so that XᵀMX = I and XᵀKX is diagonal; those without mass are left out."""
    from scipy import linalg

    size = np.sqrt(np.maximum(np.einsum("ij,ij->j", X, matrices.K @ X), 0.0))
    X = X[:, size > 0] / size[size > 0]
    if not X.shape[1]:
        return X
    # Largest M for unit K first: what has (nearly) none is rounding, or all modes are there already.
    mass, turn = linalg.eigh(X.T @ (matrices.M @ X), X.T @ (matrices.K @ X))
    keep = mass > 1e-12 * max(float(mass.max()), 1e-300)
    return np.asarray(X @ turn[:, keep] / np.sqrt(mass[keep]))
