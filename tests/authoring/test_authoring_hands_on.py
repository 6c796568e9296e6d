"""Acting by hand: judged on the way, ended once, nothing left behind."""

import pytest

from agentgym.authoring.hands_on import Attempt
from agentgym.env.environment import Environment
from agentgym.errors import SurfaceError
from agentgym.records import Action
from agentgym.task.load import load_task

pytestmark = pytest.mark.asyncio(loop_scope="session")


class Kept:
    """The stage's provider, which an attempt may not close."""

    def __init__(self, provider):
        self._provider = provider

    def __getattr__(self, name):
        return getattr(self._provider, name)

    async def close(self):
        pass


async def test_judging_now_changes_nothing_and_ends_nothing(write, stage):
    env = Environment(load_task(write({})), stage.provider)
    episode = await env.start(0)
    try:
        before = await episode.judge_now()
        await episode.step(Action("bash", {"command": "sleep 100 & echo 1 > count.txt"}))
        seen = await episode.judge_now()
        assert await episode.judge_now() == seen
        assert (before.state_hash != seen.state_hash) and len(episode.steps) == 1
        running = await episode.sandbox.processes()
        assert any("sleep" in process.argv[0] for process in running)
        last = await episode.step(Action("submit"))
        assert last.verdict == seen
        with pytest.raises(SurfaceError, match="the episode is over"):
            await episode.judge_now()
    finally:
        await env.close()


async def test_solution_then_reset_then_submit(write, stage):
    attempt = Attempt(load_task(write({})), Kept(stage.provider), seed=1)
    try:
        await attempt.open()
        assert attempt.cwd == "/root" and "harbour" in attempt.instruction
        assert not attempt.verdict.outcome
        assert len(await attempt.solve()) == 1
        assert (await attempt.judge()).outcome and not attempt.over
        await attempt.run("cd /srv")
        assert attempt.cwd == "/srv"
        await attempt.open()
        assert attempt.cwd == "/root" and not attempt.verdict.outcome
        assert (await attempt.submit("an answer")).text == "submitted"
        verdict = attempt.verdict
        assert attempt.over and not verdict.outcome
        assert await attempt.judge() is verdict and await attempt.finish() is verdict
        assert await attempt.submit() is None
    finally:
        await attempt.close()
