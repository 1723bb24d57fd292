"""Rules BL7xx: parts that cannot be looked into, moving ground, and what a method assumes."""

# ruff: noqa: ARG001 - every rule is asked with the same three arguments

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from bondloop.check.rules.rule import Rule

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.check.policy import CheckPolicy
    from bondloop.hybrid import Checkable

Fields = Mapping[str, object]


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


PARTS = (
    Rule(
        "BL701",
        "The controller is a Python function",
        "stop",
        "its controller is a Python function, which cannot be analysed",
        "the controller is a Python function ({function}): its loop cannot be linearised, so whether it is "
        "stable is not known, and it cannot be compiled for a rig; rehearse it, or write it as a "
        "bondloop.control.ControlLaw",
        "A Python function shows no equations: it can be rehearsed, and neither linearised nor compiled.",
        _python_controller,
    ),
    Rule(
        "BL702",
        "A half of the test is computed elsewhere",
        "care",
        "{names} was only rehearsed, without margins",
        "{halves}, which cannot be linearised: the test was rehearsed instead, so poles and margins are not "
        "known, and what the rehearsal has not met may be unstable",
        "A half that another program computes shows no equations. The rehearsal is all the evidence there "
        "is: it speaks for this excitation and this specimen, and not for their neighbours.",
        _foreign,
    ),
    Rule(
        "BL703",
        "How the ground moves the test",
        "care",
        "{short}",
        "{text}",
        "Moving ground loads masses on both sides of the cut, and motions are either relative to it or "
        "absolute. Something in the test suggests that a load is missing or counted twice.",
        _ground,
    ),
    Rule(
        "BL704",
        "An assumption of the method does not hold",
        "care",
        "assumption {number} of the method does not hold",
        "assumption {number} of the virtual junction does not hold: {reason}",
        "A virtual junction inverts the actuator under five assumptions (Gawthrop 2005), about causality, "
        "stability and relative degree. Without one of them the inverse is not what it should be.",
        _assumptions,
    ),
    Rule(
        "BL705",
        "The loop is closed by another program",
        "care",
        "the loop is closed by another program",
        "the numerical half is computed by another program: stability and margins are those of the rig "
        "alone, and what that program makes of the forces is not known here",
        "A test that is served takes its motion from a program on the other side of a link. The check sees "
        "the rig, its controller and its limits, and nothing of what answers their forces. Start with small "
        "motions.",
        _led,
    ),
)
