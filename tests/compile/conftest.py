"""Libraries built by these tests go into a folder of their own."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BONDLOOP_CACHE", str(folder))
        yield folder
