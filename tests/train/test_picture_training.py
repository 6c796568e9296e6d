"""`agentgym train` with a small Qwen2-VL, which learns which colour a lamp in a picture has."""

from __future__ import annotations

import asyncio
import importlib.util
import io
import json
import re

import pytest

pytest.importorskip("torch", reason="training")
if importlib.util.find_spec("transformers") is None:
    pytest.skip("a vision-language model needs transformers", allow_module_level=True)

import torch
from lamp_task import write_gallery
from near_workers import near_player
from picture_models import Spelling, make_picture_model, make_picture_tokenizer, make_processor
from rich.console import Console
from small_models import TEXTS, call_text
from typer.testing import CliRunner

from agentgym.cli.app import app
from agentgym.env.environment import Environment
from agentgym.env.opening import load_built
from agentgym.record.store import RunStore
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.train.config import load_config
from agentgym.train.logits import token_statistics
from agentgym.train.models.huggingface import HuggingFaceModel
from agentgym.train.models.picture_families import open_pictures
from agentgym.train.packing import pack
from agentgym.train.policy import TokenPolicy
from agentgym.train.progress import TrainingProgress
from agentgym.train.rollouts import Assignment, Rollouts
from agentgym.train.samples import read_sequence
from agentgym.train.templates.pictures import PictureTemplate
from agentgym.train.trainer import Trainer, open_trainer
from agentgym.train.training_run import TrainingRun

LOOKS = [call_text("hermes", "lamps_look", {"lamp": lamp}) for lamp in (0, 1)]
PICKS = [call_text("hermes", "lamps_pick", {"colour": colour}) for colour in ("red", "blue")]
PICK_OF = {"red": (30, 90), "blue": (120, 60)}


async def shown_to(tokenizer, model, template):
    """Play every look with every pick; return the tokens that a policy would have read."""
    plays = [(look, pick) for look in LOOKS for pick in PICKS]

    def policy(assignment, name):
        sampler = Spelling(tokenizer, *plays[int(name)], whole=True)
        return TokenPolicy(sampler, template, limit=40, pictures=model.pictures)

    async with Environment(load_built("demo/lamp-v1"), NoSandboxProvider()) as environment:
        rollouts = Rollouts({"t": environment}, policy, jobs=1)
        group = await rollouts.group(Assignment(1, "t", 0, len(plays)))
    assert not group.missing
    assert sorted(each.reward for each in group.trajectories) == [0.0, 0.0, 1.0, 1.0]
    return [each.tokens.sequences[0] for each in group.trajectories]


def teach(folder):
    """Write a model that looks at one of two lamps, and picks one of two colours."""
    tokenizer = make_picture_tokenizer("qwen2_vl", (*TEXTS, *[*LOOKS, *PICKS] * 20), size=700)
    inner = make_picture_model("qwen2_vl", tokenizer, scale=1.0)
    processor = make_processor("qwen2_vl")
    table = open_pictures(inner, processor, "small")
    model = HuggingFaceModel(inner, context=2000, pictures=table)
    template = PictureTemplate(tokenizer, table.placeholder, table.count)
    sequences = asyncio.run(shown_to(tokenizer, model, template))
    read = [read_sequence(each, table) for each in sequences]
    packed = pack([each.ids for each in read], max(len(each.ids) for each in read))
    mask = torch.tensor([own for each in sequences for own in each.mask])[1:]
    told = torch.tensor([token for each in sequences for token in each.ids])[1:]
    optimizer = torch.optim.Adam(inner.parameters(), lr=1e-2)
    for _ in range(60):
        logits = packed.unpacked(model(packed.ids, packed.positions, packed.segments))[:-1]
        own, _ = token_statistics(logits[mask], told[mask], 1.0)
        optimizer.zero_grad()
        (-own.mean()).backward()
        optimizer.step()
    inner.generation_config.eos_token_id = tokenizer.eos_token_id
    for each in (inner, tokenizer, processor):
        each.save_pretrained(folder)


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gallery")
    config = write_gallery(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTGYM_PATH", str(folder))
        teach(folder / "model")
        yield config


def run(*arguments):
    found = CliRunner().invoke(app, [str(each) for each in arguments])
    assert found.exit_code == 0, found.output + found.stderr
    return found


@pytest.fixture(scope="module")
def trained(example):
    folder = example.parent / "run"
    run("train", example, "--out", folder)
    return folder


def metrics(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_it_trains_on_what_it_saw(trained):
    lines = metrics(trained)
    assert [line["iteration"] for line in lines] == [0, 1, 2]
    for line in lines[1:]:
        assert line["groups"] > 0, lines
        assert line["missing"] == line["breaks"] == 0
        assert 0 < line["pass_rate"] < 1
        assert line["gradient_norm"] > 0
        # What is learnt from has the log-probabilities that were sampled.
        assert line["ess"] > 0.99
    assert abs(lines[1]["kl"]) < 1e-6
    with RunStoreOf(trained / "rollouts") as store:
        played = [store.steps(row.id) for row in store.episodes() if row.steps == 2]
    looked = [steps for steps in played if steps[0].observation.image is not None]
    assert looked
    for first, second in looked:
        assert first.observation.image.shape[1::-1] in PICK_OF.values()
        ids = second.decision.generations[0].tokens.prompt_ids
        assert ids.max() < 800  # The record has plain placeholders.


class RunStoreOf:
    def __init__(self, folder):
        self._store = RunStore.open(folder)

    def __enter__(self):
        return self._store

    def __exit__(self, *told):
        self._store.close()


def test_a_run_goes_on_and_what_was_trained_plays(example, trained, tmp_path):
    config = json.loads((trained / "config.json").read_text())
    config["iterations"] = 3
    (trained / "config.json").write_text(json.dumps(config))
    run("train", example, "--resume", "--out", trained)
    assert [line["iteration"] for line in metrics(trained)] == [0, 1, 2, 3]
    assert (trained / "policy/preprocessor_config.json").is_file()
    options = "device=cpu&context=2000&completion_tokens=40"
    for number, agent in enumerate((f"{trained}?device=cpu", f"{trained / 'policy'}?{options}")):
        out = tmp_path / str(number)
        told = ("--sandbox", "none", "--trials", "3", "--out", out)
        run("eval", "demo/lamp-v1", "--agent", f"checkpoint:{agent}", *told)
        with RunStoreOf(out) as store:
            rows = store.episodes()
            assert len(rows) == 3 and all(row.verdict.scored for row in rows)
            assert any(
                step.observation.image is not None for row in rows for step in store.steps(row.id)
            )


@pytest.mark.parametrize("shuffled", [False, True])
def test_pictures_of_workers_are_learnt_from_as_those_of_one_process(example, tmp_path, shuffled):
    """Each worker has a table of its own, with other numbers for the same pictures."""
    config = load_config(example).model_copy(update={"iterations": 1})

    def spoil(played):
        if shuffled:
            for each in played.part.trajectories:
                for sequence in each.tokens.sequences:
                    sequence.pictures.clear()
        return played

    async def near():
        ran = TrainingRun.create(tmp_path / "near", config)
        with TrainingProgress(Console(file=io.StringIO()), 1) as progress:
            async with near_player(ran, spoil=spoil) as (player, _, loaded, tasks):
                trainer = Trainer(ran, progress, loaded, player, tasks)
                await trainer.begin()
                try:
                    await trainer.train()
                finally:
                    await trainer.close()

    async def here():
        ran = TrainingRun.create(tmp_path / "here", config)
        with TrainingProgress(Console(file=io.StringIO()), 1) as progress:
            async with open_trainer(ran, progress) as trainer:
                await trainer.train()

    if shuffled:
        with pytest.raises(Exception, match=re.escape("0 pictures need 0 placeholders")):
            asyncio.run(near())
        return
    asyncio.run(near())
    asyncio.run(here())
    mine, theirs = (
        torch.load(tmp_path / name / "checkpoint.pt", weights_only=True)["model"]
        for name in ("here", "near")
    )
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
