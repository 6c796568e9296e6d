"""Models whose positions have three parts: sampler, packed learner and the model itself agree.

The model itself computes a whole dialogue alone, without a cache, with positions of its own
(`get_rope_index`) and all pictures at once. Weights are random and in float32.
"""

from __future__ import annotations

import asyncio
import functools
import importlib.util
import json
import os
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="training")
if importlib.util.find_spec("transformers") is None:
    pytest.skip("a vision-language model needs transformers", allow_module_level=True)

import small_models
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from picture_models import (
    BRIEFING,
    FAMILIES,
    make_world,
    own_logits,
    picture,
    play,
    save_picture_model,
    tokens_of,
)

from agentgym.errors import ConfigError
from agentgym.records import Observation
from agentgym.train.batches import build_batch
from agentgym.train.config import Advantage, AlgorithmConfig
from agentgym.train.learner import Learner
from agentgym.train.loading import load_policy
from agentgym.train.logits import token_statistics
from agentgym.train.models.examine import can_continue, can_pack, reads_pictures
from agentgym.train.models.huggingface import HuggingFaceModel
from agentgym.train.models.picture_layout import PictureLayout, PreparedPicture
from agentgym.train.models.pictures import PictureTable
from agentgym.train.packing import pack
from agentgym.train.policies import HuggingFacePolicy
from agentgym.train.policy import TokenPolicy
from agentgym.train.rollouts import Assignment, Group, Trajectory
from agentgym.train.samples import read_sequence
from agentgym.train.sampling.sampler import Sampler
from agentgym.train.templates.chat import ChatTemplate
from agentgym.train.templates.pictures import PictureTemplate

TOLERANCE = {"atol": 2e-3, "rtol": 1e-3}
world = functools.cache(make_world)
SIZES = st.sampled_from([(28, 28), (30, 150), (200, 40), (7, 5), (90, 120)])
PICTURES = st.none() | st.builds(lambda size, n: picture(*size, n), SIZES, st.integers(0, 2))
TEXTS = st.text("ab <>\n", max_size=9)
EPISODE = st.lists(st.builds(Observation, TEXTS, PICTURES), min_size=1, max_size=3)


async def sample(model, template, episodes, cuts):
    """Play episodes at once, more than there are rows, and go on from a step of each once more.

    Returns:
        The tokens of each attempt.
    """
    sampler = Sampler(model, rows=2)
    made = list[TokenPolicy]()

    async def attempt(number, observations, taken=()):
        policy = TokenPolicy(
            sampler, template, limit=4, seed=len(made), pictures=model.pictures, temperature=1.0
        )
        made.append(policy)
        await policy.start(replace(BRIEFING, seed=number, first=observations[0]))
        steps = await play(policy, observations, taken)
        await policy.close()
        return steps, policy.shown(tokens_of(steps))

    try:
        first = await asyncio.gather(*(attempt(n, each) for n, each in enumerate(episodes)))
        forks = await asyncio.gather(
            *(
                attempt(n + 50, episodes[n], first[n][0][: cut % len(episodes[n])])
                for n, cut in enumerate(cuts[: len(episodes)])
            )
        )
    finally:
        await sampler.close()
    return [tokens for _, tokens in (*first, *forks)]


def sampled(sequences, values):
    """The values of the sampled tokens."""
    mask = torch.tensor([mine for each in sequences for mine in each.mask])
    return torch.as_tensor(values)[mask]


def draws_placeholder(model, sequence):
    drawn = {token for token, mine in zip(sequence.ids, sequence.mask, strict=True) if mine}
    return model.pictures.placeholder in drawn


def own_logprobs(model, sequence):
    """The log-probability of each token by the model itself."""
    found = own_logits(model, sequence.ids, sequence.pictures)
    own, _ = token_statistics(found[:-1], torch.tensor(sequence.ids[1:]), 1.0)
    return torch.cat([torch.zeros(1), own])


def packed_logprobs(model, sequences, length):
    read = [read_sequence(each, model.pictures) for each in sequences]
    packed = pack([each.ids for each in read], length)
    with torch.no_grad():
        logits = packed.unpacked(model(packed.ids, packed.positions, packed.segments))
    told = torch.tensor([token for each in sequences for token in each.ids])
    own, _ = token_statistics(logits[:-1].float(), told[1:], 1.0)
    return torch.cat([torch.zeros(1), own]), len(packed.ids)


@pytest.mark.parametrize("family", FAMILIES)
@given(st.lists(EPISODE, min_size=1, max_size=4), st.lists(st.integers(0, 2), max_size=2))
@settings(max_examples=8, deadline=None)
async def test_sampler_learner_and_the_model_itself_agree(family, episodes, cuts):
    _, model, template = world(family)
    played = await sample(model, template, episodes, cuts)
    found = [each.sequences[0] for each in played if each.sequences]
    # The model itself takes a sampled placeholder for a picture, and we take it for a word.
    sequences = [each for each in found if not draws_placeholder(model, each)]
    assume(sequences)
    behaviour = sampled(sequences, [value for each in sequences for value in each.logprobs])
    alone = torch.cat([own_logprobs(model, each) for each in sequences])
    torch.testing.assert_close(behaviour, sampled(sequences, alone), **TOLERANCE)
    longest = max(len(each.ids) for each in sequences)
    for length in (longest, 2 * longest + 5, sum(len(each.ids) for each in sequences)):
        own, rows = packed_logprobs(model, sequences, length)
        torch.testing.assert_close(sampled(sequences, own), sampled(sequences, alone), **TOLERANCE)
    assert rows == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_a_dialogue_may_be_read_in_any_pieces(family):
    _, model, _ = world(family)
    table = model.pictures
    pictures = [picture(30, 150), picture(28, 28, 1), picture(120, 60, 2)]
    runs = [[table.placeholder] * table.count(each) for each in pictures]
    shown = table.shown([5, 6, *runs[0], 7, *runs[1], 8, 9, *runs[2]], pictures)
    wanted = own_logits(model, shown.ids, pictures)
    for size in (1, 3, len(shown.ids)):
        cache = model.start_cache(2)
        for begin in range(0, len(shown.ids), size):
            part = shown.ids[begin : begin + size]
            found = model.extend([[11, 12], part], [0, 1], cache)
            end = begin + len(part) - 1
            torch.testing.assert_close(found[1], wanted[end], **TOLERANCE)
            cache.clear(0)


def batch_of(family):
    """Two episodes of one group, with rewards 0 and 1."""
    _, model, template = world(family)
    episodes = [
        [Observation("a", picture(30, 150)), Observation("b", picture(28, 28))],
        [Observation("a"), Observation("b", picture(90, 120))],
    ]
    tokens = asyncio.run(sample(model, template, episodes, []))
    played = tuple(
        Trajectory(float(number), each, ("s",) * (1 + max(each.sequences[0].completions)))
        for number, each in enumerate(tokens)
    )
    return Group(Assignment(0, "t", 0, 2), played)


@pytest.mark.parametrize("family", ["llava", "qwen2_5_vl"])
@pytest.mark.parametrize("checkpointing", [False, True])
def test_a_learner_learns_from_pictures(family, checkpointing):
    tokenizer, model, template = make_world(family)
    group = batch_of(family)
    model = HuggingFaceModel(
        model.inner, context=4096, pictures=model.pictures, gradient_checkpointing=checkpointing
    )
    config = AlgorithmConfig(learning_rate=1e-3, epochs=2, row_tokens=4096, kl=0.01)
    learner = Learner(model, config, temperature=1.0, updates=3, pictures=model.pictures)
    before = [each.detach().clone() for each in model.parameters()]
    figures = learner.update([group], [0.0, 1.0])
    assert figures["gradient_norm"] > 0 and figures["ess"] == pytest.approx(1, abs=0.01)
    assert any(not torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    with pytest.raises(ValueError, match="a sequence has pictures, and the model reads text only"):
        build_batch([group], [0.0, 1.0], Advantage.GRPO)


def laid_out_otherwise(model, change):
    """A copy of a model's table whose pictures are laid out in another way."""
    real = model.pictures.layout

    def prepare(image):
        made = real.prepare(image)
        return PreparedPicture(made.inputs, change(made.offsets))

    return PictureTable(model.pictures.first, PictureLayout(real.placeholder, real.axes, prepare))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_is_tried_with_pictures(family):
    _, model, _ = world(family)
    assert can_pack(model) and can_continue(model) and reads_pictures(model)


# Models with positions of one part ignore what a layout says beside the number of placeholders.
@pytest.mark.parametrize("family", FAMILIES[1:])
def test_a_model_that_lays_out_pictures_otherwise_is_found_out(family):
    _, right, _ = world(family)
    changes = [
        lambda offsets: offsets + 1,
        lambda offsets: torch.arange(offsets.shape[1]).expand_as(offsets),
        lambda offsets: offsets.flip(0),
    ]
    for change in changes:
        table = laid_out_otherwise(right, change)
        assert not reads_pictures(HuggingFaceModel(right.inner, context=4096, pictures=table))


@pytest.mark.parametrize("family", FAMILIES)
def test_pictures_in_padded_rows_are_those_in_shared_ones(family):
    _, model, _ = world(family)
    other = HuggingFaceModel(model.inner, context=4096, pictures=model.pictures, packed=False)
    assert reads_pictures(other) and can_continue(other)


# --- models in folders ----------------------------------------------------------------------------


def policy(path, **options):
    told = {"kind": "huggingface", "path": str(path), "device": "cpu", "context": 512, **options}
    return HuggingFacePolicy(**told)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return save_picture_model(tmp_path_factory.mktemp("model") / "qwen")


@pytest.fixture
def folder(saved, tmp_path):
    """A copy of a model's folder that a test may change."""
    copy = tmp_path / "model"
    copy.mkdir()
    for each in saved.iterdir():
        (copy / each.name).write_bytes(each.read_bytes())
    return copy


def change(folder, name, **values):
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_saved_model_is_loaded_with_its_pictures(family, tmp_path):
    loaded = load_policy(policy(save_picture_model(tmp_path / "m", family)), seed=0)
    assert isinstance(loaded.template, PictureTemplate)
    assert loaded.pictures is loaded.model.pictures is not None
    assert loaded.model.packed
    with torch.no_grad():
        for weight in loaded.model.parameters():
            weight.mul_(1.1)
    loaded.save(tmp_path / "copy")
    again = load_policy(policy(tmp_path / "copy"), seed=1)
    logits = []
    for each in (loaded, again):
        opening = each.template.opening(BRIEFING, Observation("", picture(30, 90)), ())
        logits.append(own_logits(each.model, opening, [picture(30, 90)]))
    assert torch.equal(*logits)


def test_a_model_may_be_told_to_read_text_only(saved):
    loaded = load_policy(policy(saved, pictures=False), seed=0)
    assert loaded.pictures is None and type(loaded.template) is ChatTemplate
    assert loaded.notes[-1].endswith("it does not see the pictures of observations")


def test_attentions_agree_about_pictures(saved):
    shown = []
    for attention in ("sdpa", "eager"):
        model = load_policy(policy(saved, attention=attention), seed=0).model
        assert model.packed
        ids = [5, *[model.pictures.placeholder] * model.pictures.count(picture(30, 150)), 7]
        read = model.pictures.shown(ids, [picture(30, 150)])
        shown.append(model.extend([read.ids], [0], model.start_cache(1))[0])
    torch.testing.assert_close(*shown, **TOLERANCE)


def test_bfloat16_models_read_pictures(saved):
    model = load_policy(policy(saved, dtype="bfloat16"), seed=0).model
    assert model.packed


def test_families_that_are_not_known_are_refused(tmp_path):
    small_models.save(tmp_path / "text")
    with pytest.raises(ConfigError, match=r"family 'qwen3', which is none of .*: llava, qwen2_vl"):
        load_policy(policy(tmp_path / "text", pictures=True), seed=0)
    assert load_policy(policy(tmp_path / "text"), seed=0).pictures is None


def test_a_family_that_reads_pictures_in_an_unknown_way_is_refused(folder):
    import transformers

    text = {"hidden_size": 32, "num_hidden_layers": 1}
    config = transformers.LlavaNextConfig(text_config=transformers.LlamaConfig(**text))
    (folder / "config.json").write_text(json.dumps(config.to_dict(), default=str))
    for pictures in ("auto", True):
        with pytest.raises(ConfigError, match="family 'llava_next', which reads pictures in a way"):
            load_policy(policy(folder, pictures=pictures), seed=0)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"size": {"shortest_edge": 784, "longest_edge": 10**12}}, "size is 1000000000000, more"),
        ({"size": {"shortest_edge": 10**12, "longest_edge": 10**12}}, "size is 1000000000000"),
        ({"size": {"shortest_edge": 2**22, "longest_edge": 2**22}}, "enlarges pictures to 4,194,"),
        ({"size": {"shortest_edge": 0, "longest_edge": 0}}, "size is 0"),
        ({"size": {"shortest_edge": "a", "longest_edge": 9}}, "policy.path"),
        ({"patch_size": 7}, "its preprocessor and its configuration differ in patch_size"),
        ({"merge_size": 1}, "its preprocessor and its configuration differ in merge_size"),
        ({"temporal_patch_size": 10**9}, "temporal_patch_size is 1000000000, more"),
        ({"temporal_patch_size": 3}, "policy.path"),
        ({"image_processor_type": "CLIPImageProcessor"}, "its preprocessor is a CLIPImageP"),
        ({"image_processor_type": "LlavaNextImageProcessor"}, "its preprocessor is a LlavaNextI"),
        ({"pad_size": {"height": 10**9, "width": 10**9}}, "pad_size is 1000000000, more"),
        ({"image_mean": [1.0]}, "policy.path"),
    ],
)
def test_a_preprocessor_that_does_not_belong_to_the_model_is_refused(folder, values, why):
    change(folder, "preprocessor_config.json", **values)
    with pytest.raises(ConfigError, match=why):
        load_policy(policy(folder), seed=0)


def test_a_model_without_its_preprocessor_is_refused(folder):
    (folder / "preprocessor_config.json").unlink()
    with pytest.raises(ConfigError, match=r"has no preprocessor_config.json, which says how"):
        load_policy(policy(folder), seed=0)
    os.mkfifo(folder / "preprocessor_config.json")
    with pytest.raises(ConfigError, match="neither a file nor a folder"):
        load_policy(policy(folder), seed=0)


def test_a_context_without_room_for_pictures_is_refused(saved):
    with pytest.raises(ConfigError, match=r"16 tokens do not hold a few pictures .* use context ="):
        load_policy(policy(saved, context=16), seed=0)


def test_a_wrong_placeholder_is_refused(folder):
    change(folder, "config.json", image_token_id=70)
    with pytest.raises(ConfigError, match="is no special token"):
        load_policy(policy(folder), seed=0)


def test_pictures_of_one_batch_keep_their_order():
    _, model, _ = world("qwen2_vl")
    table = model.pictures
    pictures = [picture(30, 150, n) for n in range(3)]
    counts = [table.count(each) for each in pictures]
    shown = [
        table.shown([table.placeholder] * count, [each])
        for each, count in zip(pictures, counts, strict=True)
    ]
    found = table.find(torch.tensor([*shown[2].ids, *shown[0].ids]))
    assert found.rows.tolist() == [*range(counts[0], counts[0] + counts[2]), *range(counts[0])]
    pixels = [table.layout.prepare(pictures[n]).inputs["pixel_values"] for n in (0, 2)]
    assert torch.equal(found.inputs["pixel_values"], torch.cat(pixels))
    assert np.array_equal(shown[1].pictures[0].image, pictures[1])
