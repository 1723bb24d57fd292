"""How good a run was, as one grade with its reasons: the worst measure counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from bondloop.display import notebook, paragraph, table


class Grade(IntEnum):
    """How good something was, best first.

    Examples
    --------
    >>> Grade.NOT_AT_ALL > Grade.WELL, Grade.VERY_WELL.words
    (True, 'very well')
    """

    VERY_WELL = 0
    WELL = 1
    POORLY = 2
    NOT_AT_ALL = 3

    @property
    def words(self) -> str:
        """The grade as people say it."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True)
class Scale:
    """Where the grades of one measure begin.

    Attributes
    ----------
    well, poorly, not_at_all
        The magnitude of the measure from which on the grade is no better than this.
    reason
        Why there.

    Examples
    --------
    >>> Scale(well=0.02, poorly=0.1, not_at_all=0.5, reason="...").grade(-0.05).words
    'well'
    """

    well: float
    poorly: float
    not_at_all: float
    reason: str

    def grade(self, value: float) -> Grade:
        """Return the grade of a value by its magnitude; what is not a number is not good at all."""
        size = abs(value)
        if math.isnan(size) or size >= self.not_at_all:
            return Grade.NOT_AT_ALL
        return Grade((size >= self.well) + (size >= self.poorly))


SCALES: Mapping[str, Scale] = {
    "tracking error": Scale(
        0.03,
        0.1,
        0.5,
        "Rms error over rms motion. 3 % is what good controllers reach on a rig (Gawthrop 2005); at 10 % a "
        "lag acts on a spring as a damping of -5 % of critical, as much as a structure has; at 50 % the "
        "specimen makes a motion of its own.",
    ),
    "delay": Scale(
        0.03 / (2 * math.pi),
        0.1 / (2 * math.pi),
        0.5 / (2 * math.pi),
        "Delay over the period of the motion. A sine that is late by this share of its period and otherwise "
        "right has the rms errors of 'tracking error'.",
    ),
    "amplitude error": Scale(
        0.03, 0.1, 0.5, "A motion that is too large by this and otherwise right has those rms errors."
    ),
    "reference error": Scale(
        0.05,
        0.2,
        0.5,
        "Rms difference from the complete structure, over its rms. Masses and stiffnesses of a real "
        "structure are hardly known better than to 5 %; with 20 % two designs cannot be told apart; with "
        "50 % the answer is another structure's.",
    ),
    "measured force": Scale(
        0.03,
        0.1,
        0.5,
        "Rms difference of the measured force from the force at the specimen, over its rms. The numerical "
        "half answers to the force as the specimen does to the motion: the grades of 'tracking error' are "
        "kept.",
    ),
    "force error": Scale(
        0.05,
        0.2,
        0.5,
        "Rms difference of the force that the numerical half feels from that of the complete structure, over "
        "its rms. A specimen is tested for its force: it is graded as the motion is in 'reference error'.",
    ),
    "chatter": Scale(
        0.03,
        0.1,
        0.5,
        "Power of the force above the band of the motion, less what the structure itself has there, over all "
        "of its power. With a tenth of the power, a third of the amplitude, it wears a valve and says "
        "nothing of the specimen; with half of it the loop is an oscillator.",
    ),
    "interface energy": Scale(
        0.03 * math.pi / 2,
        0.1 * math.pi / 2,
        0.5 * math.pi / 2,
        "Energy of the transfer system over the energy exchanged at the interface. For a spring that is "
        "followed late it is π/2 times the rms error of 'tracking error', whose grades are kept.",
    ),
    "supplied energy": Scale(
        0.2,
        0.5,
        1.0,
        "Energy of the transfer system over the energy that the excitation supplied, which is what the "
        "structure dissipated and held. It is the share of the damping that is false: in resonance the "
        "response is off by as much; from 100 % on the actuator drives the structure more than the "
        "excitation does.",
    ),
    "saturated readings": Scale(
        1e-12,
        1e-3,
        0.1,
        "Share of samples at the end of a sensor's range: it is the peaks that are lost. One in a thousand "
        "is a lone spike; with one in ten the force that comes back is another specimen's.",
    ),
    "late ticks": Scale(
        1e-4,
        1e-3,
        1e-2,
        "Share of deadlines without a tick in time. At each of them the rig goes on with an old command. A "
        "lone hiccup in ten thousand leaves no trace; from one in a hundred on hardly a cycle of the motion "
        "is without one.",
    ),
    "old measurements": Scale(
        1e-3,
        1e-2,
        0.1,
        "Share of ticks without a new measurement that is believed. Each adds one sample of delay; ten times "
        "more of them are allowed than of late ticks, for the rig itself goes on in time.",
    ),
}
"""All thresholds of a run's judgement, by measure, each with its reason."""

_OPENINGS = {
    Grade.WELL: "The test went well, though not perfectly: ",
    Grade.POORLY: "The result is doubtful: ",
    Grade.NOT_AT_ALL: "The result cannot be trusted: ",
}
_DETAILS = ("delay", "amplitude error")
"""Measures that are parts of the tracking error, told only if they are worse than it."""


@dataclass(frozen=True)
class Finding:
    """One measure of a run, judged.

    Attributes
    ----------
    measure
        Its name: a key of `SCALES`, or what happened (``"stop"``, ``"trip"``, ``"record"``).
    value
        The number; NaN where there is none.
    grade
        None where there was nothing to judge.
    sentence
        What was found and what follows from it.
    remark
        Said instead where another finding is worse: the number without praise.
    """

    measure: str
    value: float
    grade: Grade | None
    sentence: str
    remark: str = ""

    def __str__(self) -> str:
        return f"{'not judged' if self.grade is None else self.grade.words:<10}  {self.sentence}"


def graded(measure: str, value: float, sentence: str, remark: str = "") -> Finding:
    """Return a finding with the grade that the measure's scale gives it.

    Parameters
    ----------
    measure
        Name of a scale of :data:`SCALES`.
    value
        What was measured.
    sentence
        What to say of it.
    remark
        What to add to it; may be empty.

    Examples
    --------
    >>> graded("tracking error", 0.08, "...").grade.words
    'well'
    """
    return Finding(measure, value, SCALES[measure].grade(value), sentence, remark)


@dataclass(frozen=True)
class Judgement:
    """All findings of a run, and what they come to.

    Attributes
    ----------
    findings
        In the order in which they were looked at.

    Examples
    --------
    >>> followed = graded(
    ...     "tracking error", 0.01, "It followed very well: 1 %.", "It followed with an error of 1 %."
    ... )
    >>> print(Judgement((followed,)).verdict)
    It followed very well: 1 %.
    >>> off = graded("reference error", 0.56, "The structure moved 56 % off its reference.")
    >>> print(Judgement((followed, off)).verdict)
    The result cannot be trusted: the structure moved 56 % off its reference. It followed with an error ...
    >>> Judgement((followed, off)).level.words
    'not at all'
    """

    findings: tuple[Finding, ...] = ()

    @property
    def level(self) -> Grade | None:
        """The worst grade; None where nothing could be judged."""
        return max((f.grade for f in self.findings if f.grade is not None), default=None)

    @property
    def verdict(self) -> str:
        """What a person needs to know, the worst first."""
        holes = [f.sentence for f in self.findings if f.measure == "record"]
        stops = [f.sentence for f in self.findings if f.measure == "stop"]
        if stops:
            checks = [f.sentence for f in self.findings if f.measure == "check"]
            return " ".join([*stops, *holes, *checks])
        trips = [f.sentence for f in self.findings if f.measure == "trip"]
        care = [f.sentence for f in self.findings if f.measure == "check" and f.grade is None]
        words = Judgement(tuple(f for f in self.findings if f.measure not in ("trip", "record")))._compared()
        if trips and words:
            words[0] = f"Until then {_uncapitalised(words[0])}"
        return " ".join([*trips, *words, *holes, *care]) or "The run was completed."

    def _compared(self) -> list[str]:
        level = self.level
        tracking = [f for f in self.findings if f.measure == "tracking error"]
        others = [f for f in self.findings if f.measure != "tracking error" and f.grade is not None]
        followed = max((f.grade for f in tracking if f.grade is not None), default=Grade.VERY_WELL)
        # What is good is told of the tracking alone; the rest is told where it is bad, or worse than that.
        told = [
            f
            for f in sorted(others, key=_grade, reverse=True)
            if _grade(f) > followed or (_grade(f) >= Grade.POORLY and f.measure not in _DETAILS)
        ]
        lines = [
            f.sentence if f.grade in (None, level) or not f.remark else f.remark
            for f in sorted(tracking, key=_grade, reverse=True)
        ]
        if level is None or not told or level == followed:
            return [*lines, *(f.sentence for f in told)]
        first, *more = (f.sentence for f in told)
        return [_OPENINGS[level] + _uncapitalised(first), *more, *lines]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def html_rows(self) -> list[tuple[str, str, str]]:
        """Return the findings for a table, the worst first: measure, grade, sentence."""
        return [
            (f.measure, "not judged" if f.grade is None else f.grade.words, f.sentence)
            for f in sorted(self.findings, key=_grade, reverse=True)
        ]

    def _repr_html_(self) -> str:
        rows = table(("measure", "followed", "finding"), self.html_rows())
        return notebook("Judgement", [paragraph(self.verdict), rows])

    def __str__(self) -> str:
        return "\n".join([self.verdict, *(f"  {f}" for f in sorted(self.findings, key=_grade, reverse=True))])

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can say."""
        return {
            "level": None if self.level is None else self.level.words,
            "verdict": self.verdict,
            "findings": [
                {
                    "measure": f.measure,
                    "value": f.value if math.isfinite(f.value) else None,
                    "grade": None if f.grade is None else f.grade.words,
                    "sentence": f.sentence,
                }
                for f in self.findings
            ],
        }


def percent(value: float) -> str:
    """Write a ratio in per cent.

    >>> percent(0.0274), percent(1.474), percent(12.3456), percent(1.9e-15)
    ('2.7 %', '147 %', '1,235 %', 'under 0.001 %')
    """
    if 0 < abs(value) < 1e-5:
        return "under 0.001 %"
    return f"{100 * value:.2g} %" if abs(value) < 0.995 else f"{100 * value:,.0f} %"


def _grade(finding: Finding) -> int:
    return -1 if finding.grade is None else int(finding.grade)


def _uncapitalised(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
