"""What is said of a machine's limits: the template to fill in, what is in force, where the rig stood."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bondloop.hybrid.run import shown
from bondloop.program.quantity import Role
from bondloop.realtime.expected import Expected, rounded_up
from bondloop.realtime.programs import start_within
from bondloop.safety import Interlock, Limits

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest
    from bondloop.realtime.options import LoopOptions

__all__ = ["NEEDED", "elsewhere_words", "least_retreat", "template", "trips_in_words"]

NEEDED = ("displacement", "velocity", "force", "command", "command_rate")
"""Limits without which no machine is moved."""

RATED = ("command", "command_rate")
"""Limits from which the time of the retreat follows."""

ROOM = 1.5
"""What the template suggests, against the largest of the rehearsal: to be replaced by what the rig stands."""


def template(test: HybridTest, seen: Expected | None) -> str:
    """Return what to fill in, as Python and as TOML.

    Parameters
    ----------
    test
        The test.
    seen
        What it is expected to do; None where that is not known.
    """
    given = test.interlock or Interlock()
    limits = given.limits.stricter(test.limits)
    lines: list[tuple[str, str, str]] = []
    for name in NEEDED:
        stated = getattr(limits, name)
        unit = _unit(test, name)
        if stated is not None:
            value, why = f"{stated:g}", "as the test has it"
        else:
            largest = getattr(seen, name) if seen is not None else 0.0
            value = f"{rounded_up(ROOM * largest):g}" if largest > 0 else "..."
            why = f"{ROOM:g} times the {largest:.3g} of the dry run" if largest > 0 else "fill in"
        lines.append((name, value, f"{unit}: {why}"))
    width = max(len(n) + len(v) for n, v, _ in lines) + 6
    python = [f"{f'{n}={v},':{width}}# {why}" for n, v, why in lines]
    toml = [f"{f'{n} = {v}':{width}}# {why}" for n, v, why in lines]
    suggested = Limits(**{n: float(v) for n, v, _ in lines if n in RATED and v != "..."})
    retreat = max(float(given.retreat), rounded_up(least_retreat(suggested, float(given.safe_position))))
    rest: dict[str, float] = {"release": float(given.release), "retreat": retreat}
    rest["safe_position"] = float(given.safe_position)
    rest |= {n: getattr(given, n) for n in ("stale", "deadline") if getattr(given, n) is not None}
    power = given.power
    trip = [] if power is None else [f"power={power!r},"]
    table = [] if power is None else [f'power = {{safety = "PowerTrip", {_entries(vars(power))}}}']
    head = [*(f"{n} = {v!r}" for n, v in rest.items()), *table]
    return "\n".join(
        [
            "In Python:\n\ninterlock=Interlock(\n    limits=Limits(",
            *(f"        {line}" for line in python),
            "    ),",
            *(f"    {line}" for line in (*(f"{n}={v!r}," for n, v in rest.items()), *trip)),
            '),\n\nIn a test file:\n\n[interlock]\nsafety = "Interlock"',
            *head,
            "\n[interlock.limits]",
            *toml,
            "",
        ]
    )


def least_retreat(limits: Limits, safe: float) -> float:
    """Return seconds in which a raised cosine leads from the limit of the command to safety, within its rate.

    Parameters
    ----------
    limits
        Of command and rate; 0 s where one of them is not stated.
    safe
        The safe position.

    Examples
    --------
    >>> round(least_retreat(Limits(command=2.0, command_rate=1.0), 0.0), 6)  # π/2 · 2/1
    3.141593
    """
    if limits.command is None or limits.command_rate is None:
        return 0.0
    return 0.5 * math.pi * (float(limits.command) + abs(safe)) / float(limits.command_rate)


def _entries(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in values.items())


def _unit(test: HybridTest, name: str) -> str:
    unit = next((c.unit for c in test.computer_tick.channels if c.meaning.role is Role.COMMAND), "")
    units = {
        "tracking_error": "m",
        "displacement": "m",
        "velocity": "m/s",
        "force": "N",
        "command": unit or "1",
    }
    return units.get(name, f"{unit or '1'}/s")


def elsewhere_words(test: HybridTest, interface: int, apart: float) -> str:
    """Say how far from where the test begins the rig stood.

    Parameters
    ----------
    test
        The test.
    interface
        Which, from 0.
    apart
        Where the rig stood, less where it should, in m.
    """
    limit = start_within(test)
    where = f" at interface {interface + 1}" if test.interfaces > 1 else ""
    return (
        f"the rig stood {shown(apart, 'm')} from where the test begins{where}; it may stand "
        f"{shown(limit, 'm')} from there (limits.tracking_error of the interlock); "
        "nothing was commanded. Bring it there, or look at sign and zero of its sensor"
    )


def trips_in_words(test: HybridTest, options: LoopOptions) -> str:
    """Say which limits and trips are in force.

    Parameters
    ----------
    test
        As it may move a machine.
    options
        What its loop is told: the interlock does not know of lost links and late ticks.
    """
    interlock = test.interlock
    assert interlock is not None
    assert interlock.power is not None
    limits = interlock.limits
    stated = ", ".join(
        f"{n.replace('_', ' ')} {getattr(limits, n):g} {_unit(test, n)}" for n in (*NEEDED, "tracking_error")
    )
    return (
        f"trips: {stated}, power {interlock.power.threshold:g} W, {interlock.stale} equal samples, "
        f"{options.overrun_limit} late ticks in a row, {options.stale} ticks without news of the rig, "
        f"{options.gap:g} s of standing still, {options.supervisor:g} s without the supervisor; "
        f"warnings from {100 * float(limits.warning or 1):g} %; "
        f"approach in {options.approach:g} s, retreat in {options.retreat:g} s"
    )
