"""How much is shown, and when."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Display:
    """What a terminal and a notebook show.

    Parameters
    ----------
    repr_letters, repr_entries
        Letters of a repr, and entries of a list in it.
    svg_letters
        Letters of an SVG from which on a figure is shown as a picture: it would make a notebook heavy.
    screen, sharpness
        Dots per inch of a browser, and dots of a picture for each of them.
    shown_after, looked_at_every, rate_after
        Seconds after which progress is shown, between two looks at it, and after which a rate is told.
    bar
        Letters of a bar of progress.
    """

    repr_letters: int = 300
    repr_entries: int = 4
    svg_letters: int = 1_000_000
    screen: int = 96
    sharpness: float = 2.0
    shown_after: float = 1.0
    looked_at_every: float = 0.25
    rate_after: float = 0.5
    bar: int = 40


DISPLAY = Display()
"""What everything is shown with."""
