"""A user beside the agent: offered, written to, recorded, and never the agent's failure."""

import asyncio

import pytest
from shop_task import FILES, TASK, USER, write_shop

from agentgym.agents.registry import create
from agentgym.env.environment import Environment
from agentgym.errors import ConfigError, NotFoundError, TaskError
from agentgym.protocols import User
from agentgym.records import Action, Decision, Effect, StepEventKind, UserTurn
from agentgym.rollout.grading import offered_tools
from agentgym.rollout.run import run_episode
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.task.load import load_task
from agentgym.task.reference_actions import oracle


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Make an environment of the shop's task, some of its files replaced."""
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    monkeypatch.delenv("AGENTGYM_USER", raising=False)
    made = []

    def make(user="", **changes):
        task = load_task(write_shop(tmp_path, **changes))
        made.append(Environment(task, NoSandboxProvider(), user=user))
        return made[-1]

    yield make
    for env in made:
        asyncio.run(env.close())


def say(text):
    return Action("message_user", {"text": text})


async def test_the_agent_can_write_to_the_user_and_lacks_their_tools(make):
    env = make()
    names = [tool.name for tool in env.tools]
    assert names[-3:] == ["message_user", "submit", "give_up"]
    assert "orders_refund" in names and "orders_inbox" not in names
    assert [tool.name for tool in offered_tools(env.task)] == names
    episode = await env.start(0)
    first = episode.first
    assert first.text.endswith("they say.\n[user] Hi, I'd like my money back, please.")
    assert episode.instance.instruction == first.text
    refused = await episode.step(Action("orders_inbox", {}))
    assert "no tool named 'orders_inbox'" in refused.observation.text


async def test_without_a_user_there_is_nobody_to_write_to(make, tmp_path):
    folder = write_shop(tmp_path)
    (folder / "user.toml").unlink()
    (folder / "task.toml").write_text(TASK.replace("[user]\n", ""))
    text = FILES["solution/actions.jsonl"]
    (folder / "solution/actions.jsonl").write_text(text)
    env = Environment(load_task(folder), NoSandboxProvider())
    assert "message_user" not in [tool.name for tool in env.tools]
    assert "[user]" not in (await env.start(0)).first.text
    await env.close()


async def test_turns_are_recorded_with_the_step(make):
    env = make()
    episode = await env.start(0)
    seen = (await episode.step(say("Which order?"))).observation
    assert (seen.text, seen.data, seen.effect) == ("It's 23.", {"left": False}, Effect.CHANGED)
    (event,) = episode.steps[0].events
    assert event.kind is StepEventKind.USER and event.id == "asking"
    assert event.turn == UserTurn("It's 23.", state="asking")


async def test_nobody_answers_once_they_have_left(make):
    env = make()
    episode = await env.start(0)
    seen = (await episode.step(say("Goodbye"))).observation
    assert seen.text == "Bye.\n[the user has left the conversation]" and seen.data == {"left": True}
    gone = (await episode.step(say("Hello?"))).observation
    assert gone.effect is Effect.ERROR and "the user has left" in gone.text
    assert episode.steps[1].events == ()
    episode = await env.start(0)
    assert (await episode.step(say("Which order?"))).observation.text == "It's 23."


async def test_the_solution_talks_and_checks_see_both_channels(make):
    env = make()
    episode = await env.start(1)
    for action in oracle(episode.instance):
        transition = await episode.step(action)
    assert transition.verdict.score == 1.0
    assert {c.id: c.status for c in transition.verdict.checkpoints} == {
        "paid-back": "pass",
        "asked": "pass",
    }


FAULT = """
[[fault]]
id = "{id}"
tool = "message_user"
calls = [1]
kind = "{kind}"
"""


@pytest.mark.parametrize(
    ("fault", "seen", "reached"),
    [
        (FAULT.format(id="down", kind="error"), "error: message_user: temporarily", False),
        (
            FAULT.format(id="lost", kind="timeout") + 'point = "after"\n',
            "error: message_user: no",
            True,
        ),
        (FAULT.format(id="late", kind="slow"), "It's 23.\n[the answer took 300 s]", True),
    ],
)
async def test_a_message_can_be_lost_like_any_call(make, fault, seen, reached):
    env = make(**{"task.toml": TASK + fault})
    episode = await env.start(0)
    assert (await episode.step(say("Which order?"))).observation.text.startswith(seen)
    kinds = [event.kind for event in episode.steps[0].events]
    assert (StepEventKind.USER in kinds) is reached and StepEventKind.FAULT in kinds
    text = (await episode.step(say("Which order?"))).observation.text
    assert text == ("As I said: It's 23." if reached else "It's 23.")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            'own = ["orders_inbox"]',
            'own = ["mail_*"]',
            ":7: own.0: 'mail_\\*' picks none of 4 tools",
        ),
        (
            'tool = "orders_inbox"',
            'tool = "orders_inbocks"',
            ":22: fact.2.do.0: .*orders_inbocks.*did you mean 'orders_inbox'",
        ),
        (
            'table = "orders_order"',
            'table = "orders_orders"',
            ":32: state.0.rule.0.row: no table named",
        ),
        (
            'status = "refunded"',
            'state = "refunded"',
            ":32: .*no column of orders_order named 'state'",
        ),
        (
            '{ tool = "orders_inbox" }',
            '{ tool = "orders_get", with = { order = "{{case.email}}" } }',
            ":22: fact.2.do.0: tool 'orders_get': .*order",
        ),
        (
            'said = ["good ?bye"]',
            'called = { tool = "order_get" }',
            ":52: always.0.called.tool: no tool named 'order_get'",
        ),
        (
            'said = ["good ?bye"]',
            'called = { tool = "orders_get", with = { ordr = 3 } }',
            ":52: always.0.called.with.ordr: no argument named 'ordr'; did you mean 'order'",
        ),
    ],
)
def test_what_a_script_refers_to_must_be_there(make, old, new, told):
    assert old in USER
    with pytest.raises(TaskError, match=f"user.toml{told}"):
        make(**{"user.toml": USER.replace(old, new, 1)})


class Broken:
    """A user that fails in the way it was made for."""

    def __init__(self, failure):
        self.failure = failure

    def problems(self):
        return ()

    async def start(self, world):
        return ""

    async def reply(self, message, recorded=None):
        await asyncio.sleep(0.3)
        raise self.failure

    async def close(self):
        raise RuntimeError("it cannot even be closed")


async def test_a_user_that_fails_leaves_the_episode_unscored(make, monkeypatch):
    broken: User = Broken(ZeroDivisionError("no"))
    monkeypatch.setattr("agentgym.env.conversation.create", lambda *_: broken)
    env = make()
    result = await run_episode(env, create("oracle"), seed=0, store=None, episode_id=None)
    assert result.verdict.status == "error:user"
    assert result.error == "user 'scripted': ZeroDivisionError: no"


class Talker:
    """An agent that writes to the user twice, and submits."""

    async def start(self, briefing):
        pass

    async def act(self, observation, tools, history):
        return Decision(say("Hello") if len(history) < 2 else Action("submit"))

    async def close(self):
        pass


class Slow(Broken):
    async def reply(self, message, recorded=None):
        await asyncio.sleep(1.1)
        return UserTurn("Yes?")


async def test_the_agent_is_not_charged_for_waiting(make, monkeypatch):
    monkeypatch.setattr("agentgym.env.conversation.create", lambda *_: Slow(None))
    env, played = make(), []

    async def start(seed, **options):
        played.append(await Environment.start(env, seed, **options))
        return played[-1]

    monkeypatch.setattr(env, "start", start)
    result = await run_episode(env, Talker(), seed=0, store=None, episode_id=None, timeout_s=2.0)
    assert not result.truncated and result.steps == 3
    assert played[0].waited_s > 2.0


async def test_who_plays_the_user_is_a_name_like_any_other(make, monkeypatch):
    with pytest.raises(NotFoundError, match="no user named 'scriptd'; did you mean 'scripted'"):
        await make("scriptd").start(0)
    monkeypatch.setenv("AGENTGYM_USER", "openai:")
    with pytest.raises(ConfigError, match="user 'openai' needs a model"):
        await make().start(0)


class Patient(Broken):
    """A user that hears anybody out."""

    async def reply(self, message, recorded=None):
        return UserTurn(f"{len(message.text)}?")


async def test_what_an_agent_may_write_to_its_user_is_bounded(make, monkeypatch):
    monkeypatch.setattr("agentgym.env.conversation.create", lambda *_: Patient(None))
    env = make()
    episode = await env.start(0)
    seen = [(await episode.step(say("x" * 19_000))).observation for _ in range(7)]
    assert [o.text for o in seen[:5]] == ["19000?"] * 5
    assert all("not sent" in o.text and "at most 100,000" in o.text for o in seen[5:])
    assert seen[-1].effect is Effect.ERROR and episode.steps[-1].events == ()
    assert (await episode.step(say("x" * 5_000))).observation.text == "5000?"
