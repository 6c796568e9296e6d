import pytest_asyncio

from agentgym import plugins
from agentgym.authoring.check import default_jobs
from agentgym.authoring.stage import Stage


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def stage():
    stage = Stage(plugins.load("agentgym.sandboxes", "bubblewrap")(), default_jobs())
    yield stage
    await stage.close()
