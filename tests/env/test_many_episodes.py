"""Many live episodes in one process: each has its own world, none waits for another's call.

`make test` plays a few at a time, `make test-full` 256.
"""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest
from hybrid_desk import write_desk
from loop_watch import watched

import agentgym
from agentgym.env.environment import Environment
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, Decision
from agentgym.rollout.run import run_episode
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.task.load import find_task

PROBLEMS = BubblewrapProvider().problems()
pytestmark = pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox: {PROBLEMS}")

TASK = {
    "task.toml": """\
schema_version = "agentgym.task/1"
id = "demo/both-v1"
title = "Write the word"
difficulty = "easy"
env = "desk"
""",
    "instruction.md": "Write plum into /root/word.\n",
    "solution/actions.jsonl": '{"tool": "submit", "arguments": {}}\n',
    "checks/rubric.toml": """\
schema_version = "agentgym.rubric/1"

[[checkpoint]]
id = "word"
title = "The word is there"
use = "files.text_equals"
with = { path = "/root/word", text = "plum" }
""",
}
STARTING = 8
"""Episodes that start at a time: a start has a deadline, and machines are busy."""
PROGRAM = "item = shelf_add('{title}')\n[item['title'], open('/root/own').read()]"


def bash(command):
    return Action("bash", {"command": command})


class Player:
    """Takes its own steps, and waits for all other players after the third."""

    def __init__(self, number, barrier):
        self.number, self.barrier = number, barrier

    async def start(self, briefing):
        title = f"item {self.number}"
        word = "plum" if self.passes else "fig"
        self.actions = [
            bash(f"echo {self.number} > /root/own; cat /root/own"),
            Action("shelf_look", {"item": 1}),
            Action("run_python", {"code": PROGRAM.format(title=title)})
            if self.number % 8 == 0
            else Action("shelf_add", {"title": title}),
            bash(f"cat /root/own; echo {word} > /root/word"),
            Action("shelf_list_items", {}),
            Action("submit", {}),
        ]

    async def act(self, observation, tools, history):
        if len(history) == 3:
            await self.barrier.wait()
        return Decision(self.actions[len(history)])

    async def close(self):
        pass

    @property
    def passes(self):
        return self.number % 2 == 0


async def all_wait(barrier, playing):
    """Wait until every player is at the barrier; an episode that ends before is an error."""
    while barrier.n_waiting < len(playing):
        assert not [task for task in playing if task.done()]
        await asyncio.sleep(0.01)


async def play_all(environment, store, count):
    """Play all episodes, one of which dies while all are live; return its number."""
    barrier, starting = asyncio.Barrier(count + 1), asyncio.Semaphore(STARTING)
    real = environment.start

    async def start(seed, **options):
        async with starting:
            return await real(seed, **options)

    environment.start = start
    playing = [
        asyncio.create_task(
            run_episode(
                *(environment, Player(number, barrier)),
                seed=number,
                store=store,
                episode_id=number + 1,
            )
        )
        for number in range(count)
    ]
    await all_wait(barrier, playing)
    assert len(environment.live) == count
    dying = next(iter(environment.live))
    os.kill(await asyncio.to_thread(lambda: dying.sandbox.host_pid), signal.SIGKILL)
    dead = dying.instance.seed
    await barrier.wait()
    await asyncio.gather(*playing)
    return dead


@pytest.mark.parametrize("count", [16, pytest.param(256, marks=pytest.mark.full)])
async def test_every_live_episode_has_its_own_world_and_none_blocks_the_loop(
    tmp_path, monkeypatch, count
):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path / "catalogue"))
    write_desk(tmp_path / "catalogue", TASK)
    plans = [EpisodePlan("demo/both-v1", number, number, "noop") for number in range(count)]
    store = RunStore.create(tmp_path / "run", {}, plans)
    provider = BubblewrapProvider()
    environment = Environment(find_task("demo/both-v1"), provider)
    try:
        # What a process starts once is not looked at.
        first = await environment.start(0)
        await first.step(Action("run_python", {"code": "1"}))
        await first.finish()
        with watched(str(Path(agentgym.__file__).parent), str(tmp_path)) as blocking:
            dead = await play_all(environment, store, count)
        assert not environment.live
        for number, row in enumerate(store.episodes()):
            steps = store.steps(row.id)
            assert row.verdict.scored, row.error
            assert steps[1].observation.image.shape == (4, 6, 3)
            assert steps[0].observation.text.strip() == str(number)
            if number == dead:
                assert len(steps) == 4 and not row.verdict.outcome
                continue
            assert row.verdict.outcome is (number % 2 == 0)
            assert steps[3].observation.text.strip() == str(number)
            titles = [item["title"] for item in steps[4].observation.data["result"]]
            assert titles == ["amber", "cedar", "lilac", f"item {number}"]
            if number % 8 == 0:
                assert steps[2].observation.data["value"] == [f"item {number}", f"{number}\n"]
        assert not blocking, "\n".join(sorted(set(blocking)))
    finally:
        await environment.close()
        await provider.close()
        store.close()


async def test_a_blocking_call_on_the_loop_is_found(tmp_path):
    with watched(__file__) as blocking:
        time.sleep(0)
        (tmp_path / "file").write_bytes(b"seen")
        await asyncio.to_thread((tmp_path / "file").read_bytes)
        await asyncio.sleep(0)
    assert [line.partition(":")[0].rpartition(".")[2] for line in blocking] == ["sleep", "open"]
