"""When a mode is first wrong within a step of a solver, whatever the length of that step.

A rule is wrong only where one of its *edges*, smooth functions of the motion, is above zero. Along a step an
edge is looked at in nine points and taken for the polynomial through them (along DOP853's dense output, of
degree seven, every edge that is linear in the states is one). Its Bernstein coefficients bound it from
above; where that bound is above zero its peaks tell whether it is, even if it rises and falls between two
points. Where nine points are too few for that, shown by the polynomial's last coefficients, the step is
halved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.ir import EDGE_DEGREE, EDGE_RESOLUTION, EDGE_SLACKS, MOST_PANELS, SLACK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.analysis.simulation.settling import Settling


Dense = Callable[["NDArray[np.float64] | float"], "NDArray[np.float64]"]


@cache
def _nodes() -> NDArray[np.float64]:
    """Return Chebyshev's points, -1 to 1: uneven, so that what repeats itself is not alike at all of them."""
    return np.asarray(-np.cos(np.pi * np.arange(EDGE_DEGREE + 1) / EDGE_DEGREE))


@cache
def _matrices() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what turns values at the nodes into Bernstein's coefficients, and into Chebyshev's."""
    from scipy.special import binom

    k = np.arange(EDGE_DEGREE + 1)
    s = 0.5 * (1 + _nodes()[:, None])
    bernstein = binom(EDGE_DEGREE, k) * s**k * (1 - s) ** (EDGE_DEGREE - k)
    chebyshev = np.polynomial.chebyshev.chebvander(_nodes(), EDGE_DEGREE)
    turned = (np.asarray(np.linalg.inv(V).T, dtype=float) for V in (bernstein, chebyshev))
    return next(turned), next(turned)


class EventSearch:
    """Finds the first event of steps.

    Parameters
    ----------
    run
        Tells edges and margins of the rules.
    rules
        Places of the rules that are looked at.
    """

    def __init__(self, run: Settling, rules: list[int]) -> None:
        self.run = run
        owners = run.rules.owners
        self._edges = [i for i, rule in enumerate(owners) if rule in rules]
        self._owners = [owners[i] for i in self._edges]
        self._known: tuple[float, NDArray[np.float64]] | None = None
        self.missed: float | None = None
        """When a step could not be divided any further, though an edge changes faster."""

    def enter(self) -> None:
        """Forget what is known of the last step: another mode begins."""
        self._known = None

    def first(self, dense: Dense, start: float, end: float) -> float | None:
        """Return when a mode is first found wrong within a step, just after it became so; None if never."""
        if not end > start:
            return None
        panels, pieces = 1, [(start, end)]
        while pieces:
            low, high = pieces.pop()
            middle = 0.5 * (low + high)
            may_split = high - low > self.run.window and low < middle < high
            hit = self._in_piece(dense, low, high, may_split=may_split and panels < MOST_PANELS)
            if hit == "split":
                panels += 1
                pieces += [(middle, high), (low, middle)]
                if panels == MOST_PANELS:
                    self.missed = low
            elif hit is not None:
                return float(hit)
        self.run.learn(end, dense(end).tolist())
        return None

    def _in_piece(self, dense: Dense, start: float, end: float, *, may_split: bool) -> float | str | None:
        if not self._edges:
            return None
        times = start + 0.5 * (end - start) * (1 + _nodes())
        times[-1] = end
        values = self._values(dense, times)
        if not np.isfinite(values).all():  # a law that has no value here: signs are all there is
            values = np.nan_to_num(values, nan=-1.0, posinf=1.0, neginf=-1.0)
        to_bernstein, to_chebyshev = _matrices()
        bernstein, chebyshev = values @ to_bernstein, values @ to_chebyshev
        doubt = np.abs(chebyshev[:, -2:]).sum(axis=1)
        above = bernstein.max(axis=1) + doubt > 0
        if not above.any():
            return None
        enough = -EDGE_SLACKS * self._at_zero(dense(end))
        ranges = np.ptp(values, axis=1)
        peaks = {int(i): _peaks(bernstein[i], chebyshev[i]) for i in np.flatnonzero(above)}
        if may_split:
            for i, (_, heights) in peaks.items():
                unsure = doubt[i] > EDGE_RESOLUTION * ranges[i] or (np.abs(heights) <= doubt[i]).any()
                if unsure and doubt[i] > max(enough[i], 1e-9 * ranges[i]):
                    return "split"
        # A peak that is no higher than rounding is none.
        seen = {i: heights > SLACK * ranges[i] for i, (_, heights) in peaks.items()}
        peaks = {i: (places[seen[i]], heights[seen[i]]) for i, (places, heights) in peaks.items()}
        return self._earliest(dense, (start, end), values, peaks)

    def _earliest(
        self,
        dense: Dense,
        span: tuple[float, float],
        values: NDArray[np.float64],
        peaks: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]],
    ) -> float | None:
        """Return when the first margin becomes positive, by the edges between their nodes and peaks."""
        start, end = span
        earliest: float | None = None
        known: dict[float, list[float]] = {}
        for i, (places, heights) in peaks.items():
            rule = self._owners[i]

            def margin(t: float, rule: int = rule) -> float:
                if t not in known:
                    known[t] = self.run.margins(t, dense(t).tolist())
                return known[t][rule]

            s = np.concatenate([_nodes(), places])
            order = np.argsort(s, kind="stable")
            times = start + 0.5 * (end - start) * (1 + s[order])
            curve = np.concatenate([values[i], heights])[order]
            for k in np.flatnonzero(curve[1:] > 0).tolist():
                low, high = float(times[k]), float(min(times[k + 1], end))
                if earliest is not None and low >= earliest:
                    break
                wrong = _wrong(margin, low, high, float(curve[k]), float(curve[k + 1]))
                if wrong is None:
                    continue
                if earliest is not None and wrong > earliest:
                    if not margin(earliest) > 0:
                        break
                    wrong = earliest
                earliest = _located(margin, low, wrong, 1e-8 * self.run.window)
                break
        return earliest

    def _values(self, dense: Dense, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the edges at some times, an edge a row; those at the end of the last piece are known."""
        known = self._known is not None and self._known[0] == times[0]
        first = 1 if known else 0
        columns = [
            self.run.edges(t, x)
            for t, x in zip(times[first:].tolist(), dense(times[first:]).T.tolist(), strict=True)
        ]
        values = np.array(columns)[:, self._edges].T
        if known:
            assert self._known is not None
            values = np.column_stack([self._known[1], values])
        self._known = (float(times[-1]), values[:, -1])
        return values

    def _at_zero(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the edges where all that they compare is zero: less than that by their slacks."""
        return np.array(self.run.edges_at_zero(x.tolist()))[self._edges]


def _peaks(
    bernstein: NDArray[np.float64], chebyshev: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where a polynomial turns between -1 and 1, and its values there."""
    turns = np.diff(bernstein)
    if (turns >= 0).all() or (turns <= 0).all():
        return np.zeros(0), np.zeros(0)
    # Coefficients that are rounding alone would put roots of their own anywhere.
    slope = np.polynomial.chebyshev.chebder(chebyshev)
    slope = np.polynomial.chebyshev.chebtrim(slope, 1e-15 * float(np.abs(slope).max()))
    roots = np.polynomial.chebyshev.chebroots(slope)
    # Two turns that rounding has joined are a little off the real line.
    places = np.sort(roots.real[(np.abs(roots.imag) < 1e-6) & (np.abs(roots.real) < 1)])
    return places, np.asarray(np.polynomial.chebyshev.chebval(places, chebyshev), dtype=float)


def _wrong(
    margin: Callable[[float], float], low: float, high: float, f_low: float, f_high: float
) -> float | None:
    """Return a time after low at which a margin is above zero, where its edge rises above it; else None."""
    # At the peak of a stop's displacement the flow is zero, and so is the margin; before it both are above.
    rise = low if f_low > 0 else low + (high - low) * _share(f_low, f_high)
    for t in (high, 0.5 * (rise + high), rise + 0.1 * (high - rise)):
        if margin(t) > 0:
            return t
    return None


def _share(f_low: float, f_high: float) -> float:
    """Return where, at most, a curve that rises to a peak passes zero: as a parabola does."""
    return 1 - math.sqrt(f_high / (f_high - f_low))


def _located(margin: Callable[[float], float], low: float, high: float, least: float) -> float:
    """Return a time at which a margin is positive and before which, by the least that can be told, it is not.

    By Brent's method; margins may jump.
    """
    from scipy.optimize import brentq

    def finite(t: float) -> float:
        f = margin(t)
        return f if np.isfinite(f) else 1.0 if f > 0 else -1.0

    near = 4 * float(np.finfo(float).eps)
    if finite(low) > 0:
        return low
    t = float(brentq(finite, low, high, xtol=least, rtol=near, disp=False))
    step = least + near * abs(t)
    while not margin(t) > 0:
        t, step = t + step, 2 * step
        if t >= high:
            return high
    return t
