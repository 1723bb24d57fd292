"""Times and values of a signal from a file of measurements, with every fault reported at once."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop.data.described import number
from bondloop.errors import AccuracyWarning, InputError, unknown_name
from bondloop.measurements import read_measurements, sampling_of
from bondloop.measurements.faults import refuse
from bondloop.measurements.headings import unit_meant
from bondloop.measurements.sampling import (
    NoTimeError,
    increases_in_seconds,
    is_time_name,
    rate_notes,
    unit_in_name,
)
from bondloop.units import is_of_kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.measurements import Measurements

    Array = NDArray[np.float64]

__all__ = ["read_signal"]


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
        A file of any kind that `bondloop.measurements.read_measurements` reads.
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
    meant = unit_meant(said) if said else ""
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
