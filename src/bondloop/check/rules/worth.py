"""Rules BL6xx: what the result of a test is worth."""

# ruff: noqa: ARG001 - every rule is asked with the same three arguments

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from bondloop.check.finding import percent
from bondloop.rehearsal import undersampled

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.check.policy import CheckPolicy
    from bondloop.check.rules.rule import Fields, Predicate
    from bondloop.hybrid import Checkable


def _tracking(*, lost: bool) -> Predicate:
    """Return the predicate of interfaces that follow badly; or so badly that the result is `lost`."""

    def found(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
        ran = check.dry_run
        for i, error in enumerate(() if ran is None or not ran.completed or ran.tripped else ran.error):
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
    return bool(check.own) or (bool(exact) and not check.linear and exact.agrees_until < check.seconds / 2)


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


WORTH: Mapping[str, Predicate] = {
    "BL601": _tracking(lost=True),
    "BL602": _tracking(lost=False),
    "BL603": _sensed(matters=True),
    "BL604": _off_reference("BL604"),
    "BL605": _off_reference("BL605"),
    "BL606": _off_reference("BL606"),
    "BL607": _undersampled,
    "BL608": _scheme(lost=True),
    "BL609": _scheme(lost=False),
    "BL610": _sensed(matters=False),
    "BL611": _chatter,
}
