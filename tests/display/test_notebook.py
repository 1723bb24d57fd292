"""The first tutorial as a notebook: it is run whole, and everything in it shows itself."""

import os
from pathlib import Path

import nbclient
import nbformat
import pytest

import bondloop

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebooks" / "first-test.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebook")
    book = nbformat.read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(
        book, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute(env={**os.environ, "PYTHONPATH": str(Path(bondloop.__file__).parents[1])})
    return book, folder


def shown(book, start):
    """The formats that a cell that begins so shows, of all its outputs."""
    (cell,) = [c for c in book.cells if c.cell_type == "code" and start in c.source]
    return {kind: data for out in cell.outputs for kind, data in out.get("data", {}).items()}


def test_it_is_kept_without_outputs():
    book = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(book)
    assert all(not c.get("outputs") and c.get("execution_count") is None for c in book.cells)


@pytest.mark.parametrize(
    ("cell", "kind", "words"),
    [
        ("class Mass", "image/svg+xml", "<svg"),
        ("equations()", "text/latex", r"\begin{align*}"),
        ("physical = pair.cut", "image/svg+xml", "<svg"),
        ("test = bl.HybridTest", "text/html", "Direct()"),
        ("VirtualJunction(actuator)", "text/html", "Run it"),
        ("check.plot()", "image/svg+xml", "<svg"),
        ("run = test.run(5)", "text/html", "followed the numerical half very well"),
        ("run.plot.overview()", "image/svg+xml", "<svg"),
    ],
)
def test_everything_shows_itself(executed, cell, kind, words):
    book, _ = executed
    assert words in shown(book, cell)[kind]


def test_the_report_and_the_run_are_written(executed):
    book, folder = executed
    assert (folder / "first-test.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    assert "very well" in shown(book, "bl.rerun")["text/plain"]


def test_nothing_shows_an_address(executed):
    book, _ = executed
    text = [
        str(out.get("data", {}).get("text/plain", "")) for c in book.cells for out in c.get("outputs", [])
    ]
    assert not [t for t in text if " at 0x" in t]
