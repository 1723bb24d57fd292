"""Loops of force over displacement, as a figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from bondloop.devices.device import Device

__all__ = ["draw_loops", "loops_figure"]

PREFIXES = ((1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"))


def _scaled(values: NDArray[np.float64], unit: str) -> tuple[NDArray[np.float64], str]:
    most = float(np.max(np.abs(values), initial=0.0))
    size, letter = next((p for p in PREFIXES if most >= p[0]), (1.0, "") if most == 0 else PREFIXES[-1])
    return values / size, f"{letter}{unit}"


def draw_loops(axes: Axes, displacement: NDArray[np.float64], force: NDArray[np.float64]) -> None:
    """Draw loops into axes."""
    x, x_unit = _scaled(displacement, "m")
    f, f_unit = _scaled(force, "N")
    axes.axhline(0, color="0.8", linewidth=0.8)
    axes.axvline(0, color="0.8", linewidth=0.8)
    axes.plot(x, f, linewidth=1.2, color="#1f6f8b")
    axes.set_xlabel(f"displacement [{x_unit}]")
    axes.set_ylabel(f"force [{f_unit}]")


def loops_figure(
    device: Device,
    displacement: NDArray[np.float64],
    force: NDArray[np.float64],
    *,
    path: str | Path | None = None,
) -> Figure:
    """Return a figure of loops, and write it to a file where a path is given."""
    from bondloop.display.figure import Figure, save

    figure = Figure(figsize=(5.2, 4.0), layout="constrained")
    axes = figure.subplots()
    draw_loops(axes, displacement, force)
    axes.set_title(type(device).__name__)
    if path is not None:
        try:
            save(figure, Path(path), Path(path).suffix.lower()[1:], 150)
        except (OSError, ValueError) as error:
            raise InputError(f"cannot write the picture '{path}': {error}") from error
    return figure
