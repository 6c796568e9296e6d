"""Pictures of observations reach a small vision-language model, token in and token out."""

from __future__ import annotations

import importlib.util
import random
import zlib
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
from small_models import call_text, make_tokenizer

from agentgym.env.environment import Environment
from agentgym.errors import AgentError, ConfigError, PolicyError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import (
    Action,
    Briefing,
    Decision,
    Observation,
    ObservationLimits,
    Step,
    ToolSpec,
    Verdict,
)
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.task.adhoc import lay_down
from agentgym.task.load import load_task
from agentgym.train.logits import token_statistics
from agentgym.train.models.huggingface import HuggingFaceModel
from agentgym.train.models.pictures import PictureTable
from agentgym.train.packing import pack
from agentgym.train.policy import TokenPolicy
from agentgym.train.rollouts import Assignment, Rollouts
from agentgym.train.samples import episode_tokens
from agentgym.train.sampling.sampler import Completion, Sampler
from agentgym.train.templates.pictures import PictureTemplate
from agentgym.train.trees import BranchAt, TreeConfig

PATCHES = 4  # 28 x 28 pixels in patches of 14
BRIEFING = Briefing("fake/picture-v1", "Look at it.", 0, 10)
TOOLS = (ToolSpec("look", "Look.", {"type": "object", "properties": {}}),)
PICTURE = "<picture>"
RED, BLUE = (np.full((28, 28, 3), colour, np.uint8) for colour in ((255, 0, 0), (0, 0, 255)))


def prepared(image):
    """The pixels as the vision tower takes them."""
    return torch.from_numpy(image.astype(np.float32)).permute(2, 0, 1) / 127.5 - 1


@pytest.fixture(scope="module")
def tokenizer():
    found = make_tokenizer()
    found.add_special_tokens({"additional_special_tokens": [PICTURE]})
    return found


@pytest.fixture(scope="module")
def template(tokenizer):
    return PictureTemplate(tokenizer, PICTURE, PATCHES)


@pytest.fixture(scope="module")
def model(tokenizer):
    from transformers import (
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
    )

    torch.manual_seed(0)
    small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    small |= {"num_attention_heads": 2}
    placeholder = tokenizer.convert_tokens_to_ids(PICTURE)
    inner = LlavaForConditionalGeneration(
        LlavaConfig(
            vision_config=CLIPVisionConfig(
                **small, image_size=28, patch_size=14, projection_dim=32
            ),
            text_config=LlamaConfig(**small, num_key_value_heads=2, vocab_size=len(tokenizer)),
            image_token_index=placeholder,
            vision_feature_select_strategy="default",
        )
    )
    with torch.no_grad():  # Random towers hardly tell pictures apart.
        for weights in inner.get_parameter_or_buffer("model.multi_modal_projector.linear_2.weight"):
            weights.mul_(20)
    table = PictureTable(len(tokenizer), placeholder, PATCHES, prepared)
    return HuggingFaceModel(inner, context=4096, pictures=table)


class Spelling:
    """Samples given calls, written with a token for each character; keeps what it was shown."""

    def __init__(self, tokenizer, *calls):
        self._tokenizer, self._calls, self.read = tokenizer, list(calls), []

    async def generate(self, dialogue, new_ids, *, limit, stop_ids, temperature, seed):
        self.read.append(list(new_ids))
        told = self._calls.pop(0)
        ids = [token for letter in told for token in self._tokenizer.encode(letter)]
        ids.append(stop_ids[0])
        dialogue.ids += [*new_ids, *ids]
        return Completion(tuple(ids), (-0.5,) * len(ids), "stop", 0)

    def end(self, dialogue):
        pass


async def play(policy, observations):
    """Let a policy act on observations; return the steps as a run would have them."""
    await policy.start(BRIEFING)
    steps = []
    for index, observation in enumerate(observations):
        try:
            decision = await policy.act(observation, TOOLS, steps)
        except PolicyError as error:
            decision = Decision(Action("look", {}), generations=error.generations)
        following = observations[min(index + 1, len(observations) - 1)]
        steps.append(Step(index, decision, following))
    await policy.close()
    return steps


def tokens_of(steps):
    return episode_tokens(enumerate(g for step in steps for g in step.decision.generations))


LOOK = call_text("hermes", "look", {})
SUBMIT = call_text("hermes", "submit", {})
TEXTS = st.text(max_size=12) | st.sampled_from(
    [PICTURE, "\ue002", f"a{PICTURE}\ue002b", "<|im_end|>"]
)
PICTURES = st.none() | st.integers(0, 3).map(lambda n: np.full((28, 28, 3), 60 * n, np.uint8))
OBSERVATIONS = st.lists(st.builds(Observation, TEXTS, PICTURES), min_size=1, max_size=4)


@given(OBSERVATIONS)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_placeholders_are_those_of_the_pictures_and_no_others(
    tokenizer, template, model, observations
):
    table, placeholder = model.pictures, model.pictures.placeholder
    sampler = Spelling(tokenizer, *[LOOK] * len(observations))
    policy = TokenPolicy(sampler, template, limit=500, pictures=table)
    steps = await play(policy, observations)
    for new_ids, observation in zip(sampler.read, observations, strict=True):
        shown = [token for token in new_ids if token >= table.first]
        assert len(shown) == (PATCHES if observation.image is not None else 0)
        assert placeholder not in new_ids
        if shown:
            pixels, _, patches = table.find(torch.tensor(shown))
            assert torch.equal(pixels[0], prepared(observation.image))
            assert patches.tolist() == [*range(PATCHES)]
    (recorded,) = tokens_of(steps).sequences
    pictures = [each.image for each in observations if each.image is not None]
    assert recorded.ids.count(placeholder) == PATCHES * len(pictures)
    assert max(recorded.ids) < table.first
    (read,) = policy.shown(tokens_of(steps)).sequences
    assert table.plain(read.ids) == recorded.ids
    said = [token for new_ids in sampler.read for token in new_ids]
    assert [t for t, mine in zip(read.ids, read.mask, strict=True) if not mine] == said


async def played(model, template, observations, seed):
    sampler = Sampler(model, rows=4)
    policy = TokenPolicy(sampler, template, limit=6, seed=seed, pictures=model.pictures)
    try:
        steps = await play(policy, observations)
    finally:
        await sampler.close()
    return policy.shown(tokens_of(steps))


async def test_packed_training_sees_what_the_sampler_saw(model, template):
    """The log-probabilities of the learner are those that were sampled, two episodes in a row."""
    first = await played(model, template, [Observation("a", RED), Observation("b", BLUE)], 1)
    other = await played(model, template, [Observation("a", BLUE), Observation("b")], 2)
    sequences = [first.sequences[0], other.sequences[0]]
    ids = [sequence.ids for sequence in sequences]
    packed = pack(ids, sum(map(len, ids)) + 7)
    assert len(packed.ids) == 1
    with torch.no_grad():
        logits = packed.unpacked(model(packed.ids, packed.positions, packed.segments))
    told = torch.tensor([t if t < logits.shape[-1] else 0 for each in ids for t in each])
    own, _ = token_statistics(logits[:-1], told[1:], 1.0)
    sampled = torch.tensor([counts for each in sequences for counts in each.mask])[1:]
    behaviour = torch.tensor([value for each in sequences for value in each.logprobs])[1:]
    assert sampled.sum() >= 4
    torch.testing.assert_close(own[sampled], behaviour[sampled], atol=1e-4, rtol=1e-3)


async def test_another_picture_leads_to_other_logits(model, template):
    def logits(picture):
        table = model.pictures
        opening = template.opening(BRIEFING, Observation("", picture), TOOLS)
        ids = torch.tensor([table.shown(opening, [picture])])
        where = torch.arange(ids.shape[1])[None]
        with torch.no_grad():
            return model(ids, where, torch.zeros_like(ids))[0, -1]

    assert torch.equal(logits(RED), logits(RED.copy()))
    assert (logits(RED) - logits(BLUE)).abs().max() > 1e-3


async def test_pictures_get_gradients(model, template):
    tokens = await played(model, template, [Observation("a", RED)], 3)
    packed = pack([tokens.sequences[0].ids], 4096)
    model.zero_grad()
    model(packed.ids, packed.positions, packed.segments).float().logsumexp(-1).sum().backward()
    projector = model.inner.get_parameter("model.multi_modal_projector.linear_2.weight")
    assert projector.grad is not None and projector.grad.abs().sum() > 0
    model.zero_grad()


async def test_a_record_holds_the_pictures_and_plain_placeholders(
    model, template, tokenizer, tmp_path
):
    observations = [Observation("a", RED), Observation("b", BLUE), Observation("c")]
    policy = TokenPolicy(
        Spelling(tokenizer, *[LOOK] * 3), template, limit=500, pictures=model.pictures
    )
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
    assert (
        model.pictures.shown(sequence.ids, pictures)
        == policy.shown(tokens_of(steps)).sequences[0].ids
    )
    read.close()


def test_missing_and_further_placeholders_are_refused(model):
    table = model.pictures
    with pytest.raises(ValueError, match="1 pictures need 4 placeholders, not 3"):
        table.shown([1, *[table.placeholder] * 3], [RED])
    with pytest.raises(ValueError, match="0 pictures need 0 placeholders, not 1"):
        table.shown([table.placeholder], [])


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
    steps = await play(policy, [Observation("a", RED), Observation("b", BLUE)])
    (sequence,) = policy.shown(tokens_of(steps)).sequences
    own = [token for token, mine in zip(sequence.ids, sequence.mask, strict=True) if mine]
    assert own == [*[table.placeholder] * 2, template.stop_ids[0]] * 2
    shown = [token for token in sequence.ids if token >= table.first]
    pixels, which, _ = table.find(torch.tensor(shown))
    assert [torch.equal(pixels[n], prepared(RED)) for n in which] == [True] * 4 + [False] * 4


@given(OBSERVATIONS, st.data())
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_recorded_steps_are_gone_on_from_as_if_it_had_taken_them(
    tokenizer, template, model, observations, data
):
    """Another policy takes over after any step, and has read what the first one read."""

    class Keeping(Spelling):
        async def generate(self, dialogue, new_ids, **options):
            self.dialogue = dialogue
            return await super().generate(dialogue, new_ids, **options)

    calls = [LOOK] * len(observations)
    whole = Keeping(tokenizer, *calls)
    first = TokenPolicy(whole, template, limit=500, pictures=model.pictures)
    steps = await play(first, observations)
    cut = data.draw(st.integers(0, len(observations) - 1))
    sampler = Keeping(tokenizer, *calls)
    policy = TokenPolicy(sampler, template, limit=500, pictures=model.pictures)
    await policy.start(replace(BRIEFING, first=observations[0]))
    taken = steps[:cut]
    for index in range(cut, len(observations)):
        decision = await policy.act(observations[index], TOOLS, taken)
        taken = [*taken, Step(index, decision, steps[index].observation)]
    assert sampler.dialogue.ids == whole.dialogue.ids
    (mine,), (theirs,) = (
        each.shown(tokens_of(played)).sequences
        for each, played in ((policy, taken), (first, steps))
    )
    assert mine.ids == theirs.ids and mine.mask == theirs.mask


@pytest.mark.parametrize("known", [None, Observation("a"), Observation("a", BLUE)])
async def test_other_pictures_than_the_recorded_tokens_say_are_refused(
    model, template, tokenizer, known
):
    sampler = Spelling(tokenizer, LOOK, LOOK)
    steps = await play(
        TokenPolicy(sampler, template, limit=500, pictures=model.pictures),
        [Observation("a", RED) if known is None or known.image is None else Observation("a")],
    )
    policy = TokenPolicy(sampler, template, limit=500, pictures=model.pictures)
    await policy.start(replace(BRIEFING, first=known))
    with pytest.raises(AgentError, match="the tokens before step 0 and its picture"):
        await policy.act(Observation("b", BLUE), TOOLS, steps)


class Lamp:
    """A surface whose picture is brighter after every look."""

    def __init__(self):
        self.looks = 0

    def _seen(self):
        return Observation("lit", image=np.full((28, 28, 3), 60 * self.looks, np.uint8))

    async def call(self, action):
        self.looks += 1
        return self._seen()

    async def observe(self):
        return self._seen()

    async def save(self):
        return {"looks": self.looks}

    async def load(self, state):
        self.looks = state["looks"]

    async def close(self):
        pass


class LampKind:
    name = "services"
    limits = ObservationLimits(1_000, 1_000, 28, 28)

    def __init__(self, config):
        pass

    def tools(self):
        at = {"type": "object", "properties": {"at": {"type": "integer"}}}
        return (ToolSpec("look", "Look.", at),)

    async def open(self):
        pass

    async def attach(self, site):
        return Lamp()

    async def close(self):
        pass


async def test_every_leaf_of_a_tree_has_the_pictures_of_its_way(
    model, template, tokenizer, monkeypatch
):
    table = model.pictures

    class Drawing(Spelling):
        async def generate(self, dialogue, new_ids, *, seed, **options):
            drawn = random.Random(seed).randrange(9)
            self._calls = [call_text("hermes", "look", {"at": drawn}) if drawn else SUBMIT]
            return await super().generate(dialogue, new_ids, seed=seed, **options)

    def policy(assignment, name):
        sampler, seed = Drawing(tokenizer), zlib.crc32(name.encode())
        return TokenPolicy(sampler, template, limit=500, seed=seed, pictures=table)

    monkeypatch.setattr("agentgym.env.spec.plugins.load", lambda group, name: LampKind)
    task = load_task(lay_down("office", instruction="Look."))
    provider = NoSandboxProvider()
    async with Environment(task, provider, max_steps=4) as environment:
        config = TreeConfig(leaves=8, width=2, at=BranchAt.STEPS)
        rollouts = Rollouts({"t": environment}, policy, jobs=1, tree=config)
        group = await rollouts.group(Assignment(1, "t", 0, 1))
    await provider.close()
    assert not group.missing and len(group.trajectories) > 2
    lengths = set()
    for each in group.trajectories:
        (sequence,) = each.tokens.sequences
        shown = torch.tensor([token for token in sequence.ids if token >= table.first])
        pixels, which, _ = table.find(shown)
        seen = [(pixels[number][0, 0, 0].item() + 1) * 127.5 for number in which[::PATCHES]]
        assert [round(value) for value in seen] == [60 * look for look in range(each.length)]
        assert table.placeholder not in sequence.ids
        lengths.add(each.length)
    assert len(lengths) > 1


def test_a_placeholder_that_texts_could_spell_is_refused(tokenizer):
    with pytest.raises(ConfigError, match="is no special token"):
        PictureTemplate(tokenizer, "the", PATCHES)
