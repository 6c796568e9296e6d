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
async def stage():
    stage = Stage(plugins.load("agentgym.sandboxes", "bubblewrap")(), default_jobs())
    yield stage
    await stage.close()
