"""Pictures of observations reach a small vision-language model, token in and token out.

LLaVA reads any picture as four placeholders; Qwen2-VL as 1 to 16, which depends on the size.
"""

from __future__ import annotations

import gc
import importlib.util
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="training")
# Its import takes a second, and every worker collects this module.
if importlib.util.find_spec("transformers") is None:
    pytest.skip("a vision-language model needs transformers", allow_module_level=True)

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from picture_models import (
    BRIEFING,
    LOOK,
    TOOLS,
    Spelling,
    make_world,
    picture,
    play,
    tokens_of,
)

from agentgym.errors import AgentError, PolicyError, RecordError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Observation, Verdict
from agentgym.train.packing import pack
from agentgym.train.policy import TokenPolicy
from agentgym.train.samples import read_sequence
from agentgym.train.sampling.sampler import Completion, Sampler
from agentgym.train.templates.pictures import PictureTemplate

PLACEHOLDERS = ("<picture>", "<|image_pad|>")
RED, BLUE = (np.full((28, 28, 3), colour, np.uint8) for colour in ((255, 0, 0), (0, 0, 255)))


@pytest.fixture(scope="module", params=["llava", "qwen2_vl"])
def world(request):
    return make_world(request.param)


@pytest.fixture
def tokenizer(world):
    return world[0]


@pytest.fixture
def model(world):
    return world[1]


@pytest.fixture
def template(world):
    return world[2]


def counts(model, observations):
    return [0 if o.image is None else model.pictures.count(o.image) for o in observations]


TEXTS = st.text(max_size=12) | st.sampled_from(
    [*PLACEHOLDERS, "\ue002", "a<|image_pad|>\ue002b<picture>", "<|im_end|>", "<|vision_end|>"]
)
SIZES = st.sampled_from([(28, 28), (30, 90), (200, 40), (7, 5), (150, 160)])
PICTURES = st.none() | SIZES.map(lambda size: picture(*size, seed=size[0]))
OBSERVATIONS = st.lists(st.builds(Observation, TEXTS, PICTURES), min_size=1, max_size=4)
FEW = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@given(OBSERVATIONS)
@FEW
async def test_placeholders_are_those_of_the_pictures_and_no_others(
    tokenizer, template, model, observations
):
    table, placeholder = model.pictures, model.pictures.placeholder
    sampler = Spelling(tokenizer, *[LOOK] * len(observations))
    policy = TokenPolicy(sampler, template, limit=500, pictures=table)
    await policy.start(BRIEFING)
    steps = await play(policy, observations)
    wanted = counts(model, observations)
    for new_ids, observation, count in zip(sampler.read, observations, wanted, strict=True):
        shown = [token for token in new_ids if token >= table.first]
        assert len(shown) == count
        assert placeholder not in new_ids
        if shown:
            found = table.find(torch.tensor(shown))
            prepared = table.layout.prepare(observation.image)
            assert torch.equal(found.inputs["pixel_values"], prepared.inputs["pixel_values"])
            assert found.rows.tolist() == found.patches.tolist() == [*range(count)]
    (recorded,) = tokens_of(steps).sequences
    assert recorded.ids.count(placeholder) == sum(wanted)
    assert max(recorded.ids) < table.first
    (kept,) = policy.shown(tokens_of(steps)).sequences
    assert kept.ids == recorded.ids
    read = read_sequence(kept, table)
    assert table.plain(read.ids) == recorded.ids
    said = [token for new_ids in sampler.read for token in new_ids]
    assert [t for t, mine in zip(read.ids, kept.mask, strict=True) if not mine] == said


async def played(model, template, observations, seed):
    sampler = Sampler(model, rows=4)
    policy = TokenPolicy(sampler, template, limit=6, seed=seed, pictures=model.pictures)
    await policy.start(BRIEFING)
    try:
        steps = await play(policy, observations)
    finally:
        await sampler.close()
    return policy.shown(tokens_of(steps))


async def test_another_picture_leads_to_other_logits(model, template):
    def logits(picture):
        table = model.pictures
        begun = template.opening(BRIEFING, Observation("", picture), TOOLS)
        shown = table.shown(begun, [picture])
        ids = torch.tensor([shown.ids])
        where = torch.arange(ids.shape[1])[None]
        with torch.no_grad():
            return model(ids, where, torch.zeros_like(ids))[0, -1]

    assert torch.equal(logits(RED), logits(RED.copy()))
    assert (logits(RED) - logits(BLUE)).abs().max() > 1e-3


async def test_pictures_get_gradients(model, template):
    tokens = await played(model, template, [Observation("a", RED)], 3)
    read = read_sequence(tokens.sequences[0], model.pictures)
    packed = pack([read.ids], 4096)
    model.zero_grad()
    model(packed.ids, packed.positions, packed.segments).float().logsumexp(-1).sum().backward()
    towers = ("vision_tower", "visual", "multi_modal_projector")
    slopes = [
        weight.grad
        for name, weight in model.inner.named_parameters()
        if any(tower in name for tower in towers) and weight.grad is not None
    ]
    assert len(slopes) > 10 and all(slope.abs().sum() > 0 for slope in slopes[:1])
    model.zero_grad()


async def test_a_record_holds_the_pictures_and_plain_placeholders(
    model, template, tokenizer, tmp_path
):
    observations = [Observation("a", RED), Observation("b", BLUE), Observation("c")]
    policy = TokenPolicy(
        Spelling(tokenizer, *[LOOK] * 3), template, limit=500, pictures=model.pictures
    )
    await policy.start(BRIEFING)
    steps = await play(policy, observations)
    store = RunStore.create(tmp_path / "run", {}, [EpisodePlan("t/a-v1", 0, 0, "policy")])
    recorder = store.begin(
        1, params={}, instruction="", sandbox="x", reset_s=0.0, first=observations[0]
    )
    for step in steps:
        recorder.step(step)
    recorder.finish(Verdict("scored", True, 1.0), duration_s=1.0)
    store.close()
    read = RunStore.open(tmp_path / "run")
    found = read.steps(1)
    seen = [read.episode(1).first, *(step.observation for step in found)][: len(observations)]
    pictures = [each.image for each in seen if each.image is not None]
    (sequence,) = tokens_of(found).sequences
    mine = read_sequence(policy.shown(tokens_of(steps)).sequences[0], model.pictures)
    assert model.pictures.shown(sequence.ids, pictures).ids == mine.ids
    read.close()


def test_missing_and_further_placeholders_are_refused(model):
    table = model.pictures
    wide = picture(30, 150)
    needed = table.count(RED) + table.count(wide)
    run = [table.placeholder] * needed
    with pytest.raises(
        ValueError, match=f"2 pictures need {needed} placeholders, not {needed - 1}"
    ):
        table.shown([1, *run[1:]], [RED, wide])
    with pytest.raises(ValueError, match="0 pictures need 0 placeholders, not 1"):
        table.shown([table.placeholder], [])
    # As many as both need together, but not as many as each.
    assert table.shown([*run[: table.count(RED)], 1, *run[table.count(RED) :]], [RED, wide])
    with pytest.raises(ValueError, match="placeholders of picture [01] are not in a row"):
        table.shown([*run[: table.count(RED) + 1], 1, *run[table.count(RED) + 1 :]], [RED, wide])


async def test_a_sampled_placeholder_is_no_picture(model, template, tokenizer):
    """A policy cannot lose its episode's data, or move its pictures, by sampling the token."""
    table = model.pictures

    class Sampling(Spelling):
        async def generate(self, dialogue, new_ids, **options):
            self._calls, whole = [""], [table.placeholder] * 2
            done = await super().generate(dialogue, new_ids, **options)
            dialogue.ids[-1:] = [*whole, *done.ids]
            return Completion((*whole, *done.ids), (-0.5,) * 3, "stop", 0)

    policy = TokenPolicy(Sampling(tokenizer), template, limit=500, pictures=model.pictures)
    await policy.start(BRIEFING)
    steps = await play(policy, [Observation("a", RED), Observation("b", BLUE)])
    (sequence,) = policy.shown(tokens_of(steps)).sequences
    read = read_sequence(sequence, table)
    own = [token for token, mine in zip(read.ids, sequence.mask, strict=True) if mine]
    assert own == [*[table.placeholder] * 2, template.stop_ids[0]] * 2
    shown = [token for token in read.ids if token >= table.first]
    assert [each.image is RED for each in read.pictures] == [True, False]
    assert shown == [t for each in (RED, BLUE) for t in ids_of(table, each)]
    # It has the features of no picture, beside those that have.
    row = torch.tensor([read.ids])
    with torch.no_grad():
        model(row, torch.arange(row.shape[1])[None], torch.zeros_like(row))


def ids_of(table, picture):
    return table.shown([table.placeholder] * table.count(picture), [picture]).ids


@given(OBSERVATIONS, st.data())
@FEW
async def test_recorded_steps_are_gone_on_from_as_if_it_had_taken_them(
    tokenizer, template, model, observations, data
):
    """Another policy takes over after any step, and has read what the first one read."""

    calls = [LOOK] * len(observations)
    whole = Spelling(tokenizer, *calls)
    first = TokenPolicy(whole, template, limit=500, pictures=model.pictures)
    await first.start(BRIEFING)
    steps = await play(first, observations)
    cut = data.draw(st.integers(0, len(observations) - 1))
    sampler = Spelling(tokenizer, *calls)
    policy = TokenPolicy(sampler, template, limit=500, pictures=model.pictures)
    await policy.start(replace(BRIEFING, first=observations[0]))
    taken = await play(policy, observations, steps[:cut])
    assert sampler.dialogue.ids == whole.dialogue.ids
    (mine,), (theirs,) = (
        each.shown(tokens_of(played)).sequences
        for each, played in ((policy, taken), (first, steps))
    )
    assert mine.ids == theirs.ids and mine.mask == theirs.mask
    assert all(map(np.array_equal, mine.pictures, theirs.pictures))


@pytest.mark.parametrize("known", [None, Observation("a"), Observation("a", BLUE)])
async def test_other_pictures_than_the_recorded_tokens_say_are_refused(
    model, template, tokenizer, known
):
    sampler = Spelling(tokenizer, LOOK, LOOK)
    first = TokenPolicy(sampler, template, limit=500, pictures=model.pictures)
    await first.start(BRIEFING)
    seen = Observation("a", RED) if known is None or known.image is None else Observation("a")
    steps = await play(first, [seen])
    policy = TokenPolicy(sampler, template, limit=500, pictures=model.pictures)
    await policy.start(replace(BRIEFING, first=known))
    with pytest.raises(AgentError, match="the tokens before step 0 and its picture"):
        await policy.act(Observation("b", BLUE), TOOLS, steps)


async def test_pictures_are_forgotten_once_nothing_reads_them(model, template, tokenizer):
    table = model.pictures
    gc.collect()
    before = len(table)
    for shade in range(3):
        policy = TokenPolicy(Spelling(tokenizer, LOOK), template, limit=500, pictures=table)
        await policy.start(BRIEFING)
        observations = [Observation("a", np.full((28, 28, 3), 90 + shade, np.uint8))]
        tokens = policy.shown(tokens_of(await play(policy, observations)))
        assert len(table) == before + 1
    (sequence,) = tokens.sequences
    read = read_sequence(sequence, table)
    del policy, observations
    gc.collect()
    ids = torch.tensor([token for token in read.ids if token >= table.first])
    assert len(table.find(ids).rows) == table.count(sequence.pictures[0])
    del read
    gc.collect()
    assert len(table) == before
    with pytest.raises(ValueError, match="a picture that is not held any more"):
        table.find(ids)


async def test_a_picture_that_the_model_cannot_read_ends_the_episode(tokenizer, model, template):
    thin = Observation("a", np.zeros((3, 900, 3), np.uint8))
    policy = TokenPolicy(Spelling(tokenizer), template, limit=500, pictures=model.pictures)
    await policy.start(BRIEFING)
    with pytest.raises(PolicyError, match="cannot read a picture of 900 x 3 pixels: .* ratio of"):
        await policy.act(thin, TOOLS, [])


async def test_a_picture_larger_than_the_context_ends_the_episode():
    tokenizer, model, _ = make_world("qwen2_vl", most=400)
    template = PictureTemplate(tokenizer, model.pictures.placeholder, model.pictures.count)
    model._context = 300
    sampler = Sampler(model, rows=1)
    policy = TokenPolicy(sampler, template, limit=5, pictures=model.pictures)
    await policy.start(BRIEFING)
    try:
        with pytest.raises(PolicyError, match="context of [0-9]+ tokens is full"):
            await policy.act(Observation("a", picture(560, 560)), TOOLS, [])
    finally:
        await sampler.close()


async def test_a_template_with_placeholders_of_its_own_is_no_fault_of_the_policy(template, model):
    class Writing:
        stop_ids = template.stop_ids

        def opening(self, *told):
            return [model.pictures.placeholder, *template.opening(*told)]

    policy = TokenPolicy(Spelling(None), Writing(), limit=500, pictures=model.pictures)
    await policy.start(BRIEFING)
    with pytest.raises(AgentError, match="1 pictures need") as told:
        await policy.act(Observation("a", RED), TOOLS, [])
    assert not isinstance(told.value, PolicyError)


async def test_tokens_with_other_pictures_than_were_seen_are_refused(template, model, tokenizer):
    policy = TokenPolicy(Spelling(tokenizer, LOOK), template, limit=500, pictures=model.pictures)
    await policy.start(BRIEFING)
    tokens = tokens_of(await play(policy, [Observation("a", RED)]))
    policy._seen.clear()
    with pytest.raises(RecordError, match="its tokens and its pictures do not belong together"):
        policy.shown(tokens)
