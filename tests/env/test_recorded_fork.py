"""The fork of a recorded episode is an episode of the same run: read, verified and judged alike."""

from __future__ import annotations

import asyncio
from contextlib import closing

import jsonschema
import pytest
from hybrid_desk import SOLUTION, write_desk
from living_tasks import RELAY, write_living
from shop_task import write_shop

import agentgym
from agentgym.env.environment import Environment
from agentgym.env.execution import Execution
from agentgym.env.outcome import Ending
from agentgym.env.portal import portal
from agentgym.env.recording import EpisodeRecording
from agentgym.errors import RecordError, SandboxDiedError
from agentgym.eval.plan import resume_run, start_run
from agentgym.eval.report import write_report
from agentgym.eval.results import build_results
from agentgym.gymnasium import registration
from agentgym.record import read_steps
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import (
    Action,
    CheckpointResult,
    CheckStatus,
    Decision,
    Generation,
    Phase,
    TokenTrace,
    Verdict,
)
from agentgym.rollout.regrade import Fate, regrade_episode
from agentgym.rollout.replay import Agreement, verify_episode
from agentgym.rollout.run import run_episode
from agentgym.rollout.trust import Named
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.task.load import find_task, load_task
from agentgym.task.reference_actions import oracle

PROBLEMS = BubblewrapProvider().problems()
COMPUTER = pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox: {PROBLEMS}")
TASK = "demo/refund-v1"
SUBMIT = Action("submit")


def say(text="Which order?"):
    return Action("message_user", {"text": text})


@pytest.fixture
def catalogue(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    for name in ("AGENTGYM_USER", "AGENTGYM_JUDGE"):
        monkeypatch.delenv(name, raising=False)
    write_shop(tmp_path)
    return tmp_path


@pytest.fixture
def store(tmp_path, catalogue):
    plan = EpisodePlan(TASK, 0, 0, "me", "g1", {"epoch": 2})
    settings = {"tasks": [TASK], "agents": ["me"], "user": "scripted"}
    with closing(RunStore.create(tmp_path / "run", settings, [plan])) as store:
        yield store


@pytest.fixture
async def shop(catalogue):
    environment = Environment(find_task(TASK), NoSandboxProvider(), user="scripted")
    async with environment:
        yield environment


async def begin(environment, store, episode_id=1):
    """Return a live episode with a player, and its record."""
    episode = await environment.start(0)
    return episode, await EpisodeRecording.begin(store, episode_id, episode)


def actions(store, episode_id):
    return [(one.index, one.action) for one in store.steps(episode_id)]


def own_rows(store):
    query = "SELECT episode, COUNT(*) AS n FROM steps GROUP BY episode"
    return {row["episode"]: row["n"] for row in store._database.rows(query)}


# --- what is recorded ----------------------------------------------------------------------


async def test_a_fork_is_an_episode_with_the_steps_of_its_parent(shop, store):
    parent, recording = await begin(shop, store)
    solution = oracle(parent.instance)
    await parent.step(solution[0])
    child = await parent.fork()
    for action in solution[1:]:
        verdict = (await child.step(action)).verdict
    grandchild_of_parent = await parent.fork()
    await parent.step(SUBMIT)
    await recording.finish(Ending(Verdict("scored", False, 0.0)), duration_s=1.0)
    row = store.episode(2)
    assert (row.plan, row.parent, row.forked) == (store.episode(1).plan, (1, 1), True)
    assert (row.state, row.verdict, row.steps) == ("done", verdict, len(solution))
    assert [action for _, action in actions(store, 2)] == list(solution)
    assert own_rows(store) == {1: 2, 2: len(solution) - 1}
    assert store.episode(3).state == "running"
    await grandchild_of_parent.close()
    last = store.episode(3)
    assert (last.verdict.status, last.error, last.steps) == (
        "error:abandoned",
        "closed before its end",
        1,
    )


async def test_a_fork_of_a_fork_and_a_fork_that_finishes_at_once(shop, store):
    parent, _ = await begin(shop, store)
    await parent.step(say())
    child = await parent.fork()
    await child.step(say("Why?"))
    again = await child.fork()
    same = await again.fork()
    await again.step(say("Thanks"))
    verdict = await same.finish()
    await again.finish()
    await child.finish()
    assert [store.episode(id).parent for id in (2, 3, 4)] == [(1, 1), (2, 2), (3, 2)]
    assert (store.episode(4).verdict, store.episode(4).steps) == (verdict, 2)
    assert own_rows(store) == {1: 1, 2: 1, 3: 1}
    assert actions(store, 4) == actions(store, 2) == actions(store, 3)[:2]
    assert (store.forks(4), store.forks(3)) == ((1, 2, 2), (1, 2))


async def test_a_fork_waits_for_the_step_and_has_it(shop, store):
    parent, recording = await begin(shop, store)
    stepping = asyncio.create_task(parent.step(say()))
    await asyncio.sleep(0)
    child = await parent.fork()
    assert stepping.done() and child.forked_at == 1
    # The player has not recorded its step yet; the fork needs it on file.
    assert actions(store, 2) == [(0, say())]
    await recording.take_steps()
    assert own_rows(store) == {1: 1}


async def test_sixty_four_leaves_hold_the_trunk_once(shop, store):
    leaf, _ = await begin(shop, store)
    for text in ("Which order?", "Why?", "Anything else?"):
        await leaf.step(say(text))
    leaves = [leaf]
    while len(leaves) < 64:
        leaves += await asyncio.gather(*(one.fork() for one in leaves))
    await asyncio.gather(*(one.step(say(f"leaf {n}")) for n, one in enumerate(leaves)))
    await asyncio.gather(*(one.finish() for one in leaves[1:]))
    rows = store.episodes()
    assert len(rows) == 64 and all(row.steps == 4 for row in rows[1:])
    assert sum(own_rows(store).values()) == 3 + 63
    texts = {store.steps(row.id)[3].action.arguments["text"] for row in rows[1:]}
    assert len(texts) == 63
    assert len({store.history.trajectory(row.id) for row in rows[1:]}) == 63


async def test_tokens_of_a_fork_build_on_those_of_its_parent(shop, store):
    parent, recording = await begin(shop, store)
    ids = list(range(400))

    def decide(number):
        tokens = TokenTrace([*ids, *range(number)], [number])
        return Decision(say(f"{number}"), generations=(Generation(tokens),))

    await parent.step(decide(0))
    await recording.take_steps()
    child = await parent.fork()
    await child.step(decide(1))
    await child.close()
    blobs = sum(
        path.stat().st_size for path in (store.folder / "blobs").rglob("*") if path.is_file()
    )
    assert blobs < 2 * 4 * len(ids)
    found = [step.decision.generations for row, step in read_steps(store.folder) if row.id == 2]
    assert found == [decide(0).generations, decide(1).generations]


# --- what is done with it ------------------------------------------------------------------


async def test_a_fork_is_verified_and_judged_again(shop, store):
    parent, _ = await begin(shop, store)
    solution = oracle(parent.instance)
    await parent.step(solution[0])
    child = await parent.fork()
    for action in solution[1:]:
        await child.step(action)
    await parent.close()
    provider = NoSandboxProvider()
    assert (await verify_episode(store, 2, provider)).agreement is Agreement.SAME
    for rerun in (False, True):
        judged = await regrade_episode(store, store.episode(2), provider, force=True, rerun=rerun)
        assert (judged.fate, judged.reason) == (Fate.REPLACED, "")
        assert judged.new.score == judged.old.score == 1.0


async def test_no_number_counts_a_fork_and_all_are_listed(shop, store):
    parent, recording = await begin(shop, store)
    solution = oracle(parent.instance)
    children = [await parent.fork() for _ in range(2)]
    for action in solution:
        await children[0].step(action)
    await children[1].step(say())
    await children[1].close()
    verdict = (await parent.step(SUBMIT)).verdict
    await recording.finish(Ending(verdict), duration_s=1.0)
    results = build_results(store)
    summary = results["summary"]["me"]
    assert (summary["episodes"], summary["mean_score"], summary["k"]) == (1, verdict.score, 1)
    assert summary["mean_score_bounds"] == [verdict.score] * 2 and verdict.score < 1
    assert (summary["steps"], results["complete"]) == (1, True)
    (task,) = results["tasks"]
    assert [episode["id"] for episode in task["episodes"]] == [1]
    told = [(b["id"], b["parent"], b["parent_step"], b["forked"]) for b in task["branches"]]
    assert told == [(2, 1, 0, True), (3, 1, 0, True)]
    assert [b["score"] for b in task["branches"]] == [1.0, None]
    assert task["branches"][0]["group"] == "g1"
    jsonschema.validate(task["branches"], {"type": "array", "minItems": 2})
    write_report(store, store.folder / "report.html")
    page = (store.folder / "report.html").read_text()
    assert page.count("fork of episode 1 after 0 steps, not counted") == 2
    assert page.count("Episode 1, seed") == 1


# --- what goes wrong -----------------------------------------------------------------------


async def test_a_fork_that_breaks_is_recorded_by_its_boundary(shop, store, monkeypatch):
    parent, _ = await begin(shop, store)
    child = await parent.fork()

    async def dies(*_):
        raise SandboxDiedError("the supervisor is gone")

    with monkeypatch.context() as patch:
        patch.setattr(Execution, "act", dies)
        with pytest.raises(SandboxDiedError):
            await child.step(say())
    await child.close()
    row = store.episode(2)
    assert (row.verdict.status, row.error, row.steps) == (
        "error:sandbox",
        "the supervisor is gone",
        0,
    )
    broken = await parent.fork()
    node = CheckpointResult("rows", Phase.OUTCOME, CheckStatus.ERROR, 0.0, 1.0, "KeyError: x")

    async def judge(*_, **__):
        return Verdict("error:verifier", False, 0.0, checkpoints=(node,))

    monkeypatch.setattr(broken, "_judge", judge)
    await broken.step(SUBMIT)
    row = store.episode(3)
    assert (row.verdict.status, row.error) == (
        "error:verifier",
        "checkpoint 'rows': KeyError: x",
    )


async def test_a_fork_that_cannot_be_recorded_is_closed(shop, store, monkeypatch):
    parent, _ = await begin(shop, store)

    def full(*_, **__):
        raise RecordError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(store, "add", full)
        with pytest.raises(RecordError, match="disk is full"):
            await parent.fork()
    assert shop.live == {parent}
    child = await parent.fork()
    with monkeypatch.context() as patch:
        patch.setattr(child.recording._recorder, "pack", full)
        with pytest.raises(RecordError, match="disk is full"):
            await child.step(say())
    await child.close()
    assert store.episode(2).error == "its record could not be written: the disk is full"


async def test_a_run_that_was_closed_before_its_forks_stays_as_it_is(shop, store):
    parent, _ = await begin(shop, store)
    child = await parent.fork()
    store.close()
    await child.close()
    with closing(RunStore.open(store.folder)) as kept:
        assert kept.episode(2).state == "running"


class Forking:
    """An agent that forks the episode that it plays, as a test can."""

    def __init__(self, environment):
        self.environment = environment

    async def start(self, briefing):
        pass

    async def act(self, observation, tools, history):
        if len(history) == 2:
            return Decision(SUBMIT)
        (playing,) = [episode for episode in self.environment.live if episode.parent is None]
        await playing.fork()
        return Decision(say(f"{len(history)}"))

    async def close(self):
        pass


async def test_forks_in_a_run_of_eval_and_its_resume(shop, tmp_path):
    asked = {"patterns": (TASK,), "agents": ("noop",), "trials": 1}
    with closing(start_run(tmp_path / "eval", asked)) as store:
        await run_episode(shop, Forking(shop), seed=0, store=store, episode_id=1)
        await shop.close()
        rows = store.episodes()
        assert [(row.parent, row.verdict.status) for row in rows] == [
            (None, "scored"),
            ((1, 0), "error:abandoned"),
            ((1, 1), "error:abandoned"),
        ]
        assert build_results(store)["summary"]["noop"]["episodes"] == 1
        # As a process leaves it that was killed while a fork was live:
        left = store.add(rows[0].plan, (1, 1), shared=1, forked=True)
        store.begin(left, params={}, instruction="", sandbox="none", reset_s=0.0, first=None)
    with closing(resume_run(tmp_path / "eval", {})) as store:
        row = store.episode(left)
        assert (row.verdict.status, row.steps) == ("error:abandoned", 1)
        assert store.episode(1).verdict == rows[0].verdict


# --- the Gymnasium class -------------------------------------------------------------------


def test_the_fork_of_a_gymnasium_environment_is_recorded(catalogue, tmp_path):
    registration.shared_provider.cache_clear()
    env = agentgym.make(TASK, record=tmp_path / "gym")
    env.reset(seed=3, options={"group": "g1"})
    env.step({"tool": "message_user", "arguments": {"text": "Which order?"}})
    home, episode = portal(), env.unwrapped.episode
    children = [home.run(episode.fork()) for _ in range(2)]
    home.run(children[0].step(SUBMIT))
    *_, info = env.step({"tool": "submit", "arguments": {}})
    env.close()
    registration.shared_provider.cache_clear()
    with closing(RunStore.open(tmp_path / "gym")) as store:
        first, second, third = store.episodes()
        assert first.verdict.state_hash == info["verdict"]["state_hash"]
        assert second.verdict == first.verdict and second.parent == (1, 1)
        assert (second.plan.group, third.verdict.status) == ("g1", "error:abandoned")
        assert actions(store, 2) == actions(store, 1)


# --- with a computer -----------------------------------------------------------------------


@pytest.fixture
async def provider():
    provider = BubblewrapProvider()
    yield provider
    await provider.close()


def bash(command):
    return Action("bash", {"command": command})


def started(folder, task, agent="me"):
    settings = {"tasks": [task], "agents": [agent]}
    return closing(RunStore.create(folder, settings, [EpisodePlan(task, 0, 0, agent)]))


@COMPUTER
async def test_what_a_fork_loses_is_lost_in_its_re_execution_too(catalogue, tmp_path, provider):
    """A fork has no background processes and no unexported variables; times are masked."""
    write_desk(tmp_path)
    with started(tmp_path / "desk-run", "demo/both-v1") as store:
        async with Environment(find_task("demo/both-v1"), provider) as environment:
            parent, _ = await begin(environment, store)
            await parent.step(bash("date +%s.%N > /srv/when; cat /srv/when; word=kept"))
            await parent.step(bash("sleep 1000 & echo begun"))
            child = await parent.fork()
            seen = (await child.step(bash('echo "<$word>"; pgrep -c sleep'))).observation.text
            assert seen.startswith("<>\n0")
            await child.step(bash("rm /srv/when; mkdir /srv/when; touch /srv/when/x"))
            child = await child.fork()
            await child.step(bash("rm -r /srv/when; date +%s.%N > /srv/when"))
            vast = await child.fork()
            await vast.step(bash("truncate -s 300M /srv/hole"))
            await vast.finish()
            for action in SOLUTION:
                verdict = (await child.step(action)).verdict
        assert verdict.score == 1.0
        assert "forks made several of them" in store.endings.find(4).unkept
        found = await verify_episode(store, 3, provider)
        assert (found.divergence, found.texts, found.files) == (None, (), ("/srv/when",))
        # Its files are in three layers above those of the setup.
        judged = await regrade_episode(store, store.episode(3), provider, force=True)
        assert (judged.fate, judged.reason) == (Fate.REPLACED, "")
        assert judged.new.state_hash == judged.old.state_hash


@COMPUTER
async def test_forks_at_every_step_with_events_faults_and_milestones(
    tmp_path, monkeypatch, provider
):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    folder = write_living(tmp_path, "relay", RELAY)
    task = load_task(folder)
    with started(tmp_path / "run", str(folder)) as store:
        async with Environment(task, provider) as environment:
            parent, recording = await begin(environment, store)
            solution, children = oracle(task.instance(0)), []
            for action in solution:
                children.append(await parent.fork())
                verdict = (await parent.step(action)).verdict
            await recording.finish(Ending(verdict), duration_s=1.0)
            for number, child in enumerate(children):
                for action in solution[number:]:
                    await child.step(action)
        first, *others = store.episodes()
        for row in others:
            assert row.verdict == first.verdict
            assert actions(store, row.id) == actions(store, 1)
            assert [s.events for s in store.steps(row.id)] == [s.events for s in store.steps(1)]
        found = await verify_episode(store, 3, provider, named=Named(tasks=(str(folder),)))
        assert found.agreement is Agreement.SAME, found.first
