"""Rules BL4xx: what is asked of the machine, the test's limits, and the ranges of sensors."""

# ruff: noqa: ARG001 - every rule is asked with the same three arguments

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.check.finding import percent
from bondloop.engine.ir import Role
from bondloop.rehearsal import shown
from bondloop.safety import cause_words

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.check.dry_run import DryRun
    from bondloop.check.policy import CheckPolicy
    from bondloop.check.rules.rule import Fields, Predicate
    from bondloop.hybrid import Checkable


# -------------------------------------------------------------------- limits of the test


def _stopped(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    if check.dry_run is not None and not check.dry_run.completed:
        yield {"message": check.dry_run.message}


def _tripped(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    if check.dry_run is not None and check.dry_run.tripped is not None:
        when, cause = check.dry_run.tripped
        yield {"time": when, "cause": cause_words(cause)}


def _near_limit(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    ran = check.dry_run
    if ran is None or not ran.completed or ran.tripped is not None:
        return
    for name, share in ran.usage.items():
        if share > policy.used and ran.bounds[name] != test.capacities.get(name):
            yield {"name": name, "share": f"{100 * share:.0f} %"}


def _saturated(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    for name, share in {} if check.dry_run is None else check.dry_run.saturated.items():
        yield {"name": name, "share": percent(share)}


def _held_back(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    for name, share in {}.items() if check.dry_run is None else check.dry_run.limited.items():
        if share > policy.held_back:
            yield {"name": name, "share": percent(share)}


def _open_switch(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    if check.open_switch:
        yield {"fate": check.open_switch}


# -------------------------------------------------------------------- motion that rises


def _rising(*, settles: bool) -> Predicate:
    """Return the predicate of a motion, under an endless excitation, that grows to the end of the run."""

    def found(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
        ran = check.dry_run
        if ran is None or not ran.completed or all(math.isfinite(s.duration) for s in test.signals):
            return
        quarters = np.array([part.max(axis=0) for part in np.array_split(ran.windows, 4)])
        more = 1 + policy.off  # a growth from quarter to quarter as large as an error that matters
        rises = (quarters[3] > more * quarters[2]) & (quarters[2] > more * quarters[1])
        if not rises.any():
            return
        steps = np.diff(quarters, axis=0)[:, rises]
        if settles == bool(np.all(more * steps[1:] < steps[:-1])):
            yield {"size": 1e3 * float(quarters[3][rises].max()), "seconds": ran.seconds}

    return found


# -------------------------------------------------------------------- what the actuators can do


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


def _capacity(name: str) -> Predicate:
    """Return the predicate of one rule about the use of an actuator's capacity in a completed dry run."""

    def found(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
        ran = check.dry_run
        if ran is None or not ran.completed:
            return
        for channel in test.capacities:
            if _grade(ran, test, policy, channel) == name:
                yield _asked(ran, test, channel, beyond=name != "BL406")

    return found


def _grade(ran: DryRun, test: Checkable, policy: CheckPolicy, channel: str) -> str:
    """Return the rule that the use of one capacity falls under; empty for none.

    Where a limit of the test is tighter, that is what is used, and another rule judges it.
    """
    share = ran.usage.get(channel, 0.0)
    meaning = ran.meanings.get(channel)
    bounded = ran.bounds.get(channel) == test.capacities[channel]
    if meaning is None or not bounded or not share > policy.used:
        return ""
    stalled = meaning.kind == "effort" and any(error > policy.off for error in ran.error)
    if share <= 1 or ran.tripped is not None:
        return "BL405" if stalled else "BL406"
    return "BL404" if share > 1 + policy.actuator_error else "BL405"


def _asked(ran: DryRun, test: Checkable, channel: str, *, beyond: bool) -> Fields:
    """Return what is said of the use of one capacity."""
    meaning, unit = ran.meanings[channel], ran.units.get(channel, "")
    words = WORDS[meaning.kind]
    return {
        "lead": f"{words.beyond if beyond else words.near}{_place(test, meaning.interface)}",
        "name": channel,
        "peak": shown(ran.peaks[channel], unit),
        "share": percent(ran.usage[channel]),
        "capacity": words.most,
        "most": shown(test.capacities[channel], unit),
        "remedy": words.remedy,
    }


def _too_small(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    """Yield the actuators that cannot do what the numerical half asks for.

    A loop that is unstable asks for anything, and says nothing of the actuator.
    """
    ran = check.dry_run
    if ran is None or not all(step.stable for step in check.steps):
        return
    for channel, most in test.capacities.items():
        meaning = ran.meanings.get(channel)
        if meaning is None or meaning.role is not Role.ACTUAL or meaning.kind not in WORDS:
            continue
        desired = ran.channels_of(Role.DESIRED, kind=meaning.kind)
        here = [ran.peaks[n] for n in desired if ran.meanings[n].interface == meaning.interface]
        asked, words, unit = max(here, default=0.0), WORDS[meaning.kind], ran.units.get(channel, "")
        if asked > most:
            yield {
                "place": _place(test, meaning.interface), "small": words.small, "asked": shown(asked, unit),
                "name": channel, "capacity": words.most, "most": shown(most, unit), "remedy": words.remedy,
            }  # fmt: skip


def _place(test: Checkable, interface: int | None) -> str:
    """Say at which interface, where there are several."""
    return "" if interface is None or test.interfaces < 2 else f" at interface {interface + 1}"


LIMITS: Mapping[str, Predicate] = {
    "BL401": _stopped,
    "BL402": _tripped,
    "BL403": _near_limit,
    "BL404": _capacity("BL404"),
    "BL405": _capacity("BL405"),
    "BL406": _capacity("BL406"),
    "BL407": _too_small,
    "BL408": _saturated,
    "BL409": _open_switch,
    "BL410": _rising(settles=False),
    "BL411": _rising(settles=True),
    "BL412": _held_back,
}
