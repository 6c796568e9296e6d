"""Bundled tasks judged over Docker and over bubblewrap: the same verdicts, word for word."""

import dataclasses

import pytest

from agentgym.agents.registry import create
from agentgym.env.environment import Environment
from agentgym.rollout.run import run_episode
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.docker.provider import DockerProvider
from agentgym.task.load import find_task

TASKS = (
    pytest.param("terminal/corrupted-tar-v1", marks=pytest.mark.full),
    "terminal/csv-to-sqlite-v1",
    # It judges a whole history in clean rooms, a container each.
    pytest.param("terminal/secrets-scrub-v1", marks=pytest.mark.full),
)


async def judge(task_id, agent, provider):
    env = Environment(find_task(task_id), provider)
    try:
        result = await run_episode(env, create(agent), seed=0, store=None, episode_id=None)
    finally:
        await env.close()
    assert result.error == ""
    return dataclasses.asdict(result.verdict)


@pytest.mark.docker
@pytest.mark.parametrize("task_id", TASKS)
async def test_both_providers_give_the_same_verdicts(task_id, tmp_path, docker_root):
    providers = (BubblewrapProvider(tmp_path / "bubblewrap"), DockerProvider(docker_root))
    try:
        for agent, outcome in (("oracle", True), ("noop", False)):
            seen, other = [await judge(task_id, agent, provider) for provider in providers]
            assert seen == other
            assert seen["outcome"] is outcome
    finally:
        for provider in providers:
            await provider.close()
