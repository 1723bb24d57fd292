"""What every reduction gives: smaller matrices, the way back, and the error over a band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief
from bondloop.engine.data import number, origin_of
from bondloop.errors import InputError
from bondloop.structures.dynamics.modal_analysis import Modes, modes
from bondloop.structures.dynamics.response import frequency_response
from bondloop.structures.ground import footing_of, keep_footing
from bondloop.structures.loads import Place, pattern
from bondloop.structures.matrices import Matrices, remember
from bondloop.structures.modal_damping import damping_product

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
