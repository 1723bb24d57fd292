"""How the tests run: without deadlines, what is long or real-time marked, Ctrl-C as in a terminal."""

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from bondloop.engine.codegen import compiler

TESTS = Path(__file__).parent

# Everybody draws the same. Without a parent, Hypothesis would look whether the environment is that of a CI.
settings.register_profile(
    "fixed",
    settings.get_profile("default"),
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("fixed"), max_examples=10)
settings.load_profile("fixed")

LONG = {
    line.partition("::")[0]: line.partition("::")[2]
    for line in (TESTS / "long_files.txt").read_text().splitlines()
}
"""Files that take long, the longest first, each with the one test of it that a quick run takes, if any (see
`long_files.py`)."""

DRAWN = ("seed", "first")
"""Parameters of tests that count seeds: over a `range` of them any other beginning is as good."""


@pytest.fixture(scope="session")
def opensees() -> str:
    """Return a Python that has OpenSeesPy: that of ``make opensees``, or what BONDLOOP_OPENSEES names."""
    python = os.environ.get("BONDLOOP_OPENSEES", str(TESTS.parent / ".opensees" / "bin" / "python"))
    if not Path(python).exists():
        pytest.skip(f"no OpenSeesPy: there is no {python}; `make opensees` installs it")
    tried = subprocess.run(
        [python, "-c", "import openseespy.opensees"], capture_output=True, text=True, check=False
    )
    if tried.returncode:
        pytest.skip(f"OpenSeesPy cannot be imported: {tried.stderr.strip().splitlines()[-1:]}")
    return python


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for unreachable objects seldom, and never among modules and tests.

    Those are some millions, all of which live to the end: looking through them again and again takes half of
    the time in which tests are found, and a fifth of that of the tests.
    """
    gc.disable()
    found = yield
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    gc.enable()
    return found


def pytest_collection_modifyitems(config, items):
    """Mark what is of the real-time loop, and skip it where that cannot run; mark what is long: it begins.

    Of long hunts, marked ``by_day(N)``, the first N of the counted seeds are drawn; all where the draws are
    new (`tests.fresh`, in `make nightly`). Tests marked ``nightly`` run where ``-m nightly`` chooses them.
    """
    has_the_night = config.pluginmanager.has_plugin("tests.fresh")
    chooses_nightly = "nightly" in config.option.markexpr
    order = {path: i for i, path in enumerate(LONG)}
    can_run = sys.platform == "linux" and compiler() is not None
    for item in items:
        if "realtime" in item.path.parts[-3:-1] or item.path.match("docs/realtime*.md"):
            item.add_marker("realtime")
        item.counted_seeds = [
            mark.args[0]
            for mark in item.iter_markers("parametrize")
            if mark.args[0] in DRAWN and isinstance(mark.args[1], range)
        ]
        if is_hypothesis_test(getattr(item, "obj", None)) or item.counted_seeds:
            item.add_marker("drawn")
        item.is_left_to_the_night = not has_the_night and any(
            item.callspec.indices[name] >= mark.args[0]
            for mark in item.iter_markers("by_day")
            for name in item.counted_seeds
        )
        if item.get_closest_marker("nightly") and not chooses_nightly:
            item.is_left_to_the_night = True
        if item.get_closest_marker("realtime") and not can_run:
            item.add_marker(pytest.mark.skip(reason="the real-time loop needs Linux and a C compiler"))
        path = _path(item)
        if path in LONG and item.nodeid.partition("::")[2] != LONG[path]:
            item.add_marker("long")
    config.hook.pytest_deselected(items=[item for item in items if item.is_left_to_the_night])
    items[:] = [item for item in items if not item.is_left_to_the_night]
    items.sort(key=lambda item: order.get(_path(item), len(order)))


APART = ("tests/hybrid/test_check_against_runs.py", "tests/hybrid/test_stepped_check.py")
"""Files whose tests share nothing, and take minutes."""
TOGETHER = ("tests/papers/test_dubois_",)
"""Beginnings of files that share what a paper's module computes once."""


def pytest_xdist_make_scheduler(config, log):
    """Give each file to one worker, so that what it makes for its tests is made once.

    Those `APART` are given test by test, those `TOGETHER` as one.
    """
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid):
            if nodeid.startswith(APART):
                return nodeid
            return next((t for t in TOGETHER if nodeid.startswith(t)), super()._split_scope(nodeid))

    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


def _path(item) -> str:
    """Return where a test stands, below this folder; nothing where it stands elsewhere."""
    return item.path.relative_to(TESTS).as_posix() if item.path.is_relative_to(TESTS) else ""


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    """Keep what is compiled in one folder of this session, which its workers share."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "compiled"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BONDLOOP_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_arrives():
    """Where SIGINT is ignored, as in `nohup make test &`, children would ignore it too, and wait for ever."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
