"""What is in force in a regime, in words: of a part with a law in pieces, by the slopes of the piece."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bondloop.engine.analysis.spectrum import OneStep


FLAT = 1 / 3
"""A curve counts as flat where its slope is below this share of the steepest that the run has seen."""

FULL, NONE = 0.95, 1e-9
"""Shares of the largest slope from which a piece is as steep as any, and below which it is level."""

MOST = 3
"""Elements that a sentence tells of; of a structure with many devices it would be long."""

LAWS = ("effort", "flow")
"""Last words of what an element gives: a force, or a velocity."""


def element_of(name: str) -> str:
    """Return the part of the test that a statement belongs to: its path without last word and stage.

    >>> element_of("rig.specimen.spring.effort@2")
    'rig.specimen.spring'
    """
    return re.sub(r"@\d+$", "", name).rpartition(".")[0] or name


def regime_words(step: OneStep, steps: Sequence[OneStep], varying: set[str]) -> dict[str, str]:
    """Return what is in force in a step: a word for each element of which something is to be said.

    Parameters
    ----------
    step
        The step.
    steps
        All that it is compared with, itself among them.
    varying
        Names of the statements that are not the same in all of them.
    """
    by_element: dict[str, list[str]] = {}
    for name in sorted(varying):
        by_element.setdefault(element_of(name), []).append(name)
    words = {}
    for element, names in by_element.items():
        laws = [n for n in names if n.rpartition(".")[2] in LAWS]  # what the others come to
        told = [word for name in laws or names if (word := _word(name, element, step, steps))]
        if told:
            words[element] = told[0]
    return words


def yield_words(yielding: Mapping[str, bool]) -> dict[str, str]:
    """Return of smooth laws, by their hysteretic states, which are elastic and which yield.

    >>> yield_words({"rig.specimen.bearing.z": True})
    {'rig.specimen.bearing': 'yielding'}
    """
    return {element_of(name): "yielding" if holds else "elastic" for name, holds in yielding.items()}


def joined(words: Mapping[str, str], most: int | None = None) -> str:
    """Return the sentence that tells of elements; of the first ones, where there may be many.

    >>> joined({"numerical.stop": "closed", "rig.specimen.bearing": "yielding"})
    'numerical.stop closed and rig.specimen.bearing yielding'
    >>> joined({"a": "flat", "b": "steep", "c": "flat", "d": "flat"}, MOST)
    'a flat and b steep and c flat ...'
    """
    told = " and ".join(f"{element} {word}" for element, word in list(words.items())[:most])
    return told + (" ..." if most is not None and len(words) > most else "")


def _word(name: str, element: str, step: OneStep, steps: Sequence[OneStep]) -> str:
    """Return the word for one statement; none where it follows nothing anywhere."""
    if name in step.steepness:
        steepest = max(s.steepness.get(name, 0.0) for s in steps)
        return "flat" if step.steepness[name] < FLAT * steepest else "steep"
    law = name.rpartition(".")[2] in LAWS
    here = _followed(step, name, element, law)
    most: dict[str, float] = {}
    for other in steps:
        for variable, slope in _followed(other, name, element, law).items():
            most[variable] = max(most.get(variable, 0.0), slope)
    full, size = max(most.values(), default=0.0), max(here.values(), default=0.0)
    if not full:
        return ""
    # A law of more than its own displacement or momentum remembers something: it is plastic.
    plastic = law and sum(element_of(v) == element for v in most) > 1
    if size < NONE * full:
        return ("flat" if plastic else "slack") if law else "not following"
    if size < FULL * full:
        return "yielding" if plastic else "softer" if law else "following less"
    outside = [v for v in most if element_of(v) != element]
    if any(here.get(v, 0.0) < FLAT * most[v] for v in outside):
        return "following in part"
    return ("elastic" if plastic else "steep") if law else "following"


def _followed(step: OneStep, name: str, element: str, law: bool) -> Mapping[str, float]:
    """Return what a statement follows, with slopes; of a signal only what is not its own memory."""
    slopes = step.tangents.of(name, lambda v: law and element_of(v) == element)
    return {v: abs(s) for v, s in slopes.items() if law or element_of(v) != element}
