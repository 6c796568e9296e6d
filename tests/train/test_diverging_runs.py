"""Training runs that cannot begin, or cannot go on: they say so, and keep what was learnt."""

from __future__ import annotations

import json
import resource
import socket
import struct
import time

import numpy as np
import pytest
import torch
from offline_runs import REFUND, write_refund
from tensorboardX.proto.event_pb2 import Event
from typer.testing import CliRunner

from agentgym.cli.app import app
from agentgym.errors import AgentError, ConfigError, PolicyError, RecordError
from agentgym.train import event_file
from agentgym.train.checkpoint import CheckpointAgent
from agentgym.train.config import load_config
from agentgym.train.datasets.native import (
    PAIRS,
    SEQUENCES,
    TokenEpisode,
    TokenSet,
    read_tokens,
    write_tokens,
)
from agentgym.train.models.tiny import TinyShape, TinyTransformer
from agentgym.train.offline import Bounds, load_data
from agentgym.train.optimizer import Optimizer
from agentgym.train.samples import EpisodeTokens, TokenSequence
from agentgym.train.sampling.sampler import Dialogue, Sampler
from agentgym.train.training_run import TrainingRun

TASK = {**REFUND, "task.toml": REFUND["task.toml"].replace("max_steps = 4", "max_steps = 1")}
CONFIG = """
schema_version = "agentgym.train/1"
tasks = ["demo/refund-v1"]
sandbox = "none"
iterations = 3
[policy]
width = 16
heads = 2
context = 32
words = ["ada", "ben", "cleo", "dan", "eve"]
[policy.actions]
lamp = { tool = "orders_refund", arguments = { order = 5 } }
chair = { tool = "orders_refund", arguments = { order = 17 } }
desk = { tool = "orders_refund", arguments = { order = 23 } }
[rollouts]
groups = 3
group_size = 4
jobs = 8
refills = 9
[algorithm]
[evaluation]
seeds = [1000]
trials = 1
"""


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Return the configuration of a small run."""
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path / "shop"))
    (tmp_path / "shop").mkdir()
    return write_refund(tmp_path / "shop", TASK, CONFIG)


def play(config, folder, *more):
    """Run the command; returns the error that it ended with."""
    return CliRunner().invoke(app, ["train", str(config), "--out", str(folder), *more]).exception


def change(config, old, new):
    assert old in config.read_text()
    config.write_text(config.read_text().replace(old, new))


# --- learning that diverges -----------------------------------------------------------------------


@pytest.mark.parametrize("gradient", [float("nan"), float("inf"), 1e30])
def test_a_gradient_that_is_no_finite_number_changes_no_weight(gradient):
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = Optimizer([weight], 0.1)
    optimizer.backward((weight * gradient).sum())
    with pytest.raises(ConfigError, match="smaller learning_rate"):
        optimizer.step(1.0)
    assert weight.tolist() == [1.0, 1.0]


def test_a_step_that_leaves_the_numbers_of_a_weight_is_told():
    weight = torch.nn.Parameter(torch.ones(2))
    optimizer = Optimizer([weight], 3e37)
    optimizer.backward((weight * 5).sum())
    with pytest.raises(ConfigError, match="a weight is no finite number"):
        optimizer.step(1.0)


def test_a_run_that_diverges_ends_and_keeps_the_policy_from_before(shop, tmp_path):
    change(shop, "[algorithm]", "[algorithm]\nlearning_rate = 1e9\nentropy = 1e9\nepochs = 9")
    error = play(shop, tmp_path / "run")
    assert isinstance(error, ConfigError)
    assert "choose a smaller learning_rate" in str(error)
    state = TrainingRun.read_checkpoint(tmp_path / "run")
    assert all(bool(torch.isfinite(each).all()) for each in state["model"].values())
    assert state["history"]


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ("algorithm", "learning_rate = 1e10"),
        ("algorithm", "clip_high = 1e308"),
        ("algorithm", "row_tokens = 9_999_999_999"),
        ("algorithm", "row_tokens = 100_000"),
        ("algorithm", "row_tokens = 1"),
        ("rollouts", "temperature = 1e300"),
        ("rollouts", "staleness = 1_000_000"),
        ("rollouts", "largest_group = 1_000_000"),
        ("rollouts", "overprovision = 8.0\nstaleness = 1000\nlargest_group = 4096"),
        ("policy", "layers = 200"),
    ],
)
def test_values_that_no_run_can_have_are_refused_by_name(shop, tmp_path, table, line):
    change(shop, f"[{table}]\n", f"[{table}]\n{line}\n")
    if table == "policy":
        change(shop, "context = 32", "context = 200_000")
        change(shop, "[algorithm]", "[algorithm]\nrow_tokens = 200_000")
    error = play(shop, tmp_path / "run")
    assert isinstance(error, ConfigError)
    assert any(word in str(error) for word in (line.split(" ")[0], "row_tokens", "at once"))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("seeds", ["[-1]", "[1, 1]"])
def test_seeds_that_measure_nothing_are_refused(shop, tmp_path, seeds):
    change(shop, "seeds = [1000]", f"seeds = {seeds}")
    assert "seeds" in str(play(shop, tmp_path / "run"))


def test_a_cache_that_does_not_fit_is_refused(shop, tmp_path):
    text = shop.read_text()
    change(shop, "context = 32", "context = 16_000")
    change(shop, "[algorithm]", "[algorithm]\nrow_tokens = 16_000")
    change(shop, "jobs = 8", "jobs = 4096")
    assert "the cache of 4096 dialogues" in str(play(shop, tmp_path / "run"))
    change(shop, "jobs = 4096", "jobs = 8")
    assert load_config(shop).rollouts.jobs == 8
    # Rows of 16,000 tokens take minutes to learn from.
    shop.write_text(text.replace("iterations = 3", "iterations = 1"))
    assert play(shop, tmp_path / "run") is None
    with pytest.raises(ConfigError, match="the cache of 9999999 dialogues"):
        CheckpointAgent(f"{tmp_path / 'run'}?rows=9999999")


# --- a model that cannot sample -------------------------------------------------------------------


def broken(value):
    model = TinyTransformer(TinyShape(8, width=16, layers=1, heads=2, context=8))
    with torch.no_grad():
        model.norm.weight.fill_(value)
    return model


async def test_logits_that_are_no_numbers_are_no_result_of_the_policy():
    sampler = Sampler(broken(float("nan")))
    with pytest.raises(AgentError, match="no finite numbers") as told:
        await sampler.generate(Dialogue(), [3], limit=2, stop_ids=[])
    assert not isinstance(told.value, PolicyError)


def test_a_run_whose_model_cannot_sample_gives_no_rewards_of_0(shop, tmp_path, monkeypatch):
    def extend(*arguments):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(TinyTransformer, "extend", extend)
    error = play(shop, tmp_path / "run")
    assert isinstance(error, RecordError)
    assert "no episode of a batch has a score" in str(error)
    assert "out of memory" in str(error)


# --- data sets ------------------------------------------------------------------------------------


def sequence(ids, learnt=1):
    mask = [n >= len(ids) - learnt for n in range(len(ids))]
    completions = [0 if each else -1 for each in mask]
    return TokenSequence(list(ids), mask, [0.0] * len(ids), completions)


def data(path, *episodes, schema=SEQUENCES, origin=None, breaks=0):
    origin = origin or {"task": "a", "seed": 0}
    with path.open("wb") as file:
        made = (TokenEpisode(origin, EpisodeTokens(each, breaks, 0)) for each in episodes)
        write_tokens(file, TokenSet(tuple(made), "recorded", schema=schema))
    return path


def test_lengths_that_add_up_past_64_bits_are_refused(tmp_path):
    path = data(tmp_path / "wrapped.npz", (sequence([1, 2, 3]),))
    with np.load(path) as file:
        arrays = dict(file)
    arrays["lengths"] = np.array([2**63 - 1, 2**63 - 1, 2 + 3], np.int64)
    arrays["episodes"] = np.zeros(3, np.int64)
    np.savez(path, **arrays)
    with pytest.raises(RecordError, match="lengths of sequences"):
        read_tokens(path)


@pytest.mark.parametrize("origin", [{"task": "a", "seed": -1}, {"task": "a", "seed": 2**2000}])
def test_odd_seeds_of_a_data_set_are_refused(tmp_path, origin):
    with pytest.raises(RecordError, match="no task or no seed"):
        read_tokens(data(tmp_path / "odd.npz", (sequence([1, 2]),), origin=origin))


@pytest.mark.parametrize(("episode", "breaks"), [((), 0), ((sequence([1]),), "x")])
def test_episodes_without_sequences_or_with_odd_counts_are_refused(tmp_path, episode, breaks):
    with pytest.raises(RecordError, match="no sequence, or odd counts"):
        read_tokens(data(tmp_path / "odd.npz", episode, breaks=breaks))


@pytest.mark.parametrize(
    ("episodes", "why"),
    [
        ([], "nothing to learn from"),
        ([(sequence([1, 2]),), (sequence([1, 2], 0),)], "no token of the episode of 'a' with"),
        ([(sequence([1, 5]),)], "token 5 is not in the policy's vocabulary of 5 tokens"),
    ],
)
def test_data_from_which_nothing_can_be_learnt_are_refused(tmp_path, episodes, why):
    path = data(tmp_path / "set.npz", *episodes)
    with pytest.raises(ConfigError, match=why):
        load_data(str(path), None, Bounds(8, 8), tokens=5, pairs=False)


def test_pairs_need_a_token_in_one_of_their_completions(tmp_path):
    sound = (sequence([1, 2], 0), sequence([1, 3]))
    path = data(tmp_path / "pairs.npz", sound, schema=PAIRS)
    assert len(load_data(str(path), None, Bounds(8, 8), tokens=5, pairs=True).episodes) == 1


# --- runs that cannot begin -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('tasks = ["demo/refund-v1"]', 'tasks = ["demo/nothing"]'),
        ('sandbox = "none"', 'sandbox = "nothing"'),
        ("[algorithm]", '[supervised]\ndata = "./nothing.npz"\n[algorithm]'),
        ("[rollouts]", "[rollouts]\ninstances = 1\nrecord = true"),
    ],
)
def test_a_run_that_cannot_begin_leaves_nothing_so_that_the_next_try_can(shop, tmp_path, old, new):
    text = shop.read_text()
    change(shop, old, new)
    change(shop, "seeds = [1000]", "seeds = [0]")
    assert play(shop, tmp_path / "run") is not None
    assert not (tmp_path / "run").exists()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("mine")
    assert play(shop, tmp_path / "run") is not None
    assert [each.name for each in (tmp_path / "run").iterdir()] == ["notes.txt"]
    shop.write_text(text.replace("iterations = 3", "iterations = 1"))
    assert play(shop, tmp_path / "run") is None


def test_a_run_that_was_begun_stays_when_it_cannot_go_on(shop, tmp_path):
    change(shop, "iterations = 3", "iterations = 1")
    assert play(shop, tmp_path / "run") is None
    checkpoint = tmp_path / "run" / "checkpoint.pt"
    checkpoint.write_bytes(checkpoint.read_bytes()[:100])
    before = sorted(each.name for each in (tmp_path / "run").iterdir())
    assert isinstance(play(shop, tmp_path / "run", "--resume"), RecordError)
    assert sorted(each.name for each in (tmp_path / "run").iterdir()) == before


def test_two_processes_do_not_go_on_with_one_run(shop, tmp_path):
    change(shop, "iterations = 3", "iterations = 1")
    assert play(shop, tmp_path / "run") is None
    first = TrainingRun.resume(tmp_path / "run")
    first.load()
    error = play(shop, tmp_path / "run", "--resume")
    assert isinstance(error, RecordError)
    assert "is being written by process" in str(error)
    first.close()
    assert play(shop, tmp_path / "run", "--resume") is None


def test_figures_that_are_no_numbers_are_written_as_json(shop, tmp_path):
    run = TrainingRun.create(tmp_path / "run", load_config(shop))
    run.note({"iteration": 0, "kl": float("nan"), "loss": float("inf"), "reward": 0.5})
    run.save({"iteration": 0})
    run.close()
    run = TrainingRun.resume(tmp_path / "run")
    run.load()
    run.close()

    def refuse(text):
        raise ValueError(text)

    for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines():
        told = json.loads(line, parse_constant=refuse)
        assert told == {"iteration": 0, "kl": None, "loss": None, "reward": 0.5}


def events(folder):
    """Return the events of all files of TensorBoard, read as the format of TFRecords says."""
    found = []
    for file in sorted((folder / "tensorboard").iterdir()):
        data = file.read_bytes()
        while data:
            (length,) = struct.unpack("<Q", data[:8])
            body, data = data[12 : 12 + length], data[16 + length :]
            found.append(Event.FromString(body))
    return found


def test_figures_are_shown_by_step_and_those_after_the_checkpoint_are_hidden(shop, tmp_path):
    run = TrainingRun.create(tmp_path / "run", load_config(shop))
    for iteration in (0, 1):
        run.note({"iteration": iteration, "reward": 0.5 + iteration, "kl": None})
    run.close()
    shown = [(e.step, v.tag, v.simple_value) for e in events(run.folder) for v in e.summary.value]
    assert shown == [(0, "reward", 0.5), (1, "reward", 1.5)]
    run = TrainingRun.resume(tmp_path / "run")
    run.note({"iteration": 1, "reward": 0.25})
    run.close()
    starts = [e.step for e in events(run.folder) if e.HasField("session_log")]
    assert sorted(starts) == [0, 1]
    masked = struct.unpack("<I", event_file._checksum(b"123456789"))[0]
    crc = (masked - 0xA282EAD8) & 0xFFFFFFFF
    assert ((crc >> 17) | (crc << 15)) & 0xFFFFFFFF == 0xE3069283  # the check value of CRC-32C


def test_names_that_can_be_guessed_lead_nowhere(shop, tmp_path, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 1e9)
    run = TrainingRun.create(tmp_path / "run", load_config(shop))
    (run.folder / "tensorboard").mkdir()
    name = f"events.out.tfevents.1000000000.{socket.gethostname()}"
    (run.folder / "tensorboard" / name).symlink_to(tmp_path / "victim")
    run.note({"iteration": 0, "reward": 0.5})
    run.close()
    assert not (tmp_path / "victim").exists()


def test_a_full_disk_ends_a_run_in_one_line_and_keeps_its_checkpoint(shop, tmp_path, monkeypatch):
    run = TrainingRun.create(tmp_path / "run", load_config(shop))
    run.note({"iteration": 0, "reward": 0.5})
    run.save({"iteration": 0, "model": {"a": torch.zeros(10)}})
    before = (run.folder / "checkpoint.pt").read_bytes()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limit[1]))
    try:
        with pytest.raises(RecordError, match="no checkpoint can be written"):
            run.save({"iteration": 1, "model": {"a": torch.zeros(10_000)}})
        with pytest.raises(RecordError, match="figures cannot be written"):
            for iteration in range(1, 10_000):
                run.note({"iteration": iteration, "reward": 0.5})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    run.close()
    assert (run.folder / "checkpoint.pt").read_bytes() == before
    assert not (run.folder / "checkpoint.pt.part").exists()
