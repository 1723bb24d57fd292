"""Rules BL7xx: parts that cannot be looked into, moving ground, and what a method assumes."""

# ruff: noqa: ARG001 - every rule is asked with the same three arguments

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.check.policy import CheckPolicy
    from bondloop.check.rules.rule import Fields, Predicate
    from bondloop.hybrid import Checkable


def _python_controller(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    if "controller" in check.opaque:
        yield {"function": check.opaque["controller"]}


def _foreign(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    halves = {half: name for half, name in check.opaque.items() if half != "controller"}
    if halves and "controller" not in check.opaque:  # there is worse to say
        words = " and ".join(f"the {half} half is {name}" for half, name in halves.items())
        yield {"halves": words, "names": " and ".join(halves.values())}


def _ground(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    for text, short in test.ground_cares:
        yield {"text": text, "short": short}


def _led(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    if test.led:
        yield {}


def _assumptions(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
    if check.assumptions is None or not check.inverts:
        return  # assumptions of one method matter only in a test that uses it
    for assumption in check.assumptions.items:
        if not assumption.holds:
            yield {"number": assumption.number, "reason": assumption.reason}


PARTS: Mapping[str, Predicate] = {
    "BL701": _python_controller,
    "BL702": _foreign,
    "BL703": _ground,
    "BL704": _assumptions,
    "BL705": _led,
}
