"""The shipped sandbox contract over a real Docker daemon."""

import pytest

from agentgym.records import Recipe
from agentgym.sandbox.docker.provider import DockerProvider
from agentgym.testing.sandbox import CHECKS

pytestmark = pytest.mark.docker


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_docker(check, docker_root):
    provider = DockerProvider(docker_root)
    try:
        await check(provider, Recipe("host"))
    finally:
        await provider.close()
    assert list((docker_root / "live").iterdir()) == []
