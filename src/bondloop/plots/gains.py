"""Adaptive gains over time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.plots.axis_unit import labelled, pretty
from bondloop.plots.histories import mark_end
from bondloop.plots.page import COLOURS, DASHES, WIDTH, dress, finish, legend, page, plain
from bondloop.plots.thinning import envelope
from bondloop.program.quantity import Meaning, Role

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from bondloop.records import Record

__all__ = ["gains"]

SEEN = 0.02
"""Share of the height of a frame that a curve must move to be seen to move."""


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
    >>> from bondloop.records import Record
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
    stack[-1].set_xlabel("time [s]", fontsize=9)
    figure.align_ylabels(list(stack))
    mark_end(list(stack), record)
    return finish(figure, path)


def _far_apart(values: Sequence[NDArray[np.float64]]) -> bool:
    """Whether curves would all look like level lines if they were drawn in one frame.

    >>> t = np.linspace(0.0, 1.0, 5)
    >>> _far_apart([1000 + t, 2 - t]), _far_apart([10 + 20 * t, 2 - t]), _far_apart([t])
    (True, False, False)
    """
    finite = [v[np.isfinite(v)] for v in values]
    if len(values) < 2 or not all(len(v) for v in finite) or not all(np.isfinite(v[0]) for v in values):
        return False
    span = max(v.max() for v in finite) - min(v.min() for v in finite)
    return bool(max(np.ptp(v) for v in finite) < SEEN * span)


def _columns(labels: Sequence[str]) -> int:
    """Return how many columns of a legend fit side by side; a letter takes 0.07 in, a sample 0.55."""
    wide = 0.55 + 0.07 * max(map(len, labels))
    return max(1, min(len(labels), int((WIDTH - 0.8) / wide)))
