"""One thing that a check found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Finding", "Level"]

Level = Literal["run", "care", "stop"]
"""Of a finding, and of a whole check: run it, run it with care, do not run it."""


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
    """

    level: Level
    text: str
    short: str = ""
