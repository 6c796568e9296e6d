"""A real task in a real sandbox: junk as actions, and more changes than are looked through."""

import pytest

from agentgym.env.environment import Environment
from agentgym.errors import SandboxLimitError
from agentgym.record import codec
from agentgym.records import Effect, TokenUsage
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.guest import BubblewrapSandbox
from agentgym.sandbox.store import LayerStore
from agentgym.task.load import find_task

TASK_ID = "terminal/log-forensics-v1"
PROBLEMS = BubblewrapProvider().problems()

pytestmark = pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox: {PROBLEMS}")


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    """Keep what these tests prepare away from the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTGYM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


async def test_what_is_no_action_is_recorded_and_replays_as_it_was():
    provider = BubblewrapProvider()
    env = Environment(find_task(TASK_ID), provider, max_steps=20)
    episode = await env.start(0)
    junk = [None, "ls", {}, {"tool": 5}, {"\ud800" * 10_000: "\0"}, {"tool": "x", "arguments": 1}]
    seen = [(await episode.step(action)).observation for action in junk]
    recorded = [
        codec.decision_from_json(codec.loads(codec.decision_to_text(step.decision)), TokenUsage())
        for step in episode.steps
    ]
    episode = await env.start(0)
    again = [(await episode.step(decision)).observation for decision in recorded]
    await env.close()
    await provider.close()
    assert seen[0].text == "error: an action is an object with 'tool' and 'arguments', not NoneType"
    assert all(o.effect is Effect.ERROR and len(o.text) <= 220 for o in seen)
    assert [(o.text, o.effect) for o in again] == [(o.text, o.effect) for o in seen]


async def test_more_changes_than_are_looked_through_are_a_fail(monkeypatch):
    def too_many(store, before, after):
        raise SandboxLimitError("more than 100,000 names were changed")

    monkeypatch.setattr(LayerStore, "changes", too_many)
    await expect_a_fail()


async def test_more_names_than_are_sealed_are_a_fail(monkeypatch):
    seal = BubblewrapSandbox.seal

    async def refusing(sandbox):
        if sandbox._descends:
            raise SandboxLimitError("more than 100,000 names were written")
        return await seal(sandbox)

    monkeypatch.setattr(BubblewrapSandbox, "seal", refusing)
    await expect_a_fail()


async def expect_a_fail():
    provider = BubblewrapProvider()
    env = Environment(find_task(TASK_ID), provider)
    try:
        episode = await env.start(0)
        verdict = (await episode.step({"tool": "submit", "arguments": {}})).verdict
    finally:
        await env.close()
        await provider.close()
    assert (verdict.status, verdict.outcome, verdict.score) == ("scored", False, 0.0)
    assert {str(checkpoint.status) for checkpoint in verdict.checkpoints} == {"fail"}
    assert "cannot be judged: more than 100,000 names" in verdict.checkpoints[0].message
