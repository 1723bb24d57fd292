"""Which files of tests are long, and which of their tests a quick run takes: writes ``long_files.txt``.

The longest come first, and so they do in a run: one that began last would keep its worker for minutes after
all others are done.

A plugin that adds up the processor time of every test, of its children too. Run it in one process, some forty
minutes, when `make test-quick` has come to take more than a minute:

    PYTHONPATH=tests .venv/bin/python -m pytest -p long_files -n 0 tests
"""

from collections import defaultdict
from pathlib import Path

import pytest

FILE = Path(__file__).with_suffix(".txt")
LONG = 0.4
"""Seconds of processor time from which on a file is long."""
TAKEN = 0.1
"""Seconds that the test which is taken of a long file may take: the longest of those that take no longer."""

times: dict[str, dict[str, float]] = defaultdict(dict)


def used() -> float:
    """Processor time of this process and its children, in s."""
    import resource  # of Unix: the tests are collected elsewhere, too

    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in both)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Note what a test takes."""
    before = used()
    result = yield
    path = item.path.relative_to(FILE.parent).as_posix()
    times[path][item.nodeid.partition("::")[2]] = used() - before
    return result


def pytest_sessionfinish():
    """Write the list."""
    FILE.write_text(listed(times))


def listed(times: dict[str, dict[str, float]]) -> str:
    """Return the lines of the list, a long file each, with its test for a quick run if it has one."""
    lines = []
    for path, tests in sorted(times.items(), key=lambda item: -sum(item[1].values())):
        if sum(tests.values()) > LONG:
            # A first test that takes long has mostly made what the others use too, and would cost them, too.
            begins = next(iter(tests.values())) <= LONG
            short = [name for name in tests if begins and tests[name] <= TAKEN]
            taken = max(short, key=tests.__getitem__, default="")
            lines.append(f"{path}::{taken}" if taken else path)
    return "\n".join(lines) + "\n"
