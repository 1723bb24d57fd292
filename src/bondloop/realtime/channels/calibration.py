"""Calibrations: what a raw value, in volts or counts, means in the channel's unit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bondloop.errors import InputError

HIGHEST_POWER = 9
"""Of a polynomial; more of them swing between the points that they were fitted to."""
MOST_POINTS = 256
"""Of a table: a search in it takes eight steps at most."""


@dataclass(frozen=True)
class Calibration:
    """From raw values to values in SI units, both ways.

    Parameters
    ----------
    values
        Of a table, at its points; or the coefficients of a polynomial, that of the power 0 first.
    points
        Raw values of the table, ascending; empty for a polynomial.

    Examples
    --------
    >>> Calibration((0.001, 0.005)).value(2.0)  # 1 mm at 0 V, 5 mm/V
    0.011
    >>> table = Calibration((0.0, 1.0, 4.0), points=(-1.0, 0.0, 1.0))
    >>> table.value(0.5), table.raw(2.5, -1.0, 1.0)
    (2.5, 0.5)
    """

    values: tuple[float, ...]
    points: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not np.isfinite((*self.values, *self.points)).all():
            raise InputError("expected finite numbers in a calibration")
        if self.points:
            if len(self.points) != len(self.values) or not 2 <= len(self.points) <= MOST_POINTS:
                raise InputError(
                    f"expected a table of 2 to {MOST_POINTS} points, a raw value and a value each; found "
                    f"{len(self.points)} and {len(self.values)}"
                )
            if (np.diff(self.points) <= 0).any():
                raise InputError("the raw values of a table must rise from point to point")
        elif not 1 <= len(self.values) <= HIGHEST_POWER + 1:
            raise InputError(
                f"expected 1 to {HIGHEST_POWER + 1} coefficients of a polynomial; found {len(self.values)}"
            )

    @property
    def is_linear(self) -> bool:
        """Whether it is an offset and a gain."""
        return not self.points and len(self.values) == 2

    def value(self, raw: float) -> float:
        """Return the value of a raw one, which is within the range."""
        if self.points:
            return float(np.interp(raw, self.points, self.values))
        return float(np.polynomial.polynomial.polyval(raw, self.values))

    def is_monotone(self, low: float, high: float) -> bool:
        """Whether values rise, or fall, through all of a range of raw values: then there is a way back.

        Parameters
        ----------
        low, high
            The range; infinite ones are refused but for a straight line.
        """
        is_straight = self.points or self.is_linear
        if not is_straight and not np.isfinite((low, high)).all():
            return False
        return self.turn(low, high) is None

    def turn(self, low: float, high: float) -> tuple[float, float] | None:
        """Return raw values between which values do not go on as they did; None where they do all the way.

        Parameters
        ----------
        low, high
            The range, which is finite for a polynomial.

        Examples
        --------
        >>> Calibration((0.0, 2.0, 1.0, 4.0), points=(0.0, 1.0, 2.0, 3.0)).turn(0.0, 3.0)
        (1.0, 2.0)
        >>> Calibration((0.0, 0.0, 1.0)).turn(-1.0, 1.0)  # a parabola
        (0.0, 0.0)
        """
        if self.points:
            steps = np.diff(self.values) * (1.0 if self.values[-1] >= self.values[0] else -1.0)
            wrong = np.flatnonzero(~(steps > 0))
            return None if not len(wrong) else (self.points[wrong[0]], self.points[wrong[0] + 1])
        if len(self.values) < 2 or not any(self.values[1:]):
            return (0.0, 0.0)
        if self.is_linear:
            return None
        slope = np.polynomial.polynomial.polyder(self.values)
        # In units of the range, where a coefficient shows what it matters: a tiny one of a high power would
        # only spoil the roots.
        size = max(abs(low), abs(high))
        share = np.abs(slope) * size ** np.arange(len(slope))
        matters = np.flatnonzero(share > 1e-13 * share.max()) if share.max() > 0 else np.array([0])
        slope = slope[: matters[-1] + 1]
        turns = np.polynomial.polynomial.polyroots(slope) if len(slope) > 1 else np.array([])
        real = turns.real[np.abs(turns.imag) <= 1e-9 * (1 + np.abs(turns.real))]
        inside = real[(real >= low) & (real <= high)]
        if len(inside):
            where = float(inside[0]) + 0.0  # not -0
            return where, where
        return None if self.value(low) != self.value(high) else (low, high)

    def raw(self, value: float, low: float, high: float) -> float:
        """Return the raw value of a value; NaN where there is none in the range.

        Parameters
        ----------
        value
            In SI units.
        low, high
            The range of raw values, in which the calibration is monotone.
        """
        if self.is_linear:
            found = (value - self.values[0]) / self.values[1]
            return found if low <= found <= high else float("nan")
        rises = self.value(high) > self.value(low)
        least, most = sorted((self.value(low), self.value(high)))
        if not least <= value <= most:
            return float("nan")
        if self.points:
            rising = slice(None) if rises else slice(None, None, -1)
            return float(np.interp(value, self.values[rising], self.points[rising]))
        for _ in range(64):
            middle = low + 0.5 * (high - low)
            low, high = (middle, high) if (self.value(middle) < value) == rises else (low, middle)
        return low + 0.5 * (high - low)

    def describe(self) -> dict[str, list[float]]:
        """Return it as data, in SI units."""
        if self.points:
            return {"points": list(self.points), "values": list(self.values)}
        return {"coefficients": list(self.values)}
