"""Ground motions in plain text or CSV: a column of times, and one or more of accelerations."""

from __future__ import annotations

import os
import re
from pathlib import Path

from bondloop.errors import InputError, unknown_name
from bondloop.measurements.faults import refuse
from bondloop.measurements.text_table import read_table
from bondloop.records.ground_motion import GroundMotion
from bondloop.records.motion_units import UNSAID, even_period, factor_of, header_units, plausible, seconds_in

__all__ = ["read_two_columns"]


def read_two_columns(
    path: str | os.PathLike[str],
    unit: str | None = None,
    *,
    time_unit: str | None = None,
    column: int | str | None = None,
) -> GroundMotion:
    r"""Read times and accelerations from columns, parted by space, comma, semicolon or tab.

    Lines before the first numbers, and lines that start with ``#`` or ``%``, are the header. Units that it
    gives count, in brackets or as the last word of a column's name, ``time [ms], acc [g]``,
    ``time_ms,acc_g``; ``g`` is gravity there, not gram. Where it gives none, you have to say that of
    the acceleration; times are in s then, unless samples would be more than 0.1 s apart.

    Parameters
    ----------
    path
        Of the file.
    unit, time_unit
        Of the acceleration and the time; refused where the header says otherwise.
    column
        Which acceleration, where there are more columns than two: by number, the time being 0, or by its name
        in the header.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> file = Path(tempfile.mkdtemp()) / "kobe.csv"
    >>> _ = file.write_text("time [ms],acc [g]\n0,0.0\n20,0.5\n40,-0.1\n")
    >>> motion = read_two_columns(file)
    >>> motion.sample_period, motion.peak
    (0.02, 4.903325)
    """
    table = read_table(path, names=False, width=2 if column is None else None)
    where = str(path)
    faults: list[str] = []
    place = 1 if column is None else _place(column, table.remarks, len(table.numbers), where)
    if table.numbers.shape[1] < 2:
        raise InputError(f"{where}: {table.numbers.shape[1]} lines with numbers; at least 2 are needed")
    said = header_units(table.remarks, [0, place], faults, len(table.numbers))
    if not (unit or said[1] or faults):
        header = f"the header {table.remarks[-1][:60]!r} names none" if table.remarks else "it has no header"
        faults.append(f"the unit of the acceleration is not known: {header}; {UNSAID}")
    factors = []
    for what, mine, theirs, convert, otherwise in (
        ("time", time_unit, said[0], seconds_in, "s"),
        ("acceleration", unit, said[1], factor_of, "m/s^2"),
    ):
        factor = 1.0
        try:
            factor = convert(mine or theirs or otherwise)
            if mine and theirs and convert(theirs) != factor:
                faults.append(
                    f"the {what} is in {theirs} by its header, in {mine} by what you say; which is it?"
                )
        except InputError as error:
            faults.append(
                f"the {what}: {error}" + ("" if mine else "; give the unit yourself, if that is none")
            )
        factors.append(factor)
    refuse(where, faults)
    time, values = table.numbers[0] * factors[0], table.numbers[place] * factors[1]
    columns_alone = len(table.remarks) == 1 and any(said)
    title = table.remarks[0].lstrip("#% ") if table.remarks and not columns_alone else Path(path).stem
    motion = GroundMotion(values, even_period(time, where), title, table.remarks)
    return plausible(motion, where, time_said=bool(time_unit or said[0]))


def _place(column: int | str, remarks: tuple[str, ...], count: int, where: str) -> int:
    """Return the number of a column that is given by number or by name."""
    if isinstance(column, str):
        line = remarks[-1].lstrip("#% ") if remarks else ""
        parted = re.split(r"[,;\t]", line) if re.search(r"[,;\t]", line) else line.split()
        names = [re.sub(r"[\[(].*", "", cell).strip().strip('"').strip() for cell in parted]
        if column not in names[1:]:
            raise InputError(unknown_name("column", column, names[1:], where=where))
        column = names.index(column)
    if isinstance(column, bool) or not 1 <= column < count:
        raise InputError(f"{where}: column {column} of {count}; expected 1 to {count - 1}, the time being 0")
    return column
