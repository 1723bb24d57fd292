"""One thing that a check found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Level = Literal["run", "care", "stop"]
"""Of a finding, and of a whole check: run it, run it with care, do not run it."""

UNBUILT = "it cannot be built"
"""In short, of a test that no program can be made of."""


def percent(share: float) -> str:
    """Return a share in per cent, with two digits and never with a power of ten.

    >>> percent(0.0123), percent(1.06), percent(9.8e-7)
    ('1.2 %', '106 %', 'under 0.001 %')
    """
    value = 100 * share
    return f"{value:.0f} %" if value >= 10 else f"{value:.2g} %" if value >= 0.001 else "under 0.001 %"


def multiple(value: float) -> str:
    """Return a factor with three digits, and near 1 with as many as tell it from 1.

    >>> multiple(2.3456), multiple(1.0015), multiple(0.99996), multiple(1.0)
    ('2.35', '1.0015', '0.99996', '1')
    """
    off = abs(value - 1)
    if not 1e-12 < off < 0.05:
        return f"{value:.3g}"
    text = f"{value:.{1 - math.floor(math.log10(off))}f}"
    return text.rstrip("0")


@dataclass(frozen=True)
class Finding:
    """One thing that was found.

    Attributes
    ----------
    level
        ``"run"``: for the test, ``"care"``: near, ``"stop"``: against it.
    text
        In a sentence, with numbers.
    short
        In some words, for the verdict.
    limit
        Whether a limit is in the way, so that less excitation would help.
    vain
        Whether the test may run, and its result would say nothing of the structure that is meant.
    coarse
        Whether it is that the time step is too long for what is stiff.
    """

    level: Level
    text: str
    short: str = ""
    limit: bool = False
    vain: bool = False
    coarse: bool = False
