"""What a run file says of how to repeat its run: believed only as far as the work it asks for is bounded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bondloop.containers import LARGEST
from bondloop.errors import BondloopError, InputError
from bondloop.program.signals import signal_from
from bondloop.program.tick import Repeat, statements
from bondloop.program.tick_json import load_tick

if TYPE_CHECKING:
    from bondloop.program.signals import Signal
    from bondloop.program.tick import Step, Tick

__all__ = ["MOST_A_TICK", "Repetition", "repetition_of"]

MOST_A_TICK = 2_000_000
"""Statements that one tick of a file may execute: a few milliseconds of work."""


@dataclass(frozen=True)
class Repetition:
    """How to repeat a run.

    Attributes
    ----------
    tick, steps, every, signals
        What is executed, how often, which ticks are recorded, and the tabulated signals by name.
    """

    tick: Tick
    steps: int
    every: int
    signals: dict[str, Signal]


def repetition_of(description: Mapping[str, Any], path: str) -> Repetition:
    """Return how to repeat the run of a file.

    Parameters
    ----------
    description
        The test's description in the file.
    path
        The file, for errors.

    Raises
    ------
    InputError
        If the file does not say it, or asks for more work or memory than a test could.
    """
    repeat = description.get("repeat")
    if not isinstance(repeat, dict) or not {"tick", "steps", "tables"} <= repeat.keys():
        raise InputError(f"{path}: the file does not hold what is needed to repeat the run")
    try:
        tick = load_tick(repeat["tick"])
        steps = _whole(repeat["steps"], "steps", 0)
        every = _whole(description.get("every", 1), "every", 1)
        tables = repeat["tables"]
        if not isinstance(tables, dict):
            raise InputError(f"the signals are {type(tables).__name__}; a table by name was expected")
        signals = {name: _signal(name, d) for name, d in tables.items()}
        needed = 8 * (2 * len(signals) * steps + (len(tick.channels) + 1) * (steps // every + 1))
        if needed > LARGEST:
            raise InputError(f"{steps:,} ticks would need {needed / 1e9:.3g} GB of memory")
        work = executed(tick.steps)
        if work > MOST_A_TICK:
            raise InputError(
                f"a tick executes {work:.3g} statements; from a file at most {MOST_A_TICK:,} are executed"
            )
    except BondloopError as error:
        raise InputError(f"{path}: the run cannot be repeated: {error}") from error
    return Repetition(tick, steps, every, signals)


def executed(steps: Sequence[Step]) -> int:
    """Return how many statements are executed, every repetition counted.

    >>> from bondloop.program.expr import Var
    >>> from bondloop.program.schedule import Assign
    >>> one = Assign(Var("a"), Var("b"))
    >>> executed([one, Repeat(10, Var("j"), (one, Repeat(10, Var("i"), (one,))))])
    111
    """
    inner = sum(s.count * executed(s.body) for s in steps if isinstance(s, Repeat))
    return inner + statements([s for s in steps if not isinstance(s, Repeat)])


def _whole(value: Any, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"'{name}' must be a whole number from {least} up; found {value!r:.60}")
    return value


def _signal(name: str, description: Any) -> Signal:
    if not isinstance(description, dict):
        raise InputError(f"the signal '{name:.60}' is {description!r:.60}; a description was expected")
    return signal_from(description)
