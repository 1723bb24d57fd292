"""Loops of a specimen, measured and modelled: force over displacement, and over velocity."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from bondloop.errors import InputError
from bondloop.plots.axis_unit import labelled, scaled
from bondloop.plots.page import ACTUAL, DESIRED, dress, finish, legend, note, page

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["measured_loops"]

COLUMNS = 4
"""Records side by side."""


class MeasuredLoop(Protocol):
    """One measurement of a specimen."""

    @property
    def name(self) -> str: ...
    @property
    def displacement(self) -> Array: ...
    @property
    def force(self) -> Array: ...
    @property
    def period(self) -> float: ...
    @property
    def last_cycle(self) -> slice: ...


def measured_loops(
    records: Sequence[MeasuredLoop],
    predicted: Mapping[str, Array],
    errors: Mapping[str, float],
    *,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw the last cycle of several records: over the displacement above, over the velocity below.

    Parameters
    ----------
    records
        The measurements.
    predicted, errors
        The model's force for each, and its rms error as a part of the force's rms, by name.
    path
        Where to save.
    """
    if not records:
        raise InputError("no records to draw")
    rows = -(-len(records) // COLUMNS)
    columns = min(COLUMNS, len(records))
    figure = page(3.5 * rows, width=max(3.0, 2.2 * columns))
    axes = figure.subplots(2 * rows, columns, squeeze=False)
    for i, record in enumerate(records):
        k = record.last_cycle
        x, force, model = record.displacement, record.force[k], predicted[record.name][k]
        row = 2 * (i // COLUMNS)
        for which, values, word, unit in (
            (0, x[k], "displacement", "m"),
            (1, np.gradient(x, record.period)[k], "velocity", "m/s"),
        ):
            at = axes[row + which, i % COLUMNS]
            across, across_unit = scaled(unit, [values])
            up, up_unit = scaled("N", [force])
            at.plot(across * values, up * force, label="measured", **DESIRED)
            at.plot(across * values, up * model, label="fitted", **ACTUAL)
            first = i % COLUMNS == 0
            dress(at, labelled(word, across_unit), labelled("force", up_unit) if first else up_unit, ticks=4)
        note(axes[row, i % COLUMNS], f"{record.name}: {100 * errors[record.name]:.1f} %")
    for i in range(len(records), rows * columns):
        for which in (0, 1):
            axes[2 * (i // COLUMNS) + which, i % COLUMNS].set_axis_off()
    legend(axes[1, 0])
    return finish(figure, path)
