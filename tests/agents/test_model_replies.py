"""The model agent against replies that never end, or are no replies."""

import gzip
import json
import threading

import pytest
from chat_server import Endless, LeftOpen, Raw, Status, call, events, says
from model_dialogue import LOOK, MODES, decide, with_option

from agentgym.chat import answers, completion, endpoint, stream
from agentgym.errors import AgentError, PolicyError
from agentgym.records import Action


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
