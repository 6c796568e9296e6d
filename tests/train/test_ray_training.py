"""Training on a real Ray cluster of three nodes on this machine, of which one is killed."""

from __future__ import annotations

import asyncio
import io
from contextlib import closing

import pytest
import torch
from offline_runs import CONFIG, REFUND, write_refund
from ray_nodes import MARKS, ray_head
from rich.console import Console

from agentgym.cluster.place import ClusterOptions, Place
from agentgym.record.store import RunStore
from agentgym.train.config import load_config
from agentgym.train.progress import TrainingProgress
from agentgym.train.trainer import open_trainer
from agentgym.train.training_run import TrainingRun

pytestmark = MARKS

TASK = {**REFUND, "task.toml": REFUND["task.toml"].replace("max_steps = 4", "max_steps = 1")}


class Watched(TrainingProgress):
    """Calls a function whenever a group of a batch is ready."""

    def __init__(self, console, iterations, ready=lambda: None):
        super().__init__(console, iterations)
        self._ready, self.notes = ready, []

    def playing(self, what, done, planned):
        if done:
            self._ready()

    def note(self, text):
        self.notes.append(text)


def train(folder, config, ready=lambda: None, cluster=None):
    run = TrainingRun.create(folder, config)
    progress = Watched(Console(file=io.StringIO()), config.iterations, ready)

    async def play():
        with progress:
            async with open_trainer(run, progress, cluster) as trainer:
                return await trainer.train()

    history = asyncio.run(play())
    weights = torch.load(folder / "checkpoint.pt", weights_only=True)["model"]
    return history, weights, progress.notes


@pytest.fixture
def seen(tmp_path):
    """A folder with a file for each process that has started an episode."""
    found = tmp_path / "seen"
    found.mkdir()
    return found


@pytest.fixture
def config(tmp_path, seen, monkeypatch):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    found = load_config(write_refund(tmp_path, TASK, CONFIG))
    service = tmp_path / "envs" / "shop" / "services" / "orders" / "service.py"
    noted = f"import os, pathlib\npathlib.Path({str(seen)!r}, str(os.getpid())).touch()\n"
    service.write_text(service.read_text() + noted)
    rollouts = found.rollouts.model_copy(update={"record": True, "refills": 0})
    return found.model_copy(update={"iterations": 20, "rollouts": rollouts})


def test_a_killed_node_changes_nothing_of_what_is_learnt(config, seen, tmp_path):
    with ray_head() as cluster:
        nodes = [cluster.add_node(num_cpus=1, resources={"play": 1}) for _ in range(2)]

        def kill_a_node():
            if nodes and len(list(seen.iterdir())) == 2:  # both workers play
                cluster.remove_node(nodes.pop(), allow_graceful=False)
                nodes.clear()

        options = ClusterOptions(cluster.address, 2, Place(1.0, resources={"play": 1}))
        history, weights, notes = train(tmp_path / "ray", config, kill_a_node, options)
    _, expected, _ = train(tmp_path / "here", config)
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
    assert any(note.startswith("1 workers were lost") for note in notes), notes
    played = {}
    for name in ("ray", "here"):
        with closing(RunStore.open(tmp_path / name / "rollouts")) as store:
            rows = store.episodes()
        assert all(row.verdict.scored for row in rows)
        played[name] = sorted((int(row.plan.group), row.plan.trial) for row in rows)
    assert played["ray"] == played["here"]
    assert (
        len(set(played["ray"]))
        == len(played["ray"])
        == sum(each["episodes"] for each in history[1:])
    )
