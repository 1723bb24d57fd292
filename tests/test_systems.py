"""The tests are collected on every system that the workflow names: what only Unix has is taken with care."""

import ast
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
UNIX = {"curses", "fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}
"""Modules of the standard library that Windows has not."""


def imported(body):
    """Line and module of each import that runs when a file is loaded, but for those that may fail."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, (node.module or "").partition(".")[0]
        elif isinstance(node, ast.If | ast.With | ast.ClassDef):
            yield from imported([*node.body, *getattr(node, "orelse", [])])


def files():
    """Files that are loaded everywhere: all but those of folders left out where there is no Linux."""
    apart = [
        path.parent for path in TESTS.rglob("conftest.py") if "collect_ignore_glob" in path.read_text("utf-8")
    ]
    assert TESTS / "realtime" in apart
    return [path for path in TESTS.rglob("*.py") if not any(folder in path.parents for folder in apart)]


def test_no_file_of_tests_needs_unix_when_it_is_loaded():
    assert set(sys.stdlib_module_names) >= UNIX
    needed = [
        f"{path.relative_to(TESTS)}:{line}: {module}; import it in the test by pytest.importorskip"
        for path in files()
        for line, module in imported(ast.parse(path.read_text(encoding="utf-8")).body)
        if module in UNIX
    ]
    assert needed == []


@pytest.mark.parametrize("source", ["import fcntl", "from pty import fork", "if True:\n    import os, pwd"])
def test_an_import_at_the_top_is_seen(source):
    assert UNIX & {module for _, module in imported(ast.parse(source).body)}


@pytest.mark.parametrize(
    "source", ["def f():\n    import fcntl", "try:\n    import pwd\nexcept ImportError:\n    pwd = None"]
)
def test_an_import_that_waits_or_may_fail_is_none(source):
    assert not [*imported(ast.parse(source).body)]
