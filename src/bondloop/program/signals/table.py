"""Tabulated signals: times and values, from arrays or from a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.data.described import common_unit, number
from bondloop.data.ranges import each_number
from bondloop.errors import InputError, one_or_all
from bondloop.program.signals.base import Signal
from bondloop.program.signals.columns import read_signal
from bondloop.units import known_unit, multiplied, si_unit, unit_in

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from scipy.interpolate import CubicSpline

__all__ = ["Table", "checked_column"]

_DERIVATIVES = {"hold": 0, "linear": 1, "cubic": 3}


@dataclass(frozen=True, eq=False)
class Table(Signal):
    """A signal through given points.

    Parameters
    ----------
    times, values
        Increasing seconds, and values in SI; or texts with units, such as ``"5 mm"``.
    interpolation
        ``"linear"``; ``"cubic"``, a spline with continuous second derivative; ``"hold"``, the last value.
    beyond
        Before the first and after the last point: ``"hold"`` their values, or ``"zero"``.
    unit
        What the values measure, such as ``"m/s^2"`` for an acceleration: what it drives must measure that.
        The values are in SI, whatever the prefix. Empty where it is not said.

    Examples
    --------
    >>> table = Table([0, 1, 3], [0, 2, 0])
    >>> table([0.5, 2.0, 9.0]).tolist()
    [1.0, 1.0, 0.0]
    >>> table.derivative()([0.5, 2.0]).tolist()
    [2.0, -1.0]
    >>> Table(["0 ms", "500 ms"], ["0 mm", "2 mm"]).values.tolist()
    [0.0, 0.002]
    """

    times: Any
    values: Any
    interpolation: str = "linear"
    beyond: str = "hold"
    unit: str = ""

    def __post_init__(self) -> None:
        known_unit(self.unit, "Table(unit)")
        faults: list[str] = []
        times, _ = _read(self.times, "times", "s", faults)
        values, unit = _read(self.values, "values", self.unit, faults)
        if faults:
            raise one_or_all("Table", faults)
        object.__setattr__(self, "times", checked_column(times, "Table(times)"))
        object.__setattr__(self, "values", checked_column(values, "Table(values)"))
        object.__setattr__(self, "unit", unit)
        if len(self.times) != len(self.values):
            raise InputError(f"Table: {len(self.times)} times but {len(self.values)} values")
        steps = np.diff(self.times)
        if np.any(steps <= 0):
            i = int(np.argmax(steps <= 0))
            raise InputError(
                f"Table(times): expected increasing times; entry {i + 1} is {self.times[i + 1]:g} s "
                f"after {self.times[i]:g} s"
            )
        for name, allowed in (("interpolation", list(_DERIVATIVES)), ("beyond", ["hold", "zero"])):
            if getattr(self, name) not in allowed:
                expected = " or ".join(map(repr, allowed))
                raise InputError(f"Table({name}): expected {expected}; found {getattr(self, name)!r}")

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        column: int | str | None = None,
        time: int | str | None = None,
        step: float | str | None = None,
        unit: str = "",
        time_unit: str = "",
        interpolation: str = "linear",
        beyond: str = "hold",
    ) -> Table:
        """Read a signal from a file of measurements: text, LVM, MATLAB, HDF5 (a run), TDMS, MDF, Parquet.

        Parameters
        ----------
        path
            The file; see `bondloop.measurements.read_measurements`. Text may be without names.
        column
            The values, by name or by number from 0 among the columns of numbers; unless given, the first
            that is not the time.
        time
            The times, as for ``column``; unless given, a column called time or the like, the rate that the
            file states, or the first column.
        step
            Seconds between values, for a file without times.
        unit, time_unit
            Units of the columns, such as ``"mm"`` and ``"ms"``; unless given, those that the file states, SI
            where it states none.
        interpolation, beyond
            As for the class.
        """
        h = None if step is None else number(step, "Table.from_file(step)", "s")
        if h is not None and h <= 0:
            raise InputError(f"Table.from_file(step): expected a time above 0; found {h:g}")
        times, values, said = read_signal(Path(path), column, time, h, unit, time_unit)
        return cls(times, values, interpolation, beyond, said)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return (
            np.array_equal(self.times, other.times)
            and np.array_equal(self.values, other.values)
            and (self.interpolation, self.beyond, self.unit)
            == (other.interpolation, other.beyond, other.unit)
        )

    def __hash__(self) -> int:
        return hash((self.times.tobytes(), self.values.tobytes(), self.interpolation, self.beyond))

    @property
    def duration(self) -> float:
        """The last time."""
        return float(self.times[-1])

    @property
    def smoothness(self) -> float:
        """Of the interpolant between the ends: hold 0, linear 1, cubic 3."""
        return _DERIVATIVES[self.interpolation]

    def derivative(self) -> Signal:
        """Return the derivative of the interpolant, zero beyond its ends; a linear one has a table of it."""
        if self.interpolation != "linear":
            return super().derivative()
        unit = multiplied(self.unit, "s", -1) if self.unit else ""
        if len(self.times) == 1:
            return Table(self.times, [0.0], "hold", "zero", unit)
        slopes = np.diff(self.values) / np.diff(self.times)
        return Table(self.times, [*slopes, slopes[-1]], "hold", "zero", unit)

    @cached_property
    def _spline(self) -> CubicSpline:
        from scipy.interpolate import CubicSpline

        return CubicSpline(self.times, self.values)

    def _values(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        inside = np.clip(times, self.times[0], self.times[-1])
        if self.interpolation == "hold" or len(self.times) == 1:
            result = self.values[np.searchsorted(self.times, inside, side="right") - 1]
        elif self.interpolation == "linear":
            result = np.interp(inside, self.times, self.values)
        else:
            result = self._spline(inside)
        return np.asarray(result if self.beyond == "hold" else np.where(inside == times, result, 0.0))

    def _derivatives(self, times: NDArray[np.float64], order: int) -> NDArray[np.float64]:
        if self.interpolation == "linear" or len(self.times) == 1:
            return Table(self.times, self.values).derivative()._values(times)
        inside = np.clip(times, self.times[0], self.times[-1])
        return np.where(inside == times, self._spline(inside, order), 0.0)


def _read(given: Any, name: str, unit: str, faults: list[str]) -> tuple[Any, str]:
    """Return a column with its texts read, and what it measures: the unit, or that of its texts."""
    if not isinstance(given, (list, tuple)) or not any(isinstance(x, str) for x in given):
        return given, unit
    refused = len(faults)
    values = each_number(given, "Table", name, [unit] if unit else [], faults)
    if unit or len(faults) > refused:
        return values, unit
    units = {f"Table({name}[{i}])": unit_in(x) for i, x in enumerate(given) if isinstance(x, str)}
    try:
        return values, si_unit(common_unit({where: u for where, u in units.items() if u}))
    except InputError as error:
        faults.append(str(error))
        return values, unit


def checked_column(given: ArrayLike, what: str) -> NDArray[np.float64]:
    """Return a list of finite numbers as an array that cannot be written to.

    Parameters
    ----------
    given
        The numbers.
    what
        What they are, for the message.
    """
    try:
        column = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{what}: expected a list of numbers; found {given!r:.60}") from None
    if column.ndim != 1 or not len(column):
        raise InputError(f"{what}: expected a list of at least one number; found shape {column.shape}")
    if not np.all(np.isfinite(column)):
        i = int(np.argmin(np.isfinite(column)))
        raise InputError(f"{what}: expected finite numbers; entry {i} is {column[i]}")
    column.setflags(write=False)
    return column
