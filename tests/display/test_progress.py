"""What is going on is shown to those who look, once, and to nobody else."""

import inspect
import threading

import pytest

import bondloop as bl
from bondloop.check.checking import check
from bondloop.display import at_work, progress, silent, with_progress
from bondloop.papers.silva_comparison import compare


class Screen:
    """Keeps what is shown."""

    def __init__(self):
        self.shown, self.closed, self.seen = [], [], threading.Event()

    def show(self, words, share):
        self.shown.append((words, share))
        self.seen.set()

    def close(self, words):
        self.closed.append(words)


@pytest.fixture
def screen(monkeypatch):
    made = Screen()
    monkeypatch.setattr(progress, "SHOWN_AFTER", 0.0)
    monkeypatch.setattr(progress, "LOOK_INTERVAL", 0.001)
    monkeypatch.setattr(progress, "find_screen", lambda: made)
    return made


def test_what_is_done_is_shown_and_ends(screen):
    with at_work("counting") as tell:
        assert screen.seen.wait(60)
        tell(1, 4)
        until(lambda: screen.shown[-1][1] == 0.25)
    assert screen.shown[0] == ("counting ... 0 s", None)
    assert len(screen.closed) == 1
    assert screen.closed[0].startswith("counting: ")


def until(true):
    for _ in range(60_000):
        if true():
            return
        threading.Event().wait(0.001)
    raise AssertionError("it did not happen")


def test_what_is_called_in_turn_shows_nothing_of_its_own(screen):
    @with_progress("inner")
    def inner(*, progress=None):
        return progress

    @with_progress("outer")
    def outer(*, progress=None):
        assert screen.seen.wait(60)
        return progress, inner()

    told, nested = outer()
    assert told is not None
    assert nested is None
    assert {words.partition(" ...")[0] for words, _ in screen.shown} == {"outer"}


def test_who_tells_it_himself_sees_nothing_else(screen):
    @with_progress("adding")
    def add(*, progress=None):
        progress(1, 1)

    said = []
    add(progress=lambda *state: said.append(state))
    assert said == [(1, 1)]
    assert silent(1, 2) is None
    assert not screen.shown


@pytest.mark.usefixtures("screen")
def test_an_error_ends_it():
    with pytest.raises(ValueError, match="wrong"), at_work("failing"):
        raise ValueError("wrong")
    with at_work("again") as tell:  # it is free again
        assert tell is not None


def test_where_nobody_looks_nothing_is_shown(capsys):
    with at_work("hidden") as tell:
        assert tell is None
    assert capsys.readouterr() == ("", "")


def test_a_terminal_has_a_bar(capsys):
    screen = progress.Terminal()
    screen.show("rehearsing", 0.5)
    screen.close("")
    assert f"[{'#' * 20}{'.' * 20}]  50 %  rehearsing" in capsys.readouterr().err


@pytest.mark.parametrize(
    "function",
    [
        bl.HybridTest.run, check, bl.identify.rank_time, bl.identify.rank_frequency,
        bl.identify.fit_time, bl.identify.fit_frequency, bl.identify.fit_bond_graph, bl.identify.fit_matrix,
        bl.identify.fit_specimen, bl.identify.rank_specimens, bl.identify.leave_out, bl.studies.study,
        bl.studies.sample, bl.studies.sensitivity, bl.studies.tune_over, bl.report.write_report,
        bl.tuning.recommend, compare, bl.bondgraph.Model.compile, bl.report.write_play, bl.rerun,
        bl.structures.pushover,
        bl.engine.System.simulate,
    ],
)  # fmt: skip
def test_long_calls_tell(function):
    """Each is decorated; the wrapped function keeps its parameters."""
    assert hasattr(function, "__wrapped__")
    assert inspect.signature(function) == inspect.signature(function.__wrapped__)
