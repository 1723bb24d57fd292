"""A column on a rig, and servers for it in threads of their own."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

import bondloop as bl
from bondloop.interop import RehearsedRig
from bondloop.interop.following_rig import FollowingRig
from bondloop.interop.server import Server

sys.path.insert(0, str(Path(__file__).parent))  # for column_on_rig.py

from column_on_rig import Running, column_test


@pytest.fixture
def serve() -> Callable[..., AbstractContextManager[Running]]:
    """Return what serves a rig, until the end of a block."""

    @contextmanager
    def serving(rig: FollowingRig, **options: object) -> Iterator[Running]:
        with Server(rig, **options) as server:
            running = Running(server)
            try:
                yield running
            finally:
                running.stopping.set()
                running.wait()

    return serving


@pytest.fixture(scope="session")
def test_of_column() -> bl.HybridTest:
    """Return a test that is derived once."""
    return column_test()


@pytest.fixture
def rig(test_of_column: bl.HybridTest) -> Iterator[RehearsedRig]:
    """Return the column on its rig, without a clock."""
    with RehearsedRig(test_of_column) as made:
        yield made
