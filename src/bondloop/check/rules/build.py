"""Rules BL1xx: what cannot be built, is out of range, or could not be analysed."""

# ruff: noqa: ARG001 - every rule is asked with the same three arguments

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bondloop.check.finding import UNBUILT
from bondloop.engine.data import origin_of
from bondloop.safety import DISPLACEMENT_SWITCH, FORCE_SWITCH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.check.checking import Check
    from bondloop.check.policy import CheckPolicy
    from bondloop.check.rules.rule import Predicate
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
    for name, word in ((DISPLACEMENT_SWITCH, "displacement"), (FORCE_SWITCH, "force")):
        if ran is not None and ran.completed and ran.peaks.get(name, 1.0) < 1:
            yield {"switch": word}


BUILD: Mapping[str, Predicate] = {
    UNBUILT: _unbuilt,
    "BL102": _safe_position,
    "BL103": _forgotten_delay,
    "BL104": _blind,
    "BL105": _blind_at_start,
    "BL106": _too_short,
    "BL107": _switch_open,
}
