"""A real Ray cluster of three nodes on this machine, of which one is killed during a run."""

from __future__ import annotations

import asyncio
import contextlib
import os
from contextlib import closing
from pathlib import Path

import pytest
from ray_nodes import MARKS, ray_head

from agentgym.cluster.place import ClusterOptions, Place
from agentgym.eval.plan import start_run
from agentgym.eval.remote import evaluate_on_cluster
from agentgym.eval.settings import read_settings

pytestmark = MARKS

AGENT = """
import asyncio
import os
from pathlib import Path

FOLDER = Path({folder!r})


class Slow:
    name = "slow"

    async def act(self, observation, tools, history):
        if not history:
            (FOLDER / str(os.getpid())).touch()
        if len(history) < 3:
            await asyncio.sleep(0.3)
            return {{"tool": "contacts_search", "arguments": {{"text": "an"}}}}
        return {{"tool": "give_up", "arguments": {{"reason": "enough"}}}}
"""


class Nothing:
    """A progress that calls a function after each episode."""

    def __init__(self, ended=lambda: None):
        self._ended = ended

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def plan(self, episodes):
        pass

    def begin(self, episode):
        pass

    def step(self, episode, step):
        pass

    def end(self, episode, verdict, error):
        self._ended()


@pytest.fixture
def cluster():
    with ray_head() as found:
        yield found


def alive(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


async def test_a_killed_node_loses_no_episode_and_doubles_none(cluster, tmp_path, monkeypatch):
    nodes = [cluster.add_node(num_cpus=1, resources={"play": 1}) for _ in range(2)]
    seen = tmp_path / "seen"
    seen.mkdir()
    (tmp_path / "slow.py").write_text(AGENT.format(folder=str(seen)))
    monkeypatch.chdir(tmp_path)
    ended = 0

    def kill_a_node():
        nonlocal ended
        ended += 1
        if ended == 2:  # others are live on both nodes now
            cluster.remove_node(nodes[0], allow_graceful=False)

    asked = {"patterns": ("tools/largest-debtors-v1",), "agents": ("./slow.py:Slow",)}
    asked |= {"trials": 12, "sandbox": "none", "jobs": 4}
    options = ClusterOptions(cluster.address, 2, Place(1.0, resources={"play": 1}))
    with closing(start_run(tmp_path / "run", asked)) as store:
        statistics = await evaluate_on_cluster(
            store, read_settings(store), options, progress=Nothing(kill_a_node)
        )
        rows = store.episodes()
        assert [row.plan.seed for row in rows] == list(range(12))
        assert {row.verdict.status for row in rows} == {"scored"}
        assert {row.steps for row in rows} == {4}
        assert all(len(store.steps(row.id)) == 4 for row in rows)
    assert statistics.lost == 1
    assert statistics.repeated >= 1
    pids = [int(path.name) for path in seen.iterdir()]
    assert len(pids) == 2  # workers in two processes, and nowhere else
    async with asyncio.timeout(60):
        while any(map(alive, pids)):
            await asyncio.sleep(0.1)
