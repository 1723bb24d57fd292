"""Labels in the room that they have: names broken into lines, ticks left out where all would overlap."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

__all__ = ["LETTER", "ROW", "broken", "every"]

LETTER, ROW = 0.075, 0.15
"""Inches of a letter and of a line of text, at 9 points."""


def broken(text: str, inches: float) -> str:
    r"""Break a text into lines that fit, after blanks, dots and underscores.

    Parameters
    ----------
    text
        A name, or words.
    inches
        Room for a line.

    Examples
    --------
    >>> broken("rig.transfer.spring.stiffness", 1.0)
    'rig.transfer.\nspring.\nstiffness'
    """
    most = max(6, int(inches / LETTER))
    lines = [""]
    for piece in re.findall(r"[^ ._]*[ ._]*", text):
        if lines[-1] and len((lines[-1] + piece).rstrip()) > most:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def every(labels: Sequence[str], inches: float, *, upright: bool = False) -> int:
    """Return the step in which labels of ticks are written so that none overlaps the next.

    Parameters
    ----------
    labels
        Of all ticks, evenly spaced.
    inches
        Length of the axis.
    upright
        Whether they stand above each other, or upon their heads: then a label is as wide as a line is high.

    Examples
    --------
    >>> every(["0.0012", "1000.5", "2000.7"], 1.0), every(["a", "b"], 1.0)
    (2, 1)
    """
    wide = ROW if upright else LETTER * (max(map(len, labels)) + 1)
    return max(1, math.ceil(len(labels) * wide / inches))
