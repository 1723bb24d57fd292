"""Gauss-Newton with bounds: the one optimiser of all fits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.transfer import dot, gram, times

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


Evaluate = Callable[["Array"], "tuple[Array, Array] | None"]
"""Gives residuals (n,) and their derivatives (p, n), a row a parameter; None where the model has no value."""


@dataclass(frozen=True)
class Minimum:
    """Where a sum of squares is least.

    Attributes
    ----------
    theta, residual, jacobian
        Parameters, residuals, and their derivatives, shape (p, n).
    at_bound
        Which parameters a bound holds.
    converged
        Whether the steps became small before their number ran out.
    evaluations
        How many times the model was evaluated.
    """

    theta: Array
    residual: Array
    jacobian: Array
    at_bound: NDArray[np.bool_]
    converged: bool
    evaluations: int

    @property
    def cost(self) -> float:
        """Sum of squares."""
        return dot(self.residual, self.residual)


def minimise(
    evaluate: Evaluate, start: Array, low: Array, high: Array, *, most: int = 60, precision: float = 1e-7
) -> Minimum | None:
    """Minimise a sum of squares between bounds (Levenberg and Marquardt; steps are cut at the bounds).

    Parameters
    ----------
    evaluate
        The model.
    start, low, high
        Start and bounds of the parameters.
    most
        Most steps.
    precision
        The end: a step that changes the cost by less than this part of itself, and every parameter by less
        than a hundredth of its standard deviation or this part of itself.

    Returns
    -------
    Minimum or None
        None if the model cannot be evaluated at the start.

    Examples
    --------
    >>> line = lambda p: (p[0] - np.array([1.0, 3.0]), np.ones((1, 2)))
    >>> minimise(line, np.zeros(1), np.array([-9.0]), np.array([9.0])).theta.round(6).tolist()
    [2.0]
    """
    theta = np.clip(start, low, high)
    found = evaluate(theta)
    if found is None:
        return None
    r, J = found
    cost, damping, evaluations, converged = dot(r, r), 1e-3, 1, False
    for _ in range(most):
        gradient, H = times(J, r), gram(J, J)
        blocked = ((theta <= low) & (gradient > 0)) | ((theta >= high) & (gradient < 0))
        free = np.flatnonzero(~blocked & (np.diag(H) > 0))
        if not free.size:
            converged = True
            break
        size = np.sqrt(np.diag(H)[free])
        scaled, pull = H[np.ix_(free, free)] / np.outer(size, size), gradient[free] / size
        accepted = False
        while damping < 1e12:
            step = np.zeros_like(theta)
            step[free] = -np.linalg.solve(scaled + damping * np.eye(free.size), pull) / size
            tried = np.clip(theta + step, low, high)
            found = evaluate(tried)
            evaluations += 1
            better = np.inf if found is None else dot(found[0], found[0])
            if better < cost:
                accepted = True
                break
            damping = max(damping, 1e-6) * 10
            # No step helps any more once the gain it promises is below rounding.
            if damping > 1e3 and np.abs(pull @ pull) <= 1e-14 * cost:
                break
        if not accepted or found is None:
            converged = True
            break
        moved = np.abs(tried - theta)
        spread = np.sqrt(better / max(1, r.size)) / np.maximum(np.sqrt(np.diag(H)), 1e-300)
        small = moved <= np.maximum(1e-2 * spread, precision * np.abs(tried))
        gained = cost - better
        # Nielsen's rule: where the model is less linear than the step took it for, the next step is shorter.
        full = step[free] * size
        promised = float(-2 * full @ pull - full @ scaled @ full)
        ratio = gained / promised if promised > 0 else 0.0
        theta, (r, J) = tried, found
        cost, damping = better, max(damping, 1e-12) * max(0.1, 1 - (2 * min(ratio, 1.0) - 1) ** 3)
        if gained <= 1e-10 * cost or (gained <= precision * cost and bool(np.all(small))):
            converged = True
            break
    return Minimum(theta, r, J, (theta <= low) | (theta >= high), converged, evaluations)
