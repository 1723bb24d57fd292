"""Signals over time, one axes a group."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError
from bondloop.plots.axis_unit import labelled, pretty, quantity_of, scaled
from bondloop.plots.page import ACTUAL, COLOURS, DASHES, DESIRED, dress, finish, heading, legend, page, plain
from bondloop.plots.thinning import drawable, envelope

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from bondloop.records import Record

__all__ = ["time_histories"]

Groups = Mapping[str, Sequence[str]] | Sequence[str | Sequence[str]]


def time_histories(
    record: Record, groups: Groups | None = None, *, path: str | os.PathLike[str] | None = None
) -> Figure:
    """Draw channels over time, stacked, with one time axis.

    Parameters
    ----------
    record
        The run.
    groups
        Channels of each axes, by title or in order; the first channel of a group is drawn as the desired
        signal (solid, dark), the second as the actual one (dashed, over it). Every channel by itself unless
        given.
    path
        Where to save.

    Examples
    --------
    >>> import numpy as np
    >>> from bondloop.records import Record
    >>> t = np.linspace(0, 1, 101)
    >>> record = Record(t, {"z": np.sin(t), "x": np.sin(t - 0.1)}, {"z": "m", "x": "m"})
    >>> figure = time_histories(record, {"actuator 1": ["z", "x"]})
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['displacement [mm]']
    """
    titled = by_title(groups if groups is not None else list(record))
    if not titled:
        raise InputError("no channels to draw; name at least one")
    figure = page(0.55 + 1.45 * len(titled))
    stack = figure.subplots(len(titled), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (title, names) in zip(stack, titled.items(), strict=True):
        draw_history(axes, record, names)
        if title:
            heading(axes, title, lines_below=1)
        if title or len(names) > 1:
            legend(axes)
    stack[-1].set_xlabel("time [s]", fontsize=9)
    figure.align_ylabels(list(stack))
    mark_end(list(stack), record)
    return finish(figure, path)


FILLED = 200
"""Swings across the page from which on a curve is seen as an area rather than as a line."""


def _fills(y: NDArray[np.float64]) -> bool:
    """Whether a curve swings so often that it fills an area."""
    span = float(np.ptp(y)) if y.size else 0.0
    return span > 0 and float(np.abs(np.diff(y)).sum()) > FILLED * span


def draw_history(axes: Axes, record: Record, names: Sequence[str]) -> None:
    """Draw channels of one group into axes."""
    signals = {name: record[name] for name in names}
    units = {record.units[name] for name in names}
    unit = units.pop() if len(units) == 1 else ""
    factor, shown = scaled(unit, [drawable(values) for values in signals.values()])
    for number, (name, values) in enumerate(signals.items()):
        look = DESIRED if number == 0 else ACTUAL if number == 1 else later(number)
        x, y = envelope(record.time, drawable(values) * factor)
        if number and _fills(y):
            # So many samples fill an area: dashes vanish in it, and what lies beneath must show through.
            look = look | {"linestyle": "-", "alpha": 0.6}
        mixed = bool(units and record.units[name])
        text = f"{name} [{pretty(record.units[name])}]" if mixed else name
        axes.plot(x, y, label=plain(text), solid_joinstyle="round", **look)
    what = quantity_of(unit) or (names[0] if len(names) == 1 else "")
    dress(axes, "", labelled(plain(what), shown))
    if len(record) > 1:
        axes.set_xlim(float(record.time[0]), float(record.time[-1]))


def mark_end(stack: Sequence[Axes], record: Record) -> None:
    """Say on the page where a run that did not complete broke off, and why."""
    status = record.attributes.get("status", "completed")
    if status == "completed" or not len(record):
        return
    end, start = float(record.time[-1]), float(record.time[0])
    for axes in stack:
        axes.set_xlim(start, end + 0.03 * (end - start or 1.0))
        axes.axvline(end, color=COLOURS[1], linewidth=0.9, linestyle=(0, (1, 1.2)), zorder=1)
    message = str(record.attributes.get("message", ""))
    text = f"{status} at t = {end:.4g} s" + (f": {message}" if message else "")
    stack[0].figure.suptitle(
        "\n".join(wrap(plain(text), 120)), x=0.01, ha="left", fontsize=8, color=COLOURS[1]
    )


def later(number: int) -> dict[str, Any]:
    """Return the look of the third and later signals of a group."""
    colours = (COLOURS[0], *COLOURS[2:])
    place = number - 2
    return {
        "color": colours[place % len(colours)],
        "linestyle": DASHES[(place + 2) % len(DASHES)],
        "linewidth": 1.1,
    }


def by_title(groups: Groups) -> dict[str, list[str]]:
    """Return the groups by title; those without one are numbered by blanks, which print as nothing.

    Examples
    --------
    >>> by_title({"actuator": ["z", "x"]})
    {'actuator': ['z', 'x']}
    >>> by_title(["z", ["x", "y"]])
    {'': ['z'], ' ': ['x', 'y']}
    """
    if isinstance(groups, Mapping):
        return {title: _names(names) for title, names in groups.items()}
    return {" " * number: _names(names) for number, names in enumerate(groups)}


def _names(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)
