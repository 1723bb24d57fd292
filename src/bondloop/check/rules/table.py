"""The table of all rules, and what they find of a check."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from bondloop.check.finding import LEVELS, UNBUILT, Finding
from bondloop.check.rules.build import BUILD
from bondloop.check.rules.ensemble import ENSEMBLE
from bondloop.check.rules.limits import LIMITS
from bondloop.check.rules.margins import MARGINS
from bondloop.check.rules.parts import PARTS
from bondloop.check.rules.rule import Rule
from bondloop.check.rules.stability import STABILITY
from bondloop.check.rules.worth import WORTH
from bondloop.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bondloop.check.checking import Check
    from bondloop.check.policy import CheckPolicy
    from bondloop.hybrid import Checkable

PREDICATES = {**BUILD, **STABILITY, **MARGINS, **LIMITS, **ENSEMBLE, **WORTH, **PARTS}
"""What each rule finds, by its name."""

TABLE = Path(__file__).with_name("rules.toml")
"""The rules as data: how serious each is, and what is said of it."""

RULES: tuple[Rule, ...] = tuple(
    Rule(name, found=PREDICATES[name], **entries)
    for name, entries in tomllib.loads(TABLE.read_text("utf-8")).items()
)
"""All rules, in the order of the table."""


@cache
def _by_name() -> Mapping[str, Rule]:
    return {rule.name: rule for rule in RULES}


def rule_named(name: str) -> Rule:
    """Return the rule of a name.

    Parameters
    ----------
    name
        Such as ``"BL201"``.

    Examples
    --------
    >>> rule_named("BL201").level
    'stop'
    """
    rules = _by_name()
    if name not in rules:
        raise InputError(f"the check has no rule {name!r}; its rules are {', '.join(rules)}")
    return rules[name]


def findings(check: Check, test: Checkable, policy: CheckPolicy) -> tuple[Finding, ...]:
    """Return all that the rules find, the worst first.

    Parameters
    ----------
    check
        With all its evidence.
    test
        The test.
    policy
        The limits in force.
    """
    rules = [rule_named(UNBUILT)] if check.fault else RULES
    found = [finding for rule in rules for finding in rule.findings(check, test, policy)]
    return tuple(sorted(found, key=lambda f: -LEVELS.index(f.level)))


def accepted(found: Iterable[Finding], reasons: Mapping[str, str]) -> tuple[Finding, ...]:
    """Return findings with the reasons for which a laboratory accepts some of them.

    Parameters
    ----------
    found
        The findings.
    reasons
        By the names of rules.

    Examples
    --------
    >>> accepted([Finding("BL302", "care", "...", "...")], {"BL302": "measured on the rig"})[0].accepted
    'measured on the rig'
    >>> accepted([], {"BL101": "it looks right to me"})
    Traceback (most recent call last):
    bondloop.errors.InputError: BL101 cannot be accepted: a test that cannot be built cannot run
    """
    for name, reason in reasons.items():
        rule_named(name)
        if name == UNBUILT:
            raise InputError(f"{name} cannot be accepted: a test that cannot be built cannot run")
        if not reason.strip():
            raise InputError(
                f"{name} is accepted without a reason: expected a sentence that will stand in the records, "
                f'such as {name}="measured on the rig on 3 May"'
            )
    return tuple(replace(f, accepted=reasons.get(f.rule, "").strip()) for f in found)
