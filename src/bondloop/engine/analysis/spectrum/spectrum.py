"""Eigenvalues of one step of a sampled loop that holds delay lines, whatever their length.

A step is stable where every eigenvalue lies inside the unit circle. Small steps are written out and solved
densely. Long delay lines are never written out: their ``z^−m`` enters the characteristic equation in closed
form, which is counted along the circle (`spectrum_delays`). Thousands of states are searched along the
circle by shift and invert (`spectrum_sparse`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.analysis.spectrum.delayed_step import DelayedStep, written_out
from bondloop.engine.ir import CLOSED_FORM_LINES, DENSE_SPECTRUM, PLACES_PER_VALUE, PLACES_WRITTEN_OUT
from bondloop.errors import SolveError

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues of a step.

    Attributes
    ----------
    eigenvalues
        Largest magnitude first: all of them where `complete`, otherwise the leading ones that were found.
    complete
        Whether no eigenvalue is missing.
    outside
        How many lie outside the circle of radius 1 + margin, those at rest (closer to 1 than ``rest``) left
        out; None where the method cannot count.
    method
        ``"dense"``, ``"delays in closed form"`` or ``"sparse"``.
    note
        A sentence on what was and what was not computed; empty where there is nothing to say.
    covered
        Radians of the upper half circle, from z = 1, along which nothing near the circle was overlooked; π is
        all of it.
    """

    eigenvalues: NDArray[np.complex128]
    complete: bool
    outside: int | None
    method: str
    note: str = ""
    covered: float = np.pi


def spectrum(step: DelayedStep, *, margin: float = 1e-9, rest: float = 1e-5) -> Spectrum:
    """Eigenvalues of a step, by the method that its size allows.

    Parameters
    ----------
    step
        The step, with its delay lines apart.
    margin
        An eigenvalue counts as outside beyond the radius 1 + margin.
    rest
        Eigenvalues closer to 1 than this are motions that nothing returns (positions; rounding splits their
        Jordan blocks). They are listed, and never counted as outside.

    Returns
    -------
    Spectrum
        Eigenvalues, and how many lie outside.

    Examples
    --------
    ``x(k+1) = x(k) − 0.1 x(k−m)`` is stable for ``0.1 < 2 sin(π / (4 m + 2))``, up to 15 steps of delay.

    >>> one = np.ones((1, 1))
    >>> loops = [DelayedStep(one, -0.1 * one, one, 0 * one, (0,), (m,)) for m in (15, 16, 2000)]
    >>> [spectrum(loop).outside for loop in loops]
    [0, 2, 64]
    """
    from bondloop.engine.analysis.spectrum.spectrum_delays import delays_in_closed_form
    from bondloop.engine.analysis.spectrum.spectrum_sparse import sparse_search

    few = step.states + step.places <= DENSE_SPECTRUM
    channels = len(step.delays)
    if few and (
        step.places <= max(PLACES_WRITTEN_OUT, PLACES_PER_VALUE * channels) or channels > CLOSED_FORM_LINES
    ):
        return _dense(step, margin, rest)
    if step.states <= DENSE_SPECTRUM and channels <= CLOSED_FORM_LINES:
        closed = delays_in_closed_form(step, margin, rest)
        if closed is not None:
            leading, outside, note = closed
            return Spectrum(_sorted(leading), False, outside, "delays in closed form", note)
    if few:
        return _dense(step, margin, rest)
    search = sparse_search(step)
    values = _sorted(search.eigenvalues)
    outside = count_outside(values, margin, rest)
    # None outside among those that are known says nothing of a part of the circle that was not searched.
    counted = outside if outside or search.covered >= np.pi else None
    return Spectrum(values, False, counted, "sparse", search.note, search.covered)


def count_outside(values: NDArray[np.complex128], margin: float, rest: float) -> int:
    """How many eigenvalues lie beyond the radius 1 + margin and are not at rest."""
    return int(np.count_nonzero((np.abs(values) > 1 + margin) & (np.abs(values - 1) > rest)))


def _dense(step: DelayedStep, margin: float, rest: float) -> Spectrum:
    """All eigenvalues of the step with its registers written out; LAPACK's geev balances their units."""
    matrix = written_out(step)
    if not np.isfinite(matrix).all():
        raise SolveError(
            "one step has slopes that are not finite: a mass, stiffness or damping is so small or so large "
            "that a motion grows beyond all numbers within one sample"
        )
    values = _sorted(np.linalg.eigvals(matrix).astype(complex)) if matrix.size else np.zeros(0, complex)
    return Spectrum(values, True, count_outside(values, margin, rest), "dense")


def _sorted(values: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Largest magnitude first; of a conjugate pair the upper one first."""
    # Magnitudes of a pair may differ in the last digit, which must not part them.
    return values[np.lexsort((-values.imag, -values.real.round(12), -np.abs(values).round(13)))]
