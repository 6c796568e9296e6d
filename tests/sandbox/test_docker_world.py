"""A living world over Docker: the same events, milestones and verdict as over bubblewrap."""

import pytest
from living_tasks import RELAY, write_living

from agentgym.env.environment import Environment
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.docker.provider import DockerProvider
from agentgym.task.load import load_task
from agentgym.task.reference_actions import oracle


@pytest.mark.docker
async def test_both_providers_have_the_same_world(docker_root, tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    task = load_task(write_living(tmp_path, "relay", RELAY))
    seen = []
    for provider in (BubblewrapProvider(), DockerProvider(docker_root)):
        env = Environment(task, provider)
        episode = await env.start(2)
        for action in oracle(task.instance(2)):
            transition = await episode.step(action)
        steps = [(s.observation.text, s.observation.effect, s.events) for s in episode.steps]
        seen.append((steps, transition.verdict))
        await provider.close()
    assert seen[0] == seen[1]
    assert seen[1][1].outcome
