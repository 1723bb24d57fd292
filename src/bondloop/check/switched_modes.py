"""The modes of a test whose parts switch: which one a step was in, and the loop in those not seen."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bondloop.engine.analysis.spectrum import Point
from bondloop.engine.passes import modes_held
from bondloop.errors import BondloopError

if TYPE_CHECKING:
    from bondloop.check.running_loop import RunningLoop
    from bondloop.engine.analysis.spectrum import OneStep
    from bondloop.engine.ir import Rule
    from bondloop.hybrid import Checkable


MOST = 64
"""Modes that are looked at besides those of the dry run."""

Modes = tuple[tuple[str, int], ...]
"""The number of the mode of each element that switches, with its path."""


def _rules(test: Checkable) -> list[Rule]:
    return [rule for part in test.switching for rule in part.rules]


def modes_of(test: Checkable, step: OneStep) -> Modes:
    """Return the modes in which a step was made."""
    assert step.at is not None
    values = dict(zip(step.states, step.at.after.tolist(), strict=True))
    return tuple((r.path, round(values[r.mode.name])) for r in _rules(test) if r.mode.name in values)


def mode_words(test: Checkable, modes: Modes, others: Sequence[Modes]) -> dict[str, str]:
    """Return modes in words by the paths of the elements, those that are not the same in all others."""
    rules = {r.path: r for r in _rules(test)}
    varying = [(path, m) for path, m in modes if any(dict(other).get(path) != m for other in others)]
    return {path: rules[path].words[m] for path, m in varying}


def held(
    loop: RunningLoop, point: Point, modes: Modes, parameters: Mapping[str, float] | None = None
) -> OneStep:
    """Return one step of the loop at a point, with its parts in some modes and kept there.

    The contents of storages are those after a change into the modes. In a step in which a mode changes the
    slopes are those of the jump, which says nothing of how the loop goes on.
    """
    names = {r.path: r.mode.name for r in _rules(loop.test)}
    still = copy.copy(loop)
    still.tick = modes_held(loop.tick)
    states = {**point.states, **{names[path]: float(m) for path, m in modes}}
    return still.at(replace(point, states=states), parameters)


def unvisited(loop: RunningLoop, visited: Sequence[Modes]) -> list[tuple[Modes, Point, OneStep]]:
    """Return one step of the loop at its start in each mode that was not visited, at most `MOST` of them."""
    parts, rules = loop.test.switching, _rules(loop.test)
    if not parts:
        return []
    known = {tuple(int(m != 0) for _, m in modes) for modes in visited}
    steps: list[tuple[Modes, Point, OneStep]] = []
    for combination in itertools.product(*(part.modes for part in parts)):
        bits = tuple(bit for part in combination for bit in part)
        if bits in known or len(steps) == MOST:
            continue
        modes = tuple((r.path, bit) for r, bit in zip(rules, bits, strict=True))
        try:
            step = held(loop, Point(), modes)
            _ = step.spectrum
        except BondloopError:
            continue  # a slope that does not exist at just this point
        steps.append((modes, Point(), step))
    return steps
