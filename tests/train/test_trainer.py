"""The trainer over real sandboxes: it learns, resumes exactly, and refuses what cannot be."""

from __future__ import annotations

import asyncio
import io
import json
import re
from pathlib import Path

import pytest
import torch
from offline_runs import REFUND, write_refund
from rich.console import Console
from typer.testing import CliRunner

from agentgym.cli.app import app
from agentgym.cluster.place import ClusterOptions
from agentgym.errors import ConfigError, RecordError
from agentgym.record.store import RunStore
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.train.config import Correction, load_config
from agentgym.train.curve import draw_curve
from agentgym.train.engine import GOES_ON, HELD, Surplus
from agentgym.train.loading import load_policy
from agentgym.train.players import LocalPlayer, open_environments
from agentgym.train.progress import TrainingProgress
from agentgym.train.rollouts import Assignment
from agentgym.train.trainer import open_trainer
from agentgym.train.training_run import TrainingRun

TIMES = {"play_s", "learn_s", "tokens_per_s", "utilisation"}
TASK = {**REFUND, "task.toml": REFUND["task.toml"].replace("max_steps = 4", "max_steps = 1")}
CONFIG = """
schema_version = "agentgym.train/1"
tasks = ["demo/refund-v1"]
sandbox = "none"
iterations = 3
[policy]
width = 32
context = 32
batch_invariant = true
words = ["ada", "ben", "cleo", "dan", "eve"]
[policy.actions]
lamp = { tool = "orders_refund", arguments = { order = 5 } }
chair = { tool = "orders_refund", arguments = { order = 17 } }
desk = { tool = "orders_refund", arguments = { order = 23 } }
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
    folder = tmp_path_factory.mktemp("shop")
    path = write_refund(folder, TASK, CONFIG)

    def changed(**changes):
        return load_config(path).model_copy(update=changes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTGYM_PATH", str(folder))
        yield changed


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


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ("ls", "lamp: no tool named 'bash'"),
        ({"tool": "orders_refnd"}, "lamp: no tool named 'orders_refnd'; did you mean"),
        ({"tool": "orders_refund", "arguments": {"ordr": 5}}, "lamp: tool 'orders_refund': .*ordr"),
    ],
)
def test_an_action_that_no_task_offers_is_refused(action, told, small, tmp_path):
    config = small()
    named = config.policy.model_dump() | {"actions": {"lamp": action}}
    config = config.model_copy(update={"policy": type(config.policy).model_validate(named)})
    with pytest.raises(ConfigError, match=f"policy.actions.{told}"):
        train(TrainingRun.create(tmp_path / "run", config))


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


@pytest.mark.parametrize("surplus", GOES_ON)
def test_rollouts_that_go_on_while_the_policy_learns_stay_within_their_staleness(
    small, tmp_path, surplus
):
    config = small()
    more = {"staleness": 2, "overprovision": 2.0, "surplus": surplus}
    rollouts = config.rollouts.model_copy(update=more)
    algorithm = config.algorithm.model_copy(update={"correction": Correction.TRUNCATED, "kl": 0.01})
    changes = {"rollouts": rollouts, "algorithm": algorithm, "iterations": 4}
    history, _ = train(TrainingRun.create(tmp_path / "run", small(**changes)))
    found = [metrics["staleness"] for metrics in history if "staleness" in metrics]
    assert found
    assert max(found) <= 2
    assert all(0 < metrics["ess"] <= 1.001 for metrics in history if "ess" in metrics)


def test_a_policy_waits_while_its_player_holds_it_and_one_that_measures_does_not(small):
    async def run():
        config = small()
        loaded = load_policy(config.policy, seed=0)
        async with open_environments(config) as environments:
            player = LocalPlayer(config, loaded, environments, None)
            await player.update(0, lambda: None)
            task = config.tasks[0]
            player.hold()
            learning = asyncio.create_task(player.group(Assignment(0, task, 0, 2)))
            measured = await player.measure(Assignment(1, task, 0, 2))
            held = not learning.done()
            player.go_on()
            learnt = await learning
            await player.close()
            return held, measured, learnt

    held, measured, learnt = asyncio.run(run())
    assert held
    assert len(measured.trajectories) == len(learnt.trajectories) == 2


@pytest.mark.skipif(bool(BubblewrapProvider().problems()), reason="no bubblewrap sandbox")
@pytest.mark.parametrize("surplus", HELD)
def test_episodes_that_wait_keep_their_sandboxes_or_snapshots_of_them(surplus):
    terminal = load_config(Path(__file__).parents[2] / "examples" / "tiny-terminal.toml")
    rollouts = terminal.rollouts.model_copy(update={"staleness": 1, "surplus": surplus})

    async def run():
        config = terminal.model_copy(update={"rollouts": rollouts})
        loaded = load_policy(config.policy, seed=0)
        async with open_environments(config) as environments:
            environment = environments[config.tasks[0]]
            player = LocalPlayer(config, loaded, environments, None)
            await player.update(0, lambda: None)
            player.hold()
            playing = asyncio.create_task(player.group(Assignment(0, config.tasks[0], 0, 2)))
            while len(environment.live) < 2:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.5)
            running = len(environment.provider._open)
            player.go_on()
            learnt = await playing
            await player.close()
            return running, len(environment.provider._open), learnt

    running, after, learnt = asyncio.run(run())
    assert running == (2 if surplus is Surplus.PAUSE else 0)
    assert after == 0
    assert len(learnt.trajectories) == 2


@pytest.mark.parametrize("surplus", HELD)
def test_workers_cannot_let_episodes_wait(small, tmp_path, surplus):
    rollouts = small().rollouts.model_copy(update={"staleness": 1, "surplus": surplus})
    run = TrainingRun.create(tmp_path / "run", small(rollouts=rollouts))
    told = TrainingProgress(Console(file=io.StringIO()), 1)

    async def begin():
        async with open_trainer(run, told, ClusterOptions("local", 1)):
            pass

    with pytest.raises(ConfigError, match=f'"{surplus}" needs episodes in this process'):
        asyncio.run(begin())


def test_recorded_episodes_hold_their_groups_and_tokens_and_replay(small, tmp_path):
    rollouts = small().rollouts.model_copy(update={"record": True})
    run = TrainingRun.create(tmp_path / "run", small(rollouts=rollouts, iterations=1))
    history, _ = train(run)
    store = RunStore.open(tmp_path / "run" / "rollouts")
    try:
        rows = store.episodes()
        assert len(rows) == history[1]["episodes"]
        assert {row.plan.group for row in rows} == {str(n) for n in range(len(rows) // 4)}
        assert sum(row.verdict.score for row in rows) / len(rows) == pytest.approx(
            history[1]["reward"], abs=1e-6
        )
        (step,) = store.steps(next(row.id for row in rows if row.steps))
        tokens = step.decision.generations[0].tokens
        assert len(tokens.logprobs) == len(tokens.completion_ids) == 1
    finally:
        store.close()
    shown = CliRunner().invoke(app, ["replay", str(tmp_path / "run" / "rollouts"), "1"])
    assert shown.exit_code == 0, shown.output
    assert "sent the" in shown.output
    told = CliRunner().invoke(app, ["report", str(tmp_path / "run" / "rollouts")])
    assert told.exit_code == 0, told.output
    assert "policy" in told.output


def test_a_trained_policy_plays_as_an_agent(whole, tmp_path):
    folder = whole[0]
    for number in range(2):  # Its draws are repeated.
        agent = f"checkpoint:{folder}?temperature=0.5"
        told = ["--agent", agent, "--trials", "4", "--sandbox", "none", "--out"]
        done = CliRunner().invoke(app, ["eval", "demo/refund-v1", *told, f"{tmp_path}/{number}"])
        assert done.exit_code == 0, done.output + done.stderr
    played = []
    for number in range(2):
        store = RunStore.open(tmp_path / str(number))
        try:
            rows = store.episodes()
            steps = [store.steps(row.id) for row in rows]
        finally:
            store.close()
        assert all(row.verdict.scored for row in rows)
        played.append(
            [
                (row.plan.seed, [step.action for step in each])
                for row, each in zip(rows, steps, strict=True)
            ]
        )
    assert played[0] == played[1]
    assert any(actions for _, actions in played[0])


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


def test_the_fields_of_a_damaged_configuration_are_named_on_one_line(whole, tmp_path):
    config = json.loads((whole[0] / "config.json").read_text())
    config["rollouts"]["jobs"] = "many"
    (tmp_path / "config.json").write_text(json.dumps(config | {"x": 1}))
    told = r"damaged: rollouts.jobs: expected an integer, got 'many'; x: unknown field 'x'; [^\n]*$"
    with pytest.raises(RecordError, match=told):
        TrainingRun.resume(tmp_path)


def test_a_folder_without_a_run_cannot_be_resumed(tmp_path):
    with pytest.raises(RecordError, match="holds no training run"):
        TrainingRun.resume(tmp_path)


def test_a_policy_is_not_measured_on_what_it_is_trained_on(small, tmp_path):
    evaluation = small().evaluation.model_copy(update={"seeds": tuple(range(60))})
    run = TrainingRun.create(tmp_path / "run", small(evaluation=evaluation))
    with pytest.raises(ConfigError, match="every instance to train on is one of the evaluation's"):
        train(run)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shuffled", "iterations"), [(False, 12), pytest.param(True, 8, marks=pytest.mark.full)]
)
def test_it_learns_what_holds_for_other_instances_and_nothing_from_shuffled_rewards(
    small, tmp_path, shuffled, iterations
):
    """Held-out instances are pairs of a name and a thing that training never shows."""
    config = small()
    policy = config.policy.model_copy(update={"batch_invariant": False})
    rollouts = config.rollouts.model_copy(
        update={"groups": 6, "group_size": 8, "jobs": 24, "refills": 1}
    )
    evaluation = config.evaluation.model_copy(update={"trials": 8, "every": iterations})
    algorithm = config.algorithm.model_copy(
        update={
            "shuffle_rewards": shuffled,
            "learning_rate": 0.01,
            "entropy": 0.05,
            "epochs": 4,
        }
    )
    changes = {"policy": policy, "rollouts": rollouts, "algorithm": algorithm}
    changes |= {"iterations": iterations, "evaluation": evaluation}
    wanted = config.model_copy(update=changes)
    history, _ = train(TrainingRun.create(tmp_path / "run", wanted))
    rates = [metrics["evaluation_pass_rate"] for metrics in (history[0], history[-1])]
    assert rates[0] < 0.3, rates
    # After eight iterations of the true rewards about two thirds pass.
    assert rates[1] < 0.5 if shuffled else rates[1] > 0.65, rates


def test_the_page_names_every_figure_and_its_configuration_loads(whole, tmp_path):
    page = (Path(__file__).parents[2] / "docs/training.md").read_text()
    block, stages = re.findall(r"^```toml\n(.*?)^```", page, re.M | re.S)
    (tmp_path / "page.toml").write_text(block + stages)
    config = load_config(tmp_path / "page.toml")
    assert config.supervised.data == str(tmp_path / "sft.npz")
    assert config.tasks == (str(tmp_path / "tiny-terminal/two-level"),)
    figures = {name for metrics in whole[1] for name in metrics}
    plain = {"iteration", "episodes", "tokens", "play_s", "learn_s", "evaluation_missing"}
    named = {name for name in figures - plain if "/" not in name}
    assert all(f"`{name}`" in page for name in named), named


def test_the_example_is_sound(tmp_path):
    config = load_config(Path(__file__).parents[2] / "examples/tiny-terminal.toml")
    assert all(Path(task, "task.toml").is_file() for task in config.tasks)
    assert config.evaluated == config.tasks[1:]
