"""The check's promise, on drawn tests: what it lets pass stays within its limits and does not grow.

``check`` is asked first, then the test is run and judged by its motion alone (`truth`). No test that the
check lets pass may leave its limits or grow, and of those that it refuses at most 2 % may run well. Cases
that the motion leaves undecided, or that cannot be built, count for neither.

A failure names the case: ``case(SEED)`` of `drawn_tests` gives the test again, and so does the recipe.
"""

import json
import os
import pprint
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, note, settings

sys.path.insert(0, str(Path(__file__).parent))  # for drawn_tests.py and truth.py

from drawn_tests import Drawn, case, from_recipe, recipes
from truth import outcome

from bondloop.check.checking import check

CASES, CHUNK = 300, 15
MOST_REFUSED = 0.02
"""Share of the refused tests that may run well."""


def passes(drawn: Drawn) -> bool:
    """Ask the check; what would make a refused test pass is not looked for."""
    return check(drawn.test, drawn.seconds).passed


def told(drawn: Drawn, found, seed="") -> str:
    """Say what the case is, so that it can be repeated."""
    kind = ", ".join(f"{k} {v}" for k, v in drawn.kind.items() if v not in ("ideal", "none", "chain"))
    recipe = pprint.pformat(drawn.recipe, width=110, compact=True, sort_dicts=False)
    return f"case {seed} ({kind}): {found.ran}, {found.evidence}\n{recipe}"


@pytest.fixture(scope="session")
def tally(tmp_path_factory) -> Path:
    """Return a folder that all workers of this session share."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "check_against_runs"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.slow
@pytest.mark.by_day(1)
@pytest.mark.parametrize("first", range(0, CASES, CHUNK))
def test_the_check_agrees_with_the_runs(first, tally):
    passed_badly, refused_well, refused = [], [], 0
    for seed in range(first, first + CHUNK):
        drawn = case(seed)
        if drawn.test is None:
            continue
        passed = passes(drawn)
        found = outcome(drawn, blows=not passed)
        if passed and found.ran in ("left limits", "grew"):
            passed_badly.append(told(drawn, found, seed))
        refused += not passed and found.ran in ("left limits", "grew", "well")
        if not passed and found.ran == "well":
            refused_well.append(told(drawn, found, seed))
    (tally / f"{first}.json").write_text(json.dumps([refused, refused_well]))
    complaints = [f"the check let pass {text}" for text in passed_badly]
    everything = sorted(tally.glob("*.json"))
    if len(everything) == CASES // CHUNK:  # the last chunk counts for all, where all are drawn
        counts, lists = zip(*(json.loads(f.read_text()) for f in everything), strict=True)
        wrongly = [text for texts in lists for text in texts]
        if len(wrongly) > MOST_REFUSED * sum(counts):
            complaints.append(f"of {sum(counts)} that the check refused {len(wrongly)} run well:")
            complaints += wrongly
    assert not complaints, "\n\n".join(["", *complaints])


@pytest.mark.slow
@settings(
    max_examples=10, deadline=None, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.data_too_large],
)  # fmt: skip
@given(recipes())
def test_the_simplest_test_that_the_check_wrongly_lets_pass(recipe):
    drawn = from_recipe(recipe)
    if drawn.test is None or not passes(drawn):
        return
    found = outcome(drawn, blows=False)
    note(told(drawn, found))
    assert found.ran not in ("left limits", "grew")
