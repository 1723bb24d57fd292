"""Adaptive gains over time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bondloop.errors import InputError
from bondloop.plots.axis_unit import labelled, pretty
from bondloop.plots.histories import mark_end
from bondloop.plots.page import COLOURS, DASHES, dress, finish, legend, page, plain
from bondloop.plots.thinning import envelope

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bondloop.records import Record

__all__ = ["gains"]


def gains(record: Record, names: Sequence[str], *, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw adaptive gains over time, one axes for each unit among them.

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
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(record.units[name] if name in record else "", []).append(name)
    figure = page(0.55 + 2.0 * len(groups))
    stack = figure.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0]
    number = 0
    for axes, (unit, members) in zip(stack, groups.items(), strict=True):
        axes.axhline(0.0, color="#b0b0b0", linewidth=0.7, zorder=1)
        for name in members:
            x, y = envelope(record.time, record[name])
            dash = DASHES[number % len(DASHES)]
            colour = COLOURS[number % len(COLOURS)]
            axes.plot(x, y, color=colour, linestyle=dash, linewidth=1.2, label=plain(name))
            number += 1
        dress(axes, "", labelled("gain", pretty(unit)))
        if len(record) > 1:
            axes.set_xlim(float(record.time[0]), float(record.time[-1]))
        legend(axes, min(len(members), 5))
    stack[-1].set_xlabel("time [s]", fontsize=9)
    figure.align_ylabels(list(stack))
    mark_end(list(stack), record)
    return finish(figure, path)
