"""A system of one mode: whether that mode would hold at a steady state of it, where nothing can change it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bondloop.errors import ModeWarning, SolveError
from bondloop.program.evaluator import evaluator
from bondloop.program.term_sizes import with_sizes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bondloop.program.system_data import SystemData

__all__ = ["warn_of_mode"]

SLACK = 1e-9
"""What counts as zero, as a share of the terms: a steady state is not known better."""


def warn_of_mode(
    system: SystemData,
    x: NDArray[np.float64],
    inputs: Mapping[str, float] | None,
    values: Mapping[str, float] | None,
) -> None:
    """Say so where a system of one mode rests where that mode does not hold."""
    if not system.modes.held:
        return
    goals = [g for held in system.modes.held for g in (held.rule.effort, held.rule.flow, *held.rule.terms)]
    statements = system.schedule(goals)
    groups = [
        system.state_vars,
        system.input_vars,
        tuple(system.input_rates.values()),
        tuple(system.parameters_by_var),
    ]
    numbers = [
        x.tolist(),
        system.operating_inputs(inputs).tolist(),
        [0.0] * len(system.input_rates),
        list(system.values(values).values()),
    ]
    try:
        seen = evaluator(statements, groups, goals)(*numbers)
        sized, ends = with_sizes(statements, goals)
        sizes = evaluator(sized, groups, ends)(*numbers)
    except SolveError:
        return  # what acts on an element cannot be computed here
    reasons, first = [], 0
    for held in system.modes.held:
        count = 2 + len(held.rule.terms)
        of_rule = seen[first : first + count]
        slack = [SLACK * size for size in sizes[first : first + count]]
        why = held.rule.broken(held.mode, of_rule[0], of_rule[1], of_rule[2:], slack)
        if why:
            reasons.append(f"{held.words} does not hold there: {why}")
        first += count
    if reasons:
        warnings.warn(
            f"{system.name}: this is the steady state of one mode, but {'; '.join(reasons)}. Compile the "
            "model without modes={...}: its steady state is where the motion leads, in the mode that holds",
            ModeWarning,
            stacklevel=4,
        )
