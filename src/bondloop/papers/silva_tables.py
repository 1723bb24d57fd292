"""The tables of the field's benchmark: Markdown to read, CSV to compute with."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop.papers.silva_controllers import CONTROLLERS
from bondloop.papers.silva_criteria import NOISY, NUMBERS, WITHOUT_NOISE
from bondloop.papers.silva_goals import ALLOWANCE, GOALS, missed, worst

if TYPE_CHECKING:
    from bondloop.papers.silva_comparison import Comparison, Outcome

__all__ = ["markdown", "save_csv"]

OVER_PLANTS = ("tracking_rms_percent", "floor_1_rms_percent", "floor_2_rms_percent", "floor_3_rms_percent")
"""Criteria whose mean and worst over the plants the second table shows."""

COLUMNS = ("controller", "case", "plant", "seed", "stopped", "stopped_by")
"""Of the CSV, before the criteria; the time at which a run stopped is in s."""


def save_csv(comparison: Comparison, path: str | Path) -> Path:
    """Save every run as a row; a run that stopped has no criteria.

    Parameters
    ----------
    comparison
        The runs.
    path
        Where to.
    """
    names = [*NUMBERS, *(f"{name}{WITHOUT_NOISE}" for name in NOISY)]
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*COLUMNS, *names])
        for o in comparison.outcomes:
            stopped = "" if o.stopped is None else o.stopped
            row = [o.controller, o.case, o.trial.plant, o.trial.seed, stopped, o.channel]
            writer.writerow([*row, *(o.criteria.get(name, "") for name in names)])
    return Path(path)


def markdown(comparison: Comparison) -> str:
    """Return the tables as Markdown: the goals, the nominal plant, the plants that differ.

    Parameters
    ----------
    comparison
        The runs.
    """
    parts = [
        "### Goals\n\n" + _goals(comparison),
        "### Nominal plant\n\n" + _nominal(comparison),
    ]
    if any(o.trial.plant for o in comparison.outcomes):
        parts.append("### Plants that differ\n\n" + _plants(comparison))
    return "\n\n".join(parts) + "\n"


def _goals(comparison: Comparison) -> str:
    rows = []
    for name in comparison.controllers:
        row = [f"`{name}`", CONTROLLERS[name].about]
        for case in comparison.cases:
            on = [missed(comparison, name, case, nominal=nominal) for nominal in (True, False)]
            row.append("; ".join(_met(words) for words in on if words is not None))
        rows.append(row)
    bounds = ", ".join(
        f"{NUMBERS[g.name]} {g.most:g} {'floors' if g.of_floor else 'ms' if g.name == 'delay_ms' else '%'}"
        for g in GOALS
    )
    floors = ", ".join(f"{comparison.floors[case]:.2f}" for case in comparison.cases)
    words = (
        f"At most: {bounds}; the noise floors are {floors} %. First on the nominal plant, then on the "
        f"others, which may be {ALLOWANCE:g} points (ms) worse. What is missed is named."
    )
    return words + "\n\n" + _table(["controller", "what", *(f"case {c}" for c in comparison.cases)], rows)


def _met(words: Sequence[str]) -> str:
    return "met" if not words else "all missed" if len(words) == len(GOALS) else " ".join(words)


def _nominal(comparison: Comparison) -> str:
    rows = [
        [f"`{name}`", str(case), *_values(comparison.of(name, case, nominal=True))]
        for name in comparison.controllers
        for case in comparison.cases
    ]
    words = "The worst draw of the noise, in brackets the worst twin without it; J1 in ms, the others in %."
    return words + "\n\n" + _table(["controller", "case", *NUMBERS.values()], rows)


def _plants(comparison: Comparison) -> str:
    rows = []
    for name in comparison.controllers:
        for case in comparison.cases:
            outcomes = comparison.of(name, case, nominal=False)
            done = [o for o in outcomes if o.stopped is None]
            row = [f"`{name}`", str(case), _stops(outcomes)]
            for criterion in OVER_PLANTS:
                values = [o.criteria[criterion] for o in done]
                row += [f"{np.mean(values):.2f}", f"{max(values):.2f}"] if done else ["-", "-"]
            rows.append(row)
    heads = [head for name in OVER_PLANTS for head in (f"{NUMBERS[name]} mean", "worst")]
    return _table(["controller", "case", "stopped", *heads], rows)


def _values(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the worst of each criterion; where a run stopped, when the first one did."""
    if any(o.stopped is not None for o in outcomes):
        return [f"stopped: {_stops(outcomes)}", *[""] * (len(NUMBERS) - 1)]
    values = [_number(worst(outcomes, name)) for name in NUMBERS]
    twins = [_number(worst(outcomes, f"{name}{WITHOUT_NOISE}")) for name in NOISY]
    return [*(f"{v} ({t})" for v, t in zip(values, twins, strict=False)), *values[len(twins) :]]


def _stops(outcomes: Sequence[Outcome]) -> str:
    times = [o.stopped for o in outcomes if o.stopped is not None]
    return f"{len(times)} of {len(outcomes)}, first at {min(times):.2f} s" if times else "none"


def _number(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "-"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
