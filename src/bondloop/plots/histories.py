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

Group = str | Sequence[str] | Mapping[str, str]
"""Channels of one axes: names, or names by what the legend calls them."""

Groups = Mapping[str, Group] | Sequence[Group]


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
        signal (solid, dark), the second as the actual one (dashed, over it). A group that is a dictionary
        has the channels by what the legend calls them. Every channel by itself unless given.
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
    >>> figure = time_histories(record, {"actuator 1": {"desired": "z", "actual": "x"}})
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['desired', 'actual']
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


def draw_history(
    axes: Axes, record: Record, group: Group, looks: Mapping[str, Mapping[str, Any]] | None = None
) -> None:
    """Draw channels of one group into axes.

    Parameters
    ----------
    axes
        Where.
    record
        The run.
    group
        The channels.
    looks
        Of some, by label, in place of the usual ones.
    """
    names = _labelled(group)
    signals = {label: record[name] for label, name in names.items()}
    units = {record.units[name] for name in names.values()}
    unit = units.pop() if len(units) == 1 else ""
    factor, shown = scaled(unit, [drawable(values) for values in signals.values()])
    for number, (label, values) in enumerate(signals.items()):
        usual = DESIRED if number == 0 else ACTUAL if number == 1 else later(number)
        look = dict((looks or {}).get(label, usual))
        x, y = envelope(record.time, drawable(values) * factor)
        if number and _fills(y):
            # So many samples fill an area: dashes vanish in it, and what lies beneath must show through.
            look = look | {"linestyle": "-", "alpha": 0.6}
        own = record.units[names[label]]
        text = f"{label} [{pretty(own)}]" if units and own else label
        axes.plot(x, y, label=plain(text), solid_joinstyle="round", **look)
    what = quantity_of(unit) or (next(iter(names)) if len(names) == 1 else "")
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


def by_title(groups: Groups) -> dict[str, dict[str, str]]:
    """Return the groups by title, each with its channels by label.

    Groups without a title are numbered by blanks, which print as nothing.

    Examples
    --------
    >>> by_title({"actuator": {"desired": "z", "actual": "x"}})
    {'actuator': {'desired': 'z', 'actual': 'x'}}
    >>> by_title(["z", ["x", "y"]])
    {'': {'z': 'z'}, ' ': {'x': 'x', 'y': 'y'}}
    """
    if isinstance(groups, Mapping):
        return {title: _labelled(group) for title, group in groups.items()}
    return {" " * number: _labelled(group) for number, group in enumerate(groups)}


def _labelled(group: Group) -> dict[str, str]:
    """Return the channels of a group by what the legend calls them: their own names, if nothing else."""
    if isinstance(group, Mapping):
        return dict(group)
    return {name: name for name in ([group] if isinstance(group, str) else group)}
