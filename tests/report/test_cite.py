"""Every method has its source, and BibTeX can read the entries."""

import re

import pytest

import bondloop as bl
from bondloop import control, devices, integrate, papers
from bondloop.engine.data.kinds import FAMILIES
from bondloop.report.literature import SOURCES, TEXTBOOK, WORKS, works_of

ROOMS = (control, devices, integrate, integrate.structural)


def test_every_method_of_the_package_has_a_source_or_is_textbook_matter():
    public = {name for room in ROOMS for name in room.__all__ if getattr(room, name)}
    families = ("controller", "device", "integrator", "scheme")
    methods = {name for family in families for name in FAMILIES[family]} & public
    assert methods - set(SOURCES) - TEXTBOOK == set()
    assert methods >= TEXTBOOK


def test_every_work_is_cited_by_something():
    cited = {key for keys in SOURCES.values() for key in keys} | set(works_of({"rig": {}}))
    assert cited == set(WORKS)


@pytest.mark.parametrize("key", WORKS)
def test_entries_are_well_formed(key):
    entry = WORKS[key].bibtex(key)
    assert re.match(r"@[a-z]+\{[a-z]+\d{4},\n", entry)
    assert entry.count("{") == entry.count("}")
    assert str(WORKS[key].year) in key
    assert not re.search(r"(?<!\\)[&%#]", entry)


def test_the_tests_of_the_papers_cite_them():
    expected = {
        "wagg-three-mass": "wagg2001",
        "gawthrop-two-actuators": "gawthrop2005",
        "dubois-damper": "dubois2010",
        "bayer-substep": "bayer2000",
        "silva-benchmark": "silva2020",
    }
    for name, key in expected.items():
        assert f"{{{key}," in bl.cite(papers.find(name).load().test())
