"""The model agent against a real HTTP server: dialogue, pictures, context, a choice of tools."""

import base64
import io
import json
from urllib.parse import quote

import numpy as np
import pytest
from chat_server import Status, call, says
from model_dialogue import BASH, LOOK, MODES, SUBMIT, decide, episode
from PIL import Image

from agentgym.agents.openai import OpenAIAgent
from agentgym.errors import AgentError, ConfigError, PolicyError
from agentgym.records import Action, Briefing, Decision, Observation, Step, TokenUsage
from agentgym.testing.agent import BRIEFING, FIRST, TOOLS, actions

# --- the dialogue ---------------------------------------------------------------------------


@MODES
async def test_an_episode_is_one_valid_dialogue(serve, mode):
    server = serve([LOOK, BASH, SUBMIT])
    steps = await episode("test" + mode)
    assert actions(steps) == [
        Action("look", {}),
        Action("bash", {"command": "echo hello"}),
        Action("submit", {"answer": "hello"}),
    ]
    first, second, third = server.requests
    assert first["model"] == "test"
    assert "temperature" not in first
    system, user = first["messages"]
    assert system["role"] == "system" and "6 calls" in system["content"]
    assert user == {"role": "user", "content": "Say hello, then submit."}
    assert first["tools"][0] == {
        "type": "function",
        "function": {
            "name": "bash",
            "description": "Run a command.",
            "parameters": {
                "type": "object",
                "properties": {"command": {"type": "string"}},
                "required": ["command"],
                "additionalProperties": False,
            },
        },
    }
    looked = {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        ],
    }
    saw = {"role": "tool", "tool_call_id": "call_1", "content": "look: []"}
    assert second["messages"] == [system, user, looked, saw]
    said = {
        "role": "assistant",
        "content": "Now I say hello.",
        "tool_calls": [
            {
                "id": "call_2",
                "type": "function",
                "function": {"name": "bash", "arguments": '{"command":  "echo hello"}'},
            }
        ],
    }
    heard = {"role": "tool", "tool_call_id": "call_2", "content": "bash: ['command']"}
    assert third["messages"] == [system, user, looked, saw, said, heard]


async def test_options_reach_the_server_and_the_key_is_sent(serve):
    server = serve([SUBMIT])
    await decide("family/test:8b?temperature=0.5&stream=1")
    (request,) = server.requests
    assert request["model"] == "family/test:8b"
    assert request["temperature"] == 0.5
    assert request["stream"] is True
    assert request["stream_options"] == {"include_usage": True}
    assert server.headers[0]["authorization"] == "Bearer secret"


async def test_a_local_endpoint_needs_no_key(serve, monkeypatch):
    serve([SUBMIT])
    monkeypatch.delenv("OPENAI_API_KEY")
    assert (await decide()).action.tool == "submit"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (None, "export OPENAI_API_KEY, or OPENAI_BASE_URL"),
        ("", "export OPENAI_API_KEY, or OPENAI_BASE_URL"),
        ("localhost:8000/v1", "OPENAI_BASE_URL is 'localhost:8000/v1'; expected an http"),
    ],
)
def test_no_endpoint_is_said_before_anything_runs(monkeypatch, url, message):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    if url is not None:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(ConfigError, match=message):
        OpenAIAgent("test")


@MODES
async def test_a_resumed_episode_sends_the_same_request(serve, mode):
    whole = serve([LOOK, BASH, SUBMIT])
    steps = await episode("test" + mode)
    for done in range(3):
        resumed = serve([LOOK, BASH, SUBMIT][done:])
        recorded = [
            Step(
                s.index,
                Decision(
                    Action.from_json(json.loads(json.dumps(s.action.to_json()))),
                    s.decision.thought,
                    s.decision.usage,
                    json.loads(json.dumps(s.decision.reply)),
                ),
                s.observation,
            )
            for s in steps[:done]
        ]
        await episode("test" + mode, recorded)
        assert resumed.requests == whole.requests[done:]


async def test_steps_of_another_agent_become_calls(serve):
    server = serve([SUBMIT])
    action = Action("bash", {"command": "echo é"})
    history = [Step(0, Decision(action, thought="Let me see."), Observation("é"))]
    await decide(observation=history[0].observation, history=history)
    asked, answered = server.requests[0]["messages"][2:]
    assert asked["content"] == "Let me see."
    assert asked["tool_calls"][0]["function"]["name"] == "bash"
    assert json.loads(asked["tool_calls"][0]["function"]["arguments"]) == {"command": "echo é"}
    assert answered["tool_call_id"] == asked["tool_calls"][0]["id"]


@MODES
async def test_thought_reply_and_usage_are_kept(serve, mode):
    serve([says(call("look"), content="I look.", reasoning_content="Hm.", usage=(70, 5, 30))])
    decision = await decide("test" + mode)
    assert decision.thought == "Hm.\n\nI look."
    assert decision.usage == TokenUsage(prompt=70, completion=5, cached=30)
    assert decision.reply["role"] == "assistant"
    assert decision.reply["content"] == "I look."
    assert decision.reply["tool_calls"][0]["function"]["name"] == "look"


async def test_reasoning_goes_back_to_the_server_that_sent_it(serve):
    server = serve([says(call("look"), reasoning="Hm."), SUBMIT])
    await episode()
    assert server.requests[1]["messages"][2]["reasoning"] == "Hm."


async def test_text_that_utf8_cannot_carry_does_no_harm(serve):
    server = serve([says(call("look"), content="odd \ud800 text"), SUBMIT])
    agent = OpenAIAgent("test")
    await agent.start(BRIEFING)
    first = await agent.act(FIRST, TOOLS, [])
    seen = Observation("out \udcff put")
    await agent.act(seen, TOOLS, [Step(0, first, seen)])
    await agent.close()
    assert first.thought == "odd ? text"
    assert server.requests[1]["messages"][3]["content"] == "out ? put"


# --- images ---------------------------------------------------------------------------------


def picture(message):
    (part,) = [p for p in message["content"] if p["type"] == "image_url"]
    head, data = part["image_url"]["url"].split(",")
    assert head == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))


async def test_images_are_sent_as_png_after_the_tool_message(serve):
    server = serve([LOOK, SUBMIT])
    first = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)
    second = 255 - first
    one = await decide(observation=Observation("Look at this.", first))
    seen = Observation("screen", second)
    await decide(observation=seen, history=[Step(0, one, seen)])
    opening = server.requests[0]["messages"][1]
    assert opening["content"][0] == {"type": "text", "text": "Say hello, then submit."}
    assert np.array_equal(picture(opening), first)
    assert [m["role"] for m in server.requests[1]["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "user",
    ]
    assert np.array_equal(picture(server.requests[1]["messages"][4]), second)


async def test_only_the_last_three_images_are_sent(serve):
    server = serve([SUBMIT])
    history = [
        Step(i, Decision(Action("look")), Observation("", np.full((2, 2, 3), i, np.uint8)))
        for i in range(5)
    ]
    await decide(observation=history[-1].observation, history=history)
    shown = [m for m in server.requests[0]["messages"] if isinstance(m["content"], list)]
    assert [int(picture(m)[0, 0, 0]) for m in shown] == [2, 3, 4]


# --- the context window -----------------------------------------------------------------------


def long_history(steps, size):
    return [
        Step(
            i, Decision(Action("bash", {"command": f"cat {i}"})), Observation(f"{i}:" + "x" * size)
        )
        for i in range(steps)
    ]


async def test_old_outputs_are_left_out_first(serve):
    server = serve([SUBMIT])
    history = long_history(10, 4000)
    await decide("test?context_tokens=8000", history[-1].observation, history)
    messages = server.requests[0]["messages"]
    outputs = [m["content"] for m in messages if m["role"] == "tool"]
    assert len(outputs) == 10
    assert outputs[0] == "[4002 characters of output left out to save room]"
    whole = [output.startswith(f"{i}:xxx") for i, output in enumerate(outputs)]
    assert whole == sorted(whole)  # what is left out is older than what is kept
    assert whole[-4:] == [True] * 4
    assert 20_000 < sum(map(len, outputs)) < 32_000
    assert messages[1]["content"] == "Say hello, then submit."


async def test_a_dialogue_too_long_for_the_server_is_sent_again_shorter(serve):
    def limited(request):
        if len(json.dumps(request["messages"])) > 30_000:
            return Status(
                400,
                "This model's maximum context length is 8192 tokens.",
                extra={"code": "context_length_exceeded"},
            )
        return SUBMIT

    server = serve(limited)
    history = long_history(10, 4000)
    assert (await decide("test", history[-1].observation, history)).action.tool == "submit"
    assert len(server.requests) == 2


async def test_a_dialogue_that_stays_too_long_is_given_up(serve):
    server = serve([Status(400, "prompt is too long: 9000 tokens > 8000 maximum")])
    with pytest.raises(PolicyError, match=r"too long.*openai:<model>\?context_tokens="):
        await decide()
    assert len(server.requests) == 2


async def test_counts_of_tokens_that_make_no_sense_are_the_server_s(serve):
    serve([says(call("look"), usage=(-5, 2**70, None))])
    usage = (await decide()).usage
    assert (usage.prompt, usage.completion, usage.cached) == (0, 2**40, 0)


async def test_a_token_budget_ends_an_episode(serve):
    server = serve([LOOK])
    with pytest.raises(PolicyError, match="the token budget is spent: 220 of 200 tokens"):
        await episode("test?token_budget=200")
    assert len(server.requests) == 2


async def test_options_of_the_model_reach_the_server(serve):
    server = serve([SUBMIT])
    extra = quote('{"top_k": 20, "thinking": {"type": "off"}}')
    await decide(
        f"test?max_tokens=99&reasoning_effort=low&seed=7&parallel_tool_calls=true&extra_body={extra}"
    )
    (request,) = server.requests
    assert (request["max_tokens"], request["reasoning_effort"], request["seed"]) == (99, "low", 7)
    assert request["parallel_tool_calls"] is True
    assert (request["top_k"], request["thinking"]) == (20, {"type": "off"})


async def test_a_server_that_has_another_name_for_the_bound_gets_it(serve):
    def picky(request):
        if "max_tokens" in request:
            return Status(400, "Unsupported parameter; use 'max_completion_tokens' instead.")
        return LOOK if request["messages"][-1]["role"] == "user" else SUBMIT

    server = serve(picky)
    await episode("test?max_tokens=50")
    assert [request.get("max_completion_tokens") for request in server.requests] == [None, 50, 50]


async def test_the_number_of_steps_is_told(serve):
    server = serve([SUBMIT])
    await decide(briefing=Briefing("a/b-v1", "Go.", 1, 17))
    assert "17" in server.requests[0]["messages"][0]["content"]


# --- a choice of tools ----------------------------------------------------------------------


async def test_the_model_gets_the_chosen_tools_and_those_that_end_the_episode(serve):
    server = serve([LOOK, BASH, SUBMIT])
    steps = await episode("test?tools=bash")
    assert [action.tool for action in actions(steps)] == ["bash", "submit"]
    asked = [[tool["function"]["name"] for tool in one["tools"]] for one in server.requests]
    ends = [tool.name for tool in TOOLS if tool.name in ("submit", "give_up")]
    assert asked == [["bash", *ends]] * 3
    assert server.requests[1]["messages"][-1]["content"] == "There is no tool 'look'."


async def test_a_tool_that_was_not_chosen_is_not_executed_within_a_reply(serve):
    several = says(call("bash", {"command": "true"}, "a"), call("look", {}, "b"))
    serve([several, SUBMIT])
    steps = await episode("test?tools=b*")
    assert [action.tool for action in actions(steps)] == ["bash", "submit"]


async def test_a_choice_that_fits_no_tool_is_no_failure_of_the_model(serve):
    serve([LOOK])
    with pytest.raises(AgentError, match="'bsh' picks no tool; known: .*bash"):
        await decide("test?tools=bsh")
