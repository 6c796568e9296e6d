"""An episode whose computer is suspended goes on as if it had been forked, and holds nothing."""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import closing
from dataclasses import replace

import pytest
from hybrid_desk import SOLUTION, write_desk
from living_tasks import RELAY, write_living
from shop_task import write_shop

from agentgym.env.environment import Environment
from agentgym.errors import (
    SandboxDiedError,
    SandboxEndedError,
    SandboxError,
    SurfaceEndedError,
    SurfaceError,
    SurfaceLostError,
    UnsupportedError,
)
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, Decision, StepEventKind
from agentgym.rollout.policy import HeldAgent
from agentgym.rollout.replay import Agreement, verify_episode
from agentgym.rollout.run import run_episode
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.surfaces.shell import ShellSurface
from agentgym.task.load import find_task, load_task
from agentgym.task.reference_actions import oracle

PROBLEMS = BubblewrapProvider().problems()
COMPUTER = pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox: {PROBLEMS}")
DESK = "demo/both-v1"
BACKGROUND = "nohup sleep 300 > /dev/null 2>&1 & echo $! > /srv/pid"
IS_ALIVE = "kill -0 $(cat /srv/pid) 2> /dev/null && echo alive || echo gone"


def bash(command):
    return Action("bash", {"command": command})


@pytest.fixture
async def provider():
    provider = BubblewrapProvider()
    yield provider
    await provider.close()


@pytest.fixture
async def desk(tmp_path, monkeypatch, provider):
    """An environment with a computer and services."""
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path / "catalogue"))
    write_desk(tmp_path / "catalogue")
    async with Environment(find_task(DESK), provider) as environment:
        yield environment


def restored(steps):
    """Return the steps before which a computer was restored."""
    return [s.index for s in steps for e in s.events if e.kind is StepEventKind.RESTORED]


async def suspend(episode):
    async with episode.suspended():
        pass


async def end_of(environment, actions, *, suspended):
    episode = await environment.start(0)
    for action in actions:
        if suspended:
            await suspend(episode)
        verdict = (await episode.step(action)).verdict
    seen = [(step.observation.text, step.observation.data) for step in episode.steps]
    return seen, (verdict.state_hash, verdict.score, verdict.checkpoints), episode.audit


@COMPUTER
async def test_suspended_before_every_step_it_sees_and_gets_the_same(desk):
    _, whole, _ = await end_of(desk, SOLUTION, suspended=False)
    _, parted, audit = await end_of(desk, SOLUTION, suspended=True)
    assert whole == parted and whole[1] == 1.0
    assert sum(audit.surface_calls.values()) == len(SOLUTION) - 1


@COMPUTER
async def test_events_faults_and_milestones_go_on(tmp_path, provider):
    task = load_task(write_living(tmp_path, "relay", RELAY))
    async with Environment(task, provider) as environment:
        actions = oracle(task.instance(0))
        seen, whole, _ = await end_of(environment, actions, suspended=False)
        again, parted, _ = await end_of(environment, actions, suspended=True)
        assert (seen, whole) == (again, parted)


@COMPUTER
async def test_files_folder_and_variables_come_back_and_processes_do_not(desk):
    episode = await desk.start(0)
    await episode.step(bash(f"cd /srv; export WORD=kept; local=lost; {BACKGROUND}"))
    assert (await episode.step(bash(IS_ALIVE))).observation.text.startswith("alive")
    computer = episode.sandbox
    async with episode.suspended():
        with pytest.raises(SandboxError):
            await computer.exec(["true"])
    told = (await episode.step(bash(f"pwd; echo $WORD${{local-}}; {IS_ALIVE}"))).observation.text
    assert told.startswith("/srv\nkept\ngone\n")
    assert restored(episode.steps) == [2]
    await episode.close()


@COMPUTER
async def test_the_audit_of_before_is_judged(tmp_path, provider):
    task = load_task(write_living(tmp_path, "relay", RELAY))
    async with Environment(task, provider) as environment:
        episode = await environment.start(0)
        audit = episode.sandbox.audit

        async def audited():
            return replace(await audit(), killed_for_memory=3)

        episode.sandbox.audit = audited
        await suspend(episode)
        await episode.step(Action("submit"))
        assert episode.audit.killed_for_memory >= 3


@COMPUTER
@pytest.mark.parametrize("how", ["close", "cancel"])
async def test_nothing_is_left_of_an_episode_that_ends_suspended(desk, provider, how):
    episode = await desk.start(0)
    held, dropped = asyncio.Event(), []
    discard = provider.discard

    async def noted(snapshot):
        dropped.append(snapshot)
        await discard(snapshot)

    provider.discard = noted

    async def wait():
        async with episode.suspended():
            held.set()
            await asyncio.sleep(60 if how == "cancel" else 0)
            await episode.close()

    waiting = asyncio.create_task(wait())
    await held.wait()
    if how == "cancel":
        waiting.cancel()
    with contextlib.suppress(asyncio.CancelledError, SurfaceError):
        await waiting
    await episode.close()
    assert len(dropped) == 1
    assert not provider._open


@COMPUTER
@pytest.mark.parametrize("during", ["audit", "close"])
async def test_a_suspension_that_is_cancelled_leaves_no_snapshot(
    desk, provider, monkeypatch, during
):
    episode = await desk.start(0)
    reached, dropped = asyncio.Event(), []
    computer, discard = episode.sandbox, provider.discard
    call = getattr(computer, during)

    async def slow():
        monkeypatch.setattr(computer, during, call)
        reached.set()
        await asyncio.Event().wait()

    async def noted(snapshot):
        dropped.append(snapshot)
        await discard(snapshot)

    monkeypatch.setattr(computer, during, slow)
    monkeypatch.setattr(provider, "discard", noted)
    suspending = asyncio.create_task(suspend(episode))
    await reached.wait()
    suspending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await suspending
    await episode.close()
    assert len(dropped) == 1
    assert not provider._open


@COMPUTER
async def test_nothing_is_left_of_one_that_is_closed_while_it_comes_back(desk, provider):
    episode, start = await desk.start(0), provider.start

    async def closing(recipe, snapshot=None):
        sandbox = await start(recipe, snapshot)
        await episode.close()
        return sandbox

    provider.start = closing
    with pytest.raises(SurfaceError, match="was closed"):
        await suspend(episode)
    assert not provider._open


@COMPUTER
async def test_an_episode_that_is_closed_while_it_comes_back_leaves_no_computer(
    desk, provider, monkeypatch
):
    episode = await desk.start(0)
    start = provider.start

    async def closed_before(recipe, snapshot=None):
        await episode.close()
        return await start(recipe, snapshot)

    monkeypatch.setattr(provider, "start", closed_before)
    with pytest.raises(SurfaceError, match="closed|over"):
        await suspend(episode)
    assert not provider._open


async def test_what_has_no_computer_runs_on(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    task = load_task(write_shop(tmp_path))
    async with Environment(task, NoSandboxProvider(), user="scripted") as environment:
        episode = await environment.start(0)
        await suspend(episode)
        await episode.step(Action("submit"))
        assert not restored(episode.steps)


@COMPUTER
async def test_a_surface_that_cannot_be_saved_keeps_its_computer(desk, monkeypatch):
    async def refuse(self):
        raise UnsupportedError("not now")

    monkeypatch.setattr(ShellSurface, "save", refuse)
    episode = await desk.start(0)
    await episode.step(bash(BACKGROUND))
    await suspend(episode)
    assert (await episode.step(bash(IS_ALIVE))).observation.text.startswith("alive")
    assert not restored(episode.steps)
    await episode.close()


class Held(HeldAgent):
    """Plays actions, and is held before those with the given numbers; None: before every one."""

    def __init__(self, actions, held=None):
        self._actions, self._held, self._at = actions, held, 0

    @property
    def suspends(self):
        return self._held is None or self._at in self._held

    async def start(self, briefing):
        pass

    async def act(self, observation, tools, history):
        self._at += 1
        return Decision(self._actions[len(history)])

    async def close(self):
        pass


@COMPUTER
async def test_what_the_agent_left_so_that_it_cannot_come_back_is_judged(desk, monkeypatch):
    async def broken(self, state):
        raise SurfaceError("no shell starts")

    monkeypatch.setattr(ShellSurface, "load", broken)
    result = await run_episode(desk, Held(SOLUTION), seed=0, store=None, episode_id=None)
    assert (result.verdict.status, result.verdict.outcome) == ("scored", False)
    assert "restored, but not its tools: no shell starts" in result.error


@COMPUTER
async def test_files_from_which_no_sandbox_starts_are_judged(desk, provider):
    actions = [*SOLUTION[:-1], bash("chmod 000 /"), Action("submit")]
    agent = Held(actions, held=[len(actions) - 1])
    result = await run_episode(desk, agent, seed=0, store=None, episode_id=None)
    assert (result.verdict.status, result.steps) == ("scored", len(actions) - 1)
    assert "no computer starts from the files that the agent has left" in result.error
    assert not provider._open


@COMPUTER
async def test_the_audit_of_files_from_which_no_sandbox_starts_is_kept(desk):
    episode = await desk.start(0)
    await episode.step(bash("chmod 000 /"))
    with pytest.raises(SurfaceEndedError):
        await suspend(episode)
    await episode.finish()
    assert episode.audit.surface_calls["shell"] == 1


@COMPUTER
async def test_a_sandbox_that_does_not_start_again_is_missing_data(desk, provider):
    start, started = provider.start, []

    async def once(recipe, snapshot=None):
        started.append(snapshot)
        if len(started) > 1:
            raise SandboxError("the machine is full")
        return await start(recipe, snapshot)

    await desk.prepare(0)
    provider.start = once
    result = await run_episode(desk, Held(SOLUTION), seed=0, store=None, episode_id=None)
    assert result.verdict.status == "error:sandbox"
    assert not provider._open


@pytest.fixture
def store(tmp_path, desk):
    settings = {"tasks": [DESK], "agents": ["me"], "user": "scripted"}
    plan = EpisodePlan(DESK, 0, 0, "me")
    with closing(RunStore.create(tmp_path / "run", settings, [plan])) as store:
        yield store


WATCHED = (bash(BACKGROUND), bash(IS_ALIVE), bash(IS_ALIVE), Action("submit"))


def told(store):
    return [step.observation.text.split()[0] for step in list(store.steps(1))[1:3]]


@COMPUTER
async def test_a_record_of_it_verifies(store, desk, provider):
    await run_episode(desk, Held(WATCHED, held=[2]), seed=0, store=store, episode_id=1)
    assert (told(store), restored(store.steps(1))) == (["alive", "gone"], [2])
    found = await verify_episode(store, 1, provider)
    assert (found.agreement, found.divergence, found.texts) == (Agreement.SAME, None, ())


@COMPUTER
async def test_a_resumed_episode_is_suspended_where_it_was(store, desk, provider):
    reached = asyncio.Event()

    class Interrupted(Held):
        async def act(self, observation, tools, history):
            if len(history) == 3:
                reached.set()
                await asyncio.sleep(60)
            return await super().act(observation, tools, history)

    agent = Interrupted(WATCHED, held=[2])
    playing = asyncio.create_task(
        run_episode(desk, agent, seed=0, store=store, episode_id=1, timeout_s=60)
    )
    await reached.wait()
    playing.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await playing
    assert store.episode(1).state == "running"
    result = await run_episode(desk, Held(WATCHED, held=[]), seed=0, store=store, episode_id=1)
    assert result.verdict.scored and not store.episode(1).log
    assert (told(store), restored(store.steps(1))) == (["alive", "gone"], [2])


@COMPUTER
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (SandboxDiedError("killed from outside"), "error:sandbox"),
        (SurfaceLostError("the browser is gone"), "error:surface"),
        (SandboxEndedError("its limit of memory"), "scored"),
    ],
)
async def test_who_is_to_blame_for_tools_that_do_not_come_back(desk, monkeypatch, error, status):
    async def fail(self, state):
        raise error

    monkeypatch.setattr(ShellSurface, "load", fail)
    result = await run_episode(desk, Held(SOLUTION), seed=0, store=None, episode_id=None)
    assert result.verdict.status == status
