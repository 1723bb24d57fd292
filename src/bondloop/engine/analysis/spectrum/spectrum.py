"""Eigenvalues of one step of a sampled loop that holds delay lines, whatever their length.

A step is stable where every eigenvalue lies inside the unit circle. Small steps are written out and solved
densely. Long delay lines are never written out: their ``z^−m`` enters the characteristic equation in closed
form, which is counted along the circle. Thousands of states are searched along the
circle by shift and invert.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.analysis import tolerances
from bondloop.engine.analysis.spectrum.delayed_step import (
    DelayedStep,
    LoopTransfer,
    loop_transfer,
    with_registers,
    written_out,
)
from bondloop.errors import SolveError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse


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
    few = step.states + step.places <= tolerances.DENSE_SPECTRUM
    channels = len(step.delays)
    if few and (
        step.places <= max(tolerances.PLACES_WRITTEN_OUT, tolerances.PLACES_PER_VALUE * channels)
        or channels > tolerances.CLOSED_FORM_LINES
    ):
        return _dense(step, margin, rest)
    if step.states <= tolerances.DENSE_SPECTRUM and channels <= tolerances.CLOSED_FORM_LINES:
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


# Eigenvalues of a step with long delay lines, from its characteristic function on the circle.
#
# ``f(z) = det(I − diag(z^−m) G(z))`` tends to 1 far away and has the eigenvalues of ``A`` as poles, so that
# by the argument principle the number of its zeros outside a contour is that of the poles outside less the
# turns of ``f`` along it. The contour is the circle of radius 1 + margin, led around the disc of radius
# ``rest`` about 1; the upper half suffices, as ``f(z*) = f(z)*``. Effort grows in proportion to the longest
# delay.


@dataclass(frozen=True, eq=False)
class _Contour:
    """Upper half of the contour by its length t: the arc around 1 for t < 0, then the circle."""

    radius: float
    rest: float
    start: float
    arc: float

    def __call__(self, t: NDArray[np.float64]) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
        """Points and their derivatives by t."""
        around = np.exp(1j * (np.minimum(t, 0) / self.rest + self.arc)) if self.arc else np.ones(t.size)
        circle = self.radius * np.exp(1j * (t + self.start))
        return np.where(t < 0, 1 + self.rest * around, circle), 1j * np.where(t < 0, around, circle)

    def outside(self, z: NDArray[np.complex128]) -> NDArray[np.bool_]:
        """Whether points lie outside the contour."""
        return (np.abs(z) > self.radius) & (np.abs(z - 1) > self.rest)


def delays_in_closed_form(
    step: DelayedStep, margin: float, rest: float
) -> tuple[NDArray[np.complex128], int | None, str] | None:
    """Leading eigenvalues, how many lie outside, and a sentence on both; see `spectrum` for the parameters.

    None where the states alone are too many and too ill conditioned to be decomposed.
    """
    places = 0
    short: set[int] = set()
    for source, length in sorted(step.lengths.items(), key=lambda item: item[1]):
        if length <= tolerances.SHORT_REGISTER and places + length <= tolerances.SHORT_REGISTER_PLACES:
            short.add(source)
            places += length
    f = loop_transfer(with_registers(step, short))
    if f is None:
        return None
    contour = _contour(margin, rest)
    if not f.delays.size:  # the states alone decide
        return f.poles, int(contour.outside(f.poles).sum()), "The long delay lines close no loop."
    t, slope, turned = _followed(f, contour)
    turns = turned / np.pi
    outside = int(contour.outside(f.poles).sum()) - round(turns)
    counted = None if abs(turns - round(turns)) > 0.05 or outside < 0 else outside
    leading = leading_roots(f, contour_starts(contour(t)[0], slope), contour.outside, counted)
    listed = int(contour.outside(leading).sum())
    return leading, counted, _note(counted, listed, leading.size)


def _note(counted: int | None, listed: int, size: int) -> str:
    if counted is None:
        return f"An eigenvalue on the circle itself kept the others from being counted; {size} were found."
    if listed == counted:
        return f"The {size} leading eigenvalues were computed; those outside the circle are all among them."
    return f"{counted} eigenvalues lie outside the circle; {listed} of them were computed and are listed."


def _contour(margin: float, rest: float) -> _Contour:
    radius = 1 + margin
    if rest <= margin:
        return _Contour(radius, rest, 0.0, 0.0)
    # Where |1 + rest e^{iφ}| = radius.
    arc = float(np.arccos(np.clip((margin * (2 + margin) - rest**2) / (2 * rest), -1, 1)))
    start = float(np.angle(1 + rest * np.exp(1j * arc)))
    return _Contour(radius, rest, start, arc)


def _grid(f: LoopTransfer, contour: _Contour) -> NDArray[np.float64]:
    """First points: dense enough for the delays, closing in geometrically on every pole near the circle."""
    end = np.pi - contour.start
    pace = min(1.5 / f.delays.max(), np.pi / 256)
    poles = np.append(f.poles, 1.0)
    distance = np.abs(np.abs(poles) - contour.radius)
    distance[-1] = max(contour.rest, distance[-1])
    near = distance < 2 * pace
    ladder = np.concatenate([[0.0], 2.0 ** np.arange(-1, 40)])
    ladder = np.concatenate([-ladder[:0:-1], ladder])
    offset = np.maximum(distance[near], 1e-12)[:, None] * ladder
    near_poles = (np.abs(np.angle(poles[near]))[:, None] - contour.start + offset)[np.abs(offset) < 2 * pace]
    t = np.concatenate(
        [np.linspace(0, end, int(end / pace) + 2), near_poles[(near_poles > 0) & (near_poles < end)]]
    )
    if contour.arc:
        # The contour turns at t = 0: the corner is one point of the arc and one of the circle.
        t = np.concatenate([t, contour.rest * np.linspace(-contour.arc, 0, 33)[:-1], [-1e-300]])
    return np.unique(t)


def _followed(
    f: LoopTransfer, contour: _Contour
) -> tuple[NDArray[np.float64], NDArray[np.complex128], float]:
    """Points on the contour, d log f/dt there, and the angle through which f turns along the contour."""

    def sample(t: NDArray[np.float64]) -> NDArray[np.complex128]:
        z, dz = contour(t)
        value, slope = f(z)
        with np.errstate(divide="ignore"):
            return np.stack([t, np.log(value), slope * dz])

    points = sample(_grid(f, contour))
    left, right = points[:, :-1], points[:, 1:]
    seen, turned = [points], 0.0
    for _ in range(50):
        h = (right[0] - left[0]).real
        promised = h * (left[2] + right[2]) / 2
        error = right[1] - left[1] - promised
        error = error.real + 1j * (np.mod(error.imag + np.pi, 2 * np.pi) - np.pi)
        steep = h * np.maximum(abs(left[2]), abs(right[2]))
        open_ = ~((abs(error) < tolerances.LOGARITHM_AGREEMENT) & (steep < tolerances.LOGARITHM_STEP)) & (
            h > 1e-14
        )
        turned += float((promised + error).imag[~open_].sum())
        if not open_.any():
            break
        left, right = left[:, open_], right[:, open_]
        middle = sample((left[0] + right[0]).real / 2)
        seen.append(middle)
        left, right = np.concatenate([left, middle], 1), np.concatenate([middle, right], 1)
    together = np.concatenate(seen, 1)
    together = together[:, np.argsort(together[0].real)]
    return together[0].real, together[2], turned


# Zeros of the characteristic function of a delayed step, by Newton's method from very many points at once.
#
# Newton's step for ``f(z) Π (z − λ)`` over the poles λ near the point of departure is one over its
# logarithmic derivative, ``f′/f + Σ 1/(z − λ)``: a zero beside a pole is found as easily as any other, and a
# pole that the loop does not move is itself the zero. What is found is verified by the argument principle on
# a small circle, which also tells how many coincide.


def contour_starts(z: NDArray[np.complex128], slope: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Points of a contour where log f changes fastest: each is beside a zero (or a pole)."""
    size = np.abs(slope)
    peak = np.ones(z.size, bool)
    peak[1:] &= size[1:] >= size[:-1]
    peak[:-1] &= size[:-1] > size[1:]
    return z[peak]


def leading_roots(
    f: LoopTransfer,
    starts: NDArray[np.complex128],
    outside: Callable[[NDArray[np.complex128]], NDArray[np.bool_]],
    expected: int | None,
) -> NDArray[np.complex128]:
    """Zeros of largest magnitude that Newton's method finds from the starts and from the poles of ``f``.

    Parameters
    ----------
    f
        The characteristic function.
    starts
        Points in the upper half plane beside zeros.
    outside
        Which of some points are outside.
    expected
        How many zeros are known to be outside; while fewer are found the search goes on for a few rounds.

    Returns
    -------
    array
        Zeros with their conjugates, repeated by multiplicity, in no order.
    """
    poles = f.poles[(f.poles.imag > -1e-12) & (np.abs(f.poles) > 0.9)]
    poles = poles[np.argsort(-np.abs(poles))][: 5 * tolerances.LISTED_EIGENVALUES]
    reach = 3 / f.delays.max()
    star = np.outer([0.1, 0.3, 0.7], reach * np.exp(1j * np.array([0, 0.8, 1.6, 2.4]))).ravel()
    beside = np.append(poles + 1e-7 * (1 + 0.5j), poles[: tolerances.LISTED_EIGENVALUES // 4, None] + star)
    roots = _distinct(np.concatenate([_newton(f, starts, reach), _newton(f, beside.ravel(), 0.05)]), outside)
    zeros = _verified(f, roots)
    # Slow motions crowd towards z = 1, those of the delays stand all around.
    angles = np.concatenate([[0.0], np.geomspace(1e-5, np.pi, 200), np.linspace(0, np.pi, 300)])
    for further in (0.1 * reach, 0.3 * reach, 0.7 * reach, 1.5 * reach, 0.05, 0.3):
        if expected is not None and int(outside(zeros).sum()) >= min(
            expected, 2 * tolerances.LISTED_EIGENVALUES
        ):
            break
        # Two starts may run into one zero while its neighbour waits: look again, the known zeros divided out.
        again = _newton(f, np.exp(further + 1j * angles), max(0.3 * reach, 0.2 * further), known=zeros)
        more = _distinct(np.concatenate([zeros[zeros.imag >= 0], again]), outside)
        zeros = _verified(f, more)
    return zeros


def with_conjugates(upper: NDArray[np.complex128], width: float) -> NDArray[np.complex128]:
    """Values of the upper half plane with their conjugates; those within a width of the real axis once."""
    real = np.abs(upper.imag) < width
    return np.concatenate([upper[real].real.astype(complex), upper[~real], upper[~real].conj()])


def _newton(
    f: LoopTransfer,
    starts: NDArray[np.complex128],
    reach: float,
    known: NDArray[np.complex128] | None = None,
) -> NDArray[np.complex128]:
    """Zeros reached from the starts in steps no longer than ``reach``; without what did not converge."""
    z = starts.astype(complex)
    nearby = _nearby(f, starts)
    converged = np.zeros(z.size, bool)
    active = np.arange(z.size)
    for _ in range(tolerances.ROOT_ITERATIONS):
        if not active.size:
            break
        at = z[active]
        with np.errstate(all="ignore"):
            slope = f(at)[1] + _attraction(at, nearby[active], f.poles)
            if known is not None:
                slope -= (1 / (at[:, None] - known)).sum(1)
            step = -1 / slope
            size = np.abs(step)
            step = np.where(size > reach, step * (reach / size), step)
        on_pole = ~np.isfinite(step)  # a pole without residue: the loop leaves it where it is
        step = np.where(on_pole, 0, step)
        z[active] = at + step
        done = on_pole | (np.abs(step) < 1e-13)
        converged[active] |= done | (np.abs(step) < 1e-9)
        lost = (np.abs(z[active]) < 0.5) | (np.abs(z[active]) > 1e3)
        converged[active] &= ~lost & (done | (np.abs(step) < 1e-9))
        active = active[~(done | lost)]
    roots = z[converged]
    return np.where(roots.imag < 0, roots.conj(), roots)


def _nearby(f: LoopTransfer, starts: NDArray[np.complex128]) -> NDArray[np.intp]:
    """Numbers of the poles nearer to each start than the delays' zeros to each other; −1: none."""
    count = min(tolerances.NEAR_POLES, f.poles.size)
    numbers = np.full((starts.size, count), -1)
    spacing = 4 / f.delays.max()
    for first in range(0, starts.size if count else 0, 1000):
        part = slice(first, first + 1000)
        distance = np.abs(starts[part, None] - f.poles)
        nearest = np.argpartition(distance, count - 1, axis=1)[:, :count]
        near = np.take_along_axis(distance, nearest, 1) < spacing
        numbers[part] = np.where(near, nearest, -1)
    return numbers


def _attraction(
    z: NDArray[np.complex128], nearby: NDArray[np.intp], poles: NDArray[np.complex128]
) -> NDArray[np.complex128]:
    """``Σ 1/(z − λ)`` over the poles nearby."""
    if not nearby.size:
        return np.zeros(z.size, complex)
    pulls: NDArray[np.complex128] = np.where(nearby >= 0, 1 / (z[:, None] - poles[nearby]), 0)
    return np.asarray(pulls.sum(1), complex)


def _distinct(
    roots: NDArray[np.complex128], outside: Callable[[NDArray[np.complex128]], NDArray[np.bool_]]
) -> NDArray[np.complex128]:
    """List the leading zeros, each once; those outside first, that the ones at rest displace none."""
    roots = roots[np.argsort(np.angle(roots))]
    if roots.size:
        roots = roots[np.append(True, np.abs(np.diff(roots)) > tolerances.MULTIPLE_ZERO)]
    roots = roots[np.lexsort((-np.abs(roots), ~outside(roots)))][: 3 * tolerances.LISTED_EIGENVALUES]
    kept = np.zeros(0, complex)
    for root in roots:
        if (
            kept.size < tolerances.LISTED_EIGENVALUES
            and (np.abs(root - kept) > tolerances.MULTIPLE_ZERO).all()
        ):
            kept = np.append(kept, root)
    return kept


def _verified(f: LoopTransfer, roots: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Zeros with their conjugates, each as often as the argument principle counts it on a small circle."""
    if not roots.size:
        return roots
    distance = np.abs(roots[:, None] - np.concatenate([roots, roots.conj()]))
    distance[distance < tolerances.MULTIPLE_ZERO] = np.inf
    radius = np.minimum(0.3 * distance.min(1), 0.1 / f.delays.max())[:, None]
    turn = np.exp(2j * np.pi * (np.arange(24) + 0.5) / 24)
    z = roots[:, None] + radius * turn
    with np.errstate(all="ignore"):
        slope = f(z.ravel())[1].reshape(z.shape)
        for pole in f.poles:
            slope += 1 / (z - pole)
    # Moments of the zeros within the circle, Σ ((ζ − centre)/radius)^k (Delves and Lyness 1967).
    moments = np.stack([(slope * radius * turn ** (k + 1)).mean(1) for k in range(5)], axis=1)
    zeros: list[complex] = []
    for root, size, moment in zip(roots, radius[:, 0], moments, strict=True):
        number = round(moment[0].real) if np.isfinite(moment).all() else 1
        if number == 1 or number > 4 or abs(moment[0] - number) > 0.2:
            zeros.append(complex(root))
        elif number > 1:
            zeros.extend(root + size * np.roots(_polynomial(moment[1 : number + 1])))
    values = np.array(zeros, complex)
    return with_conjugates(values[values.imag > -1e-9], 1e-9)


def _polynomial(moments: NDArray[np.complex128]) -> list[complex]:
    """Coefficients, the highest first, of the polynomial whose zeros have these sums of powers (Newton)."""
    coefficients = [1 + 0j]
    for k in range(1, len(moments) + 1):
        total = sum(coefficients[k - i] * moments[i - 1] for i in range(1, k + 1))
        coefficients.append(-complex(total) / k)
    return coefficients


# Eigenvalues of a step with thousands of states, nearest to the unit circle, by shift and invert.
#
# The registers are written out as sparse shifts. Arnoldi's method with ``(M − σ)⁻¹`` finds the eigenvalues
# nearest to a shift σ, and so knows a whole disc; discs are set side by side along the upper half circle,
# from z = 1 on, for a bounded number of shifts. The same method without a shift points at what lies far
# outside (an explicit integrator beyond its limit). Saad 2011, Numerical methods for large eigenvalue
# problems, ch. 6, 8.


@dataclass(frozen=True, eq=False)
class SparseSearch:
    """What a bounded search found.

    Attributes
    ----------
    eigenvalues
        In no order, conjugates included.
    covered
        Radians of the upper half circle from z = 1 along which discs overlap.
    note
        A sentence on both.
    """

    eigenvalues: NDArray[np.complex128]
    covered: float
    note: str


def sparse_search(step: DelayedStep) -> SparseSearch:
    """Eigenvalues of largest magnitude, and those nearest to the circle from z = 1 on."""
    from scipy import sparse

    M = _balanced(sparse.csc_array(with_registers(step).A))
    size = M.shape[0]
    vectors = min(
        max(20, min(tolerances.ARNOLDI_VECTORS, int(np.sqrt(tolerances.ARNOLDI_PRODUCTS / size)))), size
    )
    outermost, largest = _outermost(M, vectors)
    values = [outermost]
    # It is an estimate from the inside, or from a matrix far from normal: look there.
    if abs(largest) > 1 + tolerances.SHIFT_OFFSET:
        values.append(_around(M, largest * (1 + 1e-7), vectors)[0])
    covered = angle = 0.0
    for _ in range(tolerances.SHIFTS):
        shift = (1 + tolerances.SHIFT_OFFSET) * np.exp(1j * angle)
        nearest, radius = _around(M, shift, vectors)
        values.append(nearest)
        # The disc cuts the unit circle where |e^{iθ} − σ| = radius, 2 |σ|^½ sin(θ/2) = √(radius² − offset²).
        half = 2 * float(np.arcsin(min(np.sqrt(max(radius**2 - tolerances.SHIFT_OFFSET**2, 0.0)) / 2, 1.0)))
        if half == 0:
            break
        if angle - half > covered:  # a gap: the disc turned out smaller than the one before it
            angle = covered + 0.7 * half
            continue
        covered = max(covered, angle + half)
        if covered >= np.pi:
            break
        angle = min(covered + 0.9 * half, np.pi)
    covered = min(covered, np.pi)
    eigenvalues = _each_once(np.concatenate(values))
    note = (
        f"{eigenvalues.size} eigenvalues were computed: those beside the circle from 0 to "
        f"{covered / np.pi:.3g} of the Nyquist angle, and of the outermost those that stand apart."
    )
    return SparseSearch(eigenvalues, covered, note)


def _balanced(M: sparse.csc_array[np.float64]) -> sparse.csc_array[np.float64]:
    """Return a similar matrix whose rows and columns are of like size (Osborne 1960), all states at once."""
    from scipy import sparse

    off = sparse.csc_array(abs(M))
    off.setdiag(0)
    scale: NDArray[np.float64] = np.ones(M.shape[0])
    for _ in range(20):
        rows = np.asarray(off.dot(scale)) / scale
        columns = np.asarray(off.T.dot(1 / scale)) * scale
        both = (rows > 0) & (columns > 0)
        # All at once, half the exponent: the full one would swap rows and columns for ever.
        scale[both] *= (rows[both] / columns[both]) ** 0.25
    scale = np.exp2(np.round(np.log2(scale)))
    return sparse.csc_array(sparse.diags_array(1 / scale) @ M @ sparse.diags_array(scale))


def _outermost(M: sparse.csc_array[np.float64], vectors: int) -> tuple[NDArray[np.complex128], complex]:
    """Eigenvalues of largest magnitude that converge, often none, and an estimate of the very largest."""
    values, errors = _arnoldi(lambda v: np.asarray(M.dot(v), complex), M.shape[0], vectors)
    order = np.argsort(-np.abs(values))
    values, errors = values[order], errors[order]
    return values[errors < 1e-8 * np.abs(values)], complex(values[0])


def _around(
    M: sparse.csc_array[np.float64], shift: complex, vectors: int
) -> tuple[NDArray[np.complex128], float]:
    """Eigenvalues nearest to a shift, and the radius of the disc around it in which no other one lies."""
    from scipy import sparse
    from scipy.sparse.linalg import splu

    size = M.shape[0]
    try:
        factor = splu(sparse.csc_array(M - sparse.diags_array(np.full(size, shift))))
    except RuntimeError:  # the shift is an eigenvalue, to the last digit
        return _around(M, shift * (1 + 1e-6j) + 1e-6, vectors)
    inverted, errors = _arnoldi(factor.solve, size, vectors)
    order = np.argsort(-np.abs(inverted))
    inverted, errors = inverted[order], errors[order]
    # An error δ of 1/(z − σ) is one of δ |z − σ|² of z.
    settled = errors < 1e-9 * np.maximum(np.abs(inverted), np.abs(inverted) ** 2)
    first_open = int(np.argmin(settled)) if not settled.all() else settled.size
    values = shift + 1 / inverted[:first_open]
    # What has not converged yet may still come a little nearer.
    return values, 0.95 * float(np.abs(values[-1] - shift)) if first_open else 0.0


def _arnoldi(
    product: Callable[[NDArray[np.complex128]], NDArray[np.complex128]], size: int, vectors: int
) -> tuple[NDArray[np.complex128], NDArray[np.float64]]:
    """Ritz values of an operator and their residuals, without restarts.

    Written out rather than left to ARPACK, which tells neither which values have converged when not all have,
    nor where the others stand: both decide here how large a disc is known.
    """
    rng = np.random.default_rng(0)
    V = np.zeros((vectors + 1, size), complex)
    H = np.zeros((vectors + 1, vectors), complex)
    V[0] = rng.normal(size=size)
    V[0] /= np.linalg.norm(V[0])
    steps = vectors
    for j in range(vectors):
        w = product(V[j])
        before = np.linalg.norm(w)
        for _ in range(2):  # twice is enough (Parlett 1998)
            # Row by row: OpenBLAS would set its threads on each of these short products, which wait for each
            # other five times as long as they compute where other programs keep the cores busy.
            overlap = np.vecdot(V[: j + 1], w)
            for part, vector in zip(overlap, V, strict=False):
                w = w - part * vector
            H[: j + 1, j] += overlap
        H[j + 1, j] = after = np.linalg.norm(w)
        if not after > 1e-14 * before:  # an invariant subspace: all of its values are exact
            steps = j + 1
            H[j + 1, j] = 0
            break
        V[j + 1] = w / after
    values, Y = np.linalg.eig(H[:steps, :steps])
    return values, np.abs(H[steps, steps - 1] * Y[-1])


def _each_once(values: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Each eigenvalue once, from overlapping discs and from both half planes, and with its conjugate."""
    upper = np.where(values.imag < 0, values.conj(), values)
    kept = np.zeros(0, complex)
    for value in upper[np.argsort(-np.abs(upper))]:
        if (np.abs(value - kept) > 1e-9).all():
            kept = np.append(kept, value)
    return with_conjugates(kept, 1e-12)
