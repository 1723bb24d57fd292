"""Eigenvalues of a step with long delay lines, from its characteristic function on the circle.

``f(z) = det(I − diag(z^−m) G(z))`` tends to 1 far away and has the eigenvalues of ``A`` as poles, so that by
the argument principle the number of its zeros outside a contour is that of the poles outside less the turns
of ``f`` along it. The contour is the circle of radius 1 + margin, led around the disc of radius ``rest``
about 1; the upper half suffices, as ``f(z*) = f(z)*``. Effort grows in proportion to the longest delay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.analysis.spectrum.delayed_step import with_registers
from bondloop.engine.analysis.spectrum.loop_transfer import LoopTransfer, loop_transfer
from bondloop.engine.analysis.spectrum.spectrum_roots import contour_starts, leading_roots
from bondloop.engine.ir import LOGARITHM_AGREEMENT, LOGARITHM_STEP, SHORT_REGISTER, SHORT_REGISTER_PLACES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.analysis.spectrum.delayed_step import DelayedStep


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
        if length <= SHORT_REGISTER and places + length <= SHORT_REGISTER_PLACES:
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
        open_ = ~((abs(error) < LOGARITHM_AGREEMENT) & (steep < LOGARITHM_STEP)) & (h > 1e-14)
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
