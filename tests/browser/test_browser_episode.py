"""Episodes through a browser, from a task folder to the verdict and the record."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import signal

import numpy as np
import pytest
from guest_site import APP, INDEX, write_site
from PIL import Image

import agentgym
from agentgym.agents.noop import NoopAgent
from agentgym.agents.oracle import OracleAgent
from agentgym.agents.registry import create
from agentgym.browser.har import to_har
from agentgym.browser.pool import browser_pool
from agentgym.cli.replay import _write_pictures
from agentgym.env.environment import Environment
from agentgym.errors import ConfigError, UnsupportedError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, Decision
from agentgym.rollout.replay import Verification, verify_episode
from agentgym.rollout.run import run_episode
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.task.load import find_task
from agentgym.task.reference_policy import View

ENV = """\
schema_version = "agentgym.env/1"
title = "An inn"
services = "inn"
sites = ["inn/guests"]
surfaces = ["browser"]

[surface.browser]
screenshot = false
"""
SCHEMA = "CREATE TABLE book_entry (id INTEGER PRIMARY KEY, who TEXT NOT NULL, text TEXT NOT NULL);"
SERVICES = '''\
from agentgym.services import Service, reads, writes


class Book(Service):
    """A book of guests."""

    def fill(self, rng):
        for who in ("Ann", "Bo", "Cy"):
            self.db.insert("book_entry", who=who, text="I was here.")

    @reads
    def count(self) -> int:
        """Count the entries."""
        return self.db.value("SELECT count(*) FROM book_entry")

    @writes
    def sign(self, who: str, text: str = "") -> int:
        """Sign the book.

        Args:
            who: Name.
            text: What to say.
        """
        return self.db.insert("book_entry", who=who, text=text)
'''
TASK = """\
schema_version = "agentgym.task/1"
id = "inn/sign-v1"
title = "Sign the book"
difficulty = "easy"
env = "inn"
max_steps = 20
"""
RUBRIC = """\
schema_version = "agentgym.rubric/1"

[[checkpoint]]
id = "signed"
title = "Dora has signed"
use = "services.count"
with = { table = "book_entry", where = { who = "Dora" }, at_least = 1, at_most = 1 }
"""
POLICY = """\
def solve(view):
    yield view.act("type", ref=view.find("textbox", "Name")["ref"], text="Dora")
    yield view.act("click", ref=view.find("button", "Sign")["ref"])
"""


@pytest.fixture
def inn(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    monkeypatch.delenv("AGENTGYM_USER", raising=False)
    folder, task = tmp_path / "envs" / "inn", tmp_path / "tasks" / "inn" / "sign"
    write_site(folder / "sites" / "guests", app_py=APP, templates__index_html=INDEX)
    (folder / "services" / "book").mkdir(parents=True)
    (task / "checks").mkdir(parents=True)
    (task / "solution").mkdir()
    (task / "solution" / "policy.py").write_text(POLICY)
    (folder / "env.toml").write_text(ENV)
    (folder / "services" / "book" / "service.py").write_text(SERVICES)
    (folder / "services" / "book" / "schema.sql").write_text(SCHEMA)
    (task / "task.toml").write_text(TASK)
    (task / "instruction.md").write_text("Sign the book as Dora.\n")
    (task / "checks" / "rubric.toml").write_text(RUBRIC)
    return tmp_path


@pytest.fixture
async def environment(inn):
    provider = NoSandboxProvider()
    environment = Environment(find_task("inn/sign-v1"), provider)
    yield environment
    await environment.close()


@pytest.fixture
async def store(environment, tmp_path):
    plan = EpisodePlan("inn/sign-v1", seed=0, trial=0, agent="oracle")
    run = RunStore.create(tmp_path / "run", {}, [plan])
    result = await run_episode(environment, create("oracle"), seed=0, store=run, episode_id=1)
    assert result.verdict.status == "scored", (result, run.steps(1))
    yield run
    run.close()


async def test_an_episode_is_played_through_the_browser_and_judged_by_the_state(store):
    assert store.episode(1).verdict.score == 1.0
    typed, clicked, _ = store.steps(1)
    assert 'textbox "Name" value="Dora" required focused' in typed.observation.text
    assert "last: navigated" in clicked.observation.text
    assert "of 4" in clicked.observation.text and "Thank you." in clicked.observation.text


async def test_a_recorded_episode_happens_again_with_the_same_references(store):
    assert await verify_episode(store, 1, NoSandboxProvider()) == Verification()


async def test_episodes_of_one_process_share_a_browser_and_nothing_else(environment):
    began = browser_pool().started
    first, second = await environment.start(1), await environment.start(1)
    for episode in (first, second):
        view = View("", episode.first)
        field, button = view.find("textbox", "Name")["ref"], view.find("button", "Sign")["ref"]
        await episode.step({"tool": "type", "arguments": {"ref": field, "text": "Dora"}})
        moved = await episode.step({"tool": "click", "arguments": {"ref": button}})
        assert "1\u20132 of 4" in moved.observation.text
        await episode.close()
    assert browser_pool().started <= max(began, 1)


async def test_the_requests_of_an_episode_are_recorded_and_written_as_a_har(store, tmp_path):
    requests = store.episode(1).audit.requests
    changing = [request for request in requests if request.mutating]
    assert [(r.method, r.status, r.location, r.step) for r in changing] == [("POST", 303, "/", 2)]
    log = to_har(requests)["log"]
    assert log["version"] == "1.2" and len(log["entries"]) == len(requests)
    (posted,) = [entry for entry in log["entries"] if entry["_mutating"]]
    assert posted["request"]["url"] == "http://guests.example/sign"
    assert posted["response"]["redirectURL"] == "/" and posted["pageref"] == "step-2"


def kill_browsers():
    for pid in browser_pool().processes():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


class Killer(NoopAgent):
    """Ends the browser under the episode and then acts."""

    async def act(self, observation, tools, history):
        kill_browsers()
        return Decision(Action("reload", {}))


async def test_an_episode_whose_browser_is_killed_has_no_score_and_can_be_run_again(environment):
    killed = await run_episode(environment, Killer(), seed=0, store=None, episode_id=None)
    assert killed.verdict.status == "error:surface" and "browser" in killed.error
    again = await run_episode(environment, create("oracle"), seed=0, store=None, episode_id=None)
    assert again.verdict.score == 1.0


async def sign(episode, name):
    seen = episode.steps[-1].observation if episode.steps else episode.first
    view = View("", seen)
    field, button = view.find("textbox", "Name")["ref"], view.find("button", "Sign")["ref"]
    await episode.step({"tool": "type", "arguments": {"ref": field, "text": name}})
    return await episode.step({"tool": "click", "arguments": {"ref": button}})


async def test_a_page_that_cannot_be_restored_is_reached_by_the_same_actions(environment):
    episode = await environment.start(1)
    # The thanks are shown once: no address brings them back.
    assert "Thank you." in (await sign(episode, "Dora")).observation.text
    fork = await episode.fork()
    assert (fork.parent, fork.forked_at, len(fork.steps)) == (episode, 2, 2)
    assert fork.backend.hash == episode.backend.hash
    waited = [await each.step({"tool": "wait", "arguments": {}}) for each in (episode, fork)]
    assert "Thank you." in waited[0].observation.text
    assert waited[0].observation.text == waited[1].observation.text
    # Both have asked for one entry, each in its own world; the fork goes on alone.
    for each in (episode, fork):
        requests = (await each._parts.audit()).requests
        assert [one.step for one in requests if one.mutating] == [2]
    await sign(fork, "Eve")
    counts = [each.backend.call("book_count", {}).result for each in (episode, fork)]
    assert counts == [4, 5]
    verdict = (await fork.step({"tool": "submit", "arguments": {}})).verdict
    assert verdict.score == 1.0
    await episode.close()


async def test_actions_that_lead_elsewhere_are_no_fork(environment, monkeypatch):
    episode = await environment.start(1)
    await sign(episode, "Dora")
    # A world that is not the same again: its record has another observation.
    other = dataclasses.replace(episode.steps[0].observation, text="title: Elsewhere")
    episode.steps[0] = dataclasses.replace(episode.steps[0], observation=other)
    live = len(environment.live)
    with pytest.raises(UnsupportedError, match="step 0 differs: 'title: Elsewhere' became 'url: "):
        await episode.fork()
    assert len(environment.live) == live
    await episode.close()


class Unlucky(OracleAgent):
    """Acts like the oracle, and the browser ends under its first episodes."""

    ends = 1

    async def act(self, observation, tools, history):
        if history and Unlucky.ends:
            Unlucky.ends -= 1
            kill_browsers()
        return await super().act(observation, tools, history)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("ends", "score"), [(1, 1.0), (2, 0.0)])
def test_an_evaluation_plays_an_episode_again_whose_browser_was_killed(
    inn, tmp_path, monkeypatch, ends, score
):
    monkeypatch.setattr(Unlucky, "ends", ends)
    out = tmp_path / "again"
    (episode,) = agentgym.evaluate(
        "inn/sign-v1", Unlucky, out=out, sandbox="local", progress=False
    ).episodes
    assert (episode.score, Unlucky.ends) == (score, 0)
    with contextlib.closing(RunStore.open(out)) as run:
        row = run.episode(1)
        # The tabs may be seen to close before the connection does.
        lost = r"played again: the browser (has ended during the episode|context has lost its tabs)"
        assert re.search(lost, row.log)
        assert [step.decision.action.tool for step in run.steps(1)][:1] == ["type"]
        assert row.verdict.status == "scored"
        assert score or "no other episode used it" in run.steps(1)[-1].observation.text


async def test_what_an_episode_saw_is_written_as_pictures(inn, tmp_path):
    (inn / "envs/inn/env.toml").write_text(ENV.replace("screenshot = false", "width = 320"))
    plan = EpisodePlan("inn/sign-v1", seed=0, trial=0, agent="oracle")
    async with Environment(find_task("inn/sign-v1"), NoSandboxProvider()) as environment:
        with contextlib.closing(RunStore.create(tmp_path / "run", {}, [plan])) as run:
            await run_episode(environment, create("oracle"), seed=0, store=run, episode_id=1)
            row, steps = run.episode(1), run.steps(1)
            assert _write_pictures(row, steps, tmp_path / "seen") == 3
            assert steps[1].observation.image is not None
            shown = {path.name: path for path in (tmp_path / "seen").iterdir()}
            assert sorted(shown) == ["000.png", "001.png", "first.png"]
            with Image.open(shown["001.png"]) as picture:
                assert (np.asarray(picture) == steps[1].observation.image).all()
                assert picture.width == 320
            with pytest.raises(ConfigError, match="no pictures"):
                _write_pictures(dataclasses.replace(row, first=None), (), tmp_path / "none")
