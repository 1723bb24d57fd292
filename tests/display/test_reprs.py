"""What things say of themselves is short, without addresses, and safe in HTML."""

import contextlib
import doctest
import importlib
import inspect
import io
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import bondloop as bl
from bondloop.display import brief
from bondloop.display.figure import SVG_LETTERS, Figure
from bondloop.rehearsal import Run
from bondloop.results import Record
from bondloop.results.assess.error_metrics import Metrics
from bondloop.studies import Axis
from bondloop.studies.grid_study import Study
from bondloop.transfer import Process

sys.path.insert(0, str(Path(__file__).parents[1]))  # for public_names.py

from public_names import classes

SHORT = 500
"""Letters of a repr."""
EVIL = "<script>alert(1)&<img src=x>"


class Quiet(doctest.DocTestRunner):
    """Runs examples; that they are right is tested elsewhere."""

    def report_failure(self, *_):
        """Say nothing."""

    def report_unexpected_exception(self, *_):
        """Say nothing."""


def made_by_examples(thing, name):
    """What the examples of a class leave behind; a class that one defines is a user's, as at a prompt."""
    module = importlib.import_module(thing.__module__)
    names = {**vars(module), "__name__": "__main__"}
    for test in doctest.DocTestFinder(recurse=False).find(thing, name, module=module, globs=names):
        before = {id(value) for value in test.globs.values()}
        with contextlib.redirect_stdout(io.StringIO()):
            Quiet(verbose=False).run(test, clear_globs=False, out=lambda _: None)
        yield from (value for value in test.globs.values() if id(value) not in before)


def concrete():
    """Public classes that are no protocols."""
    return {n: c for n, c in classes().items() if not getattr(c, "_is_protocol", False)}


def test_every_public_class_has_a_repr_of_its_own():
    assert not [name for name, c in concrete().items() if c.__repr__ is object.__repr__]


def test_examples_leave_nothing_with_a_long_repr_or_an_address():
    kinds, met, wrong = tuple(concrete().values()), set(), []
    for name, thing in concrete().items():
        if issubclass(thing, BaseException):
            continue
        for value in made_by_examples(thing, name):
            if isinstance(value, kinds) and not inspect.isclass(value):
                met.add(type(value))
                text = repr(value)
                if " at 0x" in text or len(text) > SHORT:
                    wrong.append(f"{name}: {text[:100]}")
    assert len(met) > 80  # the examples do make things
    assert not wrong


@pytest.mark.parametrize("value", [lambda: 0, object(), np.zeros(3), {"a": [object()] * 9}, {1, 2}, None])
def test_brief_writes_anything_in_a_line(value):
    fit = brief(Axis("x", ("1",)))
    assert fit == "Axis(name='x', values=('1'))"
    record = Study((Axis("x", ("1",)),), {"m": value})
    assert " at 0x" not in repr(record)
    assert len(repr(record)) < SHORT


class Tags(HTMLParser):
    """Collects tags, and refuses what is not closed."""

    def __init__(self):
        super().__init__()
        self.open, self.tags = [], set()

    def handle_starttag(self, tag, _attrs):
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def tags(html):
    parser = Tags()
    parser.feed(html)
    parser.close()
    assert not parser.open
    return parser.tags


def test_what_comes_from_files_is_escaped():
    t = np.linspace(0, 1, 200)
    run = Run(Record(t, {EVIL: np.sin(t)}, {EVIL: EVIL}, {"name": EVIL}, {"status": EVIL, "message": EVIL}))
    metrics = Metrics(EVIL, EVIL, {EVIL: 1.0}, {EVIL: EVIL}, (EVIL,))
    study = Study((Axis(EVIL, (EVIL, "b")), Axis("y", ("1",))), {EVIL: np.ones((2, 1))})
    for thing in (run, metrics, study):
        assert not {"script", "img"} & tags(thing._repr_html_())


@pytest.fixture(scope="module")
def tested():
    test = bl.papers.find("gawthrop-three-mass").load().test()
    return test, test.check(2), test.run(1)


def test_tests_checks_and_runs_are_tables(tested):
    test, check, run = tested
    for thing, words in ((test, "VirtualJunction"), (check, check.verdict), (run, "normalised rms error")):
        html = thing._repr_html_()
        assert {"table", "td"} <= tags(html)
        assert words in html
    assert len(repr(test)) < 1000
    assert len(repr(check)) < SHORT


def test_systems_and_equations_are_typeset(tested):
    system = tested[0].half.system
    assert "numerical.m1.C.displacement" in system._repr_html_()
    assert system.equations()._repr_latex_().startswith(r"\begin{align*}")
    assert system.equations()._repr_html_() is None
    long = bl.bondgraph.Model("nothing")
    assert long._repr_mimebundle_() is None


def test_a_process_is_a_fraction():
    assert Process((1.0,), (1e-6, 0.02, 1.0), 0.005)._repr_latex_() == (
        r"$\displaystyle G(s) = \frac{1}{1 \cdot 10^{-6} s^{2} + 0.02 s + 1}\, e^{-0.005 s}$"
    )


def test_heavy_figures_are_pictures():
    figure = Figure(figsize=(4, 3))
    figure.subplots().plot(*np.random.default_rng(1).normal(size=(2, 80_000)), linewidth=0.1)
    shown, about = figure._repr_mimebundle_()
    assert [*shown] == ["image/png"]
    assert about["image/png"] == {"width": 384, "height": 288}
    assert len(shown["image/png"]) < SVG_LETTERS
