"""Damping: Rayleigh's of a structure or of regions of it, of modes, Caughey's, and of supports that move."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bondloop.engine.data import Described, Parameter, number
from bondloop.errors import InputError
from bondloop.structures.analysis.modal_analysis import modes
from bondloop.structures.assembly import element_groups, summed_entries
from bondloop.structures.factor import factor
from bondloop.structures.loads import chosen
from bondloop.structures.matrices import Matrices, damped, damping_product
from bondloop.structures.tolerances import FULL_DAMPING, SMALL_DAMPING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.structures.assembly import Assembly
    from bondloop.structures.elements.base import Array, Number
    from bondloop.structures.ground import Prescribed
    from bondloop.structures.matrices import Sparse
    from bondloop.structures.structure import Structure


def checked_ratios(ratios: object, count: object, what: str) -> float | tuple[float, ...]:
    """Return damping ratios of modes, each given as a number or a text: ``0.02`` or ``"2 %"``.

    Parameters
    ----------
    ratios
        One for all modes, or those of the lowest ones.
    count
        With one ratio: of how many modes.
    what
        What has them, for the message.

    >>> checked_ratios("2 %", None, "modal_damping"), checked_ratios([0.02, "3 %"], None, "modal_damping")
    (0.02, (0.02, 0.03))
    """
    if isinstance(ratios, str) or not isinstance(ratios, (Sequence, np.ndarray)) or not np.iterable(ratios):
        one = _ratio(ratios, what)
        if count is None:
            return one
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            raise InputError(f"{what}(count) must be a whole number of at least 1; found {count!r:.40}")
        return (one,) * int(count)
    if count is not None:
        raise InputError(f"{what}: count goes with one ratio; there are {len(ratios)}")
    return tuple(_ratio(ratio, what) for ratio in ratios)


def _ratio(value: object, what: str) -> float:
    ratio = number(value, what, "1")
    if ratio < 0:
        raise InputError(f"{what}: damping ratios must not be negative; found {value!r:.40}")
    return ratio


def checked_rayleigh(values: object, what: str) -> tuple[float, float]:
    """Return α in 1/s and β in s of C = αM + βK, each given as a number or a text with its unit.

    Parameters
    ----------
    values
        The two.
    what
        What has them, for the message.

    >>> checked_rayleigh(["0.2 1/s", "0.3 ms"], "rayleigh")
    (0.2, 0.0003)
    """
    if isinstance(values, str) or not isinstance(values, (Sequence, np.ndarray)) or len(values) != 2:
        raise InputError(f"{what}: expected two numbers, alpha in 1/s and beta in s; found {values!r:.60}")
    alpha, beta = number(values[0], f"{what}: alpha", "1/s"), number(values[1], f"{what}: beta", "s")
    if alpha < 0 or beta < 0:
        raise InputError(f"{what}: alpha = {alpha:g} and beta = {beta:g} must not be negative")
    return alpha, beta


def rayleigh_coefficients(zeta1: float, f1: float, zeta2: float, f2: float) -> tuple[float, float]:
    """Return α and β of C = αM + βK with damping ratios ζ₁ at f₁ and ζ₂ at f₂ (frequencies in Hz).

    ζ(ω) = α/2ω + βω/2 (Clough and Penzien 1993, section 12-4).

    >>> alpha, beta = rayleigh_coefficients(0.05, 1 / (2 * math.pi), 0.05, 3 / (2 * math.pi))
    >>> round(alpha, 12), round(beta, 12)
    (0.075, 0.025)
    """
    w1, w2 = 2 * math.pi * f1, 2 * math.pi * f2
    if not (w1 > 0 and w2 > 0) or w1 == w2:
        raise InputError(f"Rayleigh damping needs two different positive frequencies; found {f1} and {f2} Hz")
    if zeta1 < 0 or zeta2 < 0:
        raise InputError(f"damping ratios must not be negative; found {zeta1} and {zeta2}")
    alpha, beta = np.linalg.solve([[1 / (2 * w1), w1 / 2], [1 / (2 * w2), w2 / 2]], [zeta1, zeta2])
    if min(alpha * max(w1, w2), beta * w1 * w2 * max(w1, w2)) < -1e-12 * w1 * w2:
        raise InputError(
            f"ratios {zeta1:g} at {f1:g} Hz and {zeta2:g} at {f2:g} Hz need alpha = {alpha:.3g} and "
            f"beta = {beta:.3g}: a negative one makes damping negative somewhere; bring the ratios closer"
        )
    return float(max(alpha, 0.0)), float(max(beta, 0.0))


def modal_part(M: Any, K: Any, ratios: float | Sequence[float], dofs: Sequence[str]) -> tuple[Array, Array]:
    """Return W = M Φ and d = 2 ζ ω of the modes that are damped: C = W diag(d) Wᵀ (Clough and Penzien 1993).

    Parameters
    ----------
    M, K
        Sparse, shape (n, n).
    ratios
        Damping ratios of the lowest modes, the others staying undamped; one number: of all modes.
    dofs
        Names of the degrees of freedom.

    Notes
    -----
    All modes of more than a few thousand degrees of freedom are not to be had; the lowest ones are, and their
    damping stays a product of slim matrices.
    """
    from scipy import linalg

    n = M.shape[0]
    one = isinstance(ratios, (int, float))
    count = n if isinstance(ratios, (int, float)) else len(ratios)
    if count > n:
        raise InputError(f"{count} modal damping ratios for {n} degrees of freedom")
    zeta = np.broadcast_to(np.asarray(ratios, dtype=float), (count,))
    if not count:
        return np.zeros((n, 0)), np.zeros(0)
    if n > FULL_DAMPING and one:
        raise InputError(
            f"modal damping of all {n} modes needs all of them; damp the lowest ones, "
            f"modal_damping({ratios:g}, count=50)"
        )
    if not one and slim(n, count):
        basis = modes(Matrices(M, None, K, tuple(dofs)), count)
        return basis.weighted, 2 * zeta * basis.omega
    try:
        squares, shapes = linalg.eigh(K.toarray(), M.toarray(), subset_by_index=[0, count - 1])
    except linalg.LinAlgError:
        raise InputError(
            "modal damping needs mass on every degree of freedom; give the massless ones a mass, or damp the "
            "lowest modes alone, modal_damping([0.05, 0.05])"
        ) from None
    return M @ shapes, 2 * zeta * np.sqrt(np.maximum(squares, 0.0))


def slim(n: int, count: int) -> bool:
    """Return whether the damping of so many of n modes is kept as a product of slim matrices."""
    return n > SMALL_DAMPING and 4 * count <= n


@dataclass(frozen=True)
class RayleighRegion(Described, family="rayleigh-region", alone=True):
    """Damping of some elements in proportion to their masses and stiffnesses, C = Σ (α M_e + β K_e).

    Parameters
    ----------
    elements
        Names of elements, or names that several share; none for all.
    alpha, beta
        In 1/s and s.
    without
        Elements that are left out: isolators, dampers, whose damping is their own.

    Examples
    --------
    >>> RayleighRegion(("column",), 0.1, 0.002).describe()["elements"]
    ['column']
    """

    elements: tuple[str, ...]
    alpha: Parameter = Parameter(unit="1/s")
    beta: Parameter = Parameter(unit="s")
    without: tuple[str, ...] = ()


def region_sum(
    structure: Structure, regions: list[RayleighRegion], assembly: Assembly, part: Literal["M", "lumped", "K"]
) -> Sparse:
    """Return Σ β K_e, or Σ α M_e, over the elements of regions, of all degrees of freedom, shape (n, n).

    Parameters
    ----------
    structure
        The structure.
    regions
        They add up.
    assembly
        Its degrees of freedom.
    part
        Which matrices of the elements.
    """
    total: Sparse = 0 * assembly.C
    for region in regions:
        coefficient = region.beta if part == "K" else region.alpha
        if not coefficient:
            continue
        names = set(chosen(structure, region.elements)) if region.elements else set(structure.elements)
        names -= set(chosen(structure, region.without))
        found = []
        for group in element_groups(structure):
            which = np.array([name in names for name in group.elements])
            if which.any():
                found.append((group.codes[which], getattr(group.blocks(), part)[which]))
        total = total + coefficient * summed_entries(found, assembly.codes, 6 * len(structure.nodes))
    return total


def region_masses(
    structure: Structure, regions: list[RayleighRegion], assembly: Assembly, mass: str
) -> Sparse | None:
    """Return Σ α M_e of regions over the free degrees of freedom; None where no region has an α.

    Parameters
    ----------
    structure, regions, assembly
        As for `region_sum`.
    mass
        ``"consistent"`` or ``"lumped"``.
    """
    if not any(region.alpha for region in regions):
        return None
    part: Literal["M", "lumped"] = "lumped" if mass == "lumped" else "M"
    reduced: Sparse = assembly.reduced(region_sum(structure, regions, assembly, part))
    return reduced


def damped_whole(
    matrices: Matrices,
    proportional: tuple[float, float],
    ratios: float | tuple[float, ...] | None,
    regions: Sparse | None,
) -> Matrices:
    """Return matrices with the damping of the whole structure: Rayleigh's, that of regions and of modes.

    Parameters
    ----------
    matrices
        Damped by the elements alone.
    proportional
        α and β.
    ratios
        Of modes, as for `modal_part`.
    regions
        What `region_masses` gives.
    """
    M, C, K = matrices.M, matrices.C, matrices.K
    alpha, beta = proportional
    if alpha or beta:
        C = C + alpha * M + beta * K
    if regions is not None:
        C = C + regions
    weights, rates = np.zeros((len(matrices), 0)), np.zeros(0)
    if ratios is not None:
        weights, rates = modal_part(M, K, ratios, matrices.dofs)
    if len(rates) and not slim(len(matrices), len(rates)):
        C = C + (weights * rates) @ weights.T
        weights, rates = weights[:, :0], rates[:0]
    answer = Matrices(M, C, K, matrices.dofs)
    answer = damped(answer, weights, rates) if len(rates) else answer
    for name in ("_footing", "_absent"):
        if name in matrices.__dict__:
            object.__setattr__(answer, name, matrices.__dict__[name])
    return answer


def with_regions(structure: Structure, regions: list[RayleighRegion], assembly: Assembly) -> Assembly:
    """Return an assembly whose elements are damped by βK of their regions, as by a ``beta=`` of their own.

    Parameters
    ----------
    structure, regions, assembly
        As for `region_sum`.
    """
    if not regions:
        return assembly
    return replace(assembly, C=assembly.C + region_sum(structure, regions, assembly, "K"))


def damped_supports(
    moved: Prescribed, rest: Matrices, alpha: float, beta: float, damping: str, *, modal: bool
) -> Prescribed:
    """Return a structure with imposed motions whose damping acts on what is relative to them.

    With C_w the damping of the whole that acts on ż = u̇ - ι ẋ, and K ι = -K_a, its force is C_w u̇ - C_w ι ẋ:
    columns -C_w ι join those of the elements, and ιᵀ C_w ι their own entries. For βK that is βK_a, as ever.

    Parameters
    ----------
    moved
        The structure, damped by its elements alone.
    rest
        Its remaining degrees of freedom with all damping.
    alpha, beta
        Rayleigh's.
    damping
        ``"relative"``, or ``"absolute"`` for αM that acts on all of the velocity.
    modal
        Whether modes are damped.
    """
    C_a, C_aa = moved.C_a + beta * moved.K_a, moved.C_aa + beta * moved.K_aa
    if damping == "absolute":
        C_a, C_aa = C_a + alpha * moved.M_a, C_aa + alpha * moved.M_aa
    spread = alpha if damping == "relative" else 0.0
    if spread or modal:
        try:
            iota = -np.asarray(factor(moved.matrices.K)(moved.K_a))
        except RuntimeError:
            iota = np.full_like(moved.K_a, np.nan)
        if not np.all(np.isfinite(iota)):
            raise InputError(
                "the structure does not follow the imposed motions by itself (it is a mechanism), so that "
                "damping relative to them has no meaning; leave out modal damping and take damping='absolute'"
            )
        # What is neither the elements' nor βK: αM where it is relative, and the modes'.
        elements = moved.matrices.C @ iota + beta * (moved.matrices.K @ iota)
        acting = damping_product(rest, iota) - elements - (alpha - spread) * (moved.matrices.M @ iota)
        C_a, C_aa = C_a - acting, C_aa + iota.T @ acting
    return replace(moved, matrices=rest, C_a=C_a, C_aa=C_aa)


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
    # Each frequency more couples neighbours that lie one further away.
    if not isinstance(ratios, Mapping) or not 2 <= len(ratios) <= 4:
        raise InputError(
            "caughey(ratios): expected two to four ratios by frequency, {1.0: 0.05, 5.0: 0.05}; found "
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
