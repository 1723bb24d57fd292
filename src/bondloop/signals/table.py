"""Tabulated signals: times and values, from arrays or from a file."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.analysis.simulation import checked_column
from bondloop.engine.data import common_unit, each_number, number
from bondloop.errors import AccuracyWarning, InputError, one_or_all, unknown_name
from bondloop.readers import (
    NoTimeError,
    increases_in_seconds,
    is_time_name,
    normalised_unit,
    rate_notes,
    read_measurements,
    refuse,
    sampling_of,
    unit_in_name,
)
from bondloop.signals.base import Signal
from bondloop.units import is_of_kind, known_unit, multiplied, si_unit, unit_in

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.interpolate import CubicSpline

    from bondloop.readers import Measurements

    Array = NDArray[np.float64]


def read_signal(
    path: Path,
    column: int | str | None,
    time: int | str | None,
    step: float | None,
    unit: str,
    time_unit: str,
) -> tuple[Array, Array, str]:
    """Return times [s], values in SI and the unit that they were in; what is noteworthy is warned of.

    Parameters
    ----------
    path
        A file of any kind that `bondloop.readers.read_measurements` reads.
    column, time, step, unit, time_unit
        As for `Table.from_file`.
    """
    if path.suffix.lower() == ".at2":
        raise InputError(f"{path}: AT2 ground motions are not read here; convert the file to columns")
    found = read_measurements(path, nameless=True)
    if not any(values.size for values in found.channels.values()):
        raise InputError(f"{path}: a header but no numbers")
    stamps, name, notes = _times(found, time, step, time_unit)
    others = [n for n in found.channels if n != name and not (step and _is_time(found, n))]
    if column is None and not others:
        words = "only one column; expected times and values, or give step"
        if step:
            words = (
                f"only '{next(iter(found.channels))}', the time; expected values, or name them (column='...')"
            )
        raise InputError(f"{path}: {words}")
    chosen = others[0] if column is None else _name(found, column)
    if chosen == name:
        raise InputError(
            f"{path}: '{chosen}' was taken for the time, and cannot be the values too; name the column of "
            "the times (time='...'), or give step"
        )
    raw = found.channels[chosen]
    times: Array = np.arange(float(raw.size)) * (step or 0.0) if stamps is None else stamps
    _refuse_bad(found, {} if stamps is None else {name or "time": times}, {chosen: raw})
    unit = _settled(unit, found.units[chosen], f"{path}: '{chosen}'")
    for note in (*found.notes, *notes):
        warnings.warn(f"{path}: {note}", AccuracyWarning, stacklevel=3)
    return times, raw * number(f"1 {unit}", str(path)), unit


def _times(
    found: Measurements, time: int | str | None, step: float | None, time_unit: str
) -> tuple[Array | None, str | None, tuple[str, ...]]:
    """Return the times, the name of their column, neither where the step tells, and what is noteworthy."""
    if step is not None:
        return None, None, ()
    name = None if time is None else _name(found, time)
    notes: tuple[str, ...] = ()
    if name is None:
        try:
            sampling = sampling_of(found, compared=not time_unit)
        except NoTimeError:
            name = next(iter(found.channels))
        else:
            name, notes = sampling.name, sampling.notes
            if sampling.stamps is not None and (name is None or not time_unit):
                return sampling.stamps, name, notes
            if name is None:
                assert sampling.rate is not None  # neither a column nor a clock tells
                size = next(iter(found.channels.values())).size
                return np.arange(float(size)) / sampling.rate, None, notes
    unit = _settled(time_unit, found.units[name], f"{found.source}: the time '{name}'")
    unit = unit or unit_in_name(name) or "s"
    if not is_of_kind(f"1 {unit}", "s"):
        raise InputError(
            f"{found.source}: '{name}' is in {unit}, which is no time; name the column of the times "
            "(time='...'), or give step"
        )
    stamps = found.channels[name] * number(f"1 {unit}", found.source)
    return stamps, name, (*notes, *rate_notes(found, name, stamps, unit_given=bool(time_unit)))


def _is_time(found: Measurements, name: str) -> bool:
    """Whether a column is the time, by its name or by what it holds: no values to be played."""
    return is_time_name(name.rsplit(".", 1)[-1]) or increases_in_seconds(found, name)


def _name(found: Measurements, wanted: int | str) -> str:
    """Return the name of a column that is given by name, or by number from 0."""
    names = list(found.channels)
    if isinstance(wanted, str):
        if wanted not in names:
            raise InputError(unknown_name("column", wanted, names, where=found.source))
        return wanted
    if wanted < 0:
        raise InputError(f"{found.source}: columns are counted from 0; found {wanted}")
    if wanted >= len(names):
        plural = "s" if len(names) != 1 else ""
        raise InputError(f"{found.source}: {len(names)} column{plural}, but column {wanted} is wanted")
    return names[wanted]


def _settled(given: str, said: str, what: str) -> str:
    """Return the unit: the one given, which must not contradict the file's; or the file's."""
    meant = normalised_unit(said) if said else ""
    if given:
        meanings = ("g", "gn") if meant == "g" else (meant,)
        if meant and number(f"1 {given}", what) not in [number(f"1 {unit}", what) for unit in meanings]:
            raise InputError(f"{what} is in {said} by the file, in {given} by what you say; which is it?")
        return given
    if meant == "g":
        raise InputError(f"{what} is in g: of gravity or grams? say unit='gn' or unit='g'")
    if meant is None:
        raise InputError(f"{what} is in {said!r}, which is no unit that is known; say unit='...'")
    return meant


def _refuse_bad(found: Measurements, times: dict[str, Array], values: dict[str, Array]) -> None:
    """Refuse what is missing or not finite, times that do not increase, and columns of different lengths."""
    faults: list[str] = []
    for name, column in (times | values).items():
        bad = np.flatnonzero(~np.isfinite(column)).tolist()
        faults += [f"{found.place(at)}: '{name}' is {column[at]:g}, not a finite number" for at in bad]
    for column in times.values():
        for at in np.flatnonzero(np.diff(column) <= 0):
            words = f"time {column[at + 1]:g} s does not come after {column[at]:g} s"
            faults.append(f"{found.place(int(at) + 1)}: {words}")
        for name, other in values.items():
            if other.size != column.size:
                faults.append(f"'{name}' has {other.size} samples, its time {column.size}")
    refuse(found.source, faults)


_INTERPOLATIONS = ("hold", "linear", "cubic")


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
        for name, allowed in (("interpolation", _INTERPOLATIONS), ("beyond", ("hold", "zero"))):
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
            The file; see `bondloop.readers.read_measurements`. Text may be without names.
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
    def steady_from(self) -> float:
        """The last time."""
        return self.duration

    @property
    def smoothness(self) -> float:
        """Of the interpolant between the ends: hold 0, linear 1, cubic 3."""
        return {"hold": 0, "linear": 1, "cubic": 3}[self.interpolation]

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
