"""Zeros of the characteristic function of a delayed step, by Newton's method from very many points at once.

Newton's step for ``f(z) Π (z − λ)`` over the poles λ near the point of departure is one over its logarithmic
derivative, ``f′/f + Σ 1/(z − λ)``: a zero beside a pole is found as easily as any other, and a pole that the
loop does not move is itself the zero. What is found is verified by the argument principle on a small circle,
which also tells how many coincide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.ir import LISTED_EIGENVALUES, MULTIPLE_ZERO, NEAR_POLES, ROOT_ITERATIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.analysis.spectrum.loop_transfer import LoopTransfer


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
    poles = poles[np.argsort(-np.abs(poles))][: 5 * LISTED_EIGENVALUES]
    reach = 3 / f.delays.max()
    star = np.outer([0.1, 0.3, 0.7], reach * np.exp(1j * np.array([0, 0.8, 1.6, 2.4]))).ravel()
    beside = np.append(poles + 1e-7 * (1 + 0.5j), poles[: LISTED_EIGENVALUES // 4, None] + star)
    roots = _distinct(np.concatenate([_newton(f, starts, reach), _newton(f, beside.ravel(), 0.05)]), outside)
    zeros = _verified(f, roots)
    # Slow motions crowd towards z = 1, those of the delays stand all around.
    angles = np.concatenate([[0.0], np.geomspace(1e-5, np.pi, 200), np.linspace(0, np.pi, 300)])
    for further in (0.1 * reach, 0.3 * reach, 0.7 * reach, 1.5 * reach, 0.05, 0.3):
        if expected is not None and int(outside(zeros).sum()) >= min(expected, 2 * LISTED_EIGENVALUES):
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
    for _ in range(ROOT_ITERATIONS):
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
    count = min(NEAR_POLES, f.poles.size)
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
        roots = roots[np.append(True, np.abs(np.diff(roots)) > MULTIPLE_ZERO)]
    roots = roots[np.lexsort((-np.abs(roots), ~outside(roots)))][: 3 * LISTED_EIGENVALUES]
    kept = np.zeros(0, complex)
    for root in roots:
        if kept.size < LISTED_EIGENVALUES and (np.abs(root - kept) > MULTIPLE_ZERO).all():
            kept = np.append(kept, root)
    return kept


def _verified(f: LoopTransfer, roots: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Zeros with their conjugates, each as often as the argument principle counts it on a small circle."""
    if not roots.size:
        return roots
    distance = np.abs(roots[:, None] - np.concatenate([roots, roots.conj()]))
    distance[distance < MULTIPLE_ZERO] = np.inf
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
