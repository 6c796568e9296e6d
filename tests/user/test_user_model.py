"""The user that a model plays, against a real HTTP server: part, tools, bad replies, outages."""

import json

import pytest
from chat_server import Dropped, Endless, Raw, Status, call, says

from agentgym.chat import endpoint
from agentgym.errors import ConfigError, UserError
from agentgym.records import Reply, UserCall, UserMessage, UserTurn
from agentgym.testing.user import INSTANCE, SCRIPT, World
from agentgym.user.model import ASKS, MOST_CALLS, ModelUser

OK = says(call("answer", {"text": "Fine."}))


async def talk(*messages, argument="test", recorded=(), world=None):
    """Return the turns and the world of a conversation."""
    user, world, turns = ModelUser(argument, SCRIPT, INSTANCE), world or World(), []
    try:
        await user.start(world)
        for number, message in enumerate(messages):
            known = recorded[number] if number < len(recorded) else None
            turns.append(await user.reply(UserMessage(message), known))
        return turns, world
    finally:
        await user.close()


async def test_a_model_gets_the_part_and_the_conversation(serve):
    server = serve([OK, says(call("answer", {"text": "Bye.", "leave": True}))])
    turns, _ = await talk("Which order?", "Anything else?", argument="test?temperature=0")
    assert turns == [UserTurn("Fine."), UserTurn("Bye.", left=True)]
    first, second = server.requests
    part = first["messages"][0]["content"]
    for told in (
        "Noor Haddad",
        "order 41, to be replaced",
        "order number: It is 41.",
        "3 messages",
    ):
        assert told in part
    assert "waiting: nothing was promised yet" in part and "{{" not in part
    assert "find it out with your tool kettle_light" in part
    assert first["temperature"] == 0 and first["model"] == "test"
    assert [tool["function"]["name"] for tool in first["tools"]] == ["answer", "kettle_light"]
    said = [m.get("content") for m in second["messages"] if m["role"] == "user"]
    assert said == ["(The chat begins. You write first.)", "Which order?", "Anything else?"]
    opened = json.loads(first["messages"][2]["tool_calls"][0]["function"]["arguments"])
    assert opened["text"] == "Hello, my kettle from order 41 does not heat."


async def test_a_model_uses_its_own_tools_before_it_answers(serve):
    server = serve([says(call("kettle_light", call_id="x")), OK])
    turns, world = await talk("Which colour?")
    assert turns == [UserTurn("Fine.", calls=(UserCall("kettle_light"),))]
    assert world.made == [("kettle_light", {})]
    assert server.requests[1]["messages"][-1]["content"] == '{"result":{"colour": "red"}}'


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (says(content="Hello!"), "Your reply called no tool"),
        (says(call("answer", {"txt": "x"})), "does not fit its schema: text: Field required"),
        (
            says(call("answer", {"text": "  "})),
            "does not fit its schema: text: String should match",
        ),
        (says(call("answer", {"text": "x", "leave": "no"})), "leave: Input should be a valid bool"),
        (
            says(call("orders_refund", {})),
            "You have no such tool now. Call one of: answer, kettle_light",
        ),
        (says(call("answer", "{")), "are not valid JSON"),
    ],
)
async def test_what_is_no_answer_is_told_to_the_model(serve, bad, told):
    server = serve([bad, OK])
    turns, _ = await talk("Hello")
    assert turns == [UserTurn("Fine.")]
    assert told in server.requests[1]["messages"][-1]["content"]
    again = serve([bad])
    with pytest.raises(UserError, match="gave no usable answer; it was last told: "):
        await talk("Hello")
    # The second time a note stands in place of the message.
    assert len(again.requests) == 2 * ASKS


async def test_a_model_that_only_acts_is_left_with_the_answer(serve):
    def answer(request):
        return says(call("kettle_light")) if len(request["tools"]) > 1 else OK

    server = serve(answer)
    # An assistant that asks for a hundred looks at the kettle must not leave the mean.
    turns, world = await talk("Look at the light a hundred times, please.")
    assert turns == [UserTurn("Fine.", calls=(UserCall("kettle_light"),) * MOST_CALLS)]
    assert len(world.made) == MOST_CALLS and len(server.requests) == MOST_CALLS + 1
    serve([says(call("kettle_light"))])
    with pytest.raises(UserError, match="no such tool now. Call one of: answer"):
        await talk("Hello")


@pytest.mark.parametrize(
    "arguments",
    [
        '{"a": 1e999}',
        '{"a": "\\ud800"}',
        '{"a": ' + "[" * 90 + "]" * 90 + "}",
        f'{{"a": {"9" * 400}}}',
    ],
)
async def test_a_call_that_no_record_can_hold_is_told_to_the_model(serve, arguments):
    server = serve([says(call("kettle_light", arguments)), OK])
    turns, world = await talk("Hello")
    assert turns == [UserTurn("Fine.")] and world.made == []
    assert "The arguments of your call" in server.requests[1]["messages"][-1]["content"]


async def test_an_outage_is_the_users_error(serve, monkeypatch):
    serve([Status(500, "down")])
    with pytest.raises(UserError, match="user test: .*down"):
        await talk("Hello", argument="test?retries=0")
    serve([Endless("headers")])
    with pytest.raises(UserError, match="no answer within 0.2 s; .*turn_s=1200"):
        await talk("Hello", argument="test?turn_s=0.2")
    monkeypatch.delenv("AGENTGYM_USER_BASE_URL")
    with pytest.raises(UserError, match="user 'openai' has no endpoint: export OPENAI_API_KEY"):
        await talk("Hello")
    (problem,) = ModelUser("test", SCRIPT, INSTANCE).problems()
    assert "has no endpoint" in problem.what and "AGENTGYM_USER_BASE_URL" in problem.fix


async def test_what_was_recorded_is_not_asked_for_again(serve):
    server = serve([OK])
    light = UserTurn("It is red.", calls=(UserCall("kettle_light"),))
    turns, world = await talk("Which colour?", "And now?", recorded=[light])
    assert turns == [light, UserTurn("Fine.")]
    assert world.made == [("kettle_light", {})]
    (request,) = server.requests
    roles = [message["role"] for message in request["messages"]]
    assert roles == [
        "system",
        "user",
        *["assistant", "tool"],
        *["user", *["assistant", "tool"] * 2],
        "user",
    ]


@pytest.mark.parametrize(
    ("argument", "told"),
    [("", "needs a model"), ("m?temp=1", "no option 'temp'"), ("m?turn_s=0", "option turn_s='0'")],
)
def test_an_argument_that_is_none_is_refused(argument, told):
    with pytest.raises(ConfigError, match=told):
        ModelUser(argument, SCRIPT, INSTANCE)


def too_long(most):
    """Return what answers: it refuses requests of more characters, as a context window does."""

    def answer(request):
        size = sum(len(str(message["content"])) for message in request["messages"])
        if size > most:
            return Status(400, "This model's maximum context length is 8192 tokens.")
        return OK

    return answer


def provoked(fails):
    """Return what answers, unless it is shown a word that keeps it from doing so."""
    return lambda request: fails if "POISON" in json.dumps(request) else OK


@pytest.mark.parametrize(
    "fails",
    [
        Status(400, "The content was filtered."),
        Status(422, "odd"),
        Raw(b'{"error": {"code": "content_filter", "message": "blocked"}}'),
        says(content="I will not use a tool."),
        says(content="babble " * 3_000),
    ],
    ids=["filter", "refused", "filter in a reply", "prose", "babble"],
)
async def test_what_an_assistant_wrote_does_not_cost_the_user_its_answer(serve, monkeypatch, fails):
    monkeypatch.setattr(endpoint, "MOST_CHARACTERS", 20_000)
    server = serve(provoked(fails))
    turns, _ = await talk("A POISON for you", "And now?")
    assert turns == [UserTurn("Fine.")] * 2
    assert "cannot be shown" in json.dumps(server.requests[-1])
    # A model that does not answer whatever it is sent has failed by itself.
    serve([fails])
    with pytest.raises(UserError):
        await talk("A POISON for you")


class Written(World):
    """Its tool returns what the assistant has written there."""

    def __init__(self, text):
        super().__init__()
        self._text = text

    def call(self, tool, arguments):
        super().call(tool, arguments)
        return Reply(json.dumps(self._text))


def looks_first(fails):
    """Return what looks at the kettle before each answer, and fails as a function says."""

    def answer(request):
        if failure := fails(request):
            return failure
        return OK if request["messages"][-1]["role"] == "tool" else says(call("kettle_light"))

    return answer


@pytest.mark.parametrize("status", [Status(400, "content_filter"), Status(500, "no parse")])
async def test_what_a_tool_returns_does_not_cost_the_user_its_answer(serve, status):
    serve(looks_first(lambda request: status if "POISON" in json.dumps(request) else None))
    turns, _ = await talk("Look at the light", argument="test?retries=0", world=Written("POISON"))
    assert turns[0].text == "Fine."


async def test_a_model_that_looks_again_is_not_shown_it_in_the_last_attempt(serve):
    def answer(request):
        if "POISON" in json.dumps(request):
            return Status(500, "no parse")
        looks = sum(message["role"] == "tool" for message in request["messages"])
        return OK if looks > 2 else says(call("kettle_light"))

    serve(answer)
    turns, _ = await talk("Look at the light", argument="test?retries=0", world=Written("POISON"))
    assert turns[0] == UserTurn("Fine.", calls=(UserCall("kettle_light"),) * 2)


def spoilt_later(fails):
    """Answer the first message; an order in it then keeps the model from any answer."""

    def script(request):
        said = [each for each in request["messages"] if each["role"] == "user"]
        return fails if "POISON" in json.dumps(request) and len(said) > 2 else OK

    return script


@pytest.mark.parametrize(
    "fails",
    [
        Status(400, "The content was filtered."),
        says(content="I obey and use no tool."),
        Status(500),
    ],
    ids=["filter", "prose", "500"],
)
async def test_an_order_for_later_turns_does_not_cost_their_answers(serve, fails):
    server = serve(spoilt_later(fails))
    turns, _ = await talk("From now on POISON", "Well?", "And?", argument="test?retries=0")
    assert turns == [UserTurn("Fine.")] * 3
    system, *rest = server.requests[-1]["messages"]
    assert "Noor Haddad" in system["content"] and "POISON" not in json.dumps(rest)


async def test_words_that_the_model_was_made_to_say_do_not_cost_later_answers(serve):
    def script(request):
        if "POISON" in json.dumps(request):
            return Status(400, "The content was filtered.")
        said = "POISON" if "Repeat" in json.dumps(request) else "Fine."
        return says(call("answer", {"text": said}))

    serve(script)
    turns, _ = await talk("Repeat after me", "Well?", "And?")
    assert [turn.text for turn in turns] == ["POISON", "Fine.", "Fine."]


async def test_results_of_later_turns_are_shown_whole_again(serve):
    fails = iter([Status(500, "down for a moment")])
    server = serve(looks_first(lambda request: next(fails, None)))
    world = Written("x" * 5_000)
    await talk("Look " + "x" * 2_000, "And again", argument="test?retries=0", world=world)
    told = [each for each in server.requests[-1]["messages"] if each["role"] == "tool"]
    assert "[…]" in told[1]["content"] and len(told[3]["content"]) > 5_000


async def test_a_result_that_floods_the_model_is_cut(serve):
    def fails(request):
        size = sum(len(str(message["content"])) for message in request["messages"])
        if size > 8_000:
            return Status(400, "This model's maximum context length is 8192 tokens.")

    serve(looks_first(fails))
    turns, _ = await talk("Look", "And again", world=Written("x" * 300_000))
    assert [turn.text for turn in turns] == ["Fine.", "Fine."]


async def test_a_call_that_the_server_cannot_read_is_made_again(serve):
    fails = iter([Status(500, "error parsing tool call: raw='{'")])
    server = serve(looks_first(lambda request: next(fails, None)))
    await talk("Hello")
    assert "could not be read" in server.requests[1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    "failure", [Status(500, "odd"), Status(500, "Failed to parse input at pos 3"), Dropped()]
)
async def test_a_text_on_which_the_server_fails_does_not_cost_the_user_its_answer(serve, failure):
    server = serve(provoked(failure))
    turns, _ = await talk("A POISON for you", "And now?", argument="test?retries=0")
    assert turns == [UserTurn("Fine.")] * 2
    assert "cannot be shown" in json.dumps(server.requests[-1])


async def test_a_text_about_which_the_model_never_ends_does_not_cost_its_answer(serve, monkeypatch):
    monkeypatch.setattr("agentgym.user.model._SHARES", (0.02, 0.03, 0.9, 1.0))
    server = serve(provoked(Endless("headers")))
    turns, _ = await talk("A POISON for you" + "x" * 3_000, "And now?", argument="test?turn_s=60")
    assert turns == [UserTurn("Fine.")] * 2
    assert "cannot be shown" in json.dumps(server.requests[-1])


async def test_a_flooded_model_reads_the_beginnings_and_leaves_in_the_end(serve):
    flood = ["Look: " + "x" * 20_000] * 3
    server = serve(too_long(12_000))
    turns, _ = await talk(*flood)
    assert turns == [UserTurn("Fine.")] * 3
    assert "[…]" in server.requests[1]["messages"][-1]["content"]
    serve(too_long(4_000))
    turns, _ = await talk(*["x" * 20_000] * 5)
    assert not turns[0].left and turns[-1].left and "more than I can read" in turns[-1].text


async def test_a_model_that_is_made_to_flood_itself_leaves_in_the_end(serve):
    def script(request):
        if len(json.dumps(request["messages"])) > 12_000:
            return Status(400, "This model's maximum context length is 4096 tokens.")
        return says(call("answer", {"text": "Once upon a time. " * 120}))

    serve(script)
    turns, _ = await talk(*["Tell me a story."] * 6)
    assert not turns[0].left and turns[-1].left and "more than I can read" in turns[-1].text


async def test_a_part_that_does_not_fit_by_itself_is_the_users_failure(serve):
    serve(too_long(100))
    with pytest.raises(UserError, match="context length"):
        await talk("Which order?")
    with pytest.raises(UserError, match="context length"):
        await talk("x" * 1_100)
