"""One page that tells how a run went."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from bondloop.engine.ir import Role
from bondloop.errors import InputError
from bondloop.results.figures.axis_unit import labelled, scaled
from bondloop.results.figures.earthquake import draw_loops
from bondloop.results.figures.histories import draw_history
from bondloop.results.figures.layout import (
    COLOURS,
    ERROR,
    GREY,
    INK,
    REFERENCE,
    STYLE,
    dress,
    finish,
    heading,
    legend,
    page,
    plain,
)
from bondloop.results.figures.subspace_figure import draw_subspace
from bondloop.results.figures.thinning import drawable, envelope

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

    from bondloop.results.records.record import Record


Pairs = Mapping[str, Sequence[str]]


def overview(
    record: Record,
    pairs: Pairs,
    *,
    title: str = "",
    compared: Record | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw for every actuator its history, its error and its subspace plot; and what else is recorded of it.

    That is the velocity beside the reference's (the complete structure, computed beside the test), the force,
    and the force over the displacement.

    Parameters
    ----------
    record
        The run.
    pairs
        Desired and actual channel of each actuator, by its name.
    title
        Over the page; the status of a run that did not complete stands beneath it.
    compared
        The part of the record whose error and subspace plot are drawn; all of it if not given.
    path
        Where to save.

    Examples
    --------
    >>> import numpy as np
    >>> from bondloop.results import Record
    >>> t = np.linspace(0, 1, 101)
    >>> record = Record(t, {"z": np.sin(9 * t), "x": np.sin(9 * t - 0.1)}, {"z": "m", "x": "m"})
    >>> len(overview(record, {"actuator 1": ("z", "x")}).axes)
    3
    """
    checked(record, pairs)
    part = record if compared is None else compared
    blocks = [Block.of(record, label, *names) for label, names in pairs.items()]
    figure = page(0.35 + sum(block.height for block in blocks))
    heights = [height for block in blocks for height in block.heights]
    grid = figure.add_gridspec(len(heights), 2, width_ratios=(1.75, 1), height_ratios=heights)
    left: list[Axes] = []
    row = 0
    for block in blocks:
        left += block.draw(figure, grid, row, record, part)
        row += len(block.heights)
    figure.align_ylabels(left)
    status = str(record.attributes.get("status", "completed"))
    lines = [plain(title)] if title else []
    if status != "completed":
        message = str(record.attributes.get("message", ""))
        lines.append(plain(f"{status}: {message}" if message else status))
    if lines:
        text = "\n".join(part for line in lines for part in wrap(line, 80))
        colour = COLOURS[1] if status != "completed" else INK
        figure.suptitle(text, x=0.01, ha="left", fontsize=10, fontweight="bold", color=colour)
    return finish(figure, path)


@dataclass(frozen=True)
class Block:
    """What is drawn of one actuator.

    Attributes
    ----------
    label
        Its name.
    desired, actual
        Channels of its motion.
    reference
        Channel of the same motion in the reference, if it is recorded.
    rate
        Channels of the desired velocity and of the reference's, if these are recorded.
    force
        Channel of the force at it, if it is recorded.
    """

    label: str
    desired: str
    actual: str
    reference: str | None
    rate: tuple[str, str] | None
    force: str | None

    @classmethod
    def of(cls, record: Record, label: str, desired: str, actual: str) -> Block:
        """Find what is recorded at the interface of a desired channel."""
        if desired not in record.meanings:
            return cls(label, desired, actual, None, None, None)
        pairs = {record.meanings[n].counterpart: n for n in record.channels_of(Role.REFERENCE)}
        rate = record.at_interface(desired, Role.DESIRED, "flow")
        force = record.at_interface(desired, Role.ACTUAL, "effort")
        both = (rate, pairs[rate]) if rate in pairs and desired not in pairs else None
        return cls(label, desired, actual, pairs.get(desired), both, force)

    @property
    def heights(self) -> list[float]:
        """Heights of its rows, against each other."""
        below = [1.25, 1.25] if self.rate and self.force else [1.7] if self.rate or self.force else []
        return [1.7, 1.0, *below]

    @property
    def height(self) -> float:
        """Inches."""
        return sum(self.heights)

    def draw(self, figure: Figure, grid: GridSpec, row: int, record: Record, part: Record) -> list[Axes]:
        """Draw it from a row of the grid on; return the axes on the left."""
        above = figure.add_subplot(grid[row, 0])
        motions = {"desired": self.desired, "actual": self.actual}
        looks = {"reference": REFERENCE}
        draw_history(
            above, record, motions | ({"reference": self.reference} if self.reference else {}), looks
        )
        heading(above, self.label, lines_below=1)
        below = figure.add_subplot(grid[row + 1, 0], sharex=above)
        draw_error(below, part, self.desired, self.actual)
        stack, at = [above, below], row + 2
        for group in (
            {"desired": self.rate[0], "reference": self.rate[1]} if self.rate else None,
            {"force": self.force} if self.force else None,
        ):
            if group is not None:
                stack.append(figure.add_subplot(grid[at, 0], sharex=above))
                draw_history(stack[-1], record, group, looks)
                at += 1
        for axes in stack[:-1]:
            axes.tick_params(labelbottom=False)
        for axes in stack:
            if len(axes.lines) > 1 and axes is not below:
                legend(axes)
        stack[-1].set_xlabel("time [s]", fontsize=STYLE.label, color=INK, labelpad=3)
        period = record.sample_period if len(record) > 1 else None
        beside = figure.add_subplot(grid[row : row + 2, 1])
        draw_subspace(beside, part[self.desired], part[self.actual], record.units[self.desired], period)
        if self.force is not None:
            draw_loops(figure.add_subplot(grid[row + 2 : at, 1]), record, self.actual, self.force)
        return stack


def draw_error(axes: Axes, part: Record, desired: str, actual: str) -> None:
    """Draw actual minus desired into axes."""
    error = drawable(part[actual]) - drawable(part[desired])
    factor, shown = scaled(part.units[desired], [error])
    x, y = envelope(part.time, error * factor)
    axes.axhline(0.0, color=GREY, linewidth=0.6, zorder=1)
    axes.plot(x, y, **ERROR)
    dress(axes, "", labelled("error", shown), ticks=4)


def checked(record: Record, pairs: Pairs) -> None:
    """Refuse pairs that are no pairs, unknown channels, and pairs of two units."""
    if not pairs:
        raise InputError("no pairs to draw; give at least one, such as {'actuator 1': ('z1', 'x1')}")
    for label, names in pairs.items():
        if isinstance(names, str) or len(names) != 2:
            raise InputError(f"pair '{label}': a desired and an actual channel are needed; found {names!r}")
        _ = [record[name] for name in names]
        one, other = (record.units[name] for name in names)
        if one != other:
            raise InputError(
                f"pair '{label}': '{names[0]}' is in {one or 'no unit'}, '{names[1]}' in {other or 'no unit'}"
            )
