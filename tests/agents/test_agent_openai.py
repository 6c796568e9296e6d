"""The model agent against a real HTTP server: dialogue, retries, deadlines, bad replies."""

import asyncio
import base64
import gzip
import io
import json
import socket
import threading
from urllib.parse import quote

import numpy as np
import pytest
from chat_server import ChatServer, Dropped, Endless, LeftOpen, Raw, Status, call, events, says
from PIL import Image

from agentgym.agents.openai import OpenAIAgent
from agentgym.chat import answers, completion, endpoint, stream
from agentgym.errors import AgentError, ConfigError, PolicyError
from agentgym.records import Action, Briefing, Decision, Observation, Step, TokenUsage
from agentgym.testing.agent import BRIEFING, FIRST, TOOLS, actions, play

LOOK = says(call("look", call_id="call_1"))
BASH = says(call("bash", '{"command":  "echo hello"}', "call_2"), content="Now I say hello.")
SUBMIT = says(call("submit", {"answer": "hello"}, "call_3"))
MODES = pytest.mark.parametrize("mode", ["", "?stream=true"], ids=["plain", "streaming"])


@pytest.fixture
def serve(monkeypatch):
    """Start servers that the environment then names; all are stopped at the end."""
    started = []

    def start(script):
        server = ChatServer(script)
        server.__enter__()
        started.append(server)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "secret")
        return server

    yield start
    for server in started:
        server.__exit__()


async def episode(argument="test", history=()):
    agent = OpenAIAgent(argument)
    try:
        return await play(agent, history)
    finally:
        await agent.close()


async def decide(argument="test", observation=FIRST, history=(), briefing=BRIEFING):
    agent = OpenAIAgent(argument)
    try:
        await agent.start(briefing)
        return await agent.act(observation, TOOLS, history)
    finally:
        await agent.close()


def with_option(mode, option):
    return f"test{mode}&{option}" if mode else f"test?{option}"


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


# --- retries --------------------------------------------------------------------------------


@pytest.fixture
def waits(monkeypatch):
    """Note how long the agent would sleep, and let it sleep no longer than a turn of the loop."""
    noted = []
    sleep = asyncio.sleep

    async def note(seconds):
        noted.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", note)
    return noted


@MODES
@pytest.mark.parametrize(
    "failure",
    [
        Status(429, headers={"Retry-After": "0"}),
        Status(429, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
        Status(500),
        Status(503, headers={"Retry-After": "soon"}),
        Raw(b'data: {"choices": [{"delta": {"content": "I w"}}]}\n\n', "text/event-stream"),
        Dropped(),
    ],
    ids=["429", "429-date", "500", "503-nonsense", "cut-off-stream", "dropped"],
)
async def test_a_passing_failure_is_retried(serve, waits, mode, failure):
    server = serve([failure, SUBMIT])
    assert (await decide("test" + mode)).action.tool == "submit"
    assert len(server.requests) == 2
    assert server.requests[0] == server.requests[1]


async def test_the_server_says_how_long_to_wait(serve, waits):
    serve([Status(429, headers={"Retry-After": "7"}), Status(503), Status(503), SUBMIT])
    await decide()
    asked, second, third = [seconds for seconds in waits if seconds]
    assert asked == 7.0
    assert 0.5 <= second <= 1.0  # doubled with each attempt, less a random half of it
    assert 1.0 <= third <= 2.0


async def test_a_failure_that_stays_is_given_up(serve, waits):
    server = serve([Status(500, "the disk is full")])
    with pytest.raises(
        AgentError, match="answered 500: the disk is full; gave up after 3 attempts"
    ):
        await decide("test?retries=2")
    assert len(server.requests) == 4  # the last asks whether it works at all


async def test_a_wait_past_the_deadline_is_not_begun(serve):
    server = serve([Status(429, "slow down", {"Retry-After": "3600"})])
    with pytest.raises(AgentError, match="slow down; it asks to wait 3600 s, the deadline of 60 s"):
        await decide("test?timeout_s=60")
    assert len(server.requests) == 1


@MODES
@pytest.mark.parametrize(
    ("status", "message"),
    [
        (Status(401, "bad key"), "answered 401: bad key; check OPENAI_API_KEY"),
        (Status(404, "no such model"), "answered 404: no such model; check the model's name"),
        (Status(400, "top_p is odd"), "answered 400: top_p is odd"),
    ],
)
async def test_a_refusal_is_final(serve, mode, status, message):
    server = serve([status])
    with pytest.raises(AgentError, match=message) as caught:
        await decide("test" + mode)
    assert f"{server.url}/chat/completions" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert not isinstance(caught.value, PolicyError)
    # A short dialogue shows whether the key or the name of the model is wrong.
    assert len(server.requests) == 1 + (status.code != 400)


@pytest.mark.parametrize(("code", "policy"), [(400, True), (422, True), (403, False), (500, False)])
async def test_what_a_model_said_is_refused(serve, waits, code, policy):
    """The first request says nothing of the model's; a later one that is refused does."""
    serve([LOOK, Status(code, "messages[2] is odd")])
    with pytest.raises(AgentError) as caught:
        await episode("test?retries=0")
    assert isinstance(caught.value, PolicyError) is policy


def fails_at(mark, failure, *, every=1):
    """A server that fails at a dialogue with a word in it, and calls a tool at any other."""
    asked = []

    def script(request):
        asked.append(mark in json.dumps(request["messages"]))
        if asked[-1] and asked.count(True) % every == 0:
            return failure
        return BASH if len(asked) == 1 else LOOK

    return script


@pytest.mark.parametrize(
    "failure",
    [
        Status(500, "unexpected"),
        Status(504, "gateway"),
        Dropped(),
        Raw(b'{"error": {"code": 502}}'),
        Raw(b'{"error": {"code": "server_error", "message": "it ended"}}'),
        Raw(b""),
        Raw(b'{"choices": [{"message": {"content": "I wri'),
        Status(403, "your input was flagged"),
        Status(403, "Request blocked by the web application firewall"),
        Status(408, "the operation timed out"),
        Status(302),
    ],
    ids=[
        *("500", "504", "dropped", "502-in-a-body", "an-error-without-a-status", "nothing"),
        *("half-a-body", "moderated", "firewall", "408", "a-redirect-to-nowhere"),
    ],
)
@pytest.mark.parametrize("mark", ["Say hello", "echo hello"], ids=["first", "later"])
async def test_a_dialogue_at_which_alone_the_server_fails_is_the_model_s(
    serve, waits, failure, mark
):
    server = serve(fails_at(mark, failure))
    with pytest.raises(PolicyError, match="it answers another dialogue at once"):
        await episode("test?retries=1")
    control = next(r for r in server.requests if mark not in json.dumps(r["messages"][1:]))
    assert control["tools"]


async def test_a_server_that_fails_at_one_dialogue_for_a_while_is_asked_again(serve, waits):
    failed = []

    def script(request):
        if "Say hello" in json.dumps(request) and len(failed) < 2:
            failed.append(request)
            return Status(500)
        return SUBMIT

    serve(script)
    assert (await decide("test?retries=0")).action.tool == "submit"
    assert len(failed) == 2


async def test_a_server_that_fails_at_every_dialogue_is_down(serve, waits):
    server = serve(fails_at("Call exactly one", Status(503)))
    with pytest.raises(AgentError) as caught:
        await episode("test?retries=0")
    assert not isinstance(caught.value, PolicyError)
    assert len(server.requests) == 2


async def test_a_server_that_fails_and_then_hangs_is_down(serve, waits):
    def script(request):
        return Status(503) if "Say hello" in json.dumps(request) else Endless("headers")

    serve(script)
    with pytest.raises(AgentError, match="503") as caught:
        await decide("test?retries=0&timeout_s=0.5")
    assert not isinstance(caught.value, PolicyError)


async def test_a_server_that_hangs_is_down_and_a_reply_that_hangs_is_the_model_s(serve):
    server = serve([Endless("headers")])
    with pytest.raises(AgentError, match="no complete reply within") as caught:
        await decide("test?timeout_s=0.3")
    assert not isinstance(caught.value, PolicyError) and len(server.requests) == 2
    serve(fails_at("Say hello", Endless("headers")))
    with pytest.raises(PolicyError, match="no complete reply within"):
        await decide("test?timeout_s=0.3")


@pytest.mark.parametrize(("kind", "failure"), [("words", PolicyError), ("drip", AgentError)])
async def test_a_server_with_a_single_place_that_goes_on_with_an_endless_reply(
    serve, kind, failure
):
    """It answers nothing else meanwhile, as one that is down; a gateway sends comments for both."""
    serve([Endless(kind), Endless("headers")])
    with pytest.raises(AgentError, match="no complete reply within") as caught:
        await decide("test?stream=true&timeout_s=0.3")
    assert type(caught.value) is failure


async def test_a_reply_without_end_after_a_refused_rate_is_the_model_s(serve, waits):
    serve([Status(429, headers={"Retry-After": "0"}), Endless("headers"), LOOK])
    with pytest.raises(PolicyError, match=r"no complete reply within.*before that.*429"):
        await decide("test?timeout_s=0.3")


async def test_rates_and_quotas_are_no_failure_of_the_model(serve, waits):
    for failure in (
        Status(429, "slow down", {"Retry-After": "0"}),
        Status(402, "no credit"),
        Raw(b'{"error": {"code": 429, "message": "slow down"}}'),
        Raw(b'{"error": {"code": "rate_limit_exceeded", "message": "slow down"}}'),
    ):
        server = serve(fails_at("echo hello", failure))
        with pytest.raises(AgentError) as caught:
            await episode("test?retries=1")
        assert not isinstance(caught.value, PolicyError)
        assert len(server.requests) <= 3


async def test_a_dialogue_larger_than_the_rate_is_sent_again_shorter(serve):
    """It is too large for any minute, and no waiting helps."""
    told = (
        "Request too large for gpt-x in organization org-1 on tokens per min (TPM): Limit 30000, "
        "Requested 41021. The input or output tokens must be reduced in order to run successfully."
    )
    for status in (429, 413):
        server = serve([Status(status, told, extra={"code": "rate_limit_exceeded"}), SUBMIT])
        assert (await decide()).action.tool == "submit" and len(server.requests) == 2
        serve([LOOK, Status(status, told, extra={"code": "rate_limit_exceeded"})])
        with pytest.raises(PolicyError):
            await episode()


async def test_a_picture_that_the_server_cannot_take_is_what_the_model_made(serve, waits):
    """A picture of a step is not in the dialogue that shows whether the server works."""
    thin = Observation("drawn", image=np.zeros((300, 1, 3), np.uint8))
    serve(lambda r: Status(500) if "image_url" in json.dumps(r["messages"]) else LOOK)
    agent = OpenAIAgent("test?retries=0")
    await agent.start(BRIEFING)
    decision = await agent.act(FIRST, TOOLS, ())
    with pytest.raises(PolicyError, match="it answers another dialogue"):
        await agent.act(thin, TOOLS, [Step(0, decision, thin)])
    await agent.close()


PARTS = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "Let me "}]},
    {"type": "thinking", "thinking": "look."},
    {"type": "text", "text": "I "},
    {"type": "reference", "reference_ids": [1]},
    {"type": "text", "text": "look."},
]


@pytest.mark.parametrize("streamed", [False, True])
async def test_content_in_parts_is_read(serve, streamed):
    reply = says(call("look", call_id="a"), content=PARTS)
    if streamed:
        pieces = [{"content": [part]} for part in PARTS]
        last = {"tool_calls": reply["choices"][0]["message"]["tool_calls"]}
        deltas = [{"choices": [{"delta": delta}]} for delta in (*pieces, last)]
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in deltas) + "data: [DONE]\n\n"
        first = Raw(body.encode(), "text/event-stream")
    else:
        first = Raw(json.dumps(reply).encode())
    server = serve([first, SUBMIT])
    steps = await episode("test" + "?stream=true" * streamed)
    assert steps[0].decision.thought == "Let me look.\n\nI look."
    assert server.requests[1]["messages"][2]["content"] == "I look."
    assert not {"thinking", "reasoning"} & set(server.requests[1]["messages"][2])


@pytest.mark.parametrize(
    "odd", [{"content": {"type": "text", "text": "I"}}, {"content": 5}, {"reasoning": ["I"]}]
)
async def test_texts_of_other_types_do_not_spoil_a_reply(serve, odd):
    message = {**says(call("submit"))["choices"][0]["message"], **odd}
    serve([Raw(json.dumps({"choices": [{"message": message}]}).encode())])
    assert (await decide()).action.tool == "submit"


UNREADABLE = [
    Status(400, "Failed to call a function.", extra={"code": "tool_use_failed"}),
    Status(500, """error parsing tool call: raw='{"a":', err=unexpected end of JSON input"""),
    Status(500, """error parsing tool call: raw='{"my rate limit": ', err=unexpected end"""),
    Status(500, "Failed to parse input at pos 17: <tool_call>{"),
]


@pytest.mark.parametrize("status", UNREADABLE, ids=["groq", "ollama", "quoted", "llama.cpp"])
async def test_a_call_that_the_server_cannot_read_is_asked_again(serve, status):
    server = serve([status, SUBMIT])
    decision = await decide()
    assert decision.action.tool == "submit" and len(decision.nudges) == 1
    assert "could not be read" in server.requests[1]["messages"][-1]["content"]
    serve([status])
    with pytest.raises(PolicyError, match="no usable tool call in 3 replies"):
        await decide()


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ({"name": 5, "arguments": "{}"}, "names no tool"),
        ({"name": {"a": 1}}, "names no tool"),
        ({"name": "look", "arguments": [1]}, "not list"),
        ({"name": "look", "arguments": 5}, "not int"),
        ({"name": "look", "arguments": True}, "not bool"),
    ],
)
async def test_a_call_of_other_types_is_the_model_s(serve, function, told):
    serve([says({"id": "a", "type": "function", "function": function})])
    with pytest.raises(PolicyError, match=told):
        await decide()


async def test_arguments_that_are_an_object_already_are_taken(serve):
    function = {"name": "bash", "arguments": {"command": "ls"}}
    serve([says({"id": "a", "type": "function", "function": function})])
    assert (await decide()).action == Action("bash", {"command": "ls"})


@pytest.mark.parametrize("value", ["9" * 5_000, "[" * 100_000 + "]" * 100_000])
async def test_what_no_reader_of_json_takes_is_the_model_s(serve, value):
    function = {"name": "bash", "arguments": "@"}
    reply = json.dumps(says({"id": "a", "type": "function", "function": function}))
    serve([Raw(reply.replace('"@"', value).encode())])
    with pytest.raises(PolicyError):
        await decide()


async def test_half_a_character_does_not_spoil_a_reply(serve):
    body = json.dumps(says(call("submit"), content="@")).encode()
    serve([Raw(body.replace(b"@", b"\xe2\x82"))])
    assert (await decide()).thought == "\ufffd"


async def test_cookies_are_neither_kept_nor_sent(serve):
    headers = {"Set-Cookie": "a=1", "X-Other": "b"}
    server = serve([Raw(json.dumps(LOOK).encode(), headers=headers), SUBMIT])
    await episode()
    assert len(server.headers) == 2 and "cookie" not in server.headers[1]


@pytest.mark.parametrize(
    "status",
    [
        Status(400, "The response was filtered", extra={"code": "content_filter"}),
        Status(400, "Invalid prompt: flagged as potentially violating our usage policy."),
        Raw(b'{"error": {"code": 400, "message": "blocked: PROHIBITED_CONTENT"}}'),
    ],
)
async def test_a_content_filter_refuses_what_the_dialogue_says(serve, status):
    serve([status])
    with pytest.raises(PolicyError):
        await decide()


async def test_nobody_listens(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", url.replace("http://", "http://user:password@"))
    with pytest.raises(AgentError, match="cannot connect.*start the server") as caught:
        await decide()
    assert url in str(caught.value)
    assert "password" not in str(caught.value)


# --- replies that never end, or are none -----------------------------------------------------


@MODES
@pytest.mark.parametrize("kind", ["headers", "drip", "body"])
async def test_a_reply_that_never_ends(serve, mode, kind):
    serve([Endless(kind), LOOK])
    with pytest.raises(PolicyError, match=r"no complete reply within 0\.3 s|is too long"):
        await decide(with_option(mode, "timeout_s=0.3"))


async def test_a_stream_is_over_at_its_end_mark(serve):
    serve([LeftOpen(LOOK)])
    decision = await decide("test?stream=true")
    assert decision.action == Action("look", {})
    assert decision.usage.prompt == 100


@pytest.mark.parametrize("streamed", [False, True], ids=["body", "event"])
async def test_a_large_reply_is_read_beside_the_event_loop(serve, monkeypatch, streamed):
    places = []

    def noting(real):
        def read(body, *rest):
            if len(body) > 100_000:
                places.append(threading.current_thread())
            return real(body, *rest)

        return read

    monkeypatch.setattr(endpoint, "read_json", noting(endpoint.read_json))
    monkeypatch.setattr(stream, "read_part", noting(stream.read_part))
    large = {"content": "a" * 200_000, "tool_calls": LOOK["choices"][0]["message"]["tool_calls"]}
    part = {"message": large} if not streamed else {"delta": large}
    body = json.dumps({"choices": [{**part, "finish_reason": "tool_calls"}]}).encode()
    if streamed:
        serve([Raw(b"data: " + body + b"\n\n", "text/event-stream")])
    else:
        serve([Raw(body)])
    assert (await decide()).action == Action("look", {})
    assert len(places) == 1
    assert places[0] is not threading.main_thread()


async def test_a_redirect_to_another_host_is_not_followed(serve):
    headers = {"Location": "http://169.254.169.254/latest/meta-data"}
    serve([Status(307, headers=headers)])
    with pytest.raises(AgentError, match=r"a redirect to another host, '169\.254\.169\.254"):
        await decide()


@pytest.mark.parametrize("code", [200, 500])
async def test_an_answer_that_was_compressed_twice_is_refused_unread(serve, code):
    # 64 MiB in 300 bytes: httpx would unpack all of it at once.
    body = gzip.compress(gzip.compress(b" " * 2**26))
    serve([Raw(body, code=code, headers={"Content-Encoding": "gzip, gzip"})])
    with pytest.raises(AgentError, match="compressed more than once"):
        await decide("test?retries=0")


async def test_an_endless_body_is_not_kept_in_memory(serve, monkeypatch):
    monkeypatch.setattr(endpoint, "MOST_CHARACTERS", 100_000)
    serve([Endless("body")])
    with pytest.raises(PolicyError, match="the reply is too long: more than 100000 bytes"):
        await decide()


async def test_a_compressed_stream_is_read_in_pieces(serve, monkeypatch):
    # Unpacked, each byte is a line, for which a list would hold an object.
    sizes = []

    class Noting(stream.EventStream):
        def feed(self, piece):
            sizes.append(len(piece))
            super().feed(piece)

    monkeypatch.setattr(endpoint, "EventStream", Noting)
    body = gzip.compress(b"\n" * 2**22)
    headers = {"Content-Encoding": "gzip"}
    serve([Raw(body, "text/event-stream", headers=headers), Status(503)])
    with pytest.raises(AgentError, match="the stream stopped after 0 events"):
        await decide("test?stream=true&retries=0")
    assert sum(sizes) == 2**22 and max(sizes) <= 2**16


def event(**delta):
    return b"data: " + json.dumps({"choices": [{"delta": delta}]}).encode() + b"\n\n"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (event(content="a" * 40) * 30, "more than 1000 characters"),
        (
            b"".join(event(tool_calls=[{"id": f"{n}"}]) for n in range(30)),
            "more than 20 tool calls",
        ),
        (b"data: " + b" " * 2000, "an event of more than 1000 bytes"),
        (b"data: " + b"[" * 300 + b"\n", "more than 200 brackets"),
    ],
    ids=["text", "calls", "line", "brackets"],
)
async def test_a_stream_of_many_small_parts_is_bounded(serve, monkeypatch, body, why):
    for module in (completion, stream):
        monkeypatch.setattr(module, "MOST_CHARACTERS", 1000)
        monkeypatch.setattr(module, "MOST_CALLS", 20)
    monkeypatch.setattr(completion, "_MOST_PARTS", 200)
    serve([Raw(body, "text/event-stream")])
    with pytest.raises(PolicyError, match=f"the reply is too long: {why}"):
        await decide()


@pytest.mark.parametrize(
    ("name", "bound", "message"),
    [
        ("_MOST_PARTS", 5, "more than 5 brackets"),
        ("MOST_CALLS", 1, "more than 1 tool calls"),
    ],
)
async def test_a_body_of_many_parts_is_the_model_s_doing(serve, monkeypatch, name, bound, message):
    monkeypatch.setattr(completion, name, bound)
    serve([says(call("look"), call("look"))])
    with pytest.raises(PolicyError, match=f"the reply is too long: {message}"):
        await decide()


async def test_an_error_answer_is_not_read_to_its_end(serve, monkeypatch):
    monkeypatch.setattr(answers, "ERROR_BYTES", 1000)
    serve([Status(403, "no" * 100_000)])
    with pytest.raises(AgentError, match="answered 403") as caught:
        await decide()
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>welcome</html>", "not a chat completion.*welcome"),
        (b"[]", "not a chat completion"),
        (b'{"object": "list"}', "a reply without choices"),
        (b'{"choices": [{"message": {"tool_calls": 5}}]}', "tool_calls"),
        (b'{"error": {"message": "quota exceeded"}}', "quota exceeded"),
        (b"[" * 100_000, "not a chat completion"),
    ],
)
async def test_a_body_that_is_no_completion(serve, body, message):
    server = serve([Raw(body)])
    with pytest.raises(AgentError, match=message) as caught:
        await decide()
    assert not isinstance(caught.value, PolicyError)
    assert len(server.requests) <= 2


@pytest.mark.parametrize(
    "body",
    [b'{"choices": []}', b'{"choices": [{"finish_reason": "content_filter"}]}'],
    ids=["no-choice", "no-message"],
)
async def test_a_reply_without_a_message_is_the_model_s_doing(serve, body):
    server = serve([Raw(body)])
    with pytest.raises(PolicyError, match="no usable tool call in 3 replies"):
        await decide()
    assert len(server.requests) == 3


async def test_an_error_in_the_middle_of_a_stream(serve):
    serve([Raw(b'data: {"error": {"message": "overloaded"}}\n\n', "text/event-stream")])
    with pytest.raises(AgentError, match="overloaded"):
        await decide("test?stream=true")


async def test_a_server_that_ignores_the_wish_to_stream(serve):
    serve([Raw(json.dumps(LOOK).encode())])
    assert (await decide("test?stream=true")).action == Action("look", {})


@pytest.mark.parametrize("same_index", [False, True])
async def test_a_stream_with_several_calls_and_without_end_mark(serve, same_index):
    chunks = events(says(call("bash", {"command": "ls"}, "a"), call("look", call_id="b")))
    for chunk in chunks:
        for part in chunk["choices"][0]["delta"].get("tool_calls", ()):
            part["index"] = 0 if same_index else part["index"]
    body = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    serve([Raw(body, "text/event-stream")])
    decision = await decide("test?stream=true")
    assert decision.action == Action("bash", {"command": "ls"})
    made = [c["function"]["arguments"] for c in decision.reply["tool_calls"]]
    assert made == ['{"command": "ls"}', "{}"]


# --- malformed tool calls ---------------------------------------------------------------------


@MODES
@pytest.mark.parametrize(
    ("bad", "quoted", "told"),
    [
        (says(content="I would rather talk."), "I would rather talk.", "called no tool"),
        (says(call("bash", '{"command": "ls')), 'bash({"command": "ls)', "not valid JSON"),
        (says(call("bash", '{"command": NaN}')), 'bash({"command": NaN})', "not valid JSON"),
        (says(call("bash", "[1]")), "bash([1])", "must be one JSON object, not list"),
    ],
    ids=["no-call", "broken-json", "nan", "no-object"],
)
async def test_a_bad_call_is_asked_again(serve, mode, bad, quoted, told):
    server = serve([bad, LOOK])
    decision = await decide("test" + mode)
    assert decision.action == Action("look", {})
    assert decision.usage == TokenUsage(prompt=200, completion=20)
    first, second = server.requests
    assert second["messages"][: len(first["messages"])] == first["messages"]
    said, correction = second["messages"][len(first["messages"]) :]
    assert said == {"role": "assistant", "content": quoted}
    assert correction["role"] == "user" and told in correction["content"]


async def test_an_empty_reply_is_asked_again(serve):
    server = serve([says(), SUBMIT])
    assert (await decide()).action.tool == "submit"
    assert [m["role"] for m in server.requests[1]["messages"]] == ["system", "user", "user"]


async def test_a_model_that_never_calls_is_given_up(serve):
    server = serve([says(content="No.")])
    message = r"no usable tool call in 3 replies \(330 tokens\).*called no tool"
    with pytest.raises(PolicyError, match=message) as caught:
        await decide()
    assert len(server.requests) == 3
    assert caught.value.detail.count("reply: No.\ntold: Your reply called no tool.") == 3
    assert caught.value.usage.total == 330


async def test_a_refused_reply_is_paid_for_though_the_next_never_comes(serve):
    serve([says(content="No."), Raw(b"no JSON")])
    with pytest.raises(AgentError) as caught:
        await decide()
    assert caught.value.usage.total == 110


async def test_what_a_model_was_told_is_recorded_with_its_decision(serve):
    serve([says(content="Let me think."), says(), LOOK])
    nudges = (await decide()).nudges
    assert [nudge.said for nudge in nudges] == ["Let me think.", ""]
    assert all("Call exactly one of the tools" in nudge.told for nudge in nudges)


async def test_a_refusal_is_a_reply_without_a_call(serve):
    server = serve([says(refusal="I will not."), SUBMIT])
    decision = await decide()
    assert decision.nudges[0].said == "I will not."
    assert server.requests[1]["messages"][2] == {"role": "assistant", "content": "I will not."}


async def test_a_reply_that_was_cut_off_is_told_so(serve):
    cut = says(content="I shall")
    cut["choices"][0]["finish_reason"] = "length"
    serve([cut, SUBMIT])
    assert "cut off at its largest length" in (await decide()).nudges[0].told


SEVERAL = says(
    call("look", call_id="one"),
    call("bash", {"command": "ls"}, "two"),
    call("look", '{"bro', "three"),
    call("submit", call_id="four"),
    content="All at once.",
)


@MODES
async def test_several_calls_are_executed_in_order_each_as_a_step(serve, mode):
    server = serve([SEVERAL, SUBMIT])
    steps = await episode("test" + mode)
    # Nothing is done from the first call on that cannot be read.
    assert [a.tool for a in actions(steps)] == ["look", "bash", "submit"]
    assert len(server.requests) == 2, "the model is asked once a reply"
    assert [step.decision.usage.total for step in steps] == [110, 0, 110]
    said, *seen = server.requests[1]["messages"][2:]
    assert said["content"] == "All at once."
    assert [one["id"] for one in said["tool_calls"]] == ["one", "two"]
    assert [m["tool_call_id"] for m in seen] == ["one", "two"]
    assert [m["content"] for m in seen] == ["look: []", "bash: ['command']"]


async def test_an_episode_resumes_in_the_middle_of_a_reply(serve):
    serve([SEVERAL, SUBMIT])
    whole = await episode()
    server = serve([SUBMIT])
    assert actions(await episode("test", whole[:1])) == actions(whole)
    assert [len(m.get("tool_calls", ())) for m in server.requests[0]["messages"]] == [0, 0, 2, 0, 0]


async def test_only_the_first_of_several_calls_where_the_user_wants_one(serve):
    server = serve([SEVERAL, SUBMIT])
    steps = await episode("test?parallel_tool_calls=false")
    assert [a.tool for a in actions(steps)] == ["look", "submit"]
    assert server.requests[0]["parallel_tool_calls"] is False
    kept = server.requests[1]["messages"][2]
    assert [one["id"] for one in kept["tool_calls"]] == ["one"]


@pytest.mark.parametrize(
    "ids",
    [("call_a", "call_a"), ("call00001", ""), ("call00001", "call00001"), ("", "call00000")],
)
async def test_calls_with_one_id_are_told_apart(serve, ids):
    # Ids like those that calls without one are given belong to their calls, too.
    server = serve([says(*(call("look", call_id=one) for one in ids)), SUBMIT])
    await episode("test?parallel_tool_calls=true")
    system, _, said, *seen = server.requests[1]["messages"]
    first, second = (one["id"] for one in said["tool_calls"])
    assert first != second and [m["tool_call_id"] for m in seen] == [first, second]
    assert "several in each reply" in system["content"]


async def test_a_reply_whose_first_calls_are_dropped_stays_valid(serve):
    server = serve([says(*(call("look", call_id=f"c{n}") for n in range(5)))])
    agent = OpenAIAgent("test?context_tokens=1")
    await agent.start(BRIEFING)
    steps = []
    for number in range(6):
        decision = await agent.act(FIRST, TOOLS, steps)
        steps.append(Step(number, decision, Observation("x" * 100)))
    await agent.close()
    assert len(server.requests) == 2, "the server found both dialogues valid"
    said = server.requests[1]["messages"][2]
    assert [one["id"] for one in said["tool_calls"]] == ["c1", "c2", "c3", "c4"]


@MODES
async def test_an_unknown_tool_is_left_to_the_environment(serve, mode):
    server = serve([says(call("functions.bash tool", {"x": 1})), SUBMIT])
    steps = await episode("test" + mode)
    assert steps[0].action == Action("functions.bash tool", {"x": 1})
    asked = server.requests[1]["messages"][2]["tool_calls"][0]
    assert asked["function"]["name"] == "functions_bash_tool"


async def test_calls_without_id_or_arguments(serve):
    bare = says({"type": "function", "function": {"name": "look", "arguments": None}})
    server = serve([bare, SUBMIT])
    steps = await episode()
    assert steps[0].action == Action("look", {})
    asked, answered = server.requests[1]["messages"][2:]
    assert asked["tool_calls"][0]["id"] == answered["tool_call_id"] != ""


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
