"""The model agent and malformed, several and unknown tool calls."""

import pytest
from chat_server import Raw, call, says
from model_dialogue import LOOK, MODES, SUBMIT, decide, episode

from agentgym.agents.openai import OpenAIAgent
from agentgym.errors import AgentError, PolicyError
from agentgym.records import Action, Observation, Step, TokenUsage
from agentgym.testing.agent import BRIEFING, FIRST, TOOLS, actions


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
