"""The trainer over real sandboxes: it learns, resumes exactly, and refuses what cannot be."""

from __future__ import annotations

import asyncio
import io
import json

import pytest
import torch
from rich.console import Console

from agentgym.errors import ConfigError, RecordError
from agentgym.train.config import Correction, load_config
from agentgym.train.curve import draw_curve
from agentgym.train.engine import Surplus
from agentgym.train.progress import TrainingProgress
from agentgym.train.trainer import open_trainer
from agentgym.train.training_run import TrainingRun

TIMES = {"play_s", "learn_s", "tokens_per_s", "utilisation"}
TASK = {
    "task.toml": """
schema_version = "agentgym.task/1"
id = "tiny/word-v1"
title = "Make a file"
difficulty = "easy"
env = "terminal"
max_steps = 1
[params]
word = { choice = ["red", "green", "blue"] }
name = { choice = ["ada", "ben", "cleo", "dan", "eve"] }
""",
    "instruction.md": "{{name}} asks for the file {{word}} in your home.",
    "solution/solve.sh": 'touch "$HOME/$PARAM_WORD"',
    "checks/rubric.toml": """
schema_version = "agentgym.rubric/1"
[[checkpoint]]
id = "made"
title = "The file is there"
use = "files.exists"
with = { path = "/root/{{word}}", kind = "file" }
""",
}
CONFIG = """
schema_version = "agentgym.train/1"
tasks = ["./word"]
iterations = 3
[policy]
width = 16
context = 32
batch_invariant = true
words = ["ada", "ben", "cleo", "dan", "eve"]
[policy.actions]
red = "touch red"
green = "touch green"
blue = "touch blue"
[rollouts]
groups = 3
group_size = 4
jobs = 8
instances = 60
refills = 3
[evaluation]
every = 2
seeds = [1000, 1001, 1002]
trials = 2
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return a function that gives a configuration with few episodes, with changes."""
    folder = tmp_path_factory.mktemp("small") / "tiny"
    for name, text in TASK.items():
        (folder / "word" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "word" / name).write_text(text.lstrip())
    (folder / "small.toml").write_text(CONFIG)

    def changed(**changes):
        return load_config(folder / "small.toml").model_copy(update=changes)

    return changed


def train(run):
    told = io.StringIO()

    async def play():
        with TrainingProgress(Console(file=told), run.config.iterations) as progress:
            async with open_trainer(run, progress) as trainer:
                return await trainer.train()

    return asyncio.run(play()), told.getvalue()


def untimed(history):
    return [
        {name: value for name, value in metrics.items() if name not in TIMES} for metrics in history
    ]


def weights(folder):
    return torch.load(folder / "checkpoint.pt", weights_only=True)["model"]


@pytest.fixture(scope="module")
def whole(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    history, told = train(TrainingRun.create(folder / "run", small()))
    return folder / "run", history, told


def test_a_run_tells_and_keeps_the_figures_of_each_iteration(whole):
    folder, history, told = whole
    assert [metrics["iteration"] for metrics in history] == [0, 1, 2, 3]
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == history
    assert all("evaluation_pass_rate" in history[n] for n in (0, 2, 3))
    assert "evaluation_pass_rate" not in history[1]
    assert all(metrics["episodes"] >= 12 for metrics in history[1:])
    assert all(metrics["groups"] and metrics["staleness"] == 0 for metrics in history[1:])
    assert "iteration 3/3  reward" in told
    assert list((folder / "tensorboard").iterdir())
    assert "pass rate by iteration" in draw_curve(history)


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(small, whole, tmp_path):
    folder, history, _ = whole
    # The last iteration of a run is always measured, so the two may differ in that only.
    train(TrainingRun.create(tmp_path / "run", small(iterations=1)))
    again = TrainingRun.resume(tmp_path / "run")
    again.config = small()
    resumed, _ = train(again)
    for one, other in zip(untimed(history), untimed(resumed), strict=True):
        assert one == {name: value for name, value in other.items() if name in one}
    mine, theirs = weights(folder), weights(tmp_path / "run")
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_figures_after_the_checkpoint_are_taken_back(whole, tmp_path):
    folder, history, _ = whole
    copy = tmp_path / "run"
    copy.mkdir()
    for name in ("config.json", "metrics.jsonl", "checkpoint.pt"):
        (copy / name).write_bytes((folder / name).read_bytes())
    with (copy / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 4, "rew')
    run = TrainingRun.resume(copy)
    assert train(run)[0] == history
    assert len((copy / "metrics.jsonl").read_text().splitlines()) == 4


def test_rollouts_that_go_on_while_the_policy_learns_stay_within_their_staleness(small, tmp_path):
    config = small()
    rollouts = config.rollouts.model_copy(update={"staleness": 2, "surplus": Surplus.CONTINUE})
    algorithm = config.algorithm.model_copy(update={"correction": Correction.TRUNCATED, "kl": 0.01})
    changes = {"rollouts": rollouts, "algorithm": algorithm, "iterations": 4}
    history, _ = train(TrainingRun.create(tmp_path / "run", small(**changes)))
    found = [metrics["staleness"] for metrics in history if "staleness" in metrics]
    assert len(found) == 4
    assert max(found) <= 2
    assert all(0 < metrics["ess"] <= 1.001 for metrics in history if "ess" in metrics)


def test_a_folder_that_holds_a_run_is_not_written_over(small, whole):
    with pytest.raises(RecordError, match=r"holds a training run; go on with --resume"):
        TrainingRun.create(whole[0], small())


@pytest.mark.parametrize("damage", ["config.json", "checkpoint.pt"])
def test_a_damaged_run_is_refused(whole, tmp_path, damage):
    for name in ("config.json", "checkpoint.pt"):
        (tmp_path / name).write_bytes((whole[0] / name).read_bytes())
    (tmp_path / damage).write_bytes(b"\x80\x02odd")
    with pytest.raises(RecordError, match=damage):
        train(TrainingRun.resume(tmp_path))


def test_a_folder_without_a_run_cannot_be_resumed(tmp_path):
    with pytest.raises(RecordError, match="holds no training run"):
        TrainingRun.resume(tmp_path)


def test_a_policy_is_not_measured_on_what_it_is_trained_on(small, tmp_path):
    evaluation = small().evaluation.model_copy(update={"seeds": tuple(range(60))})
    run = TrainingRun.create(tmp_path / "run", small(evaluation=evaluation))
    with pytest.raises(ConfigError, match="every instance to train on is one of the evaluation's"):
        train(run)


def test_it_learns_what_holds_for_other_instances_and_nothing_from_shuffled_rewards(
    small, tmp_path
):
    """Held-out instances are pairs of a name and a word that training never shows."""
    config = small(iterations=14)
    policy = config.policy.model_copy(update={"width": 32, "batch_invariant": False})
    rollouts = config.rollouts.model_copy(update={"groups": 12, "group_size": 6, "jobs": 24})
    evaluation = config.evaluation.model_copy(update={"trials": 8, "every": 14})
    rates = {}
    for name, shuffled in (("true", False), ("shuffled", True)):
        algorithm = config.algorithm.model_copy(
            update={"shuffle_rewards": shuffled, "learning_rate": 5e-3, "epochs": 4}
        )
        changes = {"policy": policy, "rollouts": rollouts, "algorithm": algorithm}
        wanted = config.model_copy(update={**changes, "evaluation": evaluation})
        history, _ = train(TrainingRun.create(tmp_path / name, wanted))
        rates[name] = [history[0]["evaluation_pass_rate"], history[-1]["evaluation_pass_rate"]]
    untrained, trained = rates["true"]
    assert untrained < 0.4, rates
    assert trained > 0.8, rates
    assert rates["shuffled"][1] < 0.6, rates
