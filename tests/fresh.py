"""New draws: a plugin that runs the tests that draw, marked ``drawn``, with a new seed (`make test-fresh`).

Hypothesis draws from the seed, and seeds that a test counts (``DRAWN`` in ``conftest.py``) begin at it. When
the time is over no further test begins; how many were left out is printed. A failing example is shrunk only
where that is wanted, for it takes minutes:

    .venv/bin/python -m pytest -p tests.fresh -m drawn --fresh-seed=123 --fresh-seconds=720 tests
"""

import random
import time

import hypothesis.core
import pytest
from hypothesis import Phase, settings

LEFT_OUT = "left out: the time of the drawn tests was over"


def pytest_addoption(parser):
    """Add the options."""
    group = parser.getgroup("new draws")
    group.addoption("--fresh-seed", type=int, required=True, help="whole number from which all is drawn")
    group.addoption("--fresh-seconds", type=float, default=720, help="after these no further test begins")
    group.addoption("--fresh-shrink", action="store_true", help="shrink what fails")


@pytest.hookimpl(trylast=True)  # after Hypothesis has read its own options
def pytest_configure(config):
    """Draw from the seed, whatever settings a test has: they are made when its file is imported."""
    phases = [Phase.explicit, Phase.generate] + config.option.fresh_shrink * [Phase.shrink]
    settings.register_profile("fresh", settings.get_profile("fixed"), derandomize=False, phases=phases)
    settings.load_profile("fresh")
    hypothesis.core.global_force_seed = config.option.fresh_seed
    config.fresh_end = time.monotonic() + config.option.fresh_seconds


def pytest_report_header(config):
    """Print the seed."""
    return f"drawn anew: make test-fresh SEED={config.option.fresh_seed}; {config.option.fresh_seconds:g} s"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Let counted seeds begin at the seed; in any order, so that not always the same tests are left out."""
    for item in items:
        for name in getattr(item, "counted_seeds", ()):
            item.callspec.params[name] += config.option.fresh_seed
    random.Random(config.option.fresh_seed).shuffle(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Begin nothing more when the time is over."""
    if time.monotonic() > item.config.fresh_end:
        pytest.skip(LEFT_OUT)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Tell how to draw the same again."""
    report = yield
    if report.failed:
        again = f"make test-fresh SEED={item.config.option.fresh_seed} ARGS=\"'{item.nodeid}'\""
        report.sections.append(("Drawn again by", again))
    return report


def pytest_terminal_summary(terminalreporter, config):
    """Count what was drawn and what was left out."""
    stats = terminalreporter.stats
    out = sum(LEFT_OUT in str(report.longrepr) for report in stats.get("skipped", []))
    ran = sum(len(stats.get(kind, [])) for kind in ("passed", "failed", "error"))
    seed = config.option.fresh_seed
    terminalreporter.write_sep("=", f"drawn with SEED={seed}: {ran} tests ran, {out} left out by the time")
