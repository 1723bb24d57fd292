"""Studies: a test over a grid of options and parameters."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import brief, telling
from bondloop.display.html import notebook, paragraph, table
from bondloop.errors import BondloopError, InputError
from bondloop.studies.measures import Case

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.studies.axis import Axis

__all__ = ["Study", "study"]

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
