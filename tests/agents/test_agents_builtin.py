"""The agents that need no model: noop, random, oracle, scripted."""

import json
import re

import pytest

from agentgym.agents.noop import NoopAgent
from agentgym.agents.oracle import OracleAgent
from agentgym.agents.random import RandomAgent
from agentgym.agents.scripted import ScriptedAgent
from agentgym.authoring.stage import Player
from agentgym.errors import AgentError, ConfigError, PolicyError
from agentgym.records import Action, Briefing, Decision, Effect, Observation, Step
from agentgym.surfaces.calls import check_call
from agentgym.testing.agent import TOOLS

SEEN = Observation("")


def briefed(seed=1, reference_actions=(), reference_policy=None):
    return Briefing("suite/task-v1", "Do it.", seed, 10, reference_actions, reference_policy)


async def chosen(agent, briefing, steps):
    await agent.start(briefing)
    history = []
    for index in range(steps):
        history.append(Step(index, await agent.act(SEEN, TOOLS, history), SEEN))
    return [step.action for step in history]


async def played_by_the_oracle(action, folder):
    agent = OracleAgent()
    await agent.start(briefed(reference_actions=(action,)))
    return agent


async def played_from_a_file(action, folder):
    path = folder / "plan.jsonl"
    path.write_text(json.dumps(action.to_json()))
    return ScriptedAgent(str(path))


async def played_in_a_check(action, folder):
    return Player([action])


async def test_noop_submits_at_once():
    assert await chosen(NoopAgent(), briefed(), 1) == [Action("submit")]


async def test_random_calls_are_legal_and_follow_the_seed():
    one = await chosen(RandomAgent(), briefed(seed=1), 200)
    for action in one:
        check_call(action, TOOLS)
    assert one == await chosen(RandomAgent(), briefed(seed=1), 200)
    assert one != await chosen(RandomAgent(), briefed(seed=2), 200)


async def test_random_submits_now_and_then_and_never_gives_up():
    tools = [a.tool for a in await chosen(RandomAgent(), briefed(), 400)]
    assert 5 <= tools.count("submit") <= 40  # 20 expected, with a standard deviation of 4.4
    assert tools.count("give_up") == 0
    assert tools.count("bash") > 100 and tools.count("look") > 100


async def test_random_submits_where_nothing_else_can_be_done():
    agent = RandomAgent()
    await agent.start(briefed())
    control = [tool for tool in TOOLS if tool.name in ("submit", "give_up")]
    assert (await agent.act(SEEN, control, [])).action == Action("submit")


async def test_oracle_plays_by_index_and_then_submits():
    reference = (Action("bash", {"command": "a"}), Action("bash", {"command": "b"}))
    assert OracleAgent.privileged is True
    assert await chosen(OracleAgent(), briefed(reference_actions=reference), 4) == [
        *reference,
        Action("submit"),
        Action("submit"),
    ]


async def test_oracle_that_takes_over_plays_what_is_not_done_yet():
    first, second = Action("bash", {"command": "a"}), Action("bash", {"command": "b"})
    oracle = OracleAgent()
    await oracle.start(briefed(reference_actions=(first, second)))
    by_another = [Step(i, Decision(a), SEEN) for i, a in enumerate((Action("look"), first))]
    assert (await oracle.act(SEEN, TOOLS, by_another[:1])).action == first
    assert (await oracle.act(SEEN, TOOLS, by_another)).action == second


async def test_oracle_without_reference_actions_names_the_task():
    with pytest.raises(AgentError, match=r"suite/task-v1.*solve\.sh"):
        await OracleAgent().start(briefed())


async def test_actions_of_a_check_that_end_nothing_are_told():
    one, other = Action("bash", {"command": "a"}), Action("bash", {"command": "b"})
    with pytest.raises(AgentError, match="the actions ended after step 2"):
        await chosen(Player([one, other]), briefed(), 3)


REFUSED = Observation(
    "error: tool 'submit': arguments.answer: expected string", effect=Effect.ERROR
)
FAILED = Observation("error: no such file", effect=Effect.ERROR)


@pytest.mark.parametrize("make", [played_by_the_oracle, played_from_a_file, played_in_a_check])
async def test_an_end_that_is_refused_is_told_and_not_played_over(make, tmp_path):
    end = Action("submit", {"answer": [7]})
    agent = await make(end, tmp_path)
    told = "the last of the actions was refused.*submit.*expected string"
    with pytest.raises(AgentError, match=told):
        await agent.act(REFUSED, TOOLS, [Step(0, Decision(end), REFUSED)])


@pytest.mark.parametrize("make", [played_by_the_oracle, played_from_a_file])
async def test_what_fails_at_last_is_submitted_all_the_same(make, tmp_path):
    call = Action("bash", {"command": "cat x"})
    agent = await make(call, tmp_path)
    decision = await agent.act(FAILED, TOOLS, [Step(0, Decision(call), FAILED)])
    assert decision.action == Action("submit")


async def test_a_jsonl_script_is_played_line_by_line(tmp_path):
    path = tmp_path / "plan.jsonl"
    path.write_text(
        '{"tool": "bash", "arguments": {"command": "echo \u2028 é"}}\n\n{"tool": "give_up", '
        '"arguments": {"reason": "no"}}\n'
    )
    assert await chosen(ScriptedAgent(str(path)), briefed(), 3) == [
        Action("bash", {"command": "echo \u2028 é"}),
        Action("give_up", {"reason": "no"}),
        Action("submit"),
    ]


async def test_a_shell_script_is_one_call(tmp_path):
    path = tmp_path / "solve.sh"
    path.write_text("cd /srv\nmake\n")
    assert await chosen(ScriptedAgent(str(path)), briefed(), 2) == [
        Action("bash", {"command": "cd /srv\nmake\n", "timeout_s": 300}),
        Action("submit"),
    ]


async def test_a_script_that_answers_submits_what_it_wrote(tmp_path):
    path = tmp_path / "solve.sh"
    path.write_text('wc -l < log > "$AGENTGYM_ANSWER"\n')
    agent = ScriptedAgent(str(path))
    run, read = await chosen(agent, briefed(), 2)
    assert run.arguments["command"].startswith("export AGENTGYM_ANSWER=/dev/shm/")
    before = [Step(0, Decision(run), SEEN)]
    for shown, arguments in (("42\n", {"answer": "42"}), ("", {})):
        history = [*before, Step(1, Decision(read), Observation(shown))]
        assert (await agent.act(SEEN, TOOLS, history)).action == Action("submit", arguments)
    oracle = OracleAgent()
    await oracle.start(briefed(reference_actions=(run, read, Action("submit"))))
    look = Step(2, Decision(Action("look")), SEEN)
    history = [*before, Step(1, Decision(read), Observation("42\n")), look]
    assert (await oracle.act(SEEN, TOOLS, history)).action == Action("submit", {"answer": "42"})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b'{"tool": "look"}\n\n{"tool": \n', r"a\.jsonl:3: expected an action in JSON"),
        ("a.jsonl", b'{"tool": "look"}\n[1]\n', r"a\.jsonl:2: an action is an object"),
        ("a.jsonl", b'{"tool": "look", "args": {}}', r"a\.jsonl:1: unknown field 'args'"),
        ("a.jsonl", b'{"tool": "look"}\n\xff', r"a\.jsonl:2: expected UTF-8"),
        ("a.jsonl", b"[" * 200_000, r"a\.jsonl:1: "),
        ("a.txt", b"", r"a\.txt: expected a \.jsonl or \.sh file, got '\.txt'"),
    ],
)
def test_a_bad_script_is_named_by_file_and_line(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        ScriptedAgent(str(tmp_path / name))


def test_an_absent_script_is_named(tmp_path):
    path = tmp_path / "none.jsonl"
    with pytest.raises(ConfigError, match=re.escape(f"{path}: cannot be read: No such file")):
        ScriptedAgent(str(path))


POLICY = """
def solve(view):
    while view.observation.text != "open":
        yield view.act("look")
    yield view.act("bash", command=view.find("button", "Go", disabled=False)["name"])
"""


async def policy_of(tmp_path, text: str):
    path = tmp_path / "policy.py"
    path.write_text(text)
    oracle, scripted = OracleAgent(), ScriptedAgent(str(path))
    await oracle.start(briefed(reference_policy=path))
    await scripted.start(briefed())
    return oracle, scripted


async def test_a_policy_file_looks_before_it_acts(tmp_path):
    nodes = [
        {"role": "button", "name": "Go", "disabled": True},
        {"role": "button", "name": " Go ", "disabled": False},
    ]
    for agent in await policy_of(tmp_path, POLICY):
        seen = [
            Observation("shut"),
            Observation("shut"),
            Observation("open", data={"nodes": nodes}),
        ]
        actions = [(await agent.act(one, TOOLS, ())).action for one in (*seen, SEEN)]
        look = Action("look")
        assert actions == [look, look, Action("bash", {"command": " Go "}), Action("submit")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "def solve(view):\n    yield view.act('look')\n    yield view.find('link', 'Out')",
            "link",
        ),
        ("def solve(view):\n    yield 'look'", "must yield actions, got str"),
        ("def solve(view):\n    return 1 / 0\n    yield", "ZeroDivisionError"),
        ("def solve(view):\n    return 7", "TypeError"),
    ],
)
async def test_a_policy_file_that_fails_is_told(tmp_path, text, told):
    for agent, failure in zip(
        await policy_of(tmp_path, text), (AgentError, PolicyError), strict=True
    ):
        with pytest.raises(failure, match=rf"policy\.py.*{told}"):
            for _ in range(2):
                await agent.act(SEEN, TOOLS, ())


async def test_a_policy_file_without_its_function_is_told(tmp_path):
    with pytest.raises(AgentError, match=r"policy\.py: expected a function solve\(view\)"):
        await policy_of(tmp_path, "x = 1")
