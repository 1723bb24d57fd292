"""What a file of measurements holds, before anybody says what it is for; all its faults are said at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

LISTED_FAULTS = 12
"""Faults that are listed one by one; the others are counted."""


def refuse(where: str, faults: Sequence[str]) -> None:
    """Raise one `InputError` that lists all the faults; do nothing when there are none.

    Examples
    --------
    >>> refuse("run.h5", [])
    >>> refuse("run.h5", ["no dataset 'time'", "no dataset 'description'"])
    Traceback (most recent call last):
    bondloop.errors.InputError: run.h5: 2 faults: no dataset 'time'; no dataset 'description'
    """
    if not faults:
        return
    if len(faults) == 1:
        raise InputError(f"{where}: {faults[0]}")
    more = f"; and {len(faults) - LISTED_FAULTS} more" if len(faults) > LISTED_FAULTS else ""
    raise InputError(f"{where}: {len(faults)} faults: " + "; ".join(faults[:LISTED_FAULTS]) + more)


@dataclass(eq=False, repr=False)
class Measurements:
    """Columns of numbers with their names and units, and whatever else a file says of them.

    Parameters
    ----------
    source
        The file, for messages.
    kind
        What kind of file it is, in words.
    channels
        The columns by name, time among them; NaN where a value is missing. Lengths may differ.
    units
        Of each channel as text; empty where the file says none.
    numbers
        Single numbers, such as a sample rate.
    texts
        What else the file says, such as the operator.
    clock
        Seconds since the first sample by a column of clock times, where there is one.
    lines
        Numbers of the lines on which the samples stand, of a text file.
    notes
        What is noteworthy about the reading, in sentences.

    Examples
    --------
    >>> found = Measurements("rig.csv", "text", {"x": np.zeros(3)}, {"x": "mm"})
    >>> found
    <Measurements: text, 1 channel: x>
    """

    source: str
    kind: str
    channels: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    clock: NDArray[np.float64] | None = None
    notes: list[str] = field(default_factory=list)
    lines: Sequence[int] = ()

    def __repr__(self) -> str:
        names = ", ".join(list(self.channels)[:6]) + (", ..." if len(self.channels) > 6 else "")
        plural = "" if len(self.channels) == 1 else "s"
        return f"<Measurements: {self.kind}, {len(self.channels)} channel{plural}: {names}>"

    def __iter__(self) -> Iterator[str]:
        return iter(self.channels)

    def place(self, sample: int) -> str:
        """Return where a sample stands, for a message.

        Parameters
        ----------
        sample
            Its number, from 0.
        """
        return f"line {self.lines[sample]}" if sample < len(self.lines) else f"sample {sample}"

    def take(self, name: str, value: object, unit: str = "") -> None:
        """Keep a value if it is a number or a column of numbers; tables become a channel for each column.

        A table with more columns than rows has its channels in the rows, which is noted.

        Parameters
        ----------
        name
            Of the value; the columns of a table are counted from 1.
        value
            Anything; what holds no real numbers is left out.
        unit
            Of the numbers.
        """
        array = np.asarray(value)
        if array.dtype.kind == "c" or (array.dtype.kind in "fiub" and np.squeeze(array).ndim > 2):
            what = "complex numbers" if array.dtype.kind == "c" else f"{np.squeeze(array).ndim} dimensions"
            self.notes.append(f"'{name}' was left out: it has {what}")
        if array.dtype.kind not in "fiub" or array.size == 0:
            return
        array = np.squeeze(array.astype(np.float64))
        if array.ndim == 0:
            self.numbers[name] = float(array)
        elif array.ndim == 1:
            self.channels[name], self.units[name] = array, unit
        elif array.ndim == 2:
            rows, columns = array.shape
            table = array if rows >= columns else array.T
            if rows <= columns:
                taken = (
                    "rows were taken for channels"
                    if rows < columns
                    else "columns were taken for channels, not its rows"
                )
                self.notes.append(f"'{name}' has {rows} rows and {columns} columns; its {taken}")
            for number, column in enumerate(table.T, 1):
                self.channels[f"{name}.{number}"], self.units[f"{name}.{number}"] = column, unit

    def parts(self) -> tuple[dict[str, object], list[NDArray[np.float64]]]:
        """Return it as what JSON can say, and columns: for another process.

        Examples
        --------
        >>> found = Measurements("rig.npz", "NumPy archive", {"x": np.ones(3)}, {"x": "mm"}, {"rate": 100.0})
        >>> head, columns = found.parts()
        >>> again = Measurements.from_parts(head, b"".join(c.tobytes() for c in columns))
        >>> again.channels["x"].tolist(), again.units, again.numbers
        ([1.0, 1.0, 1.0], {'x': 'mm'}, {'rate': 100.0})
        """
        sizes = [values.size for values in self.channels.values()]
        told = {word: getattr(self, word) for word in ("source", "kind", "numbers", "texts", "notes")}
        units = {name: self.units.get(name, "") for name in self.channels}
        return {**told, "units": units, "sizes": sizes}, list(self.channels.values())

    @classmethod
    def from_parts(cls, head: Mapping[str, Any], body: bytes | bytearray) -> Measurements:
        """Return what `parts` has told of.

        Parameters
        ----------
        head
            What it said.
        body
            Its columns, one after the other, as in memory.
        """
        sizes, path = [int(size) for size in head["sizes"]], head["source"]
        numbers = np.frombuffer(body, "<f8")
        if numbers.size != sum(sizes):
            raise InputError(
                f"{path} is damaged: the process that read it sent {numbers.size:,} numbers only"
            )
        columns = np.split(numbers.copy(), np.cumsum(sizes)[:-1]) if sizes else []
        units = dict(head["units"])
        channels = dict(zip(units, columns, strict=True))
        return cls(path, head["kind"], channels, units, head["numbers"], head["texts"], notes=head["notes"])
