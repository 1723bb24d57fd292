"""Every public name is documented: in its docstring, parameter by parameter, on the page, by an example."""

import inspect
import sys
from pathlib import Path

import bondloop

sys.path.append(str(Path(__file__).parent))
from public_names import Method, callables, classes, is_shown, methods, missing_parameters, public, reference


def test_all_rooms_are_looked_at():
    """Rooms that `bl` names are among those that the page lists."""
    rooms = {
        thing.__name__ for name in bondloop.__all__ if inspect.ismodule(thing := getattr(bondloop, name))
    }
    assert rooms <= {f"bondloop.{room}" for room in reference().ROOMS}
    assert len(public()) > 300


def test_every_name_has_a_docstring_of_its_own():
    """One line of purpose; a dataclass without one is given its signature."""
    named = {**callables(), **classes()}
    bare = [
        name
        for name, thing in named.items()
        if not (thing.__doc__ or "").strip() or thing.__doc__.startswith(f"{thing.__name__}(")
    ]
    assert bare == []


def test_the_page_of_all_names_is_up_to_date():
    page = reference().PAGE.read_text(encoding="utf-8")
    assert page == reference().page(), "the public names have changed: run `make pages`"
    assert "|  |" not in page, "a constant without a docstring after it"


def test_every_parameter_is_described():
    """In a section Parameters (or Attributes) of the docstring, with an entry for each."""
    missing = {name: missing_parameters(thing) for name, thing in callables().items()}
    assert {name: words for name, words in missing.items() if words} == {}


def test_every_parameter_of_a_method_is_described():
    """By an entry, in the one line of a method with one or two, or by the method that it overrides."""
    bare = {name: words for name, method in methods().items() if (words := method.missing())}
    assert bare == {}
    assert len(methods()) > 300


def test_what_counts_as_a_description():
    def short(first, second):
        """Return ``first`` beside another."""

    def long(first, second, third):
        """Return first, second and third."""

    def with_entries(first, second, third):
        """Return all.

        Parameters
        ----------
        first, second
            Numbers.
        third
            A text.
        """

    def missing(function, *overridden):
        return Method(function, tuple(inspect.signature(function).parameters), overridden).missing()

    assert missing(short) == ["second"]
    assert missing(long) == ["first", "second", "third"]
    assert missing(with_entries) == missing(long, with_entries) == []


def test_every_class_has_an_example():
    """In a doctest, on a page or in `examples`: what is run."""
    assert [name for name, thing in classes().items() if not is_shown(thing)] == []
