"""Training runs of strangers: going on with one reaches nothing outside its folder."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
import torch

from agentgym.errors import RecordError
from agentgym.train.config import TrainConfig
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
    loaded = SimpleNamespace(model=SimpleNamespace(inner=Saved()), tokenizer=Saved())
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
