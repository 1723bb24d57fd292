"""A structure in motion, as a moving picture: HTML or MP4."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from bondloop.errors import InputError
from bondloop.results.figures.layout import heading
from bondloop.results.figures.structures import (
    Lines,
    axes_of,
    draw_shape,
    height_of,
    lines,
    moved_lines,
    scale_of,
)

if TYPE_CHECKING:
    from matplotlib.animation import AbstractMovieWriter
    from matplotlib.artist import Artist
    from numpy.typing import NDArray

    from bondloop.structures import Structure


SUFFIXES = (".html", ".mp4")

BUTTONS = {
    "minus": "\u2212", "fast-backward": "\u23ee", "step-backward": "\u25c0|",
    "play fa-flip-horizontal": "\u25c0", "pause": "\u23f8", "play": "\u25b6", "step-forward": "|\u25b6",
    "fast-forward": "\u23ed", "plus": "+",
}  # fmt: skip
"""Signs on the buttons of an HTML page: Matplotlib's own come from a server."""


def animate_motion(
    structure: Structure,
    time: NDArray[np.float64],
    motion: NDArray[np.float64],
    path: str | os.PathLike[str],
    *,
    speed: float = 1.0,
    fps: int = 25,
    scale: float | None = None,
    most: int = 1500,
) -> Path:
    """Save the motion of a structure as a moving picture.

    Parameters
    ----------
    structure
        Where the nodes lie and which members join them.
    time
        Instants in s, shape (times,).
    motion
        Of every node, shape (times, nodes, 6), in the order of ``structure.nodes``.
    path
        Where to save: ``.html`` (one file, nothing else needed), or ``.mp4``, for which the program ffmpeg
        must be there.
    speed
        How many times faster than life; less than 1 is slow motion.
    fps
        Pictures a second.
    scale
        How much displacements are enlarged; by default so that they are well seen.
    most
        Pictures at most: a minute at 25 a second.

    Returns
    -------
    path
        The file.
    """
    from matplotlib.animation import FFMpegWriter, FuncAnimation, HTMLWriter
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    target = checked_target(path)
    if target.suffix.lower() == ".mp4" and not FFMpegWriter.isAvailable():
        raise InputError(
            f"cannot save {target.name}: MP4 needs the program ffmpeg, which is not found; install it, or "
            "end the name in .html"
        )
    if speed <= 0 or fps < 1:
        raise InputError(f"speed and fps must be positive; found {speed:g} and {fps}")
    if len(time) < 2:
        raise InputError(f"a moving picture needs at least 2 instants; found {len(time)}")
    count = int((time[-1] - time[0]) / speed * fps) + 1
    if count > most:
        raise InputError(
            f"{count} pictures would be needed, at most {most} are made; take a part of the run (start, "
            "end), a greater speed, or fewer pictures a second (fps)"
        )
    chosen = np.searchsorted(time, time[0] + np.arange(max(2, count)) * speed / fps).clip(0, len(time) - 1)
    widest = lines(structure, motion[int(np.argmax(np.abs(motion[:, :, :3]).max(axis=(1, 2))))])
    factor, plane = scale_of(widest, scale), widest.plane
    figure = Figure(figsize=(4.6, height_of(widest, plane, 4.6) + 0.4), dpi=110, facecolor="white")
    FigureCanvasAgg(figure)
    axes = axes_of(figure, (1, 1, 1), plane)
    curves = draw_shape(axes, widest, factor, plane)
    axes.set_axis_off()

    def show(frame: int) -> list[Artist]:
        k = int(chosen[frame])
        _move(curves, lines(structure, motion[k]), factor, plane)
        heading(axes, f"t = {time[k]:.2f} s, displacements x {factor:.3g}")
        return curves

    film = FuncAnimation(figure, show, frames=len(chosen), blit=False)
    writers: dict[str, Callable[[], AbstractMovieWriter]] = {
        ".html": lambda: HTMLWriter(fps=fps, embed_frames=True, embed_limit=200.0),
        ".mp4": lambda: FFMpegWriter(fps=fps, bitrate=1800),
    }
    film.save(str(target), writer=writers[target.suffix.lower()]())
    if target.suffix.lower() == ".html":
        target.write_text(_alone(target.read_text(encoding="utf-8")), encoding="utf-8")
    return target


def checked_target(path: str | os.PathLike[str]) -> Path:
    """Return where a moving picture is saved, or say what is wrong with that."""
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise InputError(f"cannot save an animation as '{target.name}'; end the name in .html or .mp4")
    if not target.parent.is_dir():
        raise InputError(f"cannot save {target}: there is no folder {target.parent}; make it first")
    return target


def _move(curves: list[Any], shape: Lines, factor: float, plane: bool) -> None:
    for curve, points in zip(curves, moved_lines(shape, factor, plane), strict=True):
        if plane:
            curve.set_data(*points.T)
        else:
            curve.set_data_3d(*points.T)


def _alone(page: str) -> str:
    """Return a page that needs nothing from elsewhere: signs in the place of an icon font."""
    page = re.sub(r'<link rel="stylesheet"\s+href="https?://[^"]*">', "", page)
    for word, sign in BUTTONS.items():
        page = page.replace(f'<i class="fa fa-{word}"></i>', sign)
    return page
