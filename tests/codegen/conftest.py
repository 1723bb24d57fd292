"""These tests build as users do, without the options that make other tests build quickly."""

import pytest


@pytest.fixture(autouse=True)
def _as_users_build(monkeypatch):
    monkeypatch.delenv("BONDLOOP_CFLAGS", raising=False)
