"""Training runs of strangers: going on with one reaches nothing outside its folder."""

from __future__ import annotations

import asyncio
import copy
import os
import time
from types import SimpleNamespace

import pytest
import torch
from typer.testing import CliRunner

from agentgym.cli.app import app
from agentgym.errors import ConfigError, RecordError, TaskError
from agentgym.train.checkpoint import CheckpointAgent
from agentgym.train.config import TrainConfig, load_config
from agentgym.train.curve import draw_curve
from agentgym.train.loading import load_policy
from agentgym.train.trainer import Trainer
from agentgym.train.training_run import TrainingRun

CONFIG = TrainConfig.model_validate_json(
    '{"schema_version": "agentgym.train/1", "tasks": ["demo/refund-v1"], "sandbox": "none",'
    '"policy": {"actions": {"a": "ls"}}, "evaluation": {"seeds": [1]}}'
)


@pytest.fixture
def folder(tmp_path):
    """Return the folder of a run with a checkpoint."""
    run = TrainingRun.create(tmp_path / "run", CONFIG)
    run.note({"iteration": 0, "reward": 0.5})
    run.save({"iteration": 0, "model": {"a": torch.zeros(2)}})
    run.close()
    return run.folder


def go_on(folder):
    run = TrainingRun.resume(folder)
    try:
        run.load()
        run.note({"iteration": 1, "reward": 0.5})
        run.save({"iteration": 1, "model": {}})
    finally:
        run.close()


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "name", ["config.json", "metrics.jsonl", "checkpoint.pt", "checkpoint.pt.part"]
)
@pytest.mark.parametrize("kind", ["link", "hard", "fifo"])
def test_files_that_lead_elsewhere_stay_as_they_are(folder, tmp_path, name, kind):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    place = folder / name
    if place.exists():
        victim.write_bytes(place.read_bytes())
        place.unlink()
    before = victim.read_bytes()
    if kind == "link":
        place.symlink_to(victim)
    elif kind == "hard":
        place.hardlink_to(victim)
    else:
        os.mkfifo(place)
    try:
        go_on(folder)
    except RecordError as error:
        assert name in str(error)
    assert victim.read_bytes() == before


def test_a_folder_of_figures_that_leads_elsewhere_gets_none(folder, tmp_path):
    victim = tmp_path / "victim"
    victim.mkdir()
    (folder / "tensorboard").rename(tmp_path / "moved")
    (folder / "tensorboard").symlink_to(victim)
    with pytest.raises(RecordError, match="tensorboard is a symbolic link"):
        go_on(folder)
    assert list(victim.iterdir()) == []


class Saved:
    """Stands for a model of transformers, and for its tokenizer."""

    def save_pretrained(self, folder):
        folder.mkdir(exist_ok=True)
        (folder / "weights").write_text("new")


@pytest.mark.parametrize("name", ["policy", "policy.part", "policy.old"])
def test_a_model_is_saved_where_no_link_leads(tmp_path, name):
    pytest.importorskip("transformers")
    from agentgym.train.models.loading import save_pretrained

    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "weights").write_text("precious")
    (tmp_path / name).symlink_to(victim)
    loaded = SimpleNamespace(
        model=SimpleNamespace(inner=Saved()), tokenizer=Saved(), processor=None
    )
    for _ in range(2):
        save_pretrained(tmp_path / "policy", loaded)
    assert (victim / "weights").read_text() == "precious"
    assert (tmp_path / "policy" / "weights").read_text() == "new"
    assert sorted(os.listdir(tmp_path)) == ["policy", "victim"]


@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_a_new_run_does_not_follow_what_is_there(tmp_path, kind):
    victim = tmp_path / "victim"
    (tmp_path / "run").mkdir()
    if kind == "link":
        (tmp_path / "run" / "config.json").symlink_to(victim)
    else:
        os.mkfifo(tmp_path / "run" / "config.json")
    with pytest.raises(RecordError, match=r"config\.json"):
        TrainingRun.create(tmp_path / "run", CONFIG)
    assert not victim.exists()


class Idle:
    """A player that plays nothing."""

    async def update(self, version, learn):
        return learn()


def begin(run):
    """Go on from the checkpoint of a run."""
    loaded = load_policy(CONFIG.policy, seed=0)
    task = SimpleNamespace(instance=lambda seed: SimpleNamespace(params=seed))
    trainer = Trainer(run, None, loaded, Idle(), dict.fromkeys(CONFIG.tasks, task))
    asyncio.run(trainer.begin())
    return trainer


@pytest.fixture
def state(folder):
    """Return a sound checkpoint, which a test changes."""
    trainer = begin(TrainingRun.create(folder.parent / "other", CONFIG))
    groups = [[5, "demo/refund-v1", 3, 8]]
    return {
        "iteration": 1,
        "model": trainer._loaded.module.state_dict(),
        "learner": trainer._learner.state_dict(),
        "engine": {**trainer._engine.state_dict(), "pending": groups},
        "history": [{"iteration": 0, "pass_rate": None, "kl": float("nan"), "groups": 3}],
    }


def wide(count, dtype=torch.float32):
    """Return many numbers that take the place of one."""
    return torch.zeros(1, dtype=dtype).expand(count)


ODD = {
    "history": [
        wide(10**5),
        "abc",
        [{"iteration": torch.zeros(3)}],
        [{"reward": 1.0}],
        [{"iteration": "\x1b[31m", "pass_rate": "\x1b[31m"}],
        [{"iteration": 0, "pass_rate": 2**600}],
        [{"iteration": 0, "x" * 100_000: 1.0}],
        [dict.fromkeys([f"x{n}" for n in range(2_000)], 1.0) | {"iteration": 0}] * 1_000,
    ],
    "iteration": ["5", None, -1, 2**70],
    "model": [None, [1], wide(10**9), {"embedding.weight": wide(10**10)}],
    "learner": [None, [], {"optimizer": None}],
    "engine": [None, [], {"version": 0}],
    "engine.version": ["x", None, -1],
    "engine.next": ["x", 2.5],
    "engine.counters": [{"admitted": "a"}, {3: 3}, None],
    "engine.pending": [[[1, 2]], [[0, "else", 1, 8]], [[0, "demo/refund-v1", 1, 10**9]], None],
    "engine.curriculum": [{"counts": [["demo/refund-v1", 0, float("nan"), -5.0]]}, []],
    "learner.optimizer": [None, {"adam": [], "schedule": None, "copies": None}],
}
CASES = [(name, value) for name, values in ODD.items() for value in values]
IDS = [f"{name}-{number}" for number, (name, _) in enumerate(CASES)]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("name", "value"), CASES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CASES)]
)
def test_an_odd_checkpoint_is_refused(folder, state, name, value):
    *outer, last = name.split(".")
    place = state
    for part in outer:
        place = place[part]
    place[last] = value
    torch.save(state, folder / "checkpoint.pt")
    began_s = time.process_time()
    with pytest.raises(RecordError, match=r"checkpoint"):
        begin(TrainingRun.resume(folder))
    assert time.process_time() - began_s < 10


def test_moments_that_do_not_fit_their_weights_are_refused(folder, state):
    moments = {"step": torch.tensor(1.0), "exp_avg": wide(10**11, torch.half)}
    sound = {**moments, "exp_avg": torch.zeros_like(state["model"]["embedding.weight"])}
    for moment in (sound, moments):
        changed = copy.deepcopy(state)
        changed["learner"]["optimizer"]["adam"]["state"] = {0: moment}
        torch.save(changed, folder / "checkpoint.pt")
        if moment is sound:
            begin(TrainingRun.resume(folder))
            continue
        with pytest.raises(RecordError, match="moments of a weight have another shape"):
            begin(TrainingRun.resume(folder))


def test_a_sound_checkpoint_is_gone_on_from(folder, state):
    torch.save(state, folder / "checkpoint.pt")
    run = TrainingRun.resume(folder)
    assert begin(run).iteration == 1
    assert run.history[0]["groups"] == 3
    for rate in (None, float("nan"), 0.5):
        draw_curve([{"iteration": 0, "pass_rate": rate}])


@pytest.mark.parametrize("model", [None, [1], {"a": 1}, {"embedding.weight": wide(10**10)}])
def test_an_agent_of_an_odd_checkpoint_is_refused(folder, state, model):
    torch.save({**state, "model": model}, folder / "checkpoint.pt")
    agent = CheckpointAgent(str(folder))
    with pytest.raises(ConfigError, match="no policy of this run"):
        asyncio.run(agent.start(None))


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ({"tasks": ("/elsewhere/tasks/theft",)}, "the task folder /elsewhere/tasks/theft"),
        ({"sandbox": "local"}, "sandbox 'local', which isolates nothing"),
    ],
)
def test_a_record_does_not_choose_what_runs_with_your_rights(tmp_path, named, why):
    config = CONFIG.model_copy(update={"sandbox": "bubblewrap", **named})
    TrainingRun.create(tmp_path / "run", config)
    result = CliRunner().invoke(app, ["train", "--out", str(tmp_path / "run"), "--resume"])
    assert isinstance(result.exception, ConfigError)
    assert why in str(result.exception)
    assert "agentgym train CONFIG --out" in str(result.exception)


def test_a_configuration_vouches_for_the_tasks_and_the_sandbox_of_a_run(tmp_path):
    config = tmp_path / "mine.toml"
    text = (
        'schema_version = "agentgym.train/1"\ntasks = ["./none"]\nsandbox = "local"\n'
        '[policy.actions]\na = "ls"\n[evaluation]\nseeds = [1]\n'
    )
    config.write_text(text)
    run = TrainingRun.create(tmp_path / "run", load_config(config))

    def go_on_with(text):
        config.write_text(text)
        words = ["train", str(config), "--out", str(run.folder), "--resume"]
        return CliRunner().invoke(app, words).exception

    assert isinstance(go_on_with(text), TaskError)  # It goes on, and looks for its task.
    for old, new, why in (
        ("./none", "./other", "the task folder"),
        ("local", "bubblewrap", "isolates nothing"),
    ):
        error = go_on_with(text.replace(old, new))
        assert isinstance(error, ConfigError)
        assert why in str(error)


@pytest.mark.parametrize(
    ("table", "line", "why"),
    [
        ("rollouts", "band = [0.8, 0.2]", "rollouts: band: expected two ascending rates"),
        ("rollouts", "band = [-1.0, 2.0]", "rollouts: band: expected two ascending rates"),
        ("rollouts", "jobs = 1_000_000_000", "rollouts.jobs: expected less than or equal to"),
        ("rollouts", "instances = 1_000_000_000", "rollouts.instances: expected less than"),
        ("policy", "heads = 3", "width: expected a multiple of 6"),
        ("policy", "words = ['a b']", "expected single words, got 'a b'"),
        ("policy.actions", "'' = 'ls'", "expected single words, got ''"),
    ],
)
def test_odd_values_of_a_configuration_are_refused_by_name(tmp_path, table, line, why):
    text = """schema_version = "agentgym.train/1"
tasks = ["terminal/git-repair-v1"]
[rollouts]
[policy]
[policy.actions]
a = "ls"
[evaluation]
seeds = [1]
""".replace(f"[{table}]\n", f"[{table}]\n{line}\n")
    (tmp_path / "odd.toml").write_text(text)
    with pytest.raises(ConfigError) as refused:
        load_config(tmp_path / "odd.toml")
    assert why in str(refused.value)


def test_a_configuration_is_read_through_no_link(tmp_path):
    secret, folder = tmp_path / "secret", tmp_path / "run"
    secret.write_text("a secret")
    folder.mkdir()
    (folder / "config.json").symlink_to(secret)
    with pytest.raises(RecordError) as raised:
        TrainingRun.resume(folder)
    assert "a secret" not in str(raised.value)


def test_of_two_processes_that_begin_in_one_folder_one_is_refused_and_harms_nothing(
    tmp_path, monkeypatch
):
    folder, replace, refused = tmp_path / "run", TrainingRun._replace, []

    def while_another_begins(self, name, text):
        if not refused:
            with pytest.raises(RecordError) as caught:
                TrainingRun.create(folder, CONFIG)
            refused.append(str(caught.value))
        replace(self, name, text)

    monkeypatch.setattr(TrainingRun, "_replace", while_another_begins)
    run = TrainingRun.create(folder, CONFIG)
    assert "is being written by process" in refused[0]
    run.load()
    assert {path.name for path in folder.iterdir()} == {"config.json", "metrics.jsonl", "run.lock"}
    run.close()


def test_a_run_that_another_process_goes_on_with_is_not_abandoned(tmp_path):
    run = TrainingRun.create(tmp_path / "run", CONFIG)
    run.close()  # as where a trainer cannot begin
    other = TrainingRun.resume(run.folder)
    other.load()
    run.abandon()
    other.close()
    assert (run.folder / "config.json").exists()
