"""Rules BL6xx: what the result of a test is worth."""

# ruff: noqa: ARG001 - every rule is asked with the same three arguments

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from bondloop.check.finding import percent
from bondloop.check.rules.rule import Rule
from bondloop.rehearsal import undersampled

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.check.policy import CheckPolicy
    from bondloop.hybrid import Checkable

    Predicate = Callable[[Check, Checkable, CheckPolicy], Iterator["Fields"]]

Fields = Mapping[str, object]


def _tracking(*, lost: bool) -> Predicate:
    """Return the predicate of interfaces that follow badly; or so badly that the result is `lost`."""

    def found(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
        ran = check.dry_run
        for i, error in enumerate(() if ran is None or not ran.completed else ran.error):
            if error > policy.off and lost == (error > policy.lost):
                yield {"interface": i + 1, "size": percent(error)}

    return found


def _sensed(*, matters: bool) -> Predicate:
    """Return the predicate of forces that are measured badly, where that `matters` to the result or not."""

    def found(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
        ran = check.dry_run
        if ran is None or not ran.completed or not test.feedback:
            return
        right = bool(check.reference) and all(error <= policy.off for error in check.off.values())
        for name, error in ran.sensed.items():
            if error > policy.lost and matters != right:
                yield {"name": name, "size": percent(error)}

    return found


def _off_reference(rule: str) -> Predicate:
    """Return the predicate of one of the three rules about the difference from the complete structure."""

    def found(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
        if check.dry_run is None or not check.dry_run.completed:
            return
        worst = max(check.off, key=lambda name: check.off[name], default="")
        error = check.off.get(worst, 0.0)
        if error > policy.off and rule == _grade(error, policy, parts=_parts(check)):
            yield {"name": worst, "size": percent(error), "reference": _which(check)}

    return found


def _which(check: Check) -> str:
    """Say what the dry run is compared with."""
    return "exact reference" if check.reference else "test's own reference"


def _parts(check: Check) -> bool:
    """Whether any two runs of the complete structure part: it is unstable, or two integrations of it do."""
    exact = check.reference
    return bool(check.own) or (bool(exact) and exact.agrees_until < check.seconds / 2)


def _grade(error: float, policy: CheckPolicy, *, parts: bool) -> str:
    """Return the rule for a difference."""
    if parts:
        return "BL606"
    return "BL604" if error > policy.lost else "BL605"


def _scheme(*, lost: bool) -> Predicate:
    """Return the predicate of an integration scheme that is off by itself; or so far that all is `lost`."""

    def found(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
        error = check.reference.scheme_error if check.reference else None
        if error is None or not error > policy.off or _parts(check):
            return
        if lost == (error > policy.lost):
            yield {"size": percent(error), "period": 1e3 * test.period}

    return found


def _chatter(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    for name, found in check.chatter.items():
        if found.share > policy.chatter:
            yield {"name": name, "size": percent(found.share), "frequency": found.frequency}


def _undersampled(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    for signal in test.signals:
        words = undersampled(signal, test.period)
        if words is not None:
            yield {"words": words}


TRACKING = (
    "interface {interface}: the rig follows the numerical half with an error of {size} in the dry run; the "
    "structure that is tested is not the one that is meant"
)
REFERENCE = (
    "in the dry run '{name}' is {size} (rms) off the {reference}, the complete structure; stable or not, "
    "this loop tests another one"
)
SCHEME = (
    "the integration scheme of the numerical half makes an error of {size} (rms) by itself at a step of "
    "{period:.3g} ms; take a more accurate one, such as RK4, or a higher rate"
)

WORTH = (
    Rule(
        "BL601",
        "The rig does not follow",
        "vain",
        "tracking error of {size}",
        TRACKING,
        "At an interface the rig's displacement differs from the numerical half's by more than half of it. "
        "The specimen goes through another motion than the structure, and what it answers says nothing of "
        "the structure.",
        _tracking(lost=True),
    ),
    Rule(
        "BL602",
        "The rig follows poorly",
        "care",
        "tracking error of {size}",
        TRACKING,
        "The rig's displacement differs from the numerical half's by an error that will be seen in the "
        "result. Compensate lag and delay better, or test at a lower rate or in a smaller band.",
        _tracking(lost=False),
    ),
    Rule(
        "BL603",
        "The measured force is not the force",
        "vain",
        "{name} does not show the force",
        "'{name}' differs from the force by {size} (rms) in the dry run: whatever the specimen does, the "
        "numerical half hardly feels it; see to its sensor's gain and filter",
        "The numerical half feels what the load cell reads. A wrong gain, a slow filter or a range that is "
        "too small leaves little of the specimen in it.",
        _sensed(matters=True),
    ),
    Rule(
        "BL604",
        "The test is of another structure",
        "vain",
        "{size} off the reference",
        REFERENCE,
        "The complete structure is known, and its motion under the same excitation differs from that of the "
        "test by more than half. Whatever the specimen does, the result is not that of the structure.",
        _off_reference("BL604"),
    ),
    Rule(
        "BL605",
        "The test differs from the complete structure",
        "care",
        "{size} off the reference",
        REFERENCE,
        "The complete structure is known, and its motion under the same excitation differs from that of the "
        "test by an error that matters. Tracking errors, delays and sensors add up to it.",
        _off_reference("BL605"),
    ),
    Rule(
        "BL606",
        "An unstable structure departs from its reference",
        "care",
        "{size} off the reference",
        "in the dry run '{name}' is {size} (rms) off the {reference}; any two runs of the complete "
        "structure part: compare the beginnings, or statistics",
        "Of a structure that is unstable in one piece no two runs stay together, so that the difference from "
        "the reference is no fault of the loop.",
        _off_reference("BL606"),
    ),
    Rule(
        "BL607",
        "The excitation is too fast for its samples",
        "vain",
        "the excitation is too fast for its samples",
        "the excitation {words}",
        "Between two samples the excitation does what the test does not see: it would run with another one. "
        "Sample faster, or filter the record.",
        _undersampled,
    ),
    Rule(
        "BL608",
        "The integration scheme is far off",
        "vain",
        "integration error of {size}",
        SCHEME,
        "The complete structure was integrated with the test's own scheme and step, without cut, rig and "
        "delay. The result differs from the exact one by more than half.",
        _scheme(lost=True),
    ),
    Rule(
        "BL609",
        "The integration scheme is not accurate",
        "care",
        "integration error of {size}",
        SCHEME,
        "The complete structure was integrated with the test's own scheme and step, without cut, rig and "
        "delay. The difference from the exact result is in the test, whatever the rig does.",
        _scheme(lost=False),
    ),
    Rule(
        "BL610",
        "The measured force is mostly noise",
        "care",
        "{name} is mostly noise",
        "'{name}' differs from the force by {size} (rms) in the dry run, and the motion is right all the "
        "same",
        "The structure is too slow to follow the noise of the measured force. It moves the actuator's valve, "
        "and hides what the specimen does in every record: take a sensor of a smaller range.",
        _sensed(matters=False),
    ),
    Rule(
        "BL611",
        "The force chatters",
        "care",
        "{name} chatters",
        "'{name}' chatters in the dry run: {size} of its power lies above the band of the motion, most of it "
        "round {frequency:.3g} Hz, where the complete structure has none",
        "A force that the motion does not explain is made by the loop: a damper that is told its velocity "
        "late, a stiff contact behind an actuator, a valve that hunts. It wears the machine, and hides the "
        "specimen. Sample faster, give the fixture some compliance, or filter the command.",
        _chatter,
    ),
)
