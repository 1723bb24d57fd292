"""A test, or one half of it, as an FMU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bondloop.errors import InputError, unknown_name
from bondloop.fmu import write_tick_fmu
from bondloop.hybrid.rehearsal import refuse_beyond_memory, steps_of
from bondloop.program.signals.in_tick import now_and_next
from bondloop.program.tick import calls

if TYPE_CHECKING:
    from bondloop.hybrid.rehearsable import Rehearsable
    from bondloop.program.signals import Signal
    from bondloop.program.tick import Tick

__all__ = ["HALVES", "write_test_fmu"]

HALVES = ("whole", "computer", "rig")
"""What can be written of a hybrid test."""


def write_test_fmu(
    test: Rehearsable, path: str | Path, *, half: str, version: int, seconds: float, binary: bool
) -> Path:
    """Write a test as an FMU; see `Rehearsable.write_fmu`.

    Parameters
    ----------
    test
        The test, or a simulation.
    path
        Of the file.
    half
        One of `HALVES`.
    version
        Of FMI.
    seconds
        For how long signals are tabulated.
    binary
        Whether the binary for this platform is built.
    """
    tick, signals = _half(test, half)
    for function in calls(tick).values():
        raise InputError(
            f"{function.__qualname__} is a program of its own (a Python function, an FMU), which cannot be "
            "written into an FMU; write a controller as a ControlLaw"
        )
    steps = steps_of(seconds, tick.period)
    refuse_beyond_memory(steps, len(signals), 0)
    table = now_and_next(signals, steps, tick.period) if signals else None
    name = f"{getattr(test, 'name', tick.name)}{'' if half == 'whole' else f', {half}'}"
    return write_tick_fmu(
        tick, path, version=version, name=name, table=table, seconds=(steps - 1) * tick.period, binary=binary
    )


def _half(test: Any, half: str) -> tuple[Tick, Sequence[Signal]]:
    """Return the tick of a half, and the signals that its first inputs are read from."""
    if half not in HALVES:
        raise InputError(unknown_name("half", half, HALVES))
    if half == "whole":
        return test.tick, list(test.tables.values())
    if not hasattr(type(test), "computer_tick"):  # the property itself would derive it
        raise InputError(f"{type(test).__name__}: it has no rig apart from the computer; give half='whole'")
    if test.coupling == "continuous":
        raise InputError(
            "computer and rig of a continuous coupling are integrated as one system, and cannot be stepped "
            "apart; use coupling='sampled', or give half='whole'"
        )
    if half == "rig":
        return test.rig_tick(), []
    tick = test.computer_tick
    by_input = {f"{name}.now": signal for name, signal in test.tables.items()}
    first = [v.name for v in tick.inputs[: len(tick.inputs) - len(tick.measured)]]
    return tick, [by_input[name] for name in first[::2]]
