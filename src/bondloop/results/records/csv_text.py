"""Records as tables of text, ``time [s],m3.v.flow [m/s],...``: what channels are, their names tell."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.ir import Meaning, Role
from bondloop.errors import InputError
from bondloop.readers import heading, number_in, read_table, refuse
from bondloop.results.records.columns import Content
from bondloop.results.records.replacement import replacing
from bondloop.units import quantity

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from bondloop.results.records.record import Record


_KINDS = {
    "displacement": "displacement", "velocity": "flow", "force": "effort", "power": "power",
    "flow": "flow", "effort": "effort", "momentum": "momentum",
}  # fmt: skip
_ROLES = {
    "desired": Role.DESIRED,
    "actual": Role.ACTUAL,
    "measured": Role.MEASURED,
    "synchronisation": Role.ERROR,
    "error": Role.ERROR,
}
_INTERFACE = re.compile(
    r"(?:(desired|actual|measured|synchronisation|error|reference)\.)?(displacement|velocity|force)(?:\[(\d+)\])?"
)
_COMMAND = re.compile(r"command(?:\[(\d+)\])?")
_BEFORE = ("desired.", "", "numerical.", "rig.specimen.")
"""What stood before the name of a channel with which the reference was compared."""


def meanings_from_names(units: Mapping[str, str]) -> dict[str, Meaning]:
    """Return what channels are, as far as their names say.

    Parameters
    ----------
    units
        Of all channels by name.

    Examples
    --------
    >>> meanings = meanings_from_names({"desired.velocity[1]": "m/s", "controller.K[0]": ""})
    >>> meanings["desired.velocity[1]"]
    Meaning(role=<Role.DESIRED: 'desired'>, quantity='velocity', kind='flow', interface=1, counterpart='')
    >>> meanings["controller.K[0]"].role
    <Role.GAIN: 'gain'>
    """
    several = any(name.endswith("[1]") and _INTERFACE.fullmatch(name) for name in units)
    return {name: _meaning(name, units, 0 if not several else None) for name in units}


def _meaning(name: str, units: Mapping[str, str], only: int | None) -> Meaning:
    last = re.sub(r"\[\d+\]$", "", name.rpartition(".")[2])
    kind = _KINDS.get(last, "")
    at_interface, command = _INTERFACE.fullmatch(name), _COMMAND.fullmatch(name)
    found = at_interface or command
    index = None if found is None else found.groups()[-1]
    number = (only if index is None else int(index)) if found is not None else None
    if command is not None:
        return Meaning(Role.COMMAND, interface=number)
    if at_interface is not None and at_interface[1] != "reference" and (at_interface[1] or last == "force"):
        return Meaning(_ROLES.get(at_interface[1], Role.ACTUAL), last, kind, number)
    if name.startswith("reference."):
        rest = name.removeprefix("reference.")
        ours = (start + rest for start in _BEFORE)
        pair = next((n for n in ours if n in units and units[n] == units[name]), "")
        return Meaning(Role.REFERENCE, "", kind, number, pair)
    starts = {
        "controller.K": Role.GAIN,
        "switch.": Role.SAFETY,
        "interlock.": Role.SAFETY,
        "excitation.": Role.EXCITATION,
    }
    role = next((r for start, r in starts.items() if name.startswith(start)), Role.OTHER)
    return Meaning(role, "", kind)


def write_csv(record: Record, path: str | os.PathLike[str], numbers_at_once: int = 2**16) -> None:
    """Write a record as CSV; numbers are the shortest that read back to the same float64."""
    header = ["time [s]", *(_heading(name, record.units[name]) for name in record.channels)]
    columns = [record.time, *record.channels.values()]
    step = max(1, numbers_at_once // len(columns))
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerow(header)
        for first in range(0, len(record), step):
            rows = np.column_stack([values[first : first + step] for values in columns]).tolist()
            # A list of lists writes itself, [[0.0, 1.5], [0.1, 2.0]], in one go: csv.writer would look at
            # each number for what it might have to quote. What is left is the way from a float to its digits.
            file.write(str(rows)[2:-2].replace("], [", "\n").replace(", ", ",") + "\n")


def read_csv(path: str | os.PathLike[str]) -> Content:
    """Read a table: a header of ``name [unit]``, time in the first column; commas, semicolons or tabs.

    An empty cell is NaN, a line that begins with ``#`` or ``%`` a comment. A time in another unit
    (``time [ms]``) is converted to seconds. Every line that cannot be read is reported.
    """
    names, units, table = named_columns(path)
    try:
        factor = quantity(f"1 {units[0]}") if units[0] else 1.0
        time = table[0] if factor == 1.0 else table[0] * factor
        channels = dict(zip(names[1:], table[1:], strict=True))
        given = dict(zip(names[1:], units[1:], strict=True))
        meanings = meanings_from_names(given)
        return Content(time, channels, given, {}, {"source": str(path)}, meanings)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def named_columns(path: str | os.PathLike[str]) -> tuple[list[str], list[str], NDArray[np.float64]]:
    """Return names, units and numbers of a table with a header, one row of the array a column of the file."""
    table = read_table(path, names=True)
    names, units = _header(table.names, str(path))
    return names, units, table.numbers


def _heading(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit or heading(name) != (name, "") else name


def _header(cells: Sequence[str], path: str) -> tuple[list[str], list[str]]:
    names, units, faults = [], [], []
    for number, cell in enumerate(cells, 1):
        name, unit = heading(cell)
        names.append(name)
        units.append(unit)
        if not names[-1]:
            faults.append(f"column {number} has no name")
        elif names[-1] in names[1:-1]:
            faults.append(f"the name '{names[-1]}' stands twice in the header")
    if all(number_in(cell, None) is not None for cell in cells):
        faults = ["the first line holds numbers; a header such as 'time [s],x [m]' was expected"]
    refuse(path, faults)
    return names, units
