"""docs/architecture.md against the code: the picture, the files and functions of the walks, the recipes."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "bondloop"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def picture():
    spec = importlib.util.spec_from_file_location("figure_of_rooms", ROOT / "docs" / "figures" / "rooms.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_has_every_room_in_the_order_of_the_import_rules(picture):
    drawn = [room for inside in picture.rooms().values() for room in inside]
    here = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    here |= {path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")}
    assert drawn == [room for room in picture.layers() if room in here]
    assert set(drawn) == here
    shown = re.findall(
        r'class="room"[^>]*>(\w+)<', (ROOT / "docs/figures/rooms.svg").read_text(encoding="utf-8")
    )
    assert shown == drawn


def test_the_picture_is_up_to_date(picture):
    kept = (ROOT / "docs" / "figures" / "rooms.svg").read_text(encoding="utf-8")
    assert kept == picture.svg(), "the rooms have changed: run `make pages`"


def cells(title):
    """Rows of the table under a heading, as lists of what stands in backticks in each cell."""
    text = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    return [[re.findall(r"`([^`]+)`", cell) for cell in row] for row in rows[1:]]


def names_in(path):
    """Functions, classes and methods that a file of Python or C defines."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".c":
        return set(re.findall(r"^[a-z][\w ]*?[ *](\w+)\(", text, re.MULTILINE))
    kinds = (ast.FunctionDef, ast.ClassDef)
    top = [node for node in ast.parse(text).body if isinstance(node, kinds)]
    names = {node.name for node in top}
    for node in top:
        names |= {f"{node.name}.{inner.name}" for inner in ast.walk(node) if isinstance(inner, kinds)}
    return names


@pytest.mark.parametrize(
    ("title", "least"),
    [
        ("First walk: from a bond graph to a figure", 17),
        ("Second walk: a measured sample through the loop", 13),
    ],
)
def test_what_a_walk_passes_is_there(title, least):
    rows = cells(title)
    assert len(rows) >= least
    for _, files, names in rows:
        defined = [names_in(PACKAGE / file) for file in files]
        assert set(names) <= set().union(*defined), files
        for file, here in zip(files, defined, strict=True):
            assert here & set(names), f"nothing is named of {file}"


def test_files_that_a_recipe_names_are_there():
    recipes = PAGE.partition("\n## Recipes\n")[2]
    words = re.findall(r"`([\w./]+\.(?:py|c|h|md))`|`((?:src|tests|docs)/[\w./]+)`", recipes)
    named = {first or second for first, second in words}
    assert len(named) >= 20
    roots = (ROOT, ROOT / "docs", PACKAGE)
    for name in sorted(n for n in named if "NAME" not in n):
        found = any((root / name).exists() for root in roots) or list(PACKAGE.rglob(name)) + list(
            (ROOT / "tests").rglob(name)
        )
        assert found, name


def test_the_one_place_has_names_of_rooms_alone():
    from bondloop import extend

    spec = importlib.util.spec_from_file_location("docs_reference", ROOT / "docs" / "reference.py")
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    rooms = {room: things for room, things in reference.public().items() if room != "extend"}
    for name in extend.__all__:
        thing = getattr(extend, name)
        assert any(things.get(name) is thing for things in rooms.values()), name
