"""Figures of structures: mode shapes, still and moving, and deformed shapes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from bondloop.data.ranges import FINITE, POSITIVE
from bondloop.errors import InputError
from bondloop.plots.members import Lines, lines
from bondloop.plots.page import COLOURS, WIDTH, dress, finish, heading, page
from bondloop.plots.supports import draw_supports

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from numpy.typing import ArrayLike, NDArray

    from bondloop.structures.dynamics.history import History
    from bondloop.structures.dynamics.modes import Modes
    from bondloop.structures.structure import Structure

__all__ = ["animate_mode", "deformed_shape", "mode_shapes"]

AMPLITUDE = 0.12
"""Largest motion on paper, as a share of the structure's size, where no scale is given."""
VIEW = {"elev": 18.0, "azim": -58.0}


def mode_shapes(
    structure: Structure,
    modes: Modes,
    numbers: Sequence[int] | None = None,
    *,
    scale: float | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw mode shapes side by side, the structure at rest in grey.

    Parameters
    ----------
    structure
        Where the nodes lie and which members join them.
    modes
        Modes of ``structure.assemble()``.
    numbers
        Which, from 1; the first six by default.
    scale
        How much shapes are enlarged; by default so that each is well seen.
    path
        Where to save.

    Examples
    --------
    >>> from bondloop.structures import Beam, Structure, modes
    >>> s = Structure("cantilever")
    >>> s.node("root")
    >>> s.node("tip", x=1.0)
    >>> s.line("root", "tip", n=4, element=Beam("root", "tip", E=1.0, A=1.0, I=1.0, rho=1.0))[0]
    'root'
    >>> s.support("root")
    >>> figure = mode_shapes(s, modes(s.assemble(), 3))
    >>> [axes.get_title("left") for axes in figure.axes]
    ['1: 0.56 Hz', '2: 3.51 Hz', '3: 9.90 Hz']
    """
    wanted = list(range(1, min(6, len(modes)) + 1)) if numbers is None else list(numbers)
    drawn = [_shape(structure, modes, number) for number in wanted]
    if not drawn:
        raise InputError("name at least one mode")
    plane = all(d.plane for d in drawn)
    across = min(3, len(drawn))
    rows = -(-len(drawn) // across)
    figure = page(rows * (height_of(drawn[0], plane, WIDTH / across) + 0.3), WIDTH)
    for k, (number, shape) in enumerate(zip(wanted, drawn, strict=True)):
        axes = axes_of(figure, (rows, across, k + 1), plane)
        draw_shape(axes, shape, scale_of(shape, scale), plane)
        heading(axes, f"{number}: {_hertz(modes.frequencies[number - 1])}")
        axes.set_axis_off()
    return finish(figure, path)


def deformed_shape(
    structure: Structure,
    motion: ArrayLike | Mapping[str, float] | History,
    time: float | str | None = None,
    *,
    scale: float | None = None,
    title: str = "",
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw the deformed structure, at rest in grey; the enlargement stands below.

    Parameters
    ----------
    structure
        Where the nodes lie and which members join them.
    motion
        Displacements: one for each degree of freedom of ``structure.assemble()``, some by name (others zero),
        or a time history.
    time
        Of a time history, when; its nearest instant is drawn.
    scale
        How much displacements are enlarged; by default so that they are well seen.
    title
        Over the figure.
    path
        Where to save.
    """
    values, when = at_instant(motion, time)
    shape = lines(structure, values)
    plane = shape.plane
    figure = page(height_of(shape, plane, 0.8 * WIDTH) + 0.8, 0.8 * WIDTH)
    axes = axes_of(figure, (1, 1, 1), plane)
    factor = scale_of(shape, scale)
    draw_shape(axes, shape, factor, plane)
    draw_supports(axes, structure, plane)
    note = f"displacements enlarged {factor:.3g} times; largest {shape.largest:.3g} m"
    text = "; ".join(part for part in (title, f"t = {when:.4g} s" if when is not None else "") if part)
    if plane:
        dress(axes, f"x [m]   ({note})", "y [m]")
    else:
        axes.set_axis_off()
        text = f"{text + ': ' if text else ''}{note}"
    heading(axes, text)
    return finish(figure, path)


def animate_mode(
    structure: Structure,
    modes: Modes,
    number: int,
    path: str | os.PathLike[str],
    *,
    frames: int = 24,
    seconds: float | str = 1.2,
    scale: float | None = None,
) -> Path:
    """Save one period of a mode as a GIF that repeats without end.

    Parameters
    ----------
    structure, modes
        As for `mode_shapes`.
    number
        Which mode, from 1.
    path
        Where to save, ending in ``.gif``.
    frames
        Pictures in one period.
    seconds
        How long a period is shown, in s or as text.
    scale
        How much the shape is enlarged.
    """
    from matplotlib.animation import FuncAnimation, PillowWriter
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    target = Path(path)
    if target.suffix.lower() != ".gif":
        raise InputError(f"cannot save an animation as '{target.name}'; end the name in .gif")
    if not target.parent.is_dir():
        raise InputError(f"cannot save {target}: there is no folder {target.parent}; make it first")
    if frames < 2:
        raise InputError(f"an animation needs at least 2 frames; found {frames}")
    shape = _shape(structure, modes, number)
    plane = shape.plane
    figure = Figure(figsize=(4.2, height_of(shape, plane, 4.2) + 0.4), dpi=110, facecolor="white")
    FigureCanvasAgg(figure)
    axes = axes_of(figure, (1, 1, 1), plane)
    factor = scale_of(shape, scale)
    curves = draw_shape(axes, shape, factor, plane)
    heading(axes, f"mode {number}: {_hertz(modes.frequencies[number - 1])}")
    axes.set_axis_off()

    def show(frame: int) -> list[Artist]:
        turned = factor * np.cos(2 * np.pi * frame / frames)
        for curve, points in zip(curves, moved_lines(shape, turned, plane), strict=True):
            if plane:
                curve.set_data(*points.T)
            else:
                curve.set_data_3d(*points.T)
        return curves

    FuncAnimation(figure, show, frames=frames, blit=False).save(
        str(target), writer=PillowWriter(fps=max(1, round(frames / POSITIVE.check(seconds, "seconds", "s"))))
    )
    return target


def _shape(structure: Structure, modes: Modes, number: int) -> Lines:
    if not 1 <= number <= len(modes):
        raise InputError(f"mode {number} is wanted; there are modes 1 to {len(modes)}")
    values = dict(zip(modes.dofs, modes.shapes[:, number - 1].tolist(), strict=True))
    return lines(structure, values)


def at_instant(motion: Any, time: float | str | None) -> tuple[ArrayLike | Mapping[str, float], float | None]:
    """Return displacements of one instant, and when that is: the nearest of a time history."""
    if not hasattr(motion, "displacements"):
        if time is not None:
            raise InputError("a time belongs to a time history; these are displacements of one instant")
        return motion, None
    if time is None:
        raise InputError("give the time at which the history is drawn")
    instants, time = motion.time, FINITE.check(time, "time", "s")
    if not instants[0] <= time <= instants[-1]:
        raise InputError(f"t = {time:g} s lies outside the history, {instants[0]:g} to {instants[-1]:g} s")
    k = int(np.argmin(np.abs(instants - time)))
    return dict(zip(motion.dofs, motion.displacements[k].tolist(), strict=True)), float(instants[k])


def axes_of(figure: Figure, place: tuple[int, int, int], plane: bool) -> Any:
    """Add axes for a structure in the plane or in space."""
    if plane:
        axes: Any = figure.add_subplot(*place)
        axes.set_aspect("equal", adjustable="box")
        return axes
    axes = figure.add_subplot(*place, projection="3d")
    axes.view_init(**VIEW)
    return axes


def scale_of(shape: Lines, given: float | None) -> float:
    """Return how much displacements are enlarged: as given, or so that they are well seen."""
    return given if given is not None else AMPLITUDE * shape.size / (shape.largest or 1.0)


def height_of(shape: Lines, plane: bool, width: float) -> float:
    """Inches that a drawing of this width takes."""
    if not plane:
        return width
    span = np.ptp(np.concatenate([shape.rest.reshape(-1, 3), shape.masses]), axis=0)
    tall = (span[1] + 2.6 * AMPLITUDE * shape.size) / (span[0] + 2.6 * AMPLITUDE * shape.size)
    return width * float(np.clip(tall, 0.3, 1.6))


def moved_lines(shape: Lines, factor: float, plane: bool) -> list[NDArray[np.float64]]:
    """Return one broken line of all members (gaps are NaN), and the point masses."""
    axes = slice(0, 2) if plane else slice(0, 3)
    points = shape.rest + factor * shape.moved
    gaps = np.full((len(points), 1, 3), np.nan)
    joined = np.concatenate([points, gaps], axis=1).reshape(-1, 3)
    return [joined[:, axes], (shape.masses + factor * shape.masses_moved)[:, axes]]


def draw_shape(axes: Any, shape: Lines, factor: float, plane: bool) -> list[Any]:
    """Draw a structure at rest and moved; return the curves of the moved one."""
    curves = []
    fine = 1.0 if len(shape.rest) < 400 else 0.6
    for amount, colour, width in ((0.0, "#b5b5b5", 0.9), (factor, COLOURS[0], 1.4)):
        members, masses = moved_lines(shape, amount, plane)
        (line,) = axes.plot(*members.T, color=colour, linewidth=width * fine, solid_capstyle="round")
        (dots,) = axes.plot(*masses.T, color=colour, marker="o", markersize=4, linestyle="none")
        curves = [line, dots]
    reach = AMPLITUDE * 1.3 * shape.size
    points = np.concatenate([shape.rest.reshape(-1, 3), shape.masses])
    low, high = points.min(axis=0) - reach, points.max(axis=0) + reach
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    if not plane:
        axes.set_zlim(low[2], high[2])
        axes.set_box_aspect(high - low, zoom=1.15)
    return curves


def _hertz(frequency: float) -> str:
    if frequency == 0:
        return "rigid body"
    digits = 0 if frequency >= 100 else 1 if frequency >= 10 else 2
    return f"{frequency:.{digits}f} Hz"
