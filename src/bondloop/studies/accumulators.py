"""How each kind of measure is accumulated as a test runs, and what its last states mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError
from bondloop.program.expr import Const, Expr, Op, Var, function, select

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.program.tick import Tick

__all__ = ["KINDS", "OF_TWO", "Accumulator", "accumulator"]

KINDS = (
    "rms", "mean", "peak", "largest", "smallest", "last", "first", "growth", "delay", "work", "exchange",
)  # fmt: skip

OF_TWO = ("delay", "work", "exchange")
"""Measures of two signals."""

ROUNDING = 1e-14
"""Share of a sum of squares below which what is left of it about a line is rounding."""

End = Callable[[list[Any], Any], Any]
"""From the last values of the states and the samples of every test to the measure."""


@dataclass(frozen=True)
class Accumulator:
    """States that accumulate a measure.

    Attributes
    ----------
    initial
        Value of each state before the test.
    updates
        What each becomes at every tick.
    end
        The measure, from the last values of the states, in their order, and the samples of each test.
    """

    initial: Mapping[Var, float]
    updates: tuple[tuple[Var, Expr], ...]
    end: End


def accumulator(
    kind: str, word: str, of: Expr, along: Expr | None, tick: Tick, steps: int | None, before: Expr
) -> Accumulator:
    """Return what accumulates a measure.

    Parameters
    ----------
    kind
        One of `KINDS`.
    word
        What its states are named after.
    of, along
        Its signals, as expressions of the tick's variables.
    tick
        Of the test.
    steps
        Ticks of the test, which growth needs.
    before
        Samples that were measured before this one.
    """
    state = Var(f"measure.{word}")
    if kind == "growth":
        return _growth(state.name, of, tick, steps)
    if kind in OF_TWO:
        assert along is not None
        return (_delay if kind == "delay" else _work)(kind, state.name, of, along, tick, before)
    initial, update = _simple(kind, state, of, tick)
    return Accumulator({state: initial}, ((state, update),), lambda x, n: _simple_end(kind, x[0], n))


def _simple(kind: str, state: Var, expr: Expr, tick: Tick) -> tuple[float, Expr]:
    if kind == "rms":
        return 0.0, state + expr * expr
    if kind == "mean":
        return 0.0, state + expr
    if kind == "last":
        return 0.0, expr
    if kind == "peak":
        return 0.0, function("fmax", state, function("fabs", expr))
    if kind == "largest":
        return -np.finfo(float).max, function("fmax", state, expr)
    if kind == "smallest":
        return np.finfo(float).max, function("fmin", state, expr)
    came = Op("and", (state < 0, Op("ne", (expr, Const(0.0)))))
    return -1.0, select(came, tick.time, state)


def _simple_end(kind: str, value: NDArray[np.float64], samples: NDArray[np.float64]) -> NDArray[np.float64]:
    if kind == "rms":
        return np.asarray(np.sqrt(value / np.maximum(samples, 1)))
    if kind == "mean":
        return np.asarray(value / np.maximum(samples, 1))
    if kind == "first":
        return np.where(value < 0, np.nan, value)
    return value


def _sums(word: str, inside: Expr, terms: Mapping[str, Expr]) -> dict[Var, Expr]:
    """Return sums by state, with what they become at a tick."""
    states = {Var(f"{word}.{name}"): term for name, term in terms.items()}
    return {state: select(inside, state + term, state) for state, term in states.items()}


def _work(kind: str, word: str, of: Expr, along: Expr, _: Tick, before: Expr) -> Accumulator:
    """Return the sum of ∫of d(along) by the trapezoidal rule, as `bondloop.assess.work`; or of magnitudes."""
    last, place = Var(f"{word}.of"), Var(f"{word}.along")
    part = (of + last) * 0.5 * (along - place)
    total = _sums(word, before > 0, {"sum": part if kind == "work" else function("fabs", part)})
    updates = {**total, last: of, place: along}
    return Accumulator(dict.fromkeys(updates, 0.0), tuple(updates.items()), lambda x, _: x[0])


def _delay(_: str, word: str, of: Expr, along: Expr, tick: Tick, before: Expr) -> Accumulator:
    """Return sums of a regression of one signal on another and its rate, in the middle between samples."""
    y_0, x_0 = Var(f"{word}.of"), Var(f"{word}.along")
    h = tick.period
    x, y, v = (along + x_0) * 0.5, (of + y_0) * 0.5, (along - x_0) / h
    terms = {"x": x, "v": v, "y": y, "xx": x * x, "xv": x * v, "vv": v * v, "xy": x * y, "vy": v * y}
    updates = {**_sums(word, before > 0, terms), y_0: of, x_0: along}

    def end(sums: list[NDArray[np.float64]], samples: NDArray[np.float64]) -> NDArray[np.float64]:
        return delay_of_sums(sums[:8], samples - 1, h)

    return Accumulator(dict.fromkeys(updates, 0.0), tuple(updates.items()), end)


def delay_of_sums(
    sums: list[NDArray[np.float64]], count: NDArray[np.float64], period: float
) -> NDArray[np.float64]:
    """Return the delay from sums of x, v, y, x², xv, v², xy and vy in the middle between samples.

    The regression y = c + a x + b v says of a sine, of angular frequency w with w² = var v/var x, that
    a = g cos(w delay) and b w = -g sin(w delay).

    Parameters
    ----------
    sums
        As above, one value for each test.
    count
        How many were summed.
    period
        Seconds between samples.
    """
    n = np.maximum(count, 1)
    x, v, y, xx, xv, vv, xy, vy = sums
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        cxx, cxv, cvv = xx - x * x / n, xv - x * v / n, vv - v * v / n
        cxy, cvy = xy - x * y / n, vy - v * y / n
        # Against rounding: a signal that stands still has any delay.
        alive = (cxx > ROUNDING * xx) & (cvv > ROUNDING * vv)
        determinant = cxx * cvv - cxv * cxv
        alive &= determinant > ROUNDING * cxx * cvv
        a, b = (cxy * cvv - cvy * cxv) / determinant, (cvy * cxx - cxy * cxv) / determinant
        # Means and differences of samples turn w into (2/h) tan(w h/2).
        w = np.sqrt(cvv / cxx)
        late = np.arctan2(-b * w, a) / (2 / period * np.arctan(w * period / 2))
    return np.where(alive, late, np.nan)


def _growth(word: str, of: Expr, tick: Tick, steps: int | None) -> Accumulator:
    """Return the sums from which a signal's rms about a line follow, in the second and the last quarter."""
    if steps is None or steps < 16:
        raise InputError(f"growth is measured over at least 16 samples; found {steps}")
    updates: dict[Var, Expr] = {}
    quarters = ((steps // 4, steps // 2), (3 * steps // 4, steps))
    for name, (first, last) in zip(("early", "late"), quarters, strict=True):
        inside = Op("and", (tick.count >= first, tick.count < last))
        middle = tick.count - (first + last - 1) / 2
        terms = {"z": of, "tz": middle * of, "zz": of * of}
        updates |= _sums(f"{word}.{name}", inside, terms)
    seconds = (steps - 1) * tick.period / 2

    def end(sums: list[NDArray[np.float64]], samples: NDArray[np.float64]) -> NDArray[np.float64]:
        left = []
        for (z, tz, zz), (first, last) in zip((sums[:3], sums[3:]), quarters, strict=True):
            n = last - first
            spread = zz - z * z / n - tz * tz / (n * (n * n - 1) / 12)
            left.append(np.maximum(spread, ROUNDING * zz) / n)
        early, late = left
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(late > 0, np.log(late / early) / 2 / seconds, -np.inf)
        return np.where(samples < steps, np.inf, rate)

    return Accumulator(dict.fromkeys(updates, 0.0), tuple(updates.items()), end)
