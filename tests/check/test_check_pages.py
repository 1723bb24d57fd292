"""The pages of the check that are made from its tables: rules and limits, as they are now."""

import runpy
from pathlib import Path

import pytest

from bondloop.check.policy import limits
from bondloop.check.rules import RULES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(DOCS / "check_rules.py"))


def test_the_page_of_the_rules_is_up_to_date(script):
    page = (DOCS / "check-rules.md").read_text(encoding="utf-8")
    assert page == script["page"](), "the rules have changed: run `make pages`"


def test_every_rule_has_a_section_of_its_own_with_its_text(script):
    sections = dict(part.split("\n", 1) for part in script["page"]().split("\n### ")[1:])
    assert list(sections) == sorted(rule.name for rule in RULES)
    for rule in RULES:
        assert rule.title in sections[rule.name]
        assert rule.page in sections[rule.name]
        assert "{" not in sections[rule.name]


def test_the_table_of_limits_is_that_of_the_policy(script):
    page = (DOCS / "check.md").read_text(encoding="utf-8")
    assert page == script["written"](page), "the limits have changed: run `make pages`"
    for name, limit in limits().items():
        assert f"| `{name}` |" in page
        assert limit.reason in page
