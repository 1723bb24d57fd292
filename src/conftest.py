"""Modules whose doctests are run by themselves are imported once, and what a doctest defines is a user's.

pytest imports the package of a module and then the module, though its package may have imported it already:
there would be two of every class, and `isinstance` would know one of them.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent


def pytest_collect_file(file_path: Path) -> None:
    """Import the package of a file that is about to be collected, as Python does."""
    package = file_path.parent.relative_to(SOURCES).parts
    if file_path.suffix == ".py" and package:
        importlib.import_module(".".join(package))


@pytest.fixture(autouse=True)
def a_users_names(doctest_namespace: dict[str, object]) -> None:
    """Run doctests as at a prompt: a class that one defines would pass for bondloop's, its name be taken."""
    doctest_namespace["__name__"] = "__main__"
