"""Signals over time, one axes a group; and how well a loop kept its clock."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.engine.ir import Meaning, Role
from bondloop.errors import InputError
from bondloop.results.figures.layout import (
    ACTUAL,
    COLOURS,
    DASHES,
    DESIRED,
    GREY,
    INK,
    STYLE,
    drawable,
    dress,
    envelope,
    finish,
    heading,
    labelled,
    legend,
    page,
    plain,
    pretty,
    quantity_of,
    scaled,
)

if TYPE_CHECKING:
    import os

    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from bondloop.display import Figure
    from bondloop.results.records.record import Record


def latencies(
    wake: ArrayLike,
    busy: ArrayLike,
    period: float,
    *,
    title: str = "",
    path: str | os.PathLike[str] | None = None,
    per_decade: int = 20,
) -> Figure:
    """Draw how late a loop woke up and how long its cycles took, as histograms on logarithmic axes.

    Percentiles are marked above, the period by a dashed line: a cycle is late when wake-up latency and cycle
    time together pass it.

    Parameters
    ----------
    wake
        Wake-up latency of each cycle in s.
    busy
        Time from its beginning until the command was sent, in s.
    period
        Seconds between cycles.
    title, path
        Heading, and where to save.
    per_decade
        Bins in a decade; of 20, a duration stands out that differs by an eighth.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> figure = latencies(rng.lognormal(-10, 0.3, 1000), rng.lognormal(-12, 0.2, 1000), 1e-3)
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['', 'duration [µs]']
    """
    figure = page(4.4)
    upper, lower = figure.subplots(2, 1, sharex=True)
    samples = {"wake-up latency": _seconds("wake", wake), "cycle time": _seconds("busy", busy)}
    lowest = min(float(s.min()) for s in samples.values())
    highest = max(period, *(float(s.max()) for s in samples.values()))
    first = np.floor(per_decade * np.log10(lowest)) - 1
    last = np.ceil(per_decade * np.log10(1.2 * highest)) + 1
    edges = 10.0 ** (np.arange(first, last + 1) / per_decade)
    for axes, (name, values), colour in zip((upper, lower), samples.items(), COLOURS, strict=False):
        _draw(axes, values, edges, colour)
        axes.axvline(1e6 * period, color=INK, linewidth=0.9, linestyle=(0, (4, 1.6)))
        heading(axes, f"{name}, {values.size:,} cycles")
    upper.text(
        1e6 * period, 0.96, " period", transform=upper.get_xaxis_transform(), fontsize=STYLE.small, color=INK,
        va="top", ha="right" if highest <= period else "left",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
    )  # fmt: skip
    lower.set_xlabel("duration [µs]", fontsize=9, color=INK, labelpad=3)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=9, color=INK)
    return finish(figure, path)


def _draw(axes: Axes, values: NDArray[np.float64], edges: NDArray[np.float64], colour: str) -> None:
    """Draw a histogram, with the median, 99 %, 99.9 % and the most above it."""
    from matplotlib.ticker import FuncFormatter

    counts, _ = np.histogram(values, edges)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.stairs(counts, 1e6 * edges, baseline=0.5, fill=True, color=colour, linewidth=0)
    axes.set_ylim(0.5, 4.0 * counts.max())
    axes.set_xlim(1e6 * edges[0], 1e6 * edges[-1])
    dress(axes, "", "cycles")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.12g}"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.0f}" if y >= 1 else ""))
    percents = (50.0, 99.0, 99.9, 100.0)
    marks = np.percentile(values, percents, method="higher")
    words = []
    for percent, mark in zip(percents, marks, strict=True):
        axes.axvline(1e6 * mark, color=GREY, linewidth=0.7, linestyle=(0, (1, 1.2)))
        name = "most" if percent == 100 else f"{percent:g} %"
        words.append(f"{name}: {_short(1e6 * mark)} µs")
    axes.text(
        1.0,
        1.015,
        "     ".join(words),
        transform=axes.transAxes,
        fontsize=STYLE.small,
        color=INK,
        ha="right",
        va="bottom",
    )


def _short(x: float) -> str:
    return f"{x:,.0f}" if x >= 99.5 else f"{x:.2g}"


def _seconds(name: str, values: ArrayLike, shortest: float = 1e-7) -> NDArray[np.float64]:
    """Return durations, those below the clocks' own 0.1 µs counted as that."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size or not np.isfinite(array).all():
        raise InputError(f"{name}: expected a row of durations in s; found an array of shape {array.shape}")
    return np.maximum(array, shortest)


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
    >>> from bondloop.results import Record
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
    return finish_stack(figure, list(stack), record, path)


def _fills(y: NDArray[np.float64], swings: int = 200) -> bool:
    """Whether a curve swings so often across the page that it is seen as an area rather than as a line."""
    span = float(np.ptp(y)) if y.size else 0.0
    return span > 0 and float(np.abs(np.diff(y)).sum()) > swings * span


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


def finish_stack(
    figure: Figure, stack: Sequence[Axes], record: Record, path: str | os.PathLike[str] | None
) -> Figure:
    """Label the time under histories one above the other, mark where the run stopped, and save."""
    stack[-1].set_xlabel("time [s]", fontsize=9)
    figure.align_ylabels(list(stack))
    mark_end(stack, record)
    return finish(figure, path)


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


def gains(record: Record, names: Sequence[str], *, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw adaptive gains over time, one axes for each kind, unit and interface among them.

    Gains that lie so far apart that none would be seen to move are drawn as their change since the start.

    Parameters
    ----------
    record
        The run.
    names
        Channels of the gains.
    path
        Where to save.

    Examples
    --------
    >>> import numpy as np
    >>> from bondloop.results import Record
    >>> record = Record(np.arange(3.0), {"mcs.K1": np.ones(3), "mcs.K2": np.zeros(3)})
    >>> len(gains(record, ["mcs.K1", "mcs.K2"]).axes)
    1
    """
    if not names:
        raise InputError("no gains to draw; name at least one channel")
    groups: dict[tuple[str, str, int | None], list[str]] = {}
    for name in names:
        meaning = record.meanings.get(name, Meaning(Role.GAIN))
        word = "gain" if meaning.role is Role.GAIN else meaning.quantity or "estimate"
        unit = record.units[name] if name in record else ""
        groups.setdefault((word, unit, meaning.interface), []).append(name)
    columns = [_columns(members) for members in groups.values()]
    lines = sum(-(-len(members) // c) for members, c in zip(groups.values(), columns, strict=True))
    figure = page(0.55 + 1.8 * len(groups) + 0.2 * lines)
    stack = figure.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0]
    number = 0
    for axes, across, ((word, unit, _), members) in zip(stack, columns, groups.items(), strict=True):
        axes.axhline(0.0, color="#b0b0b0", linewidth=0.7, zorder=1)
        values = {name: record[name] for name in members}
        if apart := _far_apart(list(values.values())):
            values = {name: value - value[0] for name, value in values.items()}
        for name in members:
            x, y = envelope(record.time, values[name])
            # Alone it needs no dashes, which a swinging curve would swallow.
            dash = DASHES[number % len(DASHES)] if len(members) > 1 else "-"
            colour = COLOURS[number % len(COLOURS)]
            axes.plot(x, y, color=colour, linestyle=dash, linewidth=1.2, label=plain(name))
            number += 1
        dress(axes, "", labelled(f"change of {word}" if apart else word, pretty(unit)))
        if len(record) > 1:
            axes.set_xlim(float(record.time[0]), float(record.time[-1]))
        legend(axes, across)
    return finish_stack(figure, list(stack), record, path)


def _far_apart(values: Sequence[NDArray[np.float64]], seen: float = 0.02) -> bool:
    """Whether curves would all look like level lines if they were drawn in one frame.

    A curve is seen to move if it takes the share `seen` of the frame's height.

    >>> t = np.linspace(0.0, 1.0, 5)
    >>> _far_apart([1000 + t, 2 - t]), _far_apart([10 + 20 * t, 2 - t]), _far_apart([t])
    (True, False, False)
    """
    finite = [v[np.isfinite(v)] for v in values]
    if len(values) < 2 or not all(len(v) for v in finite) or not all(np.isfinite(v[0]) for v in values):
        return False
    span = max(v.max() for v in finite) - min(v.min() for v in finite)
    return bool(max(np.ptp(v) for v in finite) < seen * span)


def _columns(labels: Sequence[str]) -> int:
    """Return how many columns of a legend fit side by side; a letter takes 0.07 in, a sample 0.55."""
    wide = 0.55 + 0.07 * max(map(len, labels))
    return max(1, min(len(labels), int((STYLE.width - 0.8) / wide)))
