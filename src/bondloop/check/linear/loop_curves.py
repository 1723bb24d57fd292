"""The loop of a test over frequency: cut open at its commands, and how well the rig follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.check import tolerances

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.check.linear.running_loop import RunningLoop
    from bondloop.engine.analysis.spectrum import OneStep


@dataclass(frozen=True)
class Curves:
    """Responses over frequency, for figures.

    Attributes
    ----------
    frequency
        Hz.
    loci
        The loop cut open at the commands, its eigenvalues, as many as interfaces: it is unstable where they
        encircle 1.
    force_loci
        The same, cut open at the measured forces; they differ where a controller uses measured motion too.
    complementary
        Size of what a disturbance of the commands adds to itself on its way round the loop.
    tracking
        Actual per desired motion, one column for each interface; empty where nothing drives the test.
    """

    frequency: NDArray[np.float64]
    loci: NDArray[np.complex128]
    force_loci: NDArray[np.complex128]
    complementary: NDArray[np.float64]
    tracking: NDArray[np.complex128]


def curves_of(loop: RunningLoop, step: OneStep) -> Curves | None:
    """Return open loop and tracking over frequency, with many points where the loop is lively.

    None where the coupling is continuous, so that there is no command at which to cut the loop open, and
    where the numbers are too large for a response.
    """
    if not loop.commands:
        return None
    f = grid(step)
    try:
        with np.errstate(all="ignore"):
            response = step.response(f)
            sensitivity = _sensitivity(loop.commands, step, response)
            forces = _loci(_sensitivity(loop.forces, step, response))
            size = np.linalg.norm(sensitivity - np.eye(len(loop.commands)), ord=2, axis=(1, 2))
            followed = tracking(loop, step, response, f)
            return Curves(f, _loci(sensitivity), forces, np.asarray(size), followed)
    except (np.linalg.LinAlgError, RuntimeError):  # a loop that grows out of all bounds in one sample
        return None


def _sensitivity(
    cut: Sequence[str], step: OneStep, response: NDArray[np.complex128]
) -> NDArray[np.complex128]:
    """Return S, what becomes of a disturbance of some signals, shape (frequencies, signals, signals)."""
    rows = [step.outputs.index(c) for c in cut]
    columns = [step.probes.index(c) for c in cut]
    return np.asarray(response[:, rows][:, :, columns])


def _loci(sensitivity: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Return eigenvalues of the open loop L: a disturbance comes back as S = 1/(1 - L), so L = 1 - 1/S."""
    opened = np.eye(sensitivity.shape[1]) - np.linalg.inv(sensitivity)
    return np.linalg.eigvals(opened).astype(complex)


def loci_at(cut: Sequence[str], step: OneStep, frequencies: ArrayLike) -> NDArray[np.complex128]:
    """Return the eigenvalues of the loop, cut open at some signals, at frequencies in Hz, a row for each."""
    return _loci(step.response(frequencies, cut, cut))


def grid(step: OneStep, more: ArrayLike = (), few: int = tolerances.CHEAP_STATES) -> NDArray[np.float64]:
    """Return frequencies from slow to half the sample rate, dense about lightly damped motions.

    Parameters
    ----------
    step
        The step.
    more
        Further eigenvalues, such as those of the loop cut open.
    few
        States below which frequencies cost little.
    """
    nyquist, small = 0.5 / step.period, len(step.states) < few
    lively = np.concatenate([step.eigenvalues, np.asarray(more, dtype=complex)])
    lively = lively[np.abs(lively) > 0.3]
    lively = lively[np.argsort(-np.abs(lively))][: 200 if small else 20]
    angle, width = np.abs(np.angle(lively)), np.abs(np.log(np.abs(lively))) + 1e-7
    about = (angle[:, None] + width[:, None] * np.array([-8, -4, -2, -1, -0.5, 0, 0.5, 1, 2, 4, 8])).ravel()
    about = about / (2 * np.pi * step.period)
    slow = about[about > 0].min(initial=nyquist)
    low = min(max(0.1 * slow, 1e-4 * nyquist), 0.01 * nyquist)
    grid = np.concatenate([np.geomspace(low, 0.999 * nyquist, 300 if small else 60), about])
    return np.unique(grid[(grid >= low) & (grid < nyquist)])


def tracking(
    loop: RunningLoop, step: OneStep, response: NDArray[np.complex128], f: NDArray[np.float64]
) -> NDArray[np.complex128]:
    """Return actual per desired motion of each interface, for the signal by which it is moved most."""
    columns = []
    driven = [loop.driven(step, response, f, name) for name in loop.excitations()]
    for want, have in zip(loop.desired, loop.actual, strict=True):
        i, j = step.outputs.index(want), step.outputs.index(have)
        moved = [d for d in driven if np.abs(d[:, i]).max() > 0]
        if not moved:
            return np.zeros((len(f), 0), dtype=complex)
        most = max(moved, key=lambda d: float(np.abs(d[:, i]).max()))
        moves = np.abs(most[:, i]) > 1e-30 * np.abs(most[:, i]).max()
        columns.append(np.where(moves, most[:, j] / np.where(moves, most[:, i], 1.0), np.nan))
    return np.stack(columns, axis=1)
