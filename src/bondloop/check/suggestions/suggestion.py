"""What would make a refused test pass: the changes that were tried, and the one to take."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from bondloop.check.finding import percent
from bondloop.display import brief, notebook, paragraph, table
from bondloop.engine.data import Parameter

if TYPE_CHECKING:
    from bondloop.check.finding import Level
    from bondloop.hybrid import Checkable


Kind = Literal["emulation", "compensator", "filter", "excitation", "rate", "specimen"]
"""What a change is of; finer steps of the emulation are no change in the laboratory."""

HEAD = ("", "of the", "change", "linear loop", "margin", "tracking", "delay", "check")
"""Columns of the table."""


@dataclass(frozen=True)
class SuggestionPolicy:
    """How far the search for a change goes.

    Parameters
    ----------
    budget
        Time in s after which nothing new is begun: what is left is counted, and told.
    screening
        Share of the budget that the linear loops of all changes may take; the rest is for checks in full.
    checked
        Changes of compensator, filter or specimen that are checked in full, the best on the linear loop
        first; of the excitation and the rate all may be, one after the other.
    followed
        Tracking error up to which a change is worth having: the rig follows.
    factors
        Delays of a prediction or a lead that are tried, as multiples of the lag of the actuator, or of the
        controller's own delay.
    longest
        Longest lag in s that a compensator is tried for: beyond it a prediction is a guess.
    spans
        Spans in s of a prediction, with points: the longer one passes less noise on.
    rates
        Multiples of the sample rate, or parts of the time step, that are tried.
    corners
        Corners of a filter of the measured force, as multiples of the frequency that grows (below 1: the
        motion is filtered out) or of the filter's own corner (above 1: less lag).
    scales
        Shares of the excitation that are tried, the largest first.
    compliances
        Multiples of the specimen's stiffness, with its mount, that are tried.
    finer
        Multiple of the steps of the emulation by which it is seen whether the emulation is too coarse.
    coarse
        Growth in one sample from which the emulation is suspected where the loop is not linear.
    band, doublings
        Lines of the excitation's spectrum by which the tracking error of a linear loop is weighed, and the
        samples that the spectrum is taken of at most, as a power of two.

    Examples
    --------
    >>> SuggestionPolicy(budget="2 min").budget
    120.0
    """

    budget: Parameter = Parameter(30.0, above=0, unit="s")
    screening: float = 0.5
    checked: int = 3
    followed: float = 0.1
    factors: tuple[float, ...] = (0.5, 0.75, 1.0, 1.35)
    longest: Parameter = Parameter(0.1, above=0, unit="s")
    spans: tuple[tuple[float, int], ...] = ((0.02, 12), (0.01, 10))
    rates: tuple[int, ...] = (2, 4, 8)
    corners: tuple[float, ...] = (0.3, 2.0, 5.0)
    scales: tuple[float, ...] = (0.8, 0.5, 0.3, 0.2, 0.1, 0.05)
    compliances: tuple[float, ...] = (0.5, 0.2, 0.1)
    finer: int = 4
    coarse: float = 2.0
    band: int = 64
    doublings: int = 14


@dataclass(frozen=True)
class Attempt:
    """A change that was tried.

    Attributes
    ----------
    kind
        What it is a change of.
    words
        The change, with its numbers.
    test
        The changed test; None where it cannot be built.
    stable
        Whether the linear loop is stable where the test starts; None where it cannot be linearised.
    margin
        The relative change of the actuator's response, of any phase, that would make the linear loop
        unstable; NaN where it is not known.
    tracking
        Rms error of the actual against the desired displacement: that of the dry run where the change was
        checked, that of the linear loop otherwise.
    delay
        Extra delay in s that the loop stands, where the change was checked.
    level, verdict
        Of its check; None and empty where it was not checked.
    note
        Why it was not checked, where it was not.
    """

    kind: Kind
    words: str
    test: Checkable | None = field(default=None, repr=False, compare=False)
    stable: bool | None = None
    margin: float = math.nan
    tracking: float = math.nan
    delay: float = math.nan
    level: Level | None = None
    verdict: str = ""
    note: str = ""

    __repr__ = brief

    @property
    def passed(self) -> bool:
        """Whether its check passed, and the result of the test would say something."""
        return self.level in ("run", "care")

    def row(self) -> tuple[str, ...]:
        """Return it as texts: kind, change, linear loop, margin, tracking, delay, outcome."""
        loop = {True: "stable", False: "unstable", None: "-"}[self.stable]
        margin, tracking = (percent(x) if math.isfinite(x) else "-" for x in (self.margin, self.tracking))
        delay = f"{1e3 * self.delay:.3g} ms" if math.isfinite(self.delay) else "-"
        return self.kind, self.words, loop, margin, tracking, delay, self.verdict or self.note

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for JSON; None for what is not known."""
        numbers = {"margin": self.margin, "tracking": self.tracking, "delay": self.delay}
        return {
            "kind": self.kind, "words": self.words, "stable": self.stable, "level": self.level,
            "verdict": self.verdict, "passed": self.passed, "note": self.note,
            **{n: x if math.isfinite(x) else None for n, x in numbers.items()},
        }  # fmt: skip


@dataclass(frozen=True)
class Suggestion:
    """What would make a test pass, and what was tried for it.

    Attributes
    ----------
    proposed
        The change to take; None where none passes its check, or none is needed.
    reason
        Why this one and not another, or why none, in sentences.
    attempts
        Every change that was tried: those that were checked in full first.
    untried
        Changes for which the budget left no time.
    seconds
        How long the search took.
    verdict
        Of the test as it is.
    name
        Of the test.
    """

    proposed: Attempt | None
    reason: str
    attempts: tuple[Attempt, ...] = ()
    untried: int = 0
    seconds: float = field(default=0.0, compare=False)
    verdict: str = ""
    name: str = field(default="test", compare=False)

    __repr__ = brief

    def _rows(self) -> list[tuple[str, ...]]:
        return [("*" if a is self.proposed else "", *a.row()) for a in self.attempts]

    def __str__(self) -> str:
        rows = self._rows()
        lines = [f"{self.name} as it is: {self.verdict}"]
        if rows:
            texts = [[*row[:2], *row[3:7]] for row in (HEAD, *rows)]
            widths = [max(len(row[i]) for row in texts) for i in range(6)]
            for short, row in zip(texts, (HEAD, *rows), strict=True):
                cells = [cell.ljust(width) for cell, width in zip(short, widths, strict=True)]
                lines.append("  ".join(cells).rstrip() + f"  {row[2]}")
                if row[7] and row is not HEAD:
                    lines.append(f"{'':4}{row[7]}")
        return "\n".join([*lines, self.reason])

    def _repr_html_(self) -> str:
        parts = [paragraph(self.reason), table(HEAD, self._rows()) if self.attempts else ""]
        return notebook(f"What would make {self.name} pass", [paragraph(self.verdict), *parts])

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain numbers and texts, for JSON."""
        return {
            "proposed": None if self.proposed is None else self.proposed.to_dict(), "reason": self.reason,
            "attempts": [a.to_dict() for a in self.attempts], "untried": self.untried,
            "seconds": self.seconds, "verdict": self.verdict,
        }  # fmt: skip
