"""Learning from data sets: the preference loss, supervised fine-tuning, and the warm start."""

from __future__ import annotations

import asyncio
import io
import json
import math
import random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from offline_runs import play, write_refund
from rich.console import Console
from typer.testing import CliRunner

from agentgym.cli.app import app
from agentgym.errors import ConfigError, RecordError
from agentgym.train.config import load_config
from agentgym.train.datasets.native import (
    PAIRS,
    TokenEpisode,
    TokenSet,
    read_tokens,
    write_tokens,
)
from agentgym.train.losses import dpo
from agentgym.train.models.tiny import TinyShape, TinyTransformer
from agentgym.train.offline import (
    Bounds,
    fit_preferences,
    fit_supervised,
    token_logprobs,
)
from agentgym.train.progress import TrainingProgress
from agentgym.train.samples import EpisodeTokens, TokenSequence
from agentgym.train.stages import PreferenceConfig, SupervisedConfig
from agentgym.train.trainer import open_trainer
from agentgym.train.training_run import TrainingRun

logprob = st.floats(-8, 0)
BOUNDS = Bounds(context=64, row_tokens=64)


def slow_dpo(chosen, rejected, held_chosen, held_rejected, beta, smoothing):
    """Return the loss of a pair and its derivative by the chosen log-probability."""
    h = beta * (math.log(math.exp(chosen - held_chosen) / math.exp(rejected - held_rejected)))
    right, wrong = 1 / (1 + math.exp(-h)), 1 / (1 + math.exp(h))
    loss = -(1 - smoothing) * math.log(right) - smoothing * math.log(wrong)
    return h, loss, beta * (right - (1 - smoothing))


@settings(max_examples=40)
@given(
    drawn=st.lists(st.tuples(*[logprob] * 4), min_size=1, max_size=8),
    beta=st.floats(0.01, 2),
    smoothing=st.floats(0, 0.4),
)
def test_dpo_and_its_gradient_follow_the_formula(drawn, beta, smoothing):
    columns = [torch.tensor(each, dtype=torch.float64) for each in zip(*drawn, strict=True)]
    for column in columns:
        column.requires_grad_()
    loss = dpo(*columns, beta=beta, smoothing=smoothing)
    loss.values.sum().backward()
    wanted = [slow_dpo(*each, beta, smoothing) for each in drawn]
    assert loss.margins.tolist() == pytest.approx([w[0] for w in wanted], abs=1e-9)
    assert loss.values.tolist() == pytest.approx([w[1] for w in wanted], rel=1e-7)
    assert columns[0].grad.tolist() == pytest.approx([w[2] for w in wanted], abs=1e-9)
    assert columns[1].grad.tolist() == pytest.approx([-w[2] for w in wanted], abs=1e-9)
    assert columns[2].grad is None and columns[3].grad is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: dpo(*torch.zeros(4, 2), beta=0.0),
        lambda: dpo(*torch.zeros(4, 2), smoothing=0.5),
        lambda: dpo(torch.zeros(3), *torch.zeros(3, 2)),
        lambda: dpo(*torch.zeros(4, 2, 2)),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(ValueError, match=r"expected|shapes differ"):
        call()


# --- a tiny policy -------------------------------------------------------------------------


def tiny():
    torch.manual_seed(0)
    return TinyTransformer(TinyShape(20, width=32, heads=2, context=64))


def sequence(prompt, completion):
    count = len(completion)
    return TokenSequence(
        [*prompt, *completion],
        [False] * len(prompt) + [True] * count,
        [math.nan] * (len(prompt) + count),
        [-1] * len(prompt) + [0] * count,
    )


def episode(*sequences):
    return TokenEpisode({"task": "x", "seed": 0}, EpisodeTokens(sequences, 0, None))


@torch.no_grad()
def slow_logprob(model, one):
    """Return the log-probability of the trained tokens, computed one prefix at a time."""
    total = 0.0
    for place, counts in enumerate(one.mask):
        if counts:
            ids = torch.tensor([one.ids[:place]])
            where = torch.arange(place)[None]
            logits = model(ids, where, torch.zeros_like(ids))[0, -1]
            total += float(logits.log_softmax(-1)[one.ids[place]])
    return total


@pytest.mark.parametrize("stage", ["supervised", "preference"])
def test_no_more_rows_are_computed_at_once_than_configured(stage):
    draws, shuffled = random.Random(1), []

    def drawn():
        words = [draws.randrange(20) for _ in range(draws.randrange(10, 30))]
        return sequence(words, [draws.randrange(20)] * 3)

    data = [episode(drawn(), drawn()) for _ in range(7)]
    for rows in (1, 3, 1_000):
        model, seen = tiny(), []
        model.register_forward_pre_hook(lambda _, given, seen=seen: seen.append(len(given[0])))
        bounds = Bounds(context=64, row_tokens=64, rows=rows)
        if stage == "supervised":
            config = SupervisedConfig(data="x", epochs=2, batch=5)
            shuffled.append(fit_supervised(model, data, config, bounds, seed=0))
        else:
            config = PreferenceConfig(data="x", epochs=2, batch=5)
            shuffled.append(fit_preferences(model, data, config, bounds, seed=0))
        assert max(seen) <= rows
    # The updates are the same, whatever the rows.
    for other in shuffled[1:]:
        assert other == pytest.approx(shuffled[0], abs=2e-3)


def test_packed_log_probabilities_are_those_of_each_sequence_alone():
    model, draws = tiny(), random.Random(0)
    sequences = [
        sequence([draws.randrange(20) for _ in range(n)], [draws.randrange(20)] * 2)
        for n in (1, 5, 3, 9)
    ]
    with torch.no_grad():
        found = token_logprobs(model, sequences, BOUNDS)
        start = 0
        for one in sequences:
            mine = found[start : start + len(one.ids)]
            kept = float(mine[torch.tensor(one.mask)].sum())
            assert kept == pytest.approx(slow_logprob(model, one), rel=1e-4)
            start += len(one.ids)


def test_supervised_data_raise_the_likelihood_of_held_in_completions():
    episodes = [episode(sequence([1, n, 2], [10 + n % 3])) for n in range(3, 9)]
    model, control = tiny(), tiny()
    config = SupervisedConfig(data="x", epochs=30, batch=3, learning_rate=0.01)
    figures = fit_supervised(model, episodes, config, BOUNDS, seed=0)
    means = [
        -sum(slow_logprob(each, one.tokens.sequences[0]) for one in episodes) / len(episodes)
        for each in (control, model)
    ]
    assert figures["supervised_nll_before"] == pytest.approx(means[0], rel=1e-4)
    assert figures["supervised_nll"] == pytest.approx(means[1], rel=1e-3)
    assert means[0] > 1.5 and means[1] < 0.2


def pairs():
    return [
        episode(sequence([1, n, 2], [10 + n % 3]), sequence([1, n, 2], [13 + n % 3]))
        for n in range(3, 9)
    ]


@pytest.mark.parametrize("shuffle", [False, True])
def test_preferences_move_the_margin_and_shuffled_ones_do_not(shuffle):
    told = []
    for seed in range(4):
        config = PreferenceConfig(data="x", epochs=12, batch=6, learning_rate=0.01, shuffle=shuffle)
        model = tiny()
        found = pairs()
        before = [slow_logprob(model, each) for one in found for each in one.tokens.sequences]
        figures = fit_preferences(model, found, config, BOUNDS, seed=seed)
        after = [slow_logprob(model, each) for one in found for each in one.tokens.sequences]
        moved = np.subtract(after, before).reshape(-1, 2)
        margin = float((moved[:, 0] - moved[:, 1]).mean()) * config.beta
        assert figures["preference_margin"] == pytest.approx(margin, abs=1e-4)
        told.append(figures)
    margin = np.mean([each["preference_margin"] for each in told])
    accuracy = np.mean([each["preference_accuracy"] for each in told])
    if shuffle:
        assert abs(margin) < 0.25 and accuracy < 0.75, told
    else:
        assert margin > 0.5 and accuracy == 1.0, told


# --- a training run ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    root = tmp_path_factory.mktemp("shop")
    write_refund(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTGYM_PATH", str(root))
        play(root / "oracle", ["oracle"], range(40))
        yield root


def make(shop, name, *more):
    out = shop / f"{name}.npz"
    arguments = ["sft", shop / "oracle", "--out", out, "--form", "native", *more]
    result = CliRunner().invoke(app, ["dataset", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return out


def configured(shop, name, table):
    path = shop / f"{name}.toml"
    path.write_text((shop / "train.toml").read_text() + table)
    return load_config(path)


def trained(config, folder):
    run = TrainingRun.create(folder, config)

    async def play_it():
        with TrainingProgress(Console(file=io.StringIO()), config.iterations) as progress:
            async with open_trainer(run, progress) as trainer:
                return await trainer.train()

    return asyncio.run(play_it())


def test_the_oracles_recordings_teach_a_policy_that_an_untrained_control_does_not_know(
    shop, tmp_path
):
    make(shop, "sft", "--template", shop / "train.toml")
    table = '[supervised]\ndata = "./sft.npz"\nepochs = 60\nlearning_rate = 0.01\n'
    config = configured(shop, "warm", table)
    zero, one = trained(config, tmp_path / "run")
    assert zero["supervised_nll"] < 0.5 < zero["supervised_nll_before"], zero
    assert zero["evaluation_pass_rate"] < 0.5 < zero["warm_pass_rate"], zero
    # Some instances measure the policy, and it is not taught these.
    assert zero["warm_held_out"] > 0
    assert one["iteration"] == 1
    assert one.get("staleness", 0) == 0
    again = TrainingRun.resume(tmp_path / "run")
    (shop / "sft.npz").rename(shop / "gone.npz")
    try:
        again.load()
        assert again.history == [zero, one]
    finally:
        (shop / "gone.npz").rename(shop / "sft.npz")


def test_data_that_do_not_fit_are_refused_before_anything_is_played(shop, tmp_path):
    make(shop, "sft", "--template", shop / "train.toml")
    other = (
        (shop / "train.toml")
        .read_text()
        .replace('"eve"]\n[policy.actions]', '"eva"]\n[policy.actions]')
    )
    (shop / "other.toml").write_text(other)
    make(shop, "other", "--template", shop / "other.toml")
    cases = {
        "other.npz": (ConfigError, "encoded by another vocabulary"),
        "nothing.npz": (RecordError, "no such file; make it with"),
        "train.toml": (RecordError, "no data set with token ids"),
    }
    for file, (kind, words) in cases.items():
        config = configured(shop, "bad", f'[supervised]\ndata = "./{file}"\n')
        with pytest.raises(kind, match=words):
            trained(config, tmp_path / file)
    one = read_tokens(shop / "sft.npz").episodes[0]
    for origin in ({"task": "x"}, {"task": "x", "seed": "0"}):
        with (shop / "no-seed.npz").open("wb") as file:
            write_tokens(file, TokenSet((TokenEpisode(origin, one.tokens),), "recorded"))
        with pytest.raises(RecordError, match="damaged data set"):
            read_tokens(shop / "no-seed.npz")
    config = configured(shop, "bad", '[preference]\ndata = "./sft.npz"\n')
    with pytest.raises(RecordError, match=r"expected the format agentgym\.token-pairs/1"):
        trained(config, tmp_path / "pairs")


def test_preferences_of_a_run_are_learnt_before_it_plays(shop, tmp_path):
    make(shop, "sft", "--template", shop / "train.toml")
    data = read_tokens(shop / "sft.npz")
    told = []
    for each in data.episodes:
        (one,) = each.tokens.sequences
        at = one.mask.index(True)
        words = [6 + n for n in range(3)]
        wrong = next(n for n in words if n != one.ids[at])
        chosen, rejected = (sequence(one.ids[:at], [id]) for id in (one.ids[at], wrong))
        told.append(TokenEpisode(each.origin, EpisodeTokens((chosen, rejected), 0, None)))
    with (shop / "pairs.npz").open("wb") as file:
        write_tokens(file, TokenSet(tuple(told), "encoded", data.vocabulary, PAIRS))
    config = configured(shop, "dpo", '[preference]\ndata = "./pairs.npz"\nepochs = 8\n')
    zero = trained(config, tmp_path / "run")[0]
    assert zero["preference_margin"] > 0.05 and zero["preference_accuracy"] > 0.8, zero
    line = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[0]
    assert json.loads(line) == zero
