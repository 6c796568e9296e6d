"""The model agent keeps the tokens that a server reports, in one piece and streamed."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from chat_server import ChatServer, Raw, call, says

from agentgym.agents.openai import OpenAIAgent
from agentgym.chat.tokens import TokenCollector
from agentgym.errors import PolicyError
from agentgym.records import Generation, TokenTrace
from agentgym.testing.agent import BRIEFING, FIRST, TOOLS, play

MODES = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streaming"])


def told(reply, *, prompt=None, ids=None, logprobs=None, names=None, **fields):
    """A reply with what servers tell of its tokens."""
    reply = copy.deepcopy(reply) | fields
    if prompt is not None:
        reply["prompt_token_ids"] = prompt
    choice = reply["choices"][0]
    if ids is not None:
        choice["token_ids"] = ids
    if logprobs is not None:
        names = names or ["x"] * len(logprobs)
        content = [
            {"token": name, "logprob": value, "bytes": None, "top_logprobs": []}
            for name, value in zip(names, logprobs, strict=True)
        ]
        choice["logprobs"] = {"content": content, "refusal": None}
    return reply


def as_stream(reply):
    """The reply as events, a token in each."""
    choice = reply["choices"][0]
    head = {name: reply[name] for name in reply if name not in ("choices", "usage")}
    calls = choice["message"].get("tool_calls", [])
    delta = {
        "content": choice["message"].get("content"),
        "tool_calls": [{**one, "index": index} for index, one in enumerate(calls)],
    }
    content = (choice.get("logprobs") or {}).get("content") or []
    ids = choice.get("token_ids") or []
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "token_ids": None}]}]
    for number in range(max(len(content), len(ids))):
        piece = {"index": 0, "delta": {}}
        if content:
            piece["logprobs"] = {"content": content[number : number + 1]}
        if ids:
            piece["token_ids"] = ids[number : number + 1]
        chunks.append({**head, "prompt_token_ids": None, "choices": [piece]})
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    lines = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    return Raw(f"{lines}data: [DONE]\n\n".encode(), "text/event-stream")


async def decide(monkeypatch, replies, argument="test", *, streamed=False):
    """Return the decision of an agent, and the requests it made."""
    script = [as_stream(reply) for reply in replies] if streamed else replies
    with ChatServer(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        agent = OpenAIAgent(argument)
        try:
            await agent.start(BRIEFING)
            return await agent.act(FIRST, TOOLS, ()), server.requests
        finally:
            await agent.close()


LOOK = says(call("look"))


@MODES
async def test_tokens_probabilities_and_the_policy_are_kept(monkeypatch, streamed):
    reply = told(
        LOOK, prompt=[1, 2, 3], ids=[8, 9], logprobs=[-0.5, -1.25], system_fingerprint="fp_7"
    )
    argument = "test?logprobs=true&token_ids=true&temperature=0.5&seed=3&max_tokens=64"
    decision, (request,) = await decide(monkeypatch, [reply], argument, streamed=streamed)
    assert request["logprobs"] is True
    assert request["return_token_ids"] is True
    assert decision.generations == (
        Generation(
            TokenTrace([1, 2, 3], [8, 9], [-0.5, -1.25], [True, True]),
            finish_reason="stop",
            policy_version="test@fp_7",
            sampling={"temperature": 0.5, "seed": 3, "max_tokens": 64},
        ),
    )


@MODES
async def test_what_the_server_does_not_tell_is_unknown(monkeypatch, streamed):
    decision, (request,) = await decide(monkeypatch, [LOOK], streamed=streamed)
    assert "logprobs" not in request
    assert "return_token_ids" not in request
    (generation,) = decision.generations
    assert generation.tokens == TokenTrace()
    assert generation.sampling == {}


@MODES
async def test_a_reply_that_was_corrected_keeps_its_tokens(monkeypatch, streamed):
    bad = told(says(call("bash", '{"command": ')), ids=[1, 2], logprobs=[-1.0, -2.0])
    good = told(LOOK, ids=[3], logprobs=[-3.0])
    decision, _ = await decide(monkeypatch, [bad, good], "test?logprobs=true", streamed=streamed)
    found = [(g.rejected, g.tokens.completion_ids.tolist()) for g in decision.generations]
    assert found == [(True, [1, 2]), (False, [3])]
    assert len(decision.nudges) == 1


async def test_replies_without_a_usable_call_come_with_the_failure(monkeypatch):
    with pytest.raises(PolicyError, match="no usable tool call") as caught:
        await decide(monkeypatch, [told(says(content="Done."), ids=[1, 2])])
    found = [(g.rejected, g.tokens.completion_ids.tolist()) for g in caught.value.generations]
    assert found == [(True, [1, 2])] * 3


async def test_only_the_first_call_of_a_reply_has_its_tokens(monkeypatch):
    two = told(says(call("look", call_id="a"), call("submit", {"answer": "x"}, "b")), ids=[4, 5])
    with ChatServer([two]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        agent = OpenAIAgent("test?parallel_tool_calls=true")
        steps = await play(agent, ())
        await agent.close()
    first, second = (step.decision.generations for step in steps[:2])
    assert first[0].tokens.completion_ids.tolist() == [4, 5]
    assert second == ()


async def test_ids_in_place_of_tokens_are_read(monkeypatch):
    reply = told(LOOK, logprobs=[-1.0, -2.0], names=["token_id:17", "token_id:4"])
    decision, _ = await decide(monkeypatch, [reply])
    assert decision.generations[0].tokens == TokenTrace(None, [17, 4], [-1, -2], [True] * 2)


@pytest.mark.parametrize(
    ("ids", "logprobs", "expected"),
    [
        ([1, 2], [-1.0], TokenTrace(None, [1, 2], None, [True, True])),
        ("12", [-1.0], TokenTrace(None, None, [-1.0], [True])),
        ([1.5], [-1.0], TokenTrace(None, None, [-1.0], [True])),
        ([-1], None, TokenTrace()),
        ([2**40], None, TokenTrace()),
        ([[1]], None, TokenTrace()),
        ([True], None, TokenTrace()),
        ([1], [0.7], TokenTrace(None, [1], None, [True])),
        ([1], ["high"], TokenTrace(None, [1], None, [True])),
        ([1], [None], TokenTrace(None, [1], None, [True])),
        ([], [], TokenTrace(None, [], [], [])),
    ],
)
async def test_what_cannot_be_right_is_dropped_and_costs_no_episode(
    monkeypatch, ids, logprobs, expected
):
    decision, _ = await decide(monkeypatch, [told(LOOK, ids=ids, logprobs=logprobs)])
    assert decision.generations[0].tokens == expected


@pytest.mark.parametrize("logprobs", [5, [], "x", {"content": 5}, {"content": [None, {}]}, {}])
def test_odd_objects_of_probabilities_are_no_probabilities(logprobs):
    tokens = TokenCollector()
    tokens.add([1], logprobs)
    assert tokens.trace() == TokenTrace(None, [1], None, [True])


def test_a_flood_of_tokens_is_not_kept():
    tokens = TokenCollector()
    for _ in range(5):
        tokens.add([1] * 2**19, None)
    tokens.add([1], None)
    assert tokens.trace() == TokenTrace()
    assert tokens._ids.values is None


def test_a_version_is_text_and_short():
    tokens = TokenCollector()
    for model, fingerprint in ((5, "x"), (None, None), ("", "x")):
        tokens.add_version(model, fingerprint)
        assert tokens.version is None
    tokens.add_version("m" * 1000, None)
    assert tokens.version == "m" * 200


def test_a_minus_infinite_probability_is_one():
    tokens = TokenCollector()
    tokens.add(None, {"content": [{"logprob": -np.inf}]})
    assert tokens.trace().logprobs.tolist() == [-np.inf]
