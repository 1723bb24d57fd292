"""How large states are, each in its own unit: what the absolute tolerances of a simulation are relative to.

A charge may be 1e-15 C and a volume 1e3 m3: no number is small for both. The size of a state is the largest
value that it has had, and no less than what comes of the sizes of the others. A state that is held at zero by
two that cancel would otherwise be followed to the last digit of their rounding.

What comes of another state is its slope times the time within which it acts: that of the fastest circle of
states that act on each other, the largest geometric mean of slopes round one. Sizes then go round every
circle without growing, and down a long chain without fading; a spring and a mass get those of equal energies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from bondloop.engine.ir import ABSOLUTE_SHARE, CIRCLE_POWERS, INSTANT_WIDTH, TRANSIENT_POWERS

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from bondloop.engine.analysis.simulation.inputs import Inputs

    Coupling: TypeAlias = tuple[NDArray[np.float64], "_Edges"]
    """How fast states act on each other, and how much."""


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
        self.tolerance = np.full(count, ABSOLUTE_SHARE)
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
        made = INSTANT_WIDTH * time * np.abs(rates)
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
            size > 0.0, np.maximum(ABSOLUTE_SHARE * size, np.finfo(float).tiny), ABSOLUTE_SHARE
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
        for k in range(TRANSIENT_POWERS + CIRCLE_POWERS):
            after, norm = np.zeros(len(v)), np.zeros(len(growth))
            after[edges.rows] = edges.made(v)
            np.maximum.at(norm, circle, after)
            v = after / np.where(norm > 0.0, norm, 1.0)[circle]
            if k >= TRANSIENT_POWERS:
                growth += np.log(np.where(norm > 0.0, norm, 1.0))
        members = np.bincount(circle[edges.rows], minlength=len(growth)) > 0
        growth = np.where(members, np.exp(growth / CIRCLE_POWERS) * (1 + 1e-9), 0.0)
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
