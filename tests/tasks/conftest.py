import os

import pytest
import pytest_asyncio

from agentgym import plugins
from agentgym.authoring.check import default_jobs
from agentgym.authoring.stage import Stage


@pytest.fixture(scope="session")
def note(pytestconfig):
    """Whether tasks that are found sound over all seeds are noted."""
    return pytestconfig.getoption("--note")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def stage(full):
    # Whole examinations keep every worker busy: together they play as many episodes as one does.
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) if full else 1
    jobs = max(1, default_jobs() // workers)
    stage = Stage(plugins.load("agentgym.sandboxes", "bubblewrap")(), jobs)
    yield stage
    await stage.close()
