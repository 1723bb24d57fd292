"""What a dry run asks of the actuators, in words: one that stalls, is too slow, or has too short a stroke."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.check.finding import Finding, percent
from bondloop.engine.ir import Role
from bondloop.rehearsal import shown

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.check.dry_run import DryRun
    from bondloop.hybrid import Checkable


BEYOND = 1.1
"""Share of what an actuator can do from which it cannot be done; no data sheet is exact to the last tenth."""

NEAR, STALLED, OFF = 0.8, 0.9, 0.1
"""Shares of what it can do from which that is near, and from which, if it also follows worse than the last,
it has stalled: what is left of its power is too little to move it."""


@dataclass(frozen=True)
class _Words:
    """How it is said that an actuator has come to an end.

    Attributes
    ----------
    beyond, near
        That it is beyond what it can do, and that it is close to it, in short.
    most
        What it can do.
    small
        Why it is too small where the numerical half asks for more.
    remedy
        What to take instead.
    """

    beyond: str
    near: str
    most: str
    small: str
    remedy: str


WORDS = {
    "effort": _Words(
        "the actuator stalls", "the actuator is close to stalling", "stall force",
        "too weak", "a stronger one",
    ),
    "flow": _Words(
        "the actuator is too slow", "the actuator is close to its top speed", "top speed", "too slow",
        "a quicker one (a larger valve or motor)",
    ),
    "displacement": _Words(
        "the actuator's stroke is too short", "the actuator is close to the end of its stroke", "stroke",
        "its stroke is too short", "one with a longer stroke",
    ),
}  # fmt: skip
"""By kind of what is asked."""


def asked_of_actuators(ran: DryRun, test: Checkable) -> Iterator[Finding]:
    """Say what comes near what the actuators can do in a completed dry run, or goes beyond it.

    Parameters
    ----------
    ran
        The dry run.
    test
        The test.
    """
    follows = not any(error > OFF for error in ran.error)
    for name, most in test.capacities.items():
        share = ran.usage.get(name, 0.0)
        meaning = ran.meanings.get(name)
        # Where a limit of the test is tighter, that is what is used, and said elsewhere.
        if meaning is None or ran.bounds.get(name) != most or not share > NEAR:
            continue
        words = WORDS[meaning.kind]
        at = _place(test, meaning.interface)
        stalled = meaning.kind == "effort" and share > STALLED and not follows
        beyond = share > 1 and ran.tripped is None
        lead = words.beyond if beyond or stalled else words.near
        unit = ran.units.get(name, "")
        text = (
            f"{lead}{at}: '{name}' comes to {shown(ran.peaks[name], unit)} in the dry run, {percent(share)} "
            f"of its {words.most}, {shown(most, unit)}"
        )
        if beyond or stalled:
            text += f"; take {words.remedy}, or less excitation"
        yield Finding("stop" if beyond and share > BEYOND else "care", text, f"{lead}{at}", limit=beyond)


def too_small(check: Check, test: Checkable) -> Iterator[Finding]:
    """Name the actuator where it cannot do what the numerical half asks of it.

    A loop that is unstable asks for anything, and says nothing of the actuator.

    Parameters
    ----------
    check
        With its dry run.
    test
        The test.
    """
    ran = check.dry_run
    assert ran is not None
    if not all(step.stable for step in check.steps):
        return
    for channel, most in test.capacities.items():
        meaning = ran.meanings.get(channel)
        if meaning is None or meaning.role is not Role.ACTUAL:
            continue
        wanted = ran.channels_of(Role.DESIRED, kind=meaning.kind)
        asked = max(
            (ran.peaks[n] for n in wanted if ran.meanings[n].interface == meaning.interface), default=0.0
        )
        if asked > most and meaning.kind in WORDS:
            words, unit = WORDS[meaning.kind], ran.units.get(channel, "")
            lead = f"the actuator{_place(test, meaning.interface)} is too small for this motion"
            text = (
                f"{lead}, {words.small}: the numerical half asks for {shown(asked, unit)} of '{channel}', "
                f"and its {words.most} is {shown(most, unit)}; take {words.remedy}, or less excitation"
            )
            yield Finding("care", text, f"the actuator is too small: {words.small}")


def _place(test: Checkable, interface: int | None) -> str:
    """Say at which interface, where there are several."""
    return "" if interface is None or test.interfaces < 2 else f" at interface {interface + 1}"
