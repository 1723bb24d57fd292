"""Long signals as the few points that look the same on paper; no peak is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.results.assess.tolerances import LARGEST
from bondloop.results.figures.layout import STYLE

if TYPE_CHECKING:
    from numpy.typing import NDArray


def envelope(
    x: NDArray[np.float64], y: NDArray[np.float64], columns: int = STYLE.stretches
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return first, lowest, highest and last sample of each of `columns` stretches, in order.

    Drawn as a line it covers the same dots as the whole signal, provided a stretch is no wider than a dot. A
    stretch with NaN keeps one, so that a gap stays a gap.

    References
    ----------
    Jugel, Jerzak, Hackenbroich and Markl (2014), M4: a visualization-oriented time series data aggregation.

    Examples
    --------
    >>> x = np.arange(1e6)
    >>> y = np.zeros(1_000_000)
    >>> y[123_456] = 7.0
    >>> thin_x, thin_y = envelope(x, y)
    >>> thin_x.size <= 5 * 1501, float(thin_y.max()), float(thin_x[thin_y.argmax()])
    (True, 7.0, 123456.0)
    """
    y = drawable(y)
    if y.size <= 5 * columns:
        return x, y
    width = y.size // columns
    whole = columns * width
    rows = y[:whole].reshape(columns, width)
    gap = np.isnan(rows)
    offsets = np.stack(
        [
            np.zeros(columns, dtype=np.intp),
            np.where(gap, np.inf, rows).argmin(axis=1),
            np.where(gap, -np.inf, rows).argmax(axis=1),
            gap.argmax(axis=1),  # the first gap; the first sample where there is none
            np.full(columns, width - 1, dtype=np.intp),
        ],
        axis=1,
    )
    offsets.sort(axis=1)
    kept = np.unique((offsets + width * np.arange(columns)[:, None]).ravel())
    if whole < y.size:
        tail_x, tail_y = envelope(x[whole:], y[whole:], columns)
        return np.concatenate((x[kept], tail_x)), np.concatenate((y[kept], tail_y))
    return x[kept], y[kept]


def trajectory(
    x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a path in the plane without the pieces that retrace earlier ones on a fine grid.

    A steady oscillation runs over the same loop again and again; each piece is drawn once. Pieces left out
    become gaps (NaN). Every cell
    that the whole path visits is visited by what is returned, and its extremes are kept to the last digit.

    Examples
    --------
    >>> angle = np.arange(200_000) * (2 * np.pi / 100)
    >>> x, y = trajectory(np.sin(angle), np.cos(angle))
    >>> x.size < 1000, round(float(np.nanmax(x)), 9)
    (True, 1.0)
    """
    x, y = drawable(x), drawable(y)
    if x.size <= STYLE.dense:
        return x, y
    sound = np.isfinite(x) & np.isfinite(y)
    if not sound.any():
        return x[:0], y[:0]
    cell = np.where(sound, _cells(x, sound) * (STYLE.cells + 1) + _cells(y, sound), -1)
    # Samples that stay in a cell add nothing; then each step between two cells is kept the first time.
    extreme = np.zeros(x.size, dtype=bool)
    for values in (x, y):
        extreme[[np.where(sound, values, np.inf).argmin(), np.where(sound, values, -np.inf).argmax()]] = True
    moved = np.concatenate(([True], cell[1:] != cell[:-1])) | extreme
    x, y, cell, extreme = x[moved], y[moved], cell[moved], extreme[moved]
    step = cell[:-1] * (STYLE.cells + 1) ** 2 + cell[1:]
    new = np.zeros(step.size, dtype=bool)
    new[np.unique(step, return_index=True)[1]] = True
    new |= extreme[1:]
    kept = np.concatenate((new, [False])) | np.concatenate(([True], new))
    torn = np.flatnonzero(np.concatenate(([False], ~new)) & kept)  # a kept point whose step to it is left out
    x, y = (np.insert(np.where(kept, values, np.nan), torn, np.nan) for values in (x, y))
    dull = np.isnan(x)
    keep = ~(dull & np.concatenate(([False], dull[:-1])))
    return x[keep], y[keep]


def ink(x: NDArray[np.float64], y: NDArray[np.float64], low: float, high: float) -> NDArray[np.bool_]:
    """Return the square from `low` to `high` as cells, True where the line through the samples passes.

    For lines of a million samples that never retrace themselves: each cell is inked once, however often it is
    crossed. Shape (cells, cells), the first row at the bottom; the line is three cells wide.

    Examples
    --------
    >>> cells = ink(np.array([0.0, 1.0]), np.array([0.5, 0.5]), 0.0, 1.0)
    >>> int(cells[:, 300].sum()), bool(cells[300].all())
    (3, True)
    """
    column, row = ((drawable(values) - low) * ((STYLE.cells - 1) / (high - low)) for values in (x, y))
    across, up = np.diff(column), np.diff(row)
    steps = np.ceil(np.maximum(np.abs(across), np.abs(up))) + 1
    sound = np.flatnonzero(np.isfinite(steps))
    order = sound[np.argsort(-steps[sound], kind="stable")]  # the longest pieces first
    steps = steps[order]
    column, row, across, up = column[order], row[order], across[order] / steps, up[order] / steps
    cells = np.zeros((STYLE.cells + 2, STYLE.cells + 2), dtype=bool)
    longest = int(steps[0]) if steps.size else 0
    for step in range(longest + 1):
        here = slice(0, int(np.searchsorted(-steps, -step, "right")))
        at_row = np.rint(row[here] + step * up[here]).astype(np.intp)
        at_column = np.rint(column[here] + step * across[here]).astype(np.intp)
        cells[at_row + 1, at_column + 1] = True
    wide = cells.copy()
    for axis in (0, 1):
        wide |= np.roll(wide, 1, axis) | np.roll(wide, -1, axis)
    return wide[1:-1, 1:-1]


def drawable(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values with NaN where they cannot be drawn: infinite, or so large that drawing overflows."""
    wild = ~(np.abs(values) <= LARGEST)
    return np.where(wild, np.nan, values) if wild.any() else values


def _cells(values: NDArray[np.float64], sound: NDArray[np.bool_]) -> NDArray[np.int64]:
    low, high = float(values[sound].min()), float(values[sound].max())
    place = (np.where(sound, values, low) - low) * (STYLE.cells / (high - low) if high > low else 0.0)
    return place.astype(np.int64)
