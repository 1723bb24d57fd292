"""Steps of SciPy's solvers; tolerances follow the sizes of the states, and the method the stiffness."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from bondloop.engine.analysis import tolerances
from bondloop.errors import BondloopError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from bondloop.engine.analysis.simulation.inputs import Inputs

    Coupling: TypeAlias = tuple[NDArray[np.float64], "_Edges"]
    """How fast states act on each other, and how much."""

# How large states are, each in its own unit: what the absolute tolerances of a simulation are relative to.
#
# A charge may be 1e-15 C and a volume 1e3 m3: no number is small for both. The size of a state is the largest
# value that it has had, and no less than what comes of the sizes of the others. A state that is held at zero
# by two that cancel would otherwise be followed to the last digit of their rounding.
#
# What comes of another state is its slope times the time within which it acts: that of the fastest circle of
# states that act on each other, the largest geometric mean of slopes round one. Sizes then go round every
# circle without growing, and down a long chain without fading; a spring and a mass get those of equal
# energies.


class StateSizes:
    """Sizes of the states of a simulation; they only grow.

    Parameters
    ----------
    count
        Number of states.
    duration
        Of the simulation, in s.

    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> tank = StateSizes(2, 1.0)
    >>> tank.couple(csr_array([[0.0, 1e15], [-1e9, 0.0]]))  # 1 nF and 1 fH
    >>> tank.start(np.array([1e-9, 0.0]))  # 1 V
    >>> np.round(np.log10(tank.size), 1).tolist()
    [-9.0, -12.0]
    """

    def __init__(self, count: int, duration: float) -> None:
        self.size = np.zeros(count)
        self.tolerance = np.full(count, tolerances.ABSOLUTE_SHARE)
        """Absolute tolerances: the same array throughout, so that a solver that holds it sees it change."""
        self._least = 1.0 / duration
        self._floor = np.zeros(count)
        self.within_instant = False
        """Whether tolerances are no less than what an input can do in the shortest step there is."""
        self._settled = False
        none = np.zeros(0, dtype=int)
        self.coupling = np.full(count, self._least), _Edges(none, none, np.zeros(0))
        """How fast states act on each other, and how much, as `couple` has worked it out."""

    def couple(self, slopes: sparse.csr_array[np.float64]) -> None:
        """Take note of how states act on each other: a sparse matrix, rates by states."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        A = csr_array(abs(slopes))
        A.eliminate_zeros()
        circle = np.asarray(connected_components(A, connection="strong")[1], dtype=int)
        entries, own = A.tocoo(), A.diagonal()
        apart = (entries.row != entries.col) & np.isfinite(entries.data)
        i, j, slope = entries.row[apart], entries.col[apart], entries.data[apart]
        within = circle[i] == circle[j]
        fastest = _circles(_Edges(i[within], j[within], slope[within]), circle)
        # A state that decays by itself is slower to follow others; where it is between two, each has a half.
        neighbours = np.maximum(np.bincount(i[within], minlength=len(own)), 1)
        own = np.where(np.isfinite(own), own, 0.0) / neighbours
        speed = np.maximum(np.maximum(fastest, own), self._least)
        self.resume((speed, _Edges(i, j, slope / np.maximum(speed[i], speed[j]))))

    def resume(self, coupling: Coupling) -> None:
        """Take up a coupling that was worked out before."""
        self.coupling, self._settled = coupling, False

    def drive(self, rates: NDArray[np.float64]) -> None:
        """Take note of rates that inputs cause."""
        made = np.abs(rates) / self.coupling[0]
        self.size = np.maximum(self.size, np.where(np.isfinite(made), made, 0.0))
        self._settled = False

    def jump(self, rates: NDArray[np.float64], time: float) -> None:
        """Take note of rates that may come and go at once, up to a time."""
        made = tolerances.INSTANT_WIDTH * time * np.abs(rates)
        self._floor = np.maximum(self._floor, np.where(np.isfinite(made), made, 0.0))
        self._settled = False

    def cross(self, within: bool) -> bool:
        """Widen the tolerances for a jump, or end that; False where no input can jump."""
        if not self._floor.any():
            return False
        self.within_instant, self._settled = within, False
        self.grow(self.size)
        return True

    def start(self, x: NDArray[np.float64]) -> None:
        """Pass the first sizes on, from state to state, as far as they reach."""
        for _ in range(len(x) + 1):
            self.grow(x)
            if self._settled:
                break

    def grow(self, x: NDArray[np.float64]) -> None:
        """Take note of the states after a step."""
        now = np.abs(x)
        if self._settled and not (now > self.size).any():
            return
        largest = np.maximum(self.size, now)
        size = self.coupling[1].passed(largest.copy())
        self._settled, self.size = bool((size == largest).all()), size
        # Nothing is known of a state that nothing has moved yet.
        self.tolerance[:] = np.where(
            size > 0.0,
            np.maximum(tolerances.ABSOLUTE_SHARE * size, np.finfo(float).tiny),
            tolerances.ABSOLUTE_SHARE,
        )
        if self.within_instant:
            np.maximum(self.tolerance, self._floor, out=self.tolerance)


class _Edges:
    """Who acts on whom, and how much; what several do to one is the largest of that, not the sum."""

    def __init__(self, i: NDArray[np.int_], j: NDArray[np.int_], gains: NDArray[np.float64]) -> None:
        order = np.argsort(i, kind="stable")
        self.i, self.j, self.gains = i[order], j[order], gains[order]
        self.rows, self.first = np.unique(self.i, return_index=True)

    def made(self, size: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each row gets of the sizes."""
        return np.asarray(np.maximum.reduceat(self.gains * size[self.j], self.first), dtype=float)

    def passed(self, size: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return sizes that are no less than what comes of the others; the argument is overwritten."""
        if len(self.rows):
            size[self.rows] = np.maximum(size[self.rows], self.made(size))
        return size


def _circles(edges: _Edges, circle: NDArray[np.int_]) -> NDArray[np.float64]:
    """Return for every state the largest geometric mean round a circle of those that it belongs to."""
    growth = np.zeros(circle.max(initial=-1) + 1)
    if len(edges.rows):
        v = np.ones(len(circle))
        for k in range(tolerances.TRANSIENT_POWERS + tolerances.CIRCLE_POWERS):
            after, norm = np.zeros(len(v)), np.zeros(len(growth))
            after[edges.rows] = edges.made(v)
            np.maximum.at(norm, circle, after)
            v = after / np.where(norm > 0.0, norm, 1.0)[circle]
            if k >= tolerances.TRANSIENT_POWERS:
                growth += np.log(np.where(norm > 0.0, norm, 1.0))
        members = np.bincount(circle[edges.rows], minlength=len(growth)) > 0
        growth = np.where(members, np.exp(growth / tolerances.CIRCLE_POWERS) * (1 + 1e-9), 0.0)
        # Where it is not that of the fastest circle yet, something would grow without end.
        for _ in range(100):
            gain = _Edges(edges.i, edges.j, edges.gains / growth[circle[edges.i]])
            size = np.ones(len(circle))
            for _ in range(len(circle) + 1):
                before = size.copy()
                gain.passed(size)
                rising = size > before
                if not rising.any():
                    return np.asarray(growth[circle], dtype=float)
            growth[np.unique(circle[rising])] *= 1.2
    return np.asarray(growth[circle], dtype=float)


def first_sizes(
    sizes: StateSizes,
    rates: Callable[[float, NDArray[np.float64]], Sequence[float]],
    slopes: sparse.csr_array[np.float64] | None,
    start: tuple[float, NDArray[np.float64]],
    inputs_at: Inputs,
) -> None:
    """Let sizes know how a simulation begins, and what will act on it.

    Parameters
    ----------
    sizes
        That are to know.
    rates
        Rates of the states by time and states; NaN where they cannot be computed.
    slopes
        Of the rates at the start, as a sparse matrix; None where they do not exist.
    start
        Time and states.
    inputs_at
        When inputs are largest, and how late they may jump.
    """
    t, x = start
    if slopes is not None:
        sizes.couple(slopes)
    now = np.array(rates(t, x), dtype=float)
    sizes.drive(now)
    for extreme in inputs_at.extremes:
        then = np.array(rates(extreme, x), dtype=float)
        sizes.drive(then)
        if inputs_at.jumps:
            sizes.jump(then - now, inputs_at.jumps)
    sizes.start(x)
    # What acts as a square has no slope at zero: a state that only that moves is seen where the others move.
    for turn in (1.0, -1.0):
        if np.all(sizes.size > 0.0):
            break
        sizes.drive(np.where(sizes.size > 0.0, 0.0, np.array(rates(t, x + turn * sizes.size), dtype=float)))
        sizes.start(x)


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
        self._count, self._look, self._since = 0, tolerances.STIFFNESS_TEST_STEPS, 0.0
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
        stuck = self._jumps > 0 and t - self._jump < tolerances.JUMP_WIDTH * (self.end - self._begun)
        self._jumps = self._jumps + 1 if stuck else 1
        if self._jumps > tolerances.JUMPS or not self.sizes.cross(True):
            return False
        self._jump, self._after = t, 0
        self._make(t, self.solver.y)
        return True

    def look(self) -> None:
        """Change the method where another is better: after the dense output of the step has been used."""
        self._count += 1
        if self.sizes is not None and self.sizes.within_instant:
            self._after += 1
            if self._after >= tolerances.JUMP_STEPS:
                self.sizes.cross(False)
        if not self.chosen or self._count < self._look or self.solver.status != "running":
            return
        t = self.solver.t
        h = (t - self._since) / self._count
        self._count, self._since = 0, t
        if self.method == EXPLICIT and self.end - t < tolerances.STEPS_AHEAD * h:
            return
        number = h * self._fastest()
        other = IMPLICIT if self.method == EXPLICIT else EXPLICIT
        if number > tolerances.STIFF_STEP if other == IMPLICIT else number < tolerances.TAME_STEP:
            self.method, self._look = other, tolerances.STIFFNESS_TEST_STEPS
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
            options["rtol"] = max(tolerances.BDF_TOLERANCE * self.rtol, min(self.rtol, 1e-13))
        if self.method in ("Radau", "BDF") and self._constant is not None:
            J = self._constant
            options["jac"] = J.toarray() if J.shape[0] <= tolerances.DENSE_STEPPING else J.tocsc()
        self.solver = getattr(scipy.integrate, self.method)(self._rates, t, x, self.bound, **options)


def fastest(slopes: sparse.csr_array[np.float64]) -> float:
    """Return the fastest rate of a motion that decays, in 1/s.

    >>> from scipy.sparse import csr_array
    >>> fastest(csr_array([[-1e6, 0.0], [0.0, -1.0]]))
    1000000.0
    """
    from scipy.sparse.linalg import ArpackError, eigs

    if slopes.shape[0] <= tolerances.DENSE_STEPPING:
        p = np.linalg.eigvals(slopes.toarray())
    else:
        try:
            p = eigs(slopes.tocsc(), k=6, which="SR", return_eigenvectors=False)
        except ArpackError:
            return 0.0
    return float(np.max(np.abs(p[-p.real > tolerances.DECAY_DAMPING * np.abs(p)]), initial=0.0))
