"""What a test gives to its loop and its rig: a program, signals, a safe position."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from bondloop.errors import InputError
from bondloop.program.signals.in_tick import now_and_next
from bondloop.realtime.build import build_loop, build_rig
from bondloop.realtime.interface import command_names, computer_ends, measured_names
from bondloop.safety import Limits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bondloop.hybrid import HybridTest
    from bondloop.realtime.channels import Channels
    from bondloop.safety import Switch

__all__ = [
    "loop_program",
    "rig_program",
    "safe_position",
    "signal_table",
    "start_rate",
    "start_within",
    "switch_facts",
    "trip_limits",
]


def loop_program(
    test: HybridTest,
    *,
    loopback: bool,
    drivers: Sequence[Path] = (),
    libraries: Sequence[str] = (),
    channels: Channels | None = None,
    includes: Sequence[Path] = (),
) -> Path:
    """Build the program of a test's loop.

    Parameters
    ----------
    test
        The test.
    loopback
        With its emulated rig inside. That takes the rehearsal's steps, so that the numbers are the same.
    drivers, libraries
        C files of further links, and the libraries that they need.
    channels
        The laboratory's channels, for drivers that read them.
    includes
        Folders of headers that the drivers need.
    """
    computer = test.computer_tick
    safe = dict.fromkeys(command_names(computer), safe_position(test))
    rig = test.rig_tick() if loopback else None
    return build_loop(
        computer,
        rig=rig,
        safe=safe,
        within=start_within(test),
        rate=start_rate(test),
        drivers=drivers,
        libraries=libraries,
        channels=channels,
        includes=includes,
        interlock=test.interlock,
        about={"name": test.name, "limits": trip_limits(test), "switches": switch_facts(test)},
    )


def rig_program(test: HybridTest, *, lock_step: bool = False, rate: float | None = None) -> Path:
    """Build the program of a test's emulated rig.

    Parameters
    ----------
    test
        The test.
    lock_step
        Step as the rehearsal does: once in a sample, with its sub-steps inside.
    rate
        The rig's own steps a second; a whole multiple of the test's. Its sub-steps make it if not given.
    """
    ends = computer_ends(test.computer_tick)
    if rate is not None:
        ratio = rate / test.rate
        if abs(ratio - round(ratio)) > 1e-6 * ratio or round(ratio) < 1:
            raise InputError(
                f"the rig's rate must be a whole multiple of the test's {test.rate:g} Hz; found {rate:g} Hz"
            )
    own = test.period / test.rig.substeps if rate is None else 1.0 / rate
    return build_rig(
        test.rig_tick() if lock_step else test.rig_tick(own), commands=ends.commands, measured=ends.measured
    )


def safe_position(test: HybridTest) -> float:
    """Return where a test's commands go when something is wrong: the interlock's safe position, or 0."""
    return 0.0 if test.interlock is None else float(test.interlock.safe_position)


def start_within(test: HybridTest) -> float:
    """Return how far from where a test begins its rig may stand: as far as it may be off at any tick."""
    limit = None if test.interlock is None else test.interlock.limits.tracking_error
    return math.inf if limit is None else float(limit)


def start_rate(test: HybridTest) -> float:
    """Return how fast a test's command may change before the first tick and after the last: as in any."""
    limit = None if test.interlock is None else test.interlock.limits.command_rate
    return math.inf if limit is None else float(limit)


def trip_limits(test: HybridTest) -> dict[str, float]:
    """Return the limits of a test's interlock by the name of the cause of a trip, as `limit_name` has it."""
    if test.interlock is None:
        return {}
    limits = {f.name.replace("_", " "): getattr(test.interlock.limits, f.name) for f in fields(Limits)}
    if test.interlock.power is not None:
        limits["power"] = test.interlock.power.threshold
    return {name: float(x) for name, x in limits.items() if x is not None and name != "warning"}


def switch_facts(test: HybridTest) -> dict[str, dict[str, float | None]]:
    """Return where a test's switches begin and how they go, as `start_words` wants it; empty without any."""
    if test.switches is None:
        return {}
    return {name: _facts(getattr(test.switches, name)) for name in ("displacement", "force")}


def _facts(switch: Switch) -> dict[str, float | None]:
    assert isinstance(switch.initial, float)
    schedule = switch.schedule if isinstance(switch.schedule, float) else None  # a signal: over time
    return {"initial": switch.initial, "ramp": float(switch.ramp), "schedule": schedule}


def signal_table(test: HybridTest, steps: int) -> NDArray[np.float64] | None:
    """Return the tabulated signals, now and next of each, as the rehearsal has them; None if there are none.

    Parameters
    ----------
    test
        The test.
    steps
        Ticks, a row each.
    """
    computer = test.computer_tick
    inputs = [v.name for v in computer.inputs][: len(computer.inputs) - len(measured_names(computer))]
    if not inputs:
        return None
    tables = test.tables
    return now_and_next([tables[n.removesuffix(".now")] for n in inputs[::2]], steps, computer.period)
