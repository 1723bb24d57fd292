"""The errors, and the sentence for a name that does not exist."""

import pytest

from bondloop import errors
from bondloop.errors import unknown_name


def test_every_error_is_a_bondloop_error():
    kinds = [errors.ModelError, errors.CausalityError, errors.SolveError, errors.InputError]
    assert all(issubclass(kind, errors.BondloopError) for kind in kinds)
    assert issubclass(errors.CausalityError, errors.ModelError)
    assert not issubclass(errors.SolveError, errors.ModelError)


def test_a_misspelt_name_gets_the_nearest_one():
    sentence = unknown_name("parameter", "mas", ["damping", "mass"], where="m1.I")
    assert sentence == "unknown parameter 'mas' of m1.I; did you mean 'mass'? known: damping, mass"


def test_a_name_like_nothing_known_gets_no_suggestion():
    assert unknown_name("output", "q", ["m1.v.flow"]) == "unknown output 'q'; known: m1.v.flow"


def test_case_does_not_hide_a_suggestion():
    assert "did you mean 'M1.Mass'?" in unknown_name("parameter", "m1.mass", ["M1.Mass", "k"])


def test_part_of_a_name_is_enough_for_a_suggestion():
    assert "did you mean 'gawthrop-three-mass'?" in unknown_name("model", "gaw", ["gawthrop-three-mass"])


def test_the_list_of_known_names_is_bounded_and_shows_the_nearest_first():
    sentence = unknown_name("output", "m98.v.flwo", (f"m{number}.v.flow" for number in range(1000)))
    listed = sentence.split("known: ")[1]
    assert listed.startswith("m98.v.flow, ")
    assert listed.endswith(" and 988 more")
    assert listed.count(",") == 11


@pytest.mark.parametrize("known", [[], iter(())])
def test_no_known_names(known):
    assert unknown_name("input", "r", known) == "unknown input 'r'; none are known"
