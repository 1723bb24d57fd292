"""The curve of a pushover, with what yields where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.structures.dofs import ROTATIONS, dof_word

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from bondloop.structures.elements.base import Array
    from bondloop.structures.pushover import Pushover

__all__ = ["pushover_figure"]

NEAR = 0.03
"""Share of the axes within which dots share a label."""
NAMED = 8
"""Devices whose names are written beside the curve, in the order in which they yield; the others are dots."""


def pushover_figure(curve: Pushover, path: str | Path | None = None) -> Figure:
    """Return a figure of load over displacement, and write it to a file where a path is given."""
    from matplotlib.figure import Figure

    turns = dof_word(curve.control) in ROTATIONS
    scale, unit = (1.0, "rad") if turns else (1e3, "mm")
    shear = curve.direction_load != 0 and not turns
    factor, label = (curve.direction_load / 1e3, "load [kN]") if shear else (1.0, "load factor")
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(scale * curve.displacement, factor * curve.load_factor, color="#1f6f8b", linewidth=1.5)
    shown = [y for y in curve.yielding if y.load_factor != 0.0]
    x = scale * np.array([y.displacement for y in shown])
    f = factor * np.array([y.load_factor for y in shown])
    axes.plot(x, f, "o", color="#c1440e", markersize=4)
    words = [f"{i}  {y.device}" for i, y in enumerate(shown[:NAMED], start=1)]
    wide, high = (float(np.ptp(v)) or 1.0 for v in (scale * curve.displacement, factor * curve.load_factor))
    for first, last in _together(x[: len(words)] / wide, f[: len(words)] / high):
        numbers = str(first + 1) if first == last else f"{first + 1}\u2013{last + 1}"
        axes.annotate(
            numbers, (x[first], f[first]), (-3, 5), textcoords="offset points", ha="right", fontsize=8
        )
    if words:
        more = [f"and {len(shown) - NAMED} more"] if len(shown) > NAMED else []
        text = "\n".join(["yields:", *words, *more])
        axes.text(0.98, 0.04, text, transform=axes.transAxes, ha="right", va="bottom", fontsize=8, ma="left")
    axes.axhline(0, color="0.8", linewidth=0.8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(visible=True, color="0.9", linewidth=0.6)
    axes.set_xlabel(f"displacement {curve.control} [{unit}]")
    axes.set_ylabel(label)
    if path is not None:
        try:
            figure.savefig(path, dpi=150)
        except (OSError, ValueError) as error:
            raise InputError(f"cannot write the picture '{path}': {error}") from error
    return figure


def _together(x: Array, f: Array) -> list[tuple[int, int]]:
    """Return numbers of dots that lie on each other, as first and last of a row of them.

    Parameters
    ----------
    x, f
        Where they are, as shares of the axes.
    """
    groups: list[tuple[int, int]] = []
    for i in range(len(x)):
        first = groups[-1][0] if groups else i
        if groups and abs(x[i] - x[first]) < NEAR and abs(f[i] - f[first]) < NEAR:
            groups[-1] = (first, i)
        else:
            groups.append((i, i))
    return groups
