"""The regimes of a loop that is not linear: stuck and sliding, in the play and out of it, limited and free.

At some instants of the dry run the tick is linearised as it stands there. What is in force at an instant
(which branch of every choice, which slope of every curve) makes its regime.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.check.hysteresis import yielded, yields
from bondloop.check.regime_words import FLAT, MOST, element_of, joined, regime_words, yield_words
from bondloop.check.switched_modes import Modes, held, mode_words, modes_of, unvisited
from bondloop.engine.analysis.spectrum import Point, collection_paused, within
from bondloop.errors import BondloopError

if TYPE_CHECKING:
    from bondloop.check.running_loop import RunningLoop
    from bondloop.engine.analysis.spectrum import OneStep


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
    elements
        Paths of the parts that `words` tells of.
    """

    words: str
    step: OneStep
    point: Point
    share: float
    elements: frozenset[str] = frozenset()

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


@collection_paused()  # once for all points: after each it would go through all that they have made
def regimes(
    loop: RunningLoop, points: Sequence[Point], elastic: Mapping[str, float] | None = None
) -> tuple[Regime, ...]:
    """Return the regimes at some points of a run, the least stable first.

    Parameters
    ----------
    loop
        The loop.
    points
        Of the run.
    elastic
        The hysteretic states of smooth laws, with their slopes at rest.
    """
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
        seen += _within(mode_words(loop.test, modes, list(by_modes)), steps, total, elastic or {})
    return tuple(sorted(seen, key=lambda r: -r.step.growth))


def other_modes(
    loop: RunningLoop, known: Sequence[Regime], elastic: Mapping[str, float] | None = None
) -> tuple[Regime, ...]:
    """Return the loop in the modes in which it was not seen, the least stable first.

    Parts that switch have modes; smooth laws that yield (`elastic`, see `regimes`) may have yielded.
    """
    visited = [modes_of(loop.test, regime.step) for regime in known]
    steps = unvisited(loop, visited)
    everything = [*visited, *(modes for modes, _, _ in steps)]
    others = [_told_by(mode_words(loop.test, m, everything), step, point) for m, point, step in steps]
    stiff = [n for n in elastic or {} if not any(yields(r.step, elastic or {})[n] for r in known)]
    step = yielded(loop, stiff) if stiff else None
    if step is not None:
        others.append(_told_by(yield_words(dict.fromkeys(stiff, True)), step, Point()))
    return tuple(sorted(others, key=lambda r: -r.step.growth))


def _told_by(words: Mapping[str, str], step: OneStep, point: Point) -> Regime:
    """Return a regime in which the run was not."""
    return Regime(joined(words), step, point, 0.0, frozenset(words))


def _within(
    modes: Mapping[str, str], steps: Sequence[tuple[Point, OneStep]], total: int, elastic: Mapping[str, float]
) -> list[Regime]:
    """Return the regimes of some steps, all in the same modes."""
    steepest: dict[str, float] = {}
    for _, step in steps:
        for name, slope in step.steepness.items():
            steepest[name] = max(steepest.get(name, 0.0), slope)
    plastic = {element_of(name) for name in elastic}
    varying = {n for n in _varying([step for _, step in steps], steepest) if element_of(n) not in plastic}
    yielding = [yields(step, elastic) for _, step in steps]
    grouped: dict[object, list[int]] = {}
    for i, (_, step) in enumerate(steps):
        pattern = (tuple(yielding[i].items())[:MOST], _pattern(step, steepest, varying))
        grouped.setdefault(pattern, []).append(i)
    least_stable = []
    for members in grouped.values():
        worst = max(members, key=lambda i: steps[i][1].growth)
        point, step = steps[worst]
        many = yield_words(yielding[worst]), regime_words(step, [s for _, s in steps], varying)
        told = " and ".join(w for w in (joined(modes), *(joined(m, MOST) for m in many)) if w)
        elements = frozenset(modes).union(*(list(m)[:MOST] for m in many))
        least_stable.append(Regime(told, step, point, len(members) / total, elements))
    return least_stable


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


def _pattern(step: OneStep, steepest: dict[str, float], varying: set[str]) -> tuple[tuple[str, object], ...]:
    """Return which pieces and slopes are in force in a step, of what varies in the first three elements."""
    pieces = _pieces(step)
    pattern: dict[str, object] = {}
    for name in sorted(varying):
        element = element_of(name)
        if name in step.steepness and name in steepest:
            pattern[element] = step.steepness[name] < FLAT * steepest[name]
        elif name in pieces:
            pattern.setdefault(element, pieces[name][:4])
    return tuple(list(pattern.items())[:3])
