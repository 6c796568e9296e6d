"""Conversations are recorded and repeated: a script says it again, a model is not asked again."""

import asyncio

import pytest
from chat_server import ChatServer, call, says
from rich.console import Console
from shop_task import USER, write_shop

from agentgym.agents.registry import create
from agentgym.cli.transcript import print_step
from agentgym.env.environment import Environment
from agentgym.eval.report import _step
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import StepEventKind, UserCall
from agentgym.rollout.branch import branch_episodes
from agentgym.rollout.replay import Verification, verify_episode
from agentgym.rollout.run import run_episode
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.task.load import find_task

PLAN = EpisodePlan("demo/refund-v1", seed=0, trial=0, agent="oracle")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path / "catalogue"))
    for name in ("AGENTGYM_USER", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return write_shop(tmp_path / "catalogue")


async def play(store, user, episode_id=1):
    """Let the solution play one episode of a run."""
    env = Environment(find_task(PLAN.task), NoSandboxProvider(), user=user)
    try:
        return await run_episode(env, create("oracle"), seed=0, store=store, episode_id=episode_id)
    finally:
        await env.close()


@pytest.fixture
def run(folder, tmp_path):
    """Make runs; all are closed at the end."""
    made = []

    def make(user):
        made.append(RunStore.create(tmp_path / f"run{len(made)}", {"user": user}, [PLAN]))
        return made[-1]

    yield make
    for store in made:
        store.close()


def turns(steps):
    return [h.turn for step in steps for h in step.events if h.kind is StepEventKind.USER]


async def test_a_script_says_the_same_again(run, folder):
    store = run("scripted")
    assert (await play(store, "scripted")).verdict.score == 1.0
    found = turns(store.steps(1))
    assert [turn.text for turn in found] == ["It's 23.", "The code is K-7.", "Great, thank you!"]
    assert found[1].calls == (UserCall("orders_inbox"),) and found[2].left
    assert await verify_episode(store, 1, NoSandboxProvider()) == Verification()
    (folder / "user.toml").write_text(USER.replace("Great, thank", "Well, thank"))
    divergence = (await verify_episode(store, 1, NoSandboxProvider())).first
    assert (divergence.step, divergence.field) == (4, "events")
    assert "Great" in divergence.recorded and "Well" in divergence.seen


def parrot(request):
    """Answer with a number that never comes again, having looked into the mail for a code."""
    parrot.asked += 1
    *_, last = request["messages"]
    if last["role"] == "user" and "code" in last["content"]:
        return says(call("orders_inbox"))
    return says(call("answer", {"text": f"Answer {parrot.asked}."}))


@pytest.fixture
def model(monkeypatch):
    """A model that never says the same twice."""
    parrot.asked = 0
    with ChatServer(parrot) as server:
        monkeypatch.setenv("AGENTGYM_USER_BASE_URL", server.url)
        yield server


async def test_a_model_is_not_asked_again_to_verify(run, model, monkeypatch):
    store = run("openai:parrot")
    assert (await play(store, "openai:parrot")).verdict.score == 1.0
    said = turns(store.steps(1))
    assert [turn.text for turn in said] == ["Answer 1.", "Answer 3.", "Answer 4."]
    assert said[1].calls == (UserCall("orders_inbox"),)
    monkeypatch.delenv("AGENTGYM_USER_BASE_URL")
    assert await verify_episode(store, 1, NoSandboxProvider()) == Verification()
    assert len(model.requests) == 4


async def test_a_branch_goes_on_with_what_was_said(run, model):
    store = run("openai:parrot")
    await play(store, "openai:parrot")
    (branch,) = await branch_episodes(store, 1, 3, ["oracle"], NoSandboxProvider())
    assert [turn.text for turn in turns(store.steps(branch))] == [
        "Answer 1.",
        "Answer 3.",
        "Answer 5.",
    ]
    # The model is shown the whole conversation, its own call included.
    roles = [message["role"] for message in model.requests[-1]["messages"]]
    assert roles == model_roles(before=[1, 2]) and store.episode(branch).verdict.score == 1.0


def model_roles(before):
    """Return the roles of a dialogue: the opening, then turns with so many calls each."""
    opening = ["system", "user", "assistant", "tool"]
    return [*opening, *(r for n in before for r in ["user", *["assistant", "tool"] * n]), "user"]


async def test_a_resumed_episode_goes_on_with_what_was_said(run, model, monkeypatch):
    store = run("openai:parrot")
    monkeypatch.setattr("agentgym.env.episode.Episode._finish", _die)
    with pytest.raises(asyncio.CancelledError):
        await play(store, "openai:parrot")
    monkeypatch.undo()
    monkeypatch.setenv("AGENTGYM_PATH", str(find_catalogue(store)))
    monkeypatch.setenv("AGENTGYM_USER_BASE_URL", model.url)
    assert len(store.steps(1)) == 5
    assert (await play(store, "openai:parrot")).verdict.score == 1.0
    assert [turn.text for turn in turns(store.steps(1))] == ["Answer 1.", "Answer 3.", "Answer 4."]
    assert len(model.requests) == 4 and not store.episode(1).log


async def _die(self):
    raise asyncio.CancelledError


def find_catalogue(store):
    return store.folder.parent / "catalogue"


async def test_a_turn_is_shown_beside_the_step(run):
    store = run("scripted")
    await play(store, "scripted")
    step = store.steps(1)[2]
    with open("/dev/null", "w") as nowhere:
        console = Console(record=True, width=200, file=nowhere)
        print_step(console, step, full=False)
    assert "user: asking  called orders_inbox" in console.export_text()
    assert list(_step(step).events) == ["user: asking  called orders_inbox"]
    assert {what.kind for _, what in store.events()} <= {StepEventKind.USER}
