"""Forks of episodes: equal actions lead to equal ends, and neither sees what the other does."""

import asyncio
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hybrid_desk import SOLUTION, write_desk
from living_tasks import RELAY, write_living
from shop_task import write_shop

from agentgym.env import episode as episode_module
from agentgym.env.environment import Environment
from agentgym.errors import SurfaceError, UnsupportedError
from agentgym.records import Action, Audit
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.task.adhoc import lay_down
from agentgym.task.load import find_task, load_task
from agentgym.task.reference_actions import oracle

PROBLEMS = BubblewrapProvider().problems()
COMPUTER = pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox: {PROBLEMS}")


@pytest.fixture
async def provider():
    provider = BubblewrapProvider()
    yield provider
    await provider.close()


@pytest.fixture
async def shop(tmp_path, monkeypatch):
    """An environment of services alone, with a user."""
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    async with Environment(
        load_task(write_shop(tmp_path)), NoSandboxProvider(), user="scripted"
    ) as environment:
        yield environment


def say(text):
    return Action("message_user", {"text": text})


def bash(command):
    return Action("bash", {"command": command})


async def play(episode, actions):
    """Play actions and return what was seen, and the last verdict."""
    verdict = None
    for action in actions:
        verdict = (await episode.step(action)).verdict
    return [(s.observation.text, s.observation.data, s.events) for s in episode.steps], verdict


async def fork_at_every_step(environment, actions):
    """Play actions, forking before each; every fork then plays the rest, and ends the same."""
    trunk = await environment.start(0)
    forks = []
    for number, action in enumerate(actions):
        forks.append((number, await trunk.fork()))
        assert (forks[-1][1].parent, forks[-1][1].forked_at) == (trunk, number)
        await trunk.step(action)
    seen, verdict = await play(trunk, [])
    assert trunk.over and verdict is None
    ends = []
    for number, fork in forks:
        told, found = await play(fork, actions[number:])
        assert told == seen, number
        ends.append((found.state_hash, found.score, found.outcome, found.checkpoints))
    assert all(end == ends[0] for end in ends[1:]) and ends[0][0]
    return ends[0]


# --- the families ----------------------------------------------------------------------------


async def test_services_and_a_user(shop):
    actions = oracle(shop.task.instance(0))
    *_, checkpoints = await fork_at_every_step(shop, actions)
    assert all(checkpoint.score == 1.0 for checkpoint in checkpoints)


async def test_a_fork_that_repeats_actions_shares_no_more_than_its_parent(shop, monkeypatch):
    async def fails(parts):
        raise UnsupportedError("no")

    async def repeat(episode, parts, start, why):
        return await start()

    monkeypatch.setattr(episode_module, "fork_parts", fails)
    monkeypatch.setattr(episode_module, "repeat", repeat)
    for alone in (False, True):
        parent = await shop.start(0, alone=alone)
        assert (await parent.fork())._parts.alone is alone


@COMPUTER
async def test_a_computer_with_events_faults_and_milestones(tmp_path, provider):
    task = load_task(write_living(tmp_path, "relay", RELAY))
    async with Environment(task, provider) as environment:
        await fork_at_every_step(environment, oracle(task.instance(0)))


@COMPUTER
async def test_a_computer_and_services(tmp_path, monkeypatch, provider):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path / "catalogue"))
    write_desk(tmp_path / "catalogue")
    async with Environment(find_task("demo/both-v1"), provider) as environment:
        assert (await fork_at_every_step(environment, SOLUTION))[1] == 1.0


@COMPUTER
async def test_neither_sees_what_the_other_does(tmp_path, monkeypatch, provider):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path / "catalogue"))
    write_desk(tmp_path / "catalogue")
    async with Environment(find_task("demo/both-v1"), provider) as environment:
        parent = await environment.start(0)
        await parent.step(bash("cd /srv; export WORD=kept; echo before > f"))
        child = await parent.fork()
        await child.step(bash("echo child >> f; export WORD=changed; cd /"))
        await child.step(Action("shelf_add", {"title": "of the child"}))
        await parent.step(bash("echo parent >> f"))
        seen, _ = await play(parent, [bash("cat f; pwd; echo $WORD"), Action("shelf_list_items")])
        assert seen[2][0].startswith("before\nparent\n/srv\nkept\n")
        assert "of the child" not in seen[3][0]
        seen, _ = await play(child, [bash("cat /srv/f; pwd; echo $WORD")])
        assert seen[3][0].startswith("before\nchild\n/\nchanged\n")
        assert len(parent.steps) == len(child.steps) == 4
        grandchild = await child.fork()
        assert (grandchild.parent, grandchild.forked_at) == (child, 4)
        await child.close()
        seen, _ = await play(grandchild, [Action("shelf_list_items"), bash("cat /srv/f")])
        assert "of the child" in seen[4][0] and "child" in seen[5][0]


# --- what is carried over --------------------------------------------------------------------


async def test_a_user_remembers_the_same_and_nothing_of_the_other(shop):
    parent = await shop.start(0)
    await parent.step(say("Which order?"))
    child = await parent.fork()
    again = (await child.step(say("Which order?"))).observation.text
    assert again == (await parent.step(say("Which order?"))).observation.text
    assert again != parent.steps[0].observation.text, "they say that they have said it"
    await child.step(say("Goodbye"))
    assert (await child.step(say("Hello?"))).observation.text.startswith(
        "error: there is no answer"
    )
    assert "there is no answer" not in (await parent.step(say("Which order?"))).observation.text


@COMPUTER
async def test_what_the_audit_held_before_a_fork_is_judged_after_it(tmp_path, provider):
    task = load_task(write_living(tmp_path, "relay", RELAY))
    async with Environment(task, provider) as environment:
        parent = await environment.start(0)
        audit = parent.sandbox.audit

        async def audited():
            return replace(await audit(), killed_for_memory=3)

        parent.sandbox.audit = audited
        child = await parent.fork()
        await child.step(Action("submit"))
        assert child.audit.killed_for_memory >= 3


def test_connections_of_before_stand_before_those_of_after():
    first, second = (
        Audit(connections=(name,), killed_for_memory=n)
        for name, n in zip("ab", (2, None), strict=True)
    )
    joined = second.following(first)
    assert (joined.connections, joined.killed_for_memory) == (("a", "b"), 2)
    assert Audit().following(Audit()) == Audit()


@COMPUTER
async def test_calls_are_counted_by_surface_and_a_fork_goes_on_counting(tmp_path, provider):
    task = load_task(write_living(tmp_path, "relay", RELAY))
    async with Environment(task, provider) as environment:
        parent = await environment.start(0)
        await parent.step(bash("true"))
        await parent.step(Action("no_such_tool", {}))
        child = await parent.fork()
        await child.step(bash("true"))
        await child.step(Action("submit"))
        await parent.step(Action("submit"))
        assert (parent.audit.surface_calls, child.audit.surface_calls) == (
            {"shell": 1},
            {"shell": 2},
        )


# --- many, and at the same time ----------------------------------------------------------------


async def test_sixty_four_leaves_of_one_environment(shop):
    trunk = await shop.start(0)
    await trunk.step(say("Which order?"))
    leaves = [trunk]
    while len(leaves) < 64:
        leaves += await asyncio.gather(*(leaf.fork() for leaf in leaves))
    assert len(shop.live) == 64
    texts = await asyncio.gather(
        *(leaf.step(say(f"I am leaf {n}")) for n, leaf in enumerate(leaves))
    )
    assert len({t.observation.text for t in texts}) == 1
    verdicts = await asyncio.gather(*(leaf.finish() for leaf in leaves))
    assert len({verdict.state_hash for verdict in verdicts}) == 1
    assert not shop.live


@COMPUTER
@pytest.mark.full
async def test_sixty_four_leaves_with_a_computer_each(tmp_path, provider):
    task = load_task(write_living(tmp_path, "relay", RELAY))
    async with Environment(task, provider) as environment:
        leaves = [await environment.start(0)]
        while len(leaves) < 64:
            leaves += await asyncio.gather(*(leaf.fork() for leaf in leaves))
        await asyncio.gather(
            *(leaf.step(bash(f"echo {n} > /srv/n")) for n, leaf in enumerate(leaves))
        )
        for number, leaf in enumerate(leaves):
            assert (await leaf.sandbox.read_file("/srv/n")) == f"{number}\n".encode()


@COMPUTER
async def test_a_fork_waits_for_the_step_that_runs(tmp_path, provider):
    task = load_task(write_living(tmp_path, "relay", RELAY))
    async with Environment(task, provider) as environment:
        parent = await environment.start(0)
        stepping = asyncio.create_task(
            parent.step(bash("echo a > /srv/x; sleep 0.5; echo b >> /srv/x"))
        )
        await asyncio.sleep(0.1)
        child = await parent.fork()
        assert stepping.done() and child.forked_at == 1
        assert await child.sandbox.read_file("/srv/x") == b"a\nb\n"


# --- what cannot be forked -----------------------------------------------------------------------


async def test_an_episode_that_is_over_is_not_forked(shop):
    episode = await shop.start(0)
    await episode.step(Action("submit"))
    with pytest.raises(SurfaceError, match="the episode is over"):
        await episode.fork()


async def test_an_episode_that_is_closed_while_it_is_forked_leaves_nothing(shop):
    episode = await shop.start(0)
    begun, go_on, fork = asyncio.Event(), asyncio.Event(), episode.sandbox.fork

    async def slow():
        begun.set()
        await go_on.wait()
        return await fork()

    episode.sandbox.fork = slow
    forking = asyncio.create_task(episode.fork())
    await begun.wait()
    await shop.close()
    go_on.set()
    with pytest.raises(SurfaceError, match="closed while it was forked"):
        await forking
    assert not shop.live


async def test_a_user_who_cannot_be_forked_is_named_and_nothing_is_left(shop, monkeypatch):
    class Stranger:
        async def start(self, world):
            return "Hello."

        async def reply(self, message, recorded=None):
            raise AssertionError("nobody writes")

        async def close(self):
            pass

    monkeypatch.setattr("agentgym.env.conversation.create", lambda *_: Stranger())
    episode = await shop.start(0)
    with pytest.raises(UnsupportedError, match="user 'scripted' cannot be forked"):
        await episode.fork()
    assert shop.live == {episode}
    assert (await episode.step(Action("submit"))).verdict.status == "scored"


async def test_a_surface_that_cannot_be_forked_is_named():
    server = Path(__file__).parents[1] / "surfaces/odd_server.py"
    folder = lay_down(
        "mcp", options={"mcp": {"command": shlex.join([sys.executable, str(server)])}}
    )
    async with Environment(load_task(folder), NoSandboxProvider()) as environment:
        episode = await environment.start(0)
        with pytest.raises(UnsupportedError, match="surface 'mcp': the state of the server"):
            await episode.fork()
        assert environment.live == {episode}
        assert (await episode.step(Action("count"))).observation.text == "1"
