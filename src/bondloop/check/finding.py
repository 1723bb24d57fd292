"""One thing that a check found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Level = Literal["run", "care", "vain", "stop"]
"""Of a finding and of a check: run it, run it with care, its result is worth nothing, do not run it."""

LEVELS: tuple[Level, ...] = ("run", "care", "vain", "stop")
"""From the mildest to the worst."""

UNBUILT = "BL101"
"""Name of the rule that finds that no program can be made of a test."""


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
    rule
        Name of the rule that found it, such as ``"BL201"``.
    level
        ``"run"``: for the test, ``"care"``: near, ``"vain"``: it may run, and its result would say nothing of
        the structure that is meant, ``"stop"``: against it.
    text
        In a sentence, with numbers.
    short
        In some words, for the verdict.
    accepted
        The reason for which the laboratory accepts it; empty where it does not.
    """

    rule: str
    level: Level
    text: str
    short: str
    accepted: str = ""

    @property
    def open(self) -> bool:
        """Whether it counts: nobody has accepted it."""
        return not self.accepted
