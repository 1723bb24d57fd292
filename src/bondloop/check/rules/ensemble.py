"""Rules BL5xx: what becomes of the motion of a loop that is not linear."""

# ruff: noqa: ARG001 - every rule is asked with the same three arguments

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from bondloop.check.judging_stability import moving
from bondloop.check.rules.rule import Rule

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.check.policy import CheckPolicy
    from bondloop.hybrid import Checkable

Fields = Mapping[str, object]


def _moving(name: str) -> Callable[[Check, Checkable, CheckPolicy], Iterator[Fields]]:
    """Return the predicate of one severity of what the motion of the test shows."""

    def found(check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Fields]:
        for finding in moving(check, test):
            if finding.rule == name:
                yield {"text": finding.text, "short": finding.short}

    return found


ENSEMBLE = (
    Rule(
        "BL591",
        "The motion speaks against the test",
        "stop",
        "{short}",
        "{text}",
        "The loop is not linear. The motion of its rehearsal grows, sustains itself, or is held by nothing "
        "that would hold it in the next run.",
        _moving("BL591"),
    ),
    Rule(
        "BL592",
        "The motion asks for care",
        "care",
        "{short}",
        "{text}",
        "The loop is not linear. It is unstable somewhere in its motion, or does not come to rest by itself, "
        "and the rehearsal stays bounded all the same.",
        _moving("BL592"),
    ),
)
