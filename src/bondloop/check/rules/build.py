"""Rules BL1xx: what cannot be built, is out of range, or could not be analysed."""

# ruff: noqa: ARG001 - every rule is asked with the same three arguments

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bondloop.check.finding import UNBUILT
from bondloop.check.rules.rule import Rule
from bondloop.engine.data import origin_of
from bondloop.safety import DISPLACEMENT_SWITCH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.check.checking import Check
    from bondloop.check.policy import CheckPolicy
    from bondloop.hybrid import Checkable


def _unbuilt(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Mapping[str, object]]:
    if check.fault:
        yield {"fault": check.fault}


def _safe_position(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Mapping[str, object]]:
    limit = getattr(test.limits, "displacement", None)
    if test.interlock is not None and limit is not None and abs(test.interlock.safe_position) > limit:
        yield {"position": test.interlock.safe_position, "limit": limit}


def _forgotten_delay(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Mapping[str, object]]:
    rig = getattr(test, "rig", None)
    given = getattr(rig, "actuators", ())
    for actuator in given if isinstance(given, Sequence) else [given]:
        origin = origin_of(actuator)
        process = None if origin is None else origin.arguments.get("process")
        delay = getattr(process, "delay", 0.0)
        if origin is None or not isinstance(delay, float) or origin.arguments.get("pade"):
            continue
        if delay > 0 and not getattr(rig, "latency", 0.0):
            yield {"delay": 1e3 * delay, "seconds": delay}
            return


def _blind(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Mapping[str, object]]:
    if _tangible(check) and not check.steps:
        yield {}


def _blind_at_start(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Mapping[str, object]]:
    if _tangible(check) and check.step is None and check.steps:
        yield {}


def _tangible(check: Check) -> bool:
    """Whether every part of a test has tangents, and its whole dry run was looked at."""
    return not check.opaque and check.dry_run is not None and check.dry_run.completed


def _too_short(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Mapping[str, object]]:
    last = max([test.last_event, *(s.cycle for s in test.signals)])
    if last > check.seconds + test.period:
        yield {"seconds": check.seconds, "last": last}


def _switch_open(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Mapping[str, object]]:
    ran = check.dry_run
    if ran is not None and ran.completed and ran.peaks.get(DISPLACEMENT_SWITCH, 1.0) < 1:
        yield {}


BUILD = (
    Rule(
        UNBUILT,
        "The test cannot be built",
        "stop",
        "it cannot be built",
        "the test cannot be built: {fault}",
        "No program can be made of the test: a part does not fit another, a value is out of its range, or a "
        "law fails when it is evaluated. The sentence names what is at fault. This finding cannot be "
        "accepted, and nothing can force such a test to run.",
        _unbuilt,
    ),
    Rule(
        "BL102",
        "The safe position lies beyond the limits",
        "stop",
        "the safe position is beyond the limits",
        "the interlock would bring the rig to {position:g} m, beyond the limit of {limit:g} m: choose a "
        "safe_position within the limits",
        "When the interlock trips it drives the rig to its safe position. A position beyond the limit of "
        "displacement is one the rig must not take: the retreat itself would do the damage.",
        _safe_position,
    ),
    Rule(
        "BL103",
        "The delay of the identified actuator is left out",
        "care",
        "the actuator's delay of {delay:.3g} ms is left out",
        "the actuator's model has a delay of {delay:.3g} ms, which actuator() leaves out, and the rig has no "
        "latency: the rehearsal is that much too good; give it to the rig, "
        "Emulated(..., latency={seconds:.4g})",
        "An identified process has a delay of its own, which no set of linear equations contains. A delay "
        "that is left out is phase that the real loop lacks, and every margin that is stated is too large.",
        _forgotten_delay,
    ),
    Rule(
        "BL104",
        "The loop could not be linearised anywhere",
        "care",
        "it could not be linearised",
        "the loop could not be linearised anywhere; the dry run alone speaks for it",
        "Poles, growth and margins are those of tangents. A law that has no slope where the test goes leaves "
        "only what was rehearsed as evidence, and what the rehearsal did not meet may be unstable.",
        _blind,
    ),
    Rule(
        "BL105",
        "The loop could not be linearised where it starts",
        "care",
        "it could not be linearised where it starts",
        "the loop could not be linearised where it starts; margins of that state are not known",
        "The test was linearised along its dry run, and not at rest, where a law has no slope. Whether it "
        "stays at rest before the excitation begins and after it has ended is known from the rehearsal only.",
        _blind_at_start,
    ),
    Rule(
        "BL106",
        "The check covers less than the excitation",
        "care",
        "the check covers {seconds:g} s, and the excitation is not complete before {last:g} s",
        "the check covers {seconds:g} s, and the excitation is not complete before {last:g} s",
        "What happens after the time that was rehearsed is not known: the strongest part of a record is not "
        "always its beginning. Check the test for the length of the run (`--seconds`).",
        _too_short,
    ),
    Rule(
        "BL107",
        "The displacement switch does not close",
        "stop",
        "the displacement switch does not close in the dry run",
        "the displacement switch has not closed by the end of the dry run, so that nothing is known of the "
        "loop that it closes; check a longer run, or close it sooner",
        "Until the displacement switch has closed, the rig does not follow the numerical half. What was "
        "rehearsed is not the test.",
        _switch_open,
    ),
)
