"""What every test shares: a cache of prepared tasks and layers that is this session's own."""

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def session_cache(tmp_path_factory):
    """Keep what tests prepare away from the user's cache; workers of one session share it."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTGYM_CACHE", str(base / "cache"))
        yield
