"""The memory that the calls of an episode may take."""

import pytest

from agentgym.env.environment import Environment
from agentgym.env.kept_calls import KEPT_BYTES, KeptCalls
from agentgym.env.opening import load_built
from agentgym.records import Action, Decision
from agentgym.records.bounds import memory_of
from agentgym.sandbox.absent import NoSandboxProvider

EMOJI = "\N{GRINNING FACE}" * 1_000_000
LARGE = {"tool": "no_such_tool", "arguments": {"text": EMOJI}}


def test_memory_is_that_of_the_texts_at_any_depth():
    assert memory_of(EMOJI) >= 4_000_000
    assert memory_of({"a": [{"b": EMOJI}, 5, None]}) >= 4_000_000
    assert memory_of({EMOJI: 1}) >= 4_000_000
    assert memory_of([[]] * 1_000) >= 64_000
    assert memory_of({"n": 2}) < 1_000


def test_calls_are_kept_up_to_the_bound_and_then_malformed():
    kept, decision = KeptCalls(), Decision(Action("say", {"text": EMOJI}), reply={"said": EMOJI})
    seen = [kept.keep(decision) for _ in range(4)]
    assert seen[:2] == [decision, decision]
    for late in seen[2:]:
        assert late.reply is None and "16 MiB together" in str(late.action.arguments["malformed"])
    assert kept.taken_bytes <= KEPT_BYTES
    small = Decision(Action("say", {"text": "still here"}))
    assert kept.keep(small) == small


@pytest.mark.parametrize("forked", [False, True])
async def test_an_episode_goes_on_after_calls_that_are_too_large(forked):
    environment = Environment(load_built("tools/largest-debtors-v1"), NoSandboxProvider())
    episode = await environment.start(seed=1)
    texts = []
    for place in range(8):
        if forked and place == 3:
            episode = await episode.fork()
        texts.append((await episode.step(LARGE)).observation.text)
    assert sum("16 MiB together" in text for text in texts) == 4
    assert sum(memory_of(step.action.arguments) for step in episode.steps) <= KEPT_BYTES
    done = await episode.step({"tool": "give_up", "arguments": {"reason": "It is too much."}})
    assert done.terminated and done.verdict.scored
    await environment.close()
