"""One rule: a predicate on a check, its severity, and the texts that are filled with what it yields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.check.finding import Finding

if TYPE_CHECKING:
    from bondloop.check.checking import Check
    from bondloop.check.finding import Level
    from bondloop.check.policy import CheckPolicy
    from bondloop.hybrid import Checkable

Fields = Mapping[str, object]
"""What the templates of a rule are filled with."""

Predicate = Callable[["Check", "Checkable", "CheckPolicy"], Iterable[Fields]]
"""Yields the fields of every occurrence, for a check with all its evidence, the test and the policy."""


@dataclass(frozen=True)
class Rule:
    """One rule of the check.

    Parameters
    ----------
    name
        Its identifier, which stays: ``"BL101"``.
    title
        What it finds, in some words.
    level
        How serious that is.
    short
        Template of the words in the verdict.
    text
        Template of the sentence with its numbers.
    page
        What it means, why it matters and what to do: its section of the manual.
    found
        Its predicate.
    limit
        Whether a limit is in the way, so that less excitation would help.

    Examples
    --------
    >>> from bondloop.check.rules import rule_named
    >>> rule_named("BL101").title
    'The test cannot be built'
    """

    name: str
    title: str
    level: Level
    short: str
    text: str
    page: str
    found: Predicate
    limit: bool = False

    def findings(self, check: Check, test: Checkable, policy: CheckPolicy) -> Iterator[Finding]:
        """Yield what the rule finds.

        Parameters
        ----------
        check
            All but its findings.
        test
            The test.
        policy
            The limits in force.
        """
        for fields in self.found(check, test, policy):
            texts = (template.format_map(fields) for template in (self.text, self.short))
            yield Finding(self.name, self.level, *texts)
