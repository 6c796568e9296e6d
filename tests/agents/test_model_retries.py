"""The model agent against a server that fails or refuses: retries, and whose failure it is."""

import json
import socket

import numpy as np
import pytest
from chat_server import Dropped, Endless, Raw, Status, call, says
from model_dialogue import BASH, LOOK, MODES, SUBMIT, decide, episode

from agentgym.agents.openai import OpenAIAgent
from agentgym.errors import AgentError, PolicyError
from agentgym.records import Action, Observation, Step
from agentgym.testing.agent import BRIEFING, FIRST, TOOLS


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
        await decide("test?timeout_s=2")


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
