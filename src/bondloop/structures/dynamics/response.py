"""Response of a structure over frequency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from bondloop.engine.data import si_array
from bondloop.errors import InputError, SolveError, unknown_name
from bondloop.structures.dynamics.modal_analysis import Modes, modes
from bondloop.structures.factor import factor
from bondloop.structures.loads import Place, pattern
from bondloop.structures.modal_damping import dynamic_solver

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.structures.matrices import Matrices


_INFINITE = "the response at {:g} rad/s is infinite: an undamped mode lies there; leave this frequency out"
MOTIONS = {"displacement": 0, "velocity": 1, "acceleration": 2}


def frequency_response(
    matrices: Matrices,
    force: Place,
    output: str | Sequence[str],
    omega: ArrayLike,
    *,
    motion: Literal["displacement", "velocity", "acceleration"] = "displacement",
    by_modes: Modes | int | None = None,
    static_correction: bool = False,
) -> NDArray[np.complex128]:
    """Return the motion per unit force, u = (K + jωC - ω²M)⁻¹ F.

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
    by_modes
        None: one sparse factorisation per frequency. Modes, or how many: their sum, with damping that
        couples modes left out.
    static_correction
        With modes: add what the modes left out contribute statically (residual flexibility).

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
    if by_modes is None:
        H = _direct(matrices, F, rows, w)
    else:
        basis = modes(matrices, by_modes) if isinstance(by_modes, int) else by_modes
        H = _by_modes(basis, F, rows, w)
        if static_correction:
            H = H + residual_flexibility(matrices, basis, F)[rows]
    return np.asarray(H * (1j * w[:, None, None]) ** MOTIONS[motion])


def _direct(
    matrices: Matrices, F: NDArray[np.float64], rows: list[int], w: NDArray[np.float64]
) -> NDArray[np.complex128]:
    H = np.empty((len(w), len(rows), F.shape[1]), dtype=complex)
    right = F.astype(complex)
    for k, omega in enumerate(w):
        try:
            H[k] = dynamic_solver(matrices, -(omega**2), 1j * omega, "symmetric")(right)[rows]
        except RuntimeError:
            raise SolveError(_INFINITE.format(omega)) from None
    return H


def _by_modes(
    basis: Modes, F: NDArray[np.float64], rows: list[int], w: NDArray[np.float64]
) -> NDArray[np.complex128]:
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = 1 / (basis.omega**2 - w[:, None] ** 2 + 1j * w[:, None] * basis.damping)
    if not np.all(np.isfinite(gain)):
        k = int(np.flatnonzero(~np.isfinite(gain).all(axis=1))[0])
        raise SolveError(_INFINITE.format(w[k]))
    return np.asarray(np.einsum("im,fm,mj->fij", basis.shapes[rows], gain, basis.shapes.T @ F, optimize=True))


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
