"""The list of ready-made models and tests."""

import re

import pytest

from bondloop import papers
from bondloop.bondgraph import Model
from bondloop.errors import InputError


def test_names_are_unique_and_can_be_typed():
    names = [entry.name for entry in papers.entries()]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)


@pytest.mark.parametrize("entry", papers.entries(), ids=lambda entry: entry.name)
def test_every_entry_has_a_model_of_its_own(entry):
    first, second = entry.model(), entry.model()
    assert isinstance(first, Model)
    assert first is not second
    assert papers.find(entry.name) is entry
    assert "\n" not in entry.summary


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(InputError, match="did you mean 'gawthrop-three-mass'"):
        papers.find("gawthrop_three_mass")
