"""Rules BL4xx: what is asked of the machine, the test's limits, and the ranges of sensors."""

# ruff: noqa: ARG001 - every rule is asked with the same three arguments

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.check.finding import percent
from bondloop.check.rules.rule import Rule
from bondloop.engine.ir import Role
from bondloop.rehearsal import shown
from bondloop.safety import cause_words

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.check.dry_run import DryRun
    from bondloop.check.policy import CheckPolicy
    from bondloop.hybrid import Checkable

Fields = Mapping[str, object]

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
    if ran is None or not ran.completed:
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


def _rising(*, settles: bool) -> Callable[[Check, Checkable, CheckPolicy], Iterator[Fields]]:
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


def _capacity(name: str) -> Callable[[Check, Checkable, CheckPolicy], Iterator[Fields]]:
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


CAPACITY = "{lead}: '{name}' comes to {peak} in the dry run, {share} of its {capacity}, {most}"
LESS = "; take {remedy}, or less excitation"

LIMITS = (
    Rule(
        "BL401",
        "The rehearsal stopped",
        "stop",
        "the dry run stopped",
        "the dry run stopped: {message}",
        "The rehearsal left the limits of the test, or came to values that are no numbers. The rig would do "
        "the same at that instant. Less excitation helps where the loop is sound.",
        _stopped,
        limit=True,
    ),
    Rule(
        "BL402",
        "The interlock trips",
        "stop",
        "the interlock trips",
        "the interlock trips in the dry run at t = {time:.4g} s: {cause}",
        "The test would end in a trip, if nothing differs from the model. Each trip loads the specimen in a "
        "way that nobody planned.",
        _tripped,
        limit=True,
    ),
    Rule(
        "BL403",
        "A limit is near",
        "care",
        "{name} uses {share} of its limit",
        "the dry run uses {share} of the limit of '{name}'",
        "The rehearsal stays within the limit and leaves little of it. Noise, a stiffer specimen or a warm "
        "day may take the rest.",
        _near_limit,
    ),
    Rule(
        "BL404",
        "An actuator cannot do what is asked of it",
        "stop",
        "{lead}",
        CAPACITY + LESS,
        "Force, speed or stroke that the rehearsal needs exceed what the machine has, by more than a data "
        "sheet may be wrong.",
        _capacity("BL404"),
        limit=True,
    ),
    Rule(
        "BL405",
        "An actuator is at its end",
        "care",
        "{lead}",
        CAPACITY + LESS,
        "The rehearsal uses all that the machine has, or nearly all of its force while the rig no longer "
        "follows, which is how an actuator stalls.",
        _capacity("BL405"),
    ),
    Rule(
        "BL406",
        "An actuator is near its end",
        "care",
        "{lead}",
        CAPACITY,
        "The rehearsal stays within what the machine can do and leaves little of it. Near its end an "
        "actuator follows worse than its linear model.",
        _capacity("BL406"),
    ),
    Rule(
        "BL407",
        "An actuator is too small for this motion",
        "care",
        "the actuator is too small: {small}",
        "the actuator{place} is too small for this motion, {small}: the numerical half asks for {asked} of "
        "'{name}', and its {capacity} is {most}; take {remedy}, or less excitation",
        "The motion that the numerical half computes is beyond the machine, whatever the controller does. "
        "The rig follows as far as it can, and the difference is an error of the test.",
        _too_small,
    ),
    Rule(
        "BL408",
        "A sensor is at the end of its range",
        "care",
        "{name} saturates",
        "'{name}' is at the end of its sensor's range for {share} of the dry run",
        "A sensor at the end of its range no longer shows what is there: the loop is open for that time. "
        "Take one with a larger range, or less excitation.",
        _saturated,
    ),
    Rule(
        "BL409",
        "Without the specimen's force the test leaves its limits",
        "care",
        "with the force switch open it leaves its limits",
        "with the force switch open, as before it is closed and after an operator opens it, the numerical "
        "half feels no specimen, for the test has no switches.simulated, and {fate}: give the switches a "
        "model of the specimen as simulated, or keep the displacement switch open until the force switch is "
        "closed",
        "Without a simulated specimen an open switch feeds back nothing: what only the specimen holds, a "
        "building on the bearing that is tested, drifts away and takes the rig with it.",
        _open_switch,
    ),
    Rule(
        "BL410",
        "The rig moves ever farther",
        "care",
        "it moves ever farther",
        "the rig moves ever farther: {size:.3g} mm at the end of the {seconds:.3g} s that were checked; in a "
        "longer run it may come to its limits: check it for longer",
        "The excitation has no end, and the largest displacement of each quarter of the rehearsal exceeds "
        "that of the one before: a drift, or a resonance. How far it goes is not known.",
        _rising(settles=False),
    ),
    Rule(
        "BL411",
        "The motion still grows",
        "care",
        "its motion still grows",
        "the motion still grows, less and less: {size:.3g} mm at the end of the {seconds:.3g} s that were "
        "checked; in a longer run it may come to its limits: check it for longer",
        "The excitation has no end and has not yet brought the motion to its full size, though each quarter "
        "of the rehearsal adds less than the one before.",
        _rising(settles=True),
    ),
    Rule(
        "BL412",
        "The drive holds the command back",
        "care",
        "the drive limits {name}",
        "the drive holds '{name}' back in {share} of the samples of the dry run, by the limit of its range "
        "or of its rate: the rig is asked for more than its drive passes on",
        "A drive whose output saturates, or changes no faster than its valve moves, does not follow the "
        "command. Meanwhile the loop is open, and the motion falls short. Take a quicker drive, or less "
        "excitation.",
        _held_back,
    ),
)
