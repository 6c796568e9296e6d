"""The test server itself, as the openai SDK's own client sees it."""

import openai
import pytest
from chat_server import ChatServer, Status, call, invalid, says

TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
OPENING = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
CALLING = {"role": "assistant", "content": "", "tool_calls": [call("look", call_id="1")]}
ANSWER = {"role": "tool", "tool_call_id": "1", "content": "seen"}


def client(server):
    return openai.OpenAI(base_url=server.url, api_key="none", max_retries=0)


def test_a_reply_is_a_chat_completion():
    with ChatServer([says(call("look"), content="Hm.")]) as server, client(server) as sdk:
        reply = sdk.chat.completions.create(model="test", messages=OPENING, tools=TOOLS)
    assert reply.choices[0].message.content == "Hm."
    assert reply.choices[0].message.tool_calls[0].function.name == "look"
    assert reply.usage.total_tokens == 110
    assert server.requests == [{"model": "test", "messages": OPENING, "tools": TOOLS}]


def test_a_streamed_reply_adds_up_to_the_same():
    script = [says(call("look", {"at": "the door"}), content="Let me see.")]
    text, arguments, usage = "", "", []
    with ChatServer(script) as server, client(server) as sdk:
        for chunk in sdk.chat.completions.create(
            model="test",
            messages=OPENING,
            tools=TOOLS,
            stream=True,
            stream_options={"include_usage": True},
        ):
            for choice in chunk.choices:
                text += choice.delta.content or ""
                for part in choice.delta.tool_calls or ():
                    arguments += part.function.arguments
            usage += [chunk.usage] if chunk.usage else []
    assert text == "Let me see."
    assert arguments == '{"at": "the door"}'
    assert [one.prompt_tokens for one in usage] == [100]


def test_a_status_is_an_error_with_its_message():
    with (
        ChatServer([Status(404, "no such model")]) as server,
        client(server) as sdk,
        pytest.raises(openai.NotFoundError, match="no such model"),
    ):
        sdk.chat.completions.create(model="test", messages=OPENING, tools=TOOLS)


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([*OPENING], None),
        ([*OPENING, CALLING, ANSWER], None),
        ([*OPENING, CALLING, ANSWER, {"role": "user", "content": "go on"}], None),
        (OPENING[1:], "must open with"),
        ([*OPENING, ANSWER], "answers no preceding tool call"),
        ([*OPENING, CALLING], "have no answer"),
        ([*OPENING, CALLING, OPENING[1], ANSWER], "have no answer"),
        ([*OPENING, CALLING, ANSWER, ANSWER], "answers no preceding tool call"),
        ([*OPENING, CALLING, {**ANSWER, "content": [1]}], "holds text"),
        ([*OPENING, {**CALLING, "tool_calls": [call("a b", call_id="1")]}], "does not match"),
        ([*OPENING, {**CALLING, "tool_calls": [call("a", "[]", "1")]}], "not an object"),
        ([*OPENING, {"role": "assistant", "content": ""}], "without content"),
    ],
)
def test_what_the_real_api_refuses_is_refused(messages, problem):
    found = invalid({"messages": messages, "tools": TOOLS})
    assert (found is None) if problem is None else (problem in found)
