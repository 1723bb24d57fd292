"""The regimes of a loop that is not linear: stuck and sliding, in the play and out of it, limited and free.

At some instants of the dry run the tick is linearised as it stands there. What is in force at an instant
(which branch of every choice, which slope of every curve) makes its regime.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.errors import BondloopError
from bondloop.hybrid.switched_modes import Modes, held, mode_words, modes_of, unvisited
from bondloop.program.paths import within

if TYPE_CHECKING:
    from bondloop.hybrid.running_loop import RunningLoop
    from bondloop.program.one_step import OneStep, Point

__all__ = ["Regime", "other_modes", "regimes"]

FLAT = 1 / 3
"""A curve counts as flat where its slope is below this share of the steepest that the run has seen."""


@dataclass(frozen=True)
class Regime:
    """The loop in one regime.

    Attributes
    ----------
    words
        What is in force, as far as it differs from one regime to the other: "rig.specimen.friction flat".
    step
        One step of the loop there; of all instants of the regime the least stable.
    point
        Where that was.
    share
        Share of the instants looked at.
    """

    words: str
    step: OneStep
    point: Point
    share: float

    def __repr__(self) -> str:
        words = self.words or "the only one"
        return (
            f"<Regime {words!r}: {'stable' if self.step.stable else 'unstable'} at t = {self.time:.6g} s, "
            f"{self.share:.0%} of the instants>"
        )

    @property
    def time(self) -> float:
        """Of the instant, in s."""
        return self.point.count * self.step.period


def regimes(loop: RunningLoop, points: Sequence[Point]) -> tuple[Regime, ...]:
    """Return the regimes at some points of a run, the least stable first."""
    by_modes: dict[Modes, list[tuple[Point, OneStep]]] = {}
    for point in points:
        try:
            step = loop.at(point)
            modes = modes_of(loop.test, step)
            by_modes.setdefault(modes, []).append((point, held(loop, point, modes) if modes else step))
        except BondloopError:
            continue  # a slope that does not exist at just this instant
    total = sum(len(steps) for steps in by_modes.values())
    seen: list[Regime] = []
    for modes, steps in by_modes.items():
        seen += _within(mode_words(loop.test, modes, list(by_modes)), steps, total)
    return tuple(sorted(seen, key=lambda r: -r.step.growth))


def other_modes(loop: RunningLoop, known: Sequence[Regime]) -> tuple[Regime, ...]:
    """Return the loop in the modes of parts that switch in which it was not seen, the least stable first."""
    visited = [modes_of(loop.test, regime.step) for regime in known]
    steps = unvisited(loop, visited)
    everything = [*visited, *(modes for modes, _, _ in steps)]
    others = [Regime(mode_words(loop.test, m, everything), step, point, 0.0) for m, point, step in steps]
    return tuple(sorted(others, key=lambda r: -r.step.growth))


def _within(modes: str, steps: Sequence[tuple[Point, OneStep]], total: int) -> list[Regime]:
    """Return the regimes of some steps, all in the same modes."""
    steepest: dict[str, float] = {}
    for _, step in steps:
        for name, slope in step.steepness.items():
            steepest[name] = max(steepest.get(name, 0.0), slope)
    varying = _varying([step for _, step in steps], steepest)
    grouped: dict[str, list[tuple[Point, OneStep]]] = {}
    for point, step in steps:
        grouped.setdefault(_words(step, steepest, varying), []).append((point, step))
    least_stable = []
    for words, members in grouped.items():
        point, step = max(members, key=lambda m: m[1].growth)
        told = " and ".join(w for w in (modes, words) if w)
        least_stable.append(Regime(told, step, point, len(members) / total))
    return least_stable


def _element(name: str) -> str:
    """Return the part of the test that a statement belongs to: its path without last word and stage."""
    return re.sub(r"@\d+$", "", name).rpartition(".")[0] or name


def _told(name: str) -> bool:
    """Whether a statement is worth a word: of rig or structure, and not a later stage of the integrator."""
    return "@" not in name and within(name, "rig", "numerical", "measured")


def _pieces(step: OneStep) -> dict[str, tuple[int, ...]]:
    """Return the choices of every statement that is worth a word."""
    choices: dict[str, tuple[int, ...]] = {}
    for name, choice in step.branches:
        if _told(name):
            choices[name] = (*choices.get(name, ()), choice)
    return choices


def _varying(steps: Sequence[OneStep], steepest: dict[str, float]) -> set[str]:
    """Return the statements that are not the same at all instants."""
    varying: set[str] = set()
    first = _pieces(steps[0]) if steps else {}
    for step in steps[1:]:
        pieces = _pieces(step)
        varying |= {n for n in {*pieces, *first} if pieces.get(n) != first.get(n)}
    for name, most in steepest.items():
        if _told(name) and any(s.steepness.get(name, most) < FLAT * most for s in steps):
            varying.add(name)
    return varying


def _words(step: OneStep, steepest: dict[str, float], varying: set[str]) -> str:
    """Say what is in force in a step, of what varies."""
    pieces = _pieces(step)
    words: dict[str, str] = {}
    for name in sorted(varying):
        element = _element(name)
        if name in step.steepness and name in steepest:
            flat = step.steepness[name] < FLAT * steepest[name]
            words[element] = "flat" if flat else "steep"
        elif name in pieces:
            words.setdefault(element, f"on branch {''.join(map(str, pieces[name][:4]))}")
    shown = [f"{element} {word}" for element, word in list(words.items())[:3]]
    return " and ".join(shown) + (" ..." if len(words) > 3 else "")
