"""Steps of SciPy's solvers; tolerances follow the sizes of the states, and the method the stiffness."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.analysis.simulation.state_sizes import StateSizes
from bondloop.engine.ir import (
    BDF_TOLERANCE,
    DECAY_DAMPING,
    DENSE_STEPPING,
    JUMP_STEPS,
    JUMP_WIDTH,
    JUMPS,
    STEPS_AHEAD,
    STIFF_STEP,
    STIFFNESS_TEST_STEPS,
    TAME_STEP,
)
from bondloop.errors import BondloopError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse


EXPLICIT, IMPLICIT = "DOP853", "BDF"
METHODS = ("DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA")


class Stepping:
    """One integration from step to step.

    Parameters
    ----------
    end
        When it ends.
    method
        One of SciPy's, or None: DOP853, and BDF as long as the motion is stiff. Not Radau: a state that
        follows an input at once is right at the ends of its steps only, not in between.
    rtol
        Relative tolerance.
    atol
        Absolute tolerance, one for all states or one for each, or the sizes that it is relative to.
    max_step
        The longest step.
    see_inputs
        The longest step of BDF where nobody asked for it: it looks at inputs at the ends of steps only.
    """

    def __init__(
        self,
        end: float,
        method: str | None,
        rtol: float,
        atol: float | NDArray[np.float64] | StateSizes,
        max_step: float,
        *,
        see_inputs: float = np.inf,
    ) -> None:
        if method is not None and method not in METHODS:
            raise InputError(f"method: expected one of {', '.join(METHODS)}; found {method!r}")
        self.end, self.rtol, self.max_step = end, rtol, max_step
        self.bound = end
        """Where the steps that begin next end at the latest."""
        self._implicit_step = min(max_step, see_inputs)
        self.sizes = atol if isinstance(atol, StateSizes) else None
        self._atol = atol.tolerance if isinstance(atol, StateSizes) else atol
        self.chosen, self.method = method is None, method or EXPLICIT
        self.solver: Any = None
        self._rates: Callable[[float, NDArray[np.float64]], list[float]] | None = None
        self._slopes: Callable[[float, NDArray[np.float64]], sparse.csr_array[np.float64]] | None = None
        self._constant: sparse.csr_array[np.float64] | None = None
        self._count, self._look, self._since = 0, STIFFNESS_TEST_STEPS, 0.0
        self._begun = math.nan
        self._jump, self._jumps, self._after = 0.0, 0, 0

    def begin(
        self,
        rates: Callable[[float, NDArray[np.float64]], list[float]],
        t: float,
        x: NDArray[np.float64],
        slopes: Callable[[float, NDArray[np.float64]], sparse.csr_array[np.float64]],
        *,
        constant: sparse.csr_array[np.float64] | None = None,
    ) -> None:
        """Go on from a point.

        Parameters
        ----------
        rates
            Rates of the states by time and states.
        t, x
            The point.
        slopes
            Sparse matrix of the slopes of the rates, by time and states.
        constant
            The same where it is constant.
        """
        self._rates, self._slopes, self._constant = rates, slopes, constant
        if self._count == 0:
            self._since = t
        if math.isnan(self._begun):
            self._begun = t
        if self.sizes is not None:
            self.sizes.grow(x)
        self._make(t, x)

    def step(self) -> str | None:
        """Take a step; return why there was none."""
        message: str | None = self.solver.step()
        if self.solver.status == "failed" and self._crossing():
            message = self.solver.step()
        if self.sizes is not None and self.solver.status != "failed":
            self.sizes.grow(self.solver.y)
        return message

    def _crossing(self) -> bool:
        """Whether steps became too short at what may be a jump of an input, and wider tolerances may help."""
        t = self.solver.t
        if self.sizes is None or self.sizes.within_instant:
            return False
        stuck = self._jumps > 0 and t - self._jump < JUMP_WIDTH * (self.end - self._begun)
        self._jumps = self._jumps + 1 if stuck else 1
        if self._jumps > JUMPS or not self.sizes.cross(True):
            return False
        self._jump, self._after = t, 0
        self._make(t, self.solver.y)
        return True

    def look(self) -> None:
        """Change the method where another is better: after the dense output of the step has been used."""
        self._count += 1
        if self.sizes is not None and self.sizes.within_instant:
            self._after += 1
            if self._after >= JUMP_STEPS:
                self.sizes.cross(False)
        if not self.chosen or self._count < self._look or self.solver.status != "running":
            return
        t = self.solver.t
        h = (t - self._since) / self._count
        self._count, self._since = 0, t
        if self.method == EXPLICIT and self.end - t < STEPS_AHEAD * h:
            return
        number = h * self._fastest()
        other = IMPLICIT if self.method == EXPLICIT else EXPLICIT
        if number > STIFF_STEP if other == IMPLICIT else number < TAME_STEP:
            self.method, self._look = other, STIFFNESS_TEST_STEPS
            self._make(t, self.solver.y)
        else:
            self._look *= 2

    def _fastest(self) -> float:
        if self._constant is not None:
            return fastest(self._constant)
        assert self._slopes is not None
        try:
            return fastest(self._slopes(self.solver.t, self.solver.y))
        except (BondloopError, ArithmeticError):
            return 0.0  # a slope that does not exist just here

    def _make(self, t: float, x: NDArray[np.float64]) -> None:
        import scipy.integrate

        options: dict[str, Any] = {"rtol": self.rtol, "atol": self._atol, "max_step": self.max_step}
        if self.chosen and self.method == IMPLICIT:
            options["max_step"] = self._implicit_step
            options["rtol"] = max(BDF_TOLERANCE * self.rtol, min(self.rtol, 1e-13))
        if self.method in ("Radau", "BDF") and self._constant is not None:
            J = self._constant
            options["jac"] = J.toarray() if J.shape[0] <= DENSE_STEPPING else J.tocsc()
        self.solver = getattr(scipy.integrate, self.method)(self._rates, t, x, self.bound, **options)


def fastest(slopes: sparse.csr_array[np.float64]) -> float:
    """Return the fastest rate of a motion that decays, in 1/s.

    >>> from scipy.sparse import csr_array
    >>> fastest(csr_array([[-1e6, 0.0], [0.0, -1.0]]))
    1000000.0
    """
    from scipy.sparse.linalg import ArpackError, eigs

    if slopes.shape[0] <= DENSE_STEPPING:
        p = np.linalg.eigvals(slopes.toarray())
    else:
        try:
            p = eigs(slopes.tocsc(), k=6, which="SR", return_eigenvectors=False)
        except ArpackError:
            return 0.0
    return float(np.max(np.abs(p[-p.real > DECAY_DAMPING * np.abs(p)]), initial=0.0))
