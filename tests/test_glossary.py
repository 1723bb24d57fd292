"""docs/glossary.md against the signatures: one word for one thing, and every exception is on the page."""

import inspect
import re
import sys
from pathlib import Path

import pytest

from bondloop.engine.ir.quantity import Role

sys.path.append(str(Path(__file__).parent))
from public_names import ROOT, callables, reference, sections

PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")

TIME_WORDS = re.compile(r"period(?!s)|step(?!s)|^d_?t$|interval|^rate$|sample_|seconds|duration|delta|^h$")
"""Names that look like a time between samples or the length of something."""

BETWEEN_SAMPLES = re.compile(
    r"(the )?(seconds|time) (between|from (one )?(sample|tick|step))"
    r"|(the )?(sampl\w+ (period|interval|time)|time step)\b|step in seconds|Δt",
    re.IGNORECASE,
)
"""How the description of a time between samples begins."""


def table(title):
    """The rows under a heading, without the table's head."""
    text = re.split(rf"^#+ {re.escape(title)}\n", PAGE, flags=re.MULTILINE)[1]
    lines = re.split(r"^#", text, flags=re.MULTILINE)[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return rows[2:]


def words(title):
    """Pairs (word, place) of a table of words; the place is None for a word that may be used anywhere."""
    pairs = set()
    for row in table(title):
        places = re.findall(r"`([\w.]+)`", row[2]) or [None]
        pairs |= {(word, place) for word in re.findall(r"`(\w+)`", row[0]) for place in places}
    return pairs


BETWEEN, LONG, OTHER = (
    words(title) for title in ("Time between samples", "How long", "The same words for something else")
)


def signatures(things):
    """What has parameters: functions, classes and their methods, each with the name of function or class."""
    for name, thing in things.items():
        yield name, thing
        if inspect.isclass(thing):
            for key in dir(thing):
                method = inspect.getattr_static(thing, key)
                method = getattr(method, "__func__", method)
                ours = inspect.isfunction(method) and method.__module__.startswith("bondloop.")
                if ours and not key.startswith("_"):
                    yield name, method


def descriptions(thing):
    """What the docstring says of each parameter."""
    titled = sections(inspect.getdoc(thing) or "")
    text = "\n".join(titled.get(title, "") for title in ("Parameters", "Attributes"))
    parts = re.split(r"^([\w*][\w*, ]*)(?: ?:.*)?\n", text, flags=re.MULTILINE)
    entries = zip(parts[1::2], parts[2::2], strict=True)
    return {name.strip(" *"): " ".join(text.split()) for names, text in entries for name in names.split(",")}


def strangers(things):
    """Parameters that stand for a time, or look like it, by a word that the glossary does not have for it."""
    found = set()
    for place, thing in signatures(things):
        told = descriptions(thing)
        for word in inspect.signature(thing).parameters:
            between = BETWEEN_SAMPLES.match(told.get(word, ""))
            allowed = BETWEEN if between else BETWEEN | LONG | OTHER
            if (between or TIME_WORDS.search(word)) and not {(word, None), (word, place)} & allowed:
                found.add(f"{place}({word})")
    return found


def test_times_are_called_by_the_words_of_the_glossary():
    assert strangers(callables()) == set(), "take a word from docs/glossary.md"


def test_no_exception_outlives_its_parameter():
    there = {(w, p) for p, thing in signatures(callables()) for w in inspect.signature(thing).parameters}
    there |= {(word, None) for word, _ in there}
    assert there >= BETWEEN | LONG | OTHER


def test_few_words_may_be_used_anywhere():
    """A new word is a new row, and a fourth for the same thing is one too many."""
    assert {word for word, place in BETWEEN if place is None} == {"rate", "sample_period", "period"}
    assert {word for word, place in LONG if place is None} == {"seconds", "duration"}
    assert {place for _, place in OTHER} >= {"rigs.RateLimit"}
    assert None not in {place for _, place in OTHER}


@pytest.mark.parametrize(
    ("word", "text", "strange"),
    [
        ("sample_period", "Seconds between samples.", False),
        ("period", "Time step in seconds.", False),
        ("seconds", "Length of the run.", False),
        ("interval", "Anything.", True),
        ("timestep", "Anything.", True),
        ("dt", "Time step in seconds.", True),
        ("h", "Anything.", True),
        ("spacing", "Seconds between samples.", True),
        ("spacing", "The sampling interval [s].", True),
        ("duration", "Sample period in s.", True),
        ("spacing", "Metres between floors.", False),
        ("steps", "How many ticks.", False),
    ],
)
def test_a_new_word_is_noticed(word, text, strange):
    def thing(**values):
        return values

    thing.__doc__ = f"Do something.\n\nParameters\n----------\n{word}\n    {text}\n"
    thing.__signature__ = inspect.Signature([inspect.Parameter(word, inspect.Parameter.KEYWORD_ONLY)])
    assert strangers({"room.thing": thing}) == ({f"room.thing({word})"} if strange else set())


def test_a_name_is_promised_for_one_thing():
    """No two rooms offer different things by one name."""
    offered = {}
    for room, things in reference().public().items():
        for name, thing in things.items():
            offered.setdefault(name, {})[id(thing)] = room
    assert {name: [*rooms.values()] for name, rooms in offered.items() if len(rooms) > 1} == {}


def test_the_roles_of_channels_are_on_the_page():
    """In the order of the code, after the word role, which counts them."""
    terms = [row[0] for row in table("Signals and channels")]
    first = terms.index("role") + 1
    roles = [str(role) for role in Role if role]
    assert terms[first : first + len(roles)] == roles
    assert len(roles) == 11, "the glossary says eleven"


def test_no_term_is_explained_twice():
    terms = [row[0] for title in ("A hybrid test", "Signals and channels") for row in table(title)]
    assert len(terms) > 35
    assert sorted(set(terms)) == sorted(terms)
