"""Figures that show themselves in a notebook, and how a figure becomes a file.

A Matplotlib figure made without pyplot has nothing that a notebook could show; this one has.
"""

from __future__ import annotations

import base64
import io
import warnings
from pathlib import Path
from typing import IO

import matplotlib as mpl
from matplotlib import figure as mpl_figure

SVG_LETTERS = 1_000_000
"""Letters of an SVG beyond which a figure is shown as a picture: it would make a notebook heavy."""

SCREEN_RESOLUTION, SHARPNESS = 96, 2.0
"""Dots per inch of a browser, and dots of a picture for each of them."""

Bundle = tuple[dict[str, str], dict[str, dict[str, int]]]
"""What a notebook shows, by its type, and what is to be known of each."""


class Figure(mpl_figure.Figure):
    """A Matplotlib figure that shows itself in a notebook: as lines (SVG), a heavy one as a picture (PNG).

    Examples
    --------
    >>> figure = Figure(figsize=(3, 2))
    >>> _ = figure.subplots().plot([0, 1], [1, 0])
    >>> [*figure._repr_mimebundle_()[0]]
    ['image/svg+xml']
    """

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Bundle:  # noqa: ARG002
        """Return what a notebook shows, by its type, and what is to be known of it."""
        lines = svg_text(self)
        if len(lines) <= SVG_LETTERS:
            return {"image/svg+xml": lines}, {}
        buffer = io.BytesIO()
        save(self, buffer, "png", SHARPNESS * SCREEN_RESOLUTION)
        width, height = (round(SCREEN_RESOLUTION * float(inches)) for inches in self.get_size_inches())
        picture = base64.b64encode(buffer.getvalue()).decode()
        return {"image/png": picture}, {"image/png": {"width": width, "height": height}}


def svg_text(figure: mpl_figure.Figure) -> str:
    """Return a figure as the text of an SVG file."""
    buffer = io.BytesIO()
    save(figure, buffer, "svg")
    return buffer.getvalue().decode()


def save(figure: mpl_figure.Figure, target: Path | IO[bytes], kind: str, dpi: float | None = None) -> None:
    """Write a figure, the same bytes for the same figure.

    Parameters
    ----------
    figure
        What to write.
    target
        A path or an open file.
    kind
        ``"svg"``, ``"pdf"`` or ``"png"``.
    dpi
        Dots per inch of bitmaps; those of the figure where none is given.
    """
    dateless: dict[str, dict[str, None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with warnings.catch_warnings(), mpl.rc_context({"svg.hashsalt": "bondloop"}):
        # A letter that the font lacks is drawn as a box, and a file may hold any.
        warnings.filterwarnings("ignore", message="Glyph")
        resolution = figure.dpi if dpi is None else dpi
        figure.savefig(target, format=kind, dpi=resolution, metadata=dateless.get(kind), facecolor="white")
