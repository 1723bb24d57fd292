"""The site's sources: no dead link, every page in the contents, every name and command described."""

import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import click
import pytest

import bondloop as bl
from bondloop.cli.main import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [
    page
    for folder in (ROOT, DOCS, ROOT / "benchmarks", ROOT / "examples")
    for page in (sorted(folder.rglob("*.md")) if folder != ROOT else sorted(folder.glob("*.md")))
]


def script(name):
    """One of the scripts in docs/, which are no package."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def without_code(text):
    return re.sub(r"(?ms)^( *)```.*?^\1```|`[^`\n]+`", "", text)


def links(page):
    """Targets of all links and images, with their fragments."""
    text = without_code(page.read_text(encoding="utf-8"))
    return [
        link for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link and link[:7] != "mailto:"
    ]


def anchors(page):
    """What a forge and the site make of headings: words, joined by hyphens."""
    found = []
    text = re.sub(r"(?ms)^ *```.*?^ *```", "", page.read_text(encoding="utf-8"))
    for title in re.findall(r"(?m)^#+ (.*)$", text):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.append(slug if slug not in found else f"{slug}-{found.count(slug)}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_link_is_dead(page):
    dead = []
    for link in links(page):
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (fragment and target.suffix == ".md" and fragment not in anchors(target)):
            dead.append(link)
    assert dead == []


def test_every_page_is_named_by_the_front_page_or_by_the_decisions():
    named = set()
    for front in (DOCS / "index.md", DOCS / "decisions" / "README.md"):
        named |= {(front.parent / link.partition("#")[0]).resolve() for link in links(front)}
    written = set(DOCS.rglob("*.md")) - {DOCS / "index.md"}
    assert {str(page.relative_to(DOCS)) for page in written - named} == set()


def test_the_reference_describes_every_public_name_once():
    reference = script("reference")
    pages = "\n".join(reference.room_pages().values())
    described = re.findall(r"^\.\. auto\w+:: (\S+)$", pages, re.MULTILINE)
    data = re.findall(r"^\.\. py:data:: (\w+)\n   :module: (\S+)$", pages, re.MULTILINE)
    described += [f"{module}.{name}" for name, module in data]
    assert len(described) == len(set(described))
    things = [
        getattr(importlib.import_module(path.rpartition(".")[0]), path.rpartition(".")[2])
        for path in described
    ]
    offered = {name: getattr(bl, name) for name in bl.__all__}
    for room in [thing for thing in offered.values() if inspect.ismodule(thing)]:
        offered |= {f"{room.__name__}.{name}": getattr(room, name) for name in getattr(room, "__all__", ())}
    offered = {name: thing for name, thing in offered.items() if not inspect.ismodule(thing)}
    del offered["__version__"]
    assert [name for name, thing in offered.items() if not any(thing is other for other in things)] == []
    assert len(offered) > 300


def test_constants_are_described_too():
    pages = script("reference").room_pages()
    assert ".. py:data:: SCALES\n   :module: bondloop.results\n\n   All thresholds" in pages["results"]


def test_names_in_the_list_lead_to_their_descriptions():
    reference = script("reference")
    text = reference.with_links(reference.PAGE.read_text(encoding="utf-8"))
    assert "| {py:obj}`Record <bondloop.results.Record>` |" in text
    assert re.findall(r"(?m)^\| `\w+` \|", text) == []


def test_every_command_is_on_its_page_with_every_option():
    """Against the help that the program prints."""
    from click.testing import CliRunner

    page = script("commands").page()
    sections = dict(re.findall(r"(?ms)^## (bondloop[\w ]*)$(.*?)(?=^## |\Z)", page))

    def verbs(command, path=()):
        yield path
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                yield from verbs(command.get_command(context, name), (*path, name))

    for path in verbs(app):
        told = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "200"}).output
        options = set(re.findall(r"(?m)^\s+(?:-\w, )?(--[\w-]+)", told)) - {"--help"}
        section = sections[" ".join(["bondloop", *path])]
        assert {option for option in options if option not in section} == set(), path


def test_links_out_of_docs_get_pages():
    outside = script("outside")
    text, found = outside.rewritten("[a](../LICENSE) [b](check.md#x) [c](https://x.org) [d](nowhere)", DOCS)
    assert text == "[a](/generated/files/LICENSE.rst) [b](/check.md#x) [c](https://x.org) [d](nowhere)"
    assert found == {ROOT / "LICENSE"}
    pages = outside.pages()
    assert "/realtime-linux.md" in pages["generated/files/benchmarks/README.markdown"]
    assert (
        ":doc:`dc_motor.py </generated/files/examples/dc_motor.py>`" in pages["generated/files/examples.rst"]
    )
