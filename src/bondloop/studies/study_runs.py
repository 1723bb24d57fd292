"""Studies: a test over a grid of options and parameters."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import brief, notebook, paragraph, table, telling
from bondloop.errors import BondloopError, InputError
from bondloop.studies.measures import Case
from bondloop.units import dimension, quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray


_NUMBER = r"^\s*[-+]?[\d.]+([eE][-+]?\d+)?"


@dataclass(frozen=True)
class Axis:
    """An option or parameter with the values it takes.

    Parameters
    ----------
    name
        An argument of the test's function, ``"sub_steps"``, or the path of a parameter, ``"scheme.P"``.
    values
        Texts as ``--set`` takes them: numbers, with units or without, or words.

    Examples
    --------
    >>> Axis("time_step", ("1 ms", "2 ms")).numbers
    (0.001, 0.002)
    """

    name: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        values = tuple(str(v) for v in self.values)
        object.__setattr__(self, "values", values)
        if not values:
            raise InputError(f"{self.name}: no values to vary over")
        if len(set(values)) < len(values):
            raise InputError(f"{self.name}: a value is given twice in {', '.join(values)}")
        if self.numbers is not None:
            _one_kind(self.name, values)

    @property
    def numbers(self) -> tuple[float, ...] | None:
        """The values as numbers; None where one is a word."""
        try:
            return tuple(quantity(v) for v in self.values)
        except InputError:
            return None


def axis_from(text: str) -> Axis:
    """Read ``name=1..12`` (whole numbers), ``name=0..1/5`` (five numbers, evenly spaced) or ``name=a,b,c``.

    Parameters
    ----------
    text
        As above. The unit of the last end is that of all values: ``name=0..4 mm/5``.

    Examples
    --------
    >>> axis_from("sub_steps=1..4").values
    ('1', '2', '3', '4')
    >>> axis_from("overshoot=-0.1..0.1/3").values
    ('-0.1', '0', '0.1')
    >>> axis_from("amplitude=500 um..1 mm/2").values
    ('0.5 mm', '1 mm')
    >>> axis_from("time_step=1 ms, 2 ms, 4 ms").values
    ('1 ms', '2 ms', '4 ms')
    """
    name, equals, given = (part.strip() for part in text.partition("="))
    if not equals or not name or not given:
        raise InputError(f"--vary takes NAME=VALUES, such as sub_steps=1..12 or P=0,-1; found {text!r}")
    if re.match(r"\w+\s*\(", given):
        raise InputError(f"{name}: {given} is a distribution; say how many tests to draw, --samples 1000")
    found = re.fullmatch(r"(?P<first>[^,]+?)\s*\.\.\s*(?P<last>[^,]+?)(?:\s*/\s*(?P<count>\d+))?", given)
    if found is None:
        values = [v.strip() for v in given.split(",")]
        if not all(values):
            raise InputError(f"{name}: a value is missing between the commas of {given!r}")
        return Axis(name, tuple(values))
    return Axis(name, tuple(_between(name, found["first"], found["last"], found["count"])))


def _one_kind(name: str, values: Sequence[str]) -> None:
    """Refuse units of different kinds; what a number without a unit measures, the test knows."""
    kinds = {kind: v for v in values if (kind := dimension(v)) is not None}
    if len(kinds) > 1:
        raise InputError(f"{name}: expected quantities of one kind; found {' and '.join(kinds.values())}")


def _between(name: str, first: str, last: str, count: str | None) -> Sequence[str]:
    """Return texts with the unit of the last end: what varies checks that it is one of its kind."""
    try:
        low, high = quantity(first), quantity(last)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    _one_kind(name, (first, last))
    if dimension(first) is not None and dimension(last) is None:
        raise InputError(f"{name}: expected the unit at the last end of {first}..{last}, or at both")
    unit = re.sub(_NUMBER, "", last).strip()
    scale = quantity(f"1 {unit}".strip())
    # Twelve digits: 0.3 mm over 1 mm is 0.3.
    high = float(f"{high / scale:.12g}")
    low = float(first) if dimension(first) is None else float(f"{low / scale:.12g}")
    return [f"{v} {unit}".strip() for v in _numbers(name, (low, high), (first, last), count)]


def _numbers(
    name: str, between: tuple[float, float], ends: tuple[str, str], count: str | None, most: int = 10_000
) -> Sequence[str]:
    (low, high), (first, last) = between, ends
    if high < low:
        raise InputError(f"{name}: expected the smaller end first; found {first}..{last}")
    if count is not None:
        if not 2 <= int(count) <= most:
            raise InputError(f"{name}: expected from 2 to {most} values; found {count}")
        return [f"{v:.12g}" for v in np.linspace(low, high, int(count))]
    if low % 1 or high % 1:
        raise InputError(
            f"{name}: {first}..{last} are not whole numbers; say how many values, {first}..{last}/11"
        )
    if high - low >= most:
        raise InputError(f"{name}: {first}..{last} are more than {most} values")
    return [str(v) for v in range(int(low), int(high) + 1)]


Make = Callable[[Mapping[str, str]], Case]


@dataclass(frozen=True)
class Study:
    """What was measured over a grid.

    Attributes
    ----------
    axes
        What was varied, in the order of the arrays' dimensions.
    measured
        An array for each measure; of bools where it says yes or no.
    """

    axes: tuple[Axis, ...]
    measured: dict[str, NDArray[Any]]

    __repr__ = brief

    def __getitem__(self, measure: str) -> NDArray[Any]:
        """Return the array of a measure."""
        return self.measured[measure]

    @property
    def cells(self) -> list[dict[str, float | str]]:
        """Every case as a dictionary of what was varied and what was measured."""
        found = []
        for place in itertools.product(*(range(len(a.values)) for a in self.axes)):
            cell: dict[str, float | str] = {}
            for axis, i in zip(self.axes, place, strict=True):
                cell[axis.name] = axis.numbers[i] if axis.numbers is not None else axis.values[i]
            cell.update({name: values[place].item() for name, values in self.measured.items()})
            found.append(cell)
        return found

    def panels(self) -> list[tuple[str, tuple[Any, ...]]]:
        """Two-dimensional parts by title: one for every combination of the third and later axes."""
        rest = self.axes[2:]
        found = []
        for place in itertools.product(*(range(len(a.values)) for a in rest)):
            title = ", ".join(f"{a.name} = {a.values[i]}" for a, i in zip(rest, place, strict=True))
            found.append((title, (..., *place) if place else (...,)))
        return found

    def __str__(self) -> str:
        return "\n\n".join(self._block(title, rows) for title, rows in self._tables())

    def _repr_html_(self) -> str:
        parts = []
        for title, (head, *rows) in self._tables():
            parts += [paragraph(title), table(head, rows, ["", *["number"] * (len(head) - 1)])]
        return notebook(f"Study over {', '.join(axis.name for axis in self.axes)}", parts)

    def _tables(self) -> Iterator[tuple[str, list[list[str]]]]:
        """Yield tables with their titles: the first axis across, the second one down."""
        for measure, values in self.measured.items():
            for title, place in self.panels():
                block = np.atleast_2d(values[place].T)
                yield measure + (f", {title}" if title else ""), self._lines(block)

    def _lines(self, rows: NDArray[Any]) -> list[list[str]]:
        first = self.axes[0]
        names = self.axes[1].values if len(self.axes) > 1 else ("",)
        corner = f"{self.axes[1].name} \\ {first.name}" if len(self.axes) > 1 else first.name
        lines = [[corner, *first.values]]
        return lines + [[name, *(shown(v) for v in row)] for name, row in zip(names, rows, strict=True)]

    @staticmethod
    def _block(title: str, lines: list[list[str]]) -> str:
        """Write a table."""
        widths = [max(len(line[j]) for line in lines) for j in range(len(lines[0]))]
        text = [
            "  ".join(
                c.ljust(w) if j == 0 else c.rjust(w)
                for j, (c, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        ]
        return "\n".join([title, *text])

    def save(self, path: str | Path) -> Path:
        """Save every case as a row of a CSV file.

        Parameters
        ----------
        path
            Where to write it, replacing what is there; it is returned.
        """
        target = Path(path)
        cells = self.cells
        with target.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(cells[0]))
            writer.writeheader()
            writer.writerows(cells)
        return target


def shown(value: float | np.bool_) -> str:
    """Write a measured value.

    >>> shown(np.bool_(True)), shown(0.14159), shown(1.0214), shown(3.2e7)
    ('yes', '0.142', '1.02', '3.2e+07')
    """
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "NO"
    return f"{float(value):.3g}"


@telling("rehearsing over the grid")
def study(
    make: Make,
    axes: Sequence[Axis],
    measures: Sequence[str],
    *,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Study:
    r"""Measure a test over a grid.

    Parameters
    ----------
    make
        Makes the case for given values, by name.
    axes
        What to vary, one to three.
    measures
        Names of measures: of `bondloop.studies.MEASURES`, or anything that the test finds.
    jobs
        Cases at a time, in threads: compilers and compiled runs wait for no one.
    progress
        Called with (cases done, cases in all).

    Examples
    --------
    >>> from bondloop.papers import bayer_substep
    >>> from bondloop.studies import Axis
    >>> def make(values):
    ...     return Case(bayer_substep.test(int(values["sub_steps"]), P=float(values["P"])), seconds=4.0)
    >>> print(study(make, [Axis("sub_steps", ("2", "9")), Axis("P", ("0", "-1"))], ["stable"]))
    stable
    P \ sub_steps    2    9
    0               NO  yes
    -1             yes  yes
    """
    if not 1 <= len(axes) <= 3:
        raise InputError(f"a study varies one, two or three things; found {len(axes)}")
    names = [a.name for a in axes]
    if len(set(names)) < len(names):
        raise InputError(f"each thing is varied once; found {', '.join(names)}")
    wanted = list(dict.fromkeys(measures))
    if not wanted:
        raise InputError("nothing to measure; name at least one measure, such as stable")
    grid = list(itertools.product(*(a.values for a in axes)))
    done = 0

    def case(values: Sequence[str]) -> list[float | bool]:
        nonlocal done
        chosen = dict(zip(names, values, strict=True))
        try:
            made = make(chosen)
            found = [made.measure(m) for m in wanted]
        except BondloopError as error:
            at = ", ".join(f"{k} = {v}" for k, v in chosen.items())
            raise type(error)(f"at {at}: {error}") from error
        done += 1
        if progress is not None:
            progress(done, len(grid))
        return found

    if jobs > 1:
        with ThreadPoolExecutor(jobs) as pool:
            results = list(pool.map(case, grid))
    else:
        results = [case(values) for values in grid]
    shape = tuple(len(a.values) for a in axes)
    measured = {m: np.array([r[i] for r in results]).reshape(shape) for i, m in enumerate(wanted)}
    return Study(tuple(axes), measured)
