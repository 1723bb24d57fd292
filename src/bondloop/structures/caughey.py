"""Caughey's damping: given ratios at several frequencies, without a full matrix."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.program.ranges import number
from bondloop.structures.matrices import Matrices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.structures.elements.base import Number
    from bondloop.structures.matrices import Sparse

__all__ = ["caughey"]

MOST = 4
"""Frequencies at which a ratio may be given: each one more couples neighbours that lie one further away."""


def caughey(matrices: Matrices, ratios: Mapping[Number, float]) -> Matrices:
    """Return matrices damped by Caughey's series, with given ratios at given frequencies.

    C = M Σ a_b (M⁻¹K)^b, b = 0 ... p - 1, with ζ(ω) = Σ a_b ω^(2b-1) / 2 (Caughey 1960; Clough and Penzien
    1993, section 12-4). Two frequencies are Rayleigh's damping. M must be diagonal, so that C is as sparse as
    a product of stiffnesses. A series that would drive a mode is refused: between the frequencies a curve of
    high order may dip below zero, and with three of them it falls for ever.

    Parameters
    ----------
    matrices
        The model, assembled with lumped masses.
    ratios
        Damping ratios by frequency in Hz, two to four.

    Examples
    --------
    >>> from bondloop.structures import ShearBuilding, modes
    >>> m = ShearBuilding([1.0] * 4, [1000.0] * 4).assemble()
    >>> f = modes(m, 4).frequencies
    >>> damped = caughey(m, dict.fromkeys(f.tolist(), 0.05))
    >>> modes(damped, 4).damping_ratios.round(9).tolist()
    [0.05, 0.05, 0.05, 0.05]
    """
    from scipy import sparse

    omega, zeta = _checked(ratios)
    masses = matrices.M.diagonal()
    apart = matrices.M - sparse.diags_array(masses)
    if abs(apart).max() > 0 or masses.min(initial=1.0) <= 0:
        raise InputError(
            "Caughey's damping needs a mass of its own at every degree of freedom: assemble('lumped'), with "
            "guyan for what has no mass"
        )
    scale = omega.max()
    x = (omega / scale) ** 2  # of size one, so that powers stay so
    a = np.asarray(np.linalg.solve(np.vander(x, increasing=True), 2 * zeta * omega), dtype=np.float64)
    _refuse_negative(a, scale, matrices)
    step = sparse.diags_array(1 / masses) @ matrices.K / scale**2
    C: Sparse = a[-1] * matrices.M
    for coefficient in a[-2::-1]:  # Horner's scheme
        C = coefficient * matrices.M + C @ step
    return Matrices(matrices.M, matrices.C + (C + C.T) / 2, matrices.K, matrices.dofs)


def _checked(ratios: object) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if not isinstance(ratios, Mapping) or not 2 <= len(ratios) <= MOST:
        raise InputError(
            f"caughey(ratios): expected two to {MOST} ratios by frequency, {{1.0: 0.05, 5.0: 0.05}}; found "
            f"{ratios!r:.60}"
        )
    pairs = sorted(
        (number(f, "caughey(ratios)", "Hz"), number(z, "caughey(ratios)", "1")) for f, z in ratios.items()
    )
    f, zeta = np.array(pairs).T
    if f.min() <= 0 or np.diff(f).min() <= 0 or zeta.min() < 0:
        raise InputError("caughey(ratios): expected different frequencies above 0 and ratios from 0")
    return 2 * math.pi * f, zeta


def _refuse_negative(a: NDArray[np.float64], scale: float, matrices: Matrices) -> None:
    """Refuse a series that is negative at a frequency which the structure has."""
    highest = _highest(matrices)
    polynomial = np.polynomial.Polynomial(a)
    places = [0.0, highest / scale**2]
    turns = np.asarray(polynomial.deriv().roots(), dtype=complex)
    places += turns.real[np.abs(turns.imag) < 1e-9 * np.abs(turns)].tolist()
    for x in places:
        if 0 <= x <= places[1] and polynomial(x) < -1e-9 * float(np.abs(a).max()):
            f = math.sqrt(x) * scale / (2 * math.pi)
            raise InputError(
                f"Caughey's series is negative at {f:.3g} Hz, and the structure may go up to "
                f"{math.sqrt(highest) / (2 * math.pi):.3g} Hz: it would drive modes there; take two or "
                "four frequencies, nearer ratios, or the highest frequency among them; or modal_damping"
            )


def _highest(matrices: Matrices) -> float:
    """Return a bound of ω²: the largest sum of a row of M^(-1/2) K M^(-1/2) (Gershgorin)."""
    from scipy import sparse

    root = sparse.diags_array(1 / np.sqrt(matrices.M.diagonal()))
    return float(np.asarray(abs(root @ matrices.K @ root).sum(axis=1)).max(initial=0.0))
