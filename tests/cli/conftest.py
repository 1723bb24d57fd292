"""A way to call the command as a user does."""

from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from bondloop.cli.main import app


@pytest.fixture
def bondloop() -> Callable[..., Result]:
    """Return a function that runs `bondloop` with the given words; faults of bondloop itself are raised."""
    runner = CliRunner()

    def call(*words: object) -> Result:
        return runner.invoke(app, [str(word) for word in words], catch_exceptions=False)

    return call
