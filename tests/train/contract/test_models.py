"""One contract for all trainable models: the tiny transformer, and four of transformers.

Models of transformers are tried in float32, so sampler and learner agree to 1e-4 nats.
OPT is the one that cannot tell sequences in one row apart.
"""

from __future__ import annotations

import asyncio
import copy
import functools

import pytest
import small_models
import torch

from agentgym.errors import ConfigError
from agentgym.train.config import AlgorithmConfig
from agentgym.train.learner import Learner
from agentgym.train.loading import load_policy
from agentgym.train.logits import token_statistics
from agentgym.train.models.tiny import TinyShape, TinyTransformer
from agentgym.train.optimizer import Optimizer
from agentgym.train.packing import pack
from agentgym.train.policies import HuggingFacePolicy
from agentgym.train.rollouts import Assignment, Group, Trajectory
from agentgym.train.samples import EpisodeTokens, TokenSequence
from agentgym.train.sampling.sampler import Dialogue, Sampler

TOLERANCE_NATS = 1e-4
CONTEXT = 48
OF_TRANSFORMERS = ("llama", "qwen3", "gpt2", "opt")


@functools.cache
def made(name):
    """Return a model with weights so large that another token is soon another text."""
    if name == "tiny":
        torch.manual_seed(0)
        model = TinyTransformer(TinyShape(64, width=16, heads=2, context=CONTEXT))
        with torch.no_grad():
            model.embedding.weight.mul_(40)
        return model
    from agentgym.train.models.examine import can_continue, can_pack
    from agentgym.train.models.huggingface import HuggingFaceModel

    model = HuggingFaceModel(small_models.make_model(name, scale=5), context=CONTEXT)
    model.packed = can_pack(model)
    assert can_continue(model)
    return model


@pytest.fixture(params=["tiny", *OF_TRANSFORMERS])
def model(request):
    return made(request.param)


def alone(model, ids):
    row = torch.tensor([ids])
    with torch.no_grad():
        return model(row, torch.arange(len(ids))[None], torch.zeros_like(row))[0]


def texts(*lengths):
    generator = torch.Generator().manual_seed(7)
    return [torch.randint(0, 64, (n,), generator=generator).tolist() for n in lengths]


def test_packed_sequences_do_not_see_each_other(model):
    drawn = texts(9, 1, 14, 5, 1, 20, 3)
    packed = pack(drawn, 24)
    assert len(packed.ids) < len(drawn)
    with torch.no_grad():
        logits = packed.unpacked(model(packed.ids, packed.positions, packed.segments))
    wanted = torch.cat([alone(model, ids) for ids in drawn])
    assert logits.shape == (sum(map(len, drawn)), 64)
    assert torch.allclose(logits, wanted, atol=1e-3)


def test_reading_piece_by_piece_gives_the_logits_of_the_whole(model):
    drawn, cache = texts(20, 11, 40), model.start_cache(4)
    # Rows out of order, one of them unused, with pieces of several lengths.
    for rows, ends in (((2, 0), (7, 3)), ((3,), (40,)), ((0, 2), (9, 8)), ((2, 0), (20, 11))):
        chosen = {2: drawn[0], 0: drawn[1], 3: drawn[2]}
        parts = [chosen[row][cache.length(row) : end] for row, end in zip(rows, ends, strict=True)]
        logits = model.extend(parts, list(rows), cache)
        for number, (row, end) in enumerate(zip(rows, ends, strict=True)):
            assert cache.length(row) == end
            assert torch.allclose(logits[number], alone(model, chosen[row][:end])[-1], atol=1e-3)
    cache.clear(2)
    again = model.extend([drawn[1]], [2], cache)
    assert torch.allclose(again[0], alone(model, drawn[1])[-1], atol=1e-3)


def test_the_context_is_a_bound(model):
    cache = model.start_cache(1)
    with pytest.raises(ValueError, match="49 tokens after 0 with a context of 48"):
        model.extend([[1] * 49], [0], cache)
    with pytest.raises(ValueError, match="0 tokens after 0"):
        model.extend([[]], [0], cache)
    assert cache.length(0) == 0


async def talks(model, count, *, rows=3, batch_invariant=False, temperature=1.0):
    """Sample dialogues of two turns, more than there are rows; returns tokens and completions."""
    sampler = Sampler(model, rows=rows, batch_invariant=batch_invariant)

    async def talk(number):
        dialogue, done = Dialogue(), []
        for turn in range(2):
            read, seed = [number + 2, 5, turn], 10 * number + turn
            options = {"limit": 6, "stop_ids": [1], "temperature": temperature, "seed": seed}
            before = len(dialogue.ids) + len(read)
            done.append((before, await sampler.generate(dialogue, read, **options)))
        return dialogue.ids, done

    found = await asyncio.gather(*map(talk, range(count)))
    await sampler.close()
    return found


@pytest.mark.parametrize("temperature", [1.0, 0.7])
async def test_sampler_and_learner_agree_on_log_probabilities(model, temperature):
    for ids, done in await talks(model, 6, temperature=temperature):
        own, _ = token_statistics(alone(model, ids)[:-1], torch.tensor(ids[1:]), temperature)
        for before, completion in done:
            assert tuple(ids[before : before + len(completion.ids)]) == completion.ids
            learnt = own[before - 1 : before - 1 + len(completion.ids)]
            assert completion.logprobs == pytest.approx(learnt.tolist(), abs=TOLERANCE_NATS)


async def test_what_is_sampled_depends_on_the_seed_alone_if_asked_for(model):
    few = await talks(model, 2, rows=7, batch_invariant=True)
    many = await talks(model, 7, rows=7, batch_invariant=True)
    assert few == many[:2]
    assert few[0] != few[1]


def group(model, count=4, length=12):
    """Return a group whose trajectories end with six sampled tokens, with rewards 0 and 1."""
    played = []
    for number, ids in enumerate(texts(*[length] * count)):
        own, _ = token_statistics(alone(model, ids)[:-1], torch.tensor(ids[1:]), 1.0)
        mask = [n >= length - 6 for n in range(length)]
        sequence = TokenSequence(
            ids,
            mask,
            [float(p) if m else 0.0 for p, m in zip([0.0, *own.tolist()], mask, strict=True)],
            [0 if m else -1 for m in mask],
        )
        played.append(Trajectory(float(number % 2), EpisodeTokens((sequence,), 0, 0), ("s",)))
    return Group(Assignment(0, "t", 0, count), tuple(played))


CONFIG = AlgorithmConfig(
    learning_rate=0.01, epochs=2, row_tokens=CONTEXT, rows=1, kl=0.01, final_learning_rate=0.2
)


def learn(model, updates, state=None):
    """Return what a copy of a model and its learner hold after some updates, and the figures."""
    played, model = group(model), copy.deepcopy(model)
    learner = Learner(model, CONFIG, temperature=1.0, updates=3)
    if state is not None:
        model.load_state_dict(state["model"])
        learner.load_state_dict(state["learner"])
    rewards = [each.reward for each in played.trajectories]
    figures = [learner.update([played], rewards) for _ in range(updates)]
    state = {"model": model.state_dict(), "learner": learner.state_dict()}
    return copy.deepcopy(state), figures, model


def test_learning_goes_on_exactly_from_its_state(model):
    whole, *_ = learn(model, 2)
    half, *_ = learn(model, 1)
    resumed, *_ = learn(model, 1, half)
    names = list(whole["model"])
    assert all(torch.equal(whole["model"][name], resumed["model"][name]) for name in names)
    assert any(not torch.equal(whole["model"][name], half["model"][name]) for name in names)


def test_learning_raises_what_was_rewarded(model):
    _, figures, learnt = learn(model, 2)
    assert figures[0]["gradient_norm"] > 0
    assert figures[0]["ess"] == pytest.approx(1)

    def likelihood(of, trajectory):
        (sequence,) = trajectory.tokens.sequences
        found = alone(of, sequence.ids)[:-1]
        own, _ = token_statistics(found, torch.tensor(sequence.ids[1:]), 1.0)
        return float(own[-6:].sum())

    gains = {0.0: 0.0, 1.0: 0.0}
    for each in group(model).trajectories:
        gains[each.reward] += likelihood(learnt, each) - likelihood(model, each)
    assert gains[1.0] > 0 > gains[0.0]


# --- what only models of transformers have --------------------------------------------------------


def policy(path, **options):
    return HuggingFacePolicy(
        **{"kind": "huggingface", "path": str(path), "device": "cpu", "context": CONTEXT, **options}
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return small_models.save(tmp_path_factory.mktemp("model") / "qwen3", scale=5)


def test_a_saved_model_is_loaded_with_its_tokenizer_and_ends(saved, tmp_path):
    loaded = load_policy(policy(saved), seed=0)
    assert loaded.pretrained.stop_ids == (0,)
    assert loaded.completion_tokens == 512
    (note,) = loaded.notes
    assert "float32 on cpu, tool calls as hermes" in note
    with torch.no_grad():
        for weight in loaded.model.parameters():
            weight.mul_(1.1)
    for _ in range(2):  # The second replaces the first.
        loaded.save(tmp_path / "copy")
    assert [each.name for each in tmp_path.iterdir()] == ["copy"]
    assert (tmp_path / "copy/model.safetensors").is_file()
    again = load_policy(policy(tmp_path / "copy"), seed=1)
    ids = texts(9)[0]
    assert torch.equal(alone(again.model, ids), alone(loaded.model, ids))
    assert not torch.equal(alone(made_from(saved), ids), alone(loaded.model, ids))
    assert again.template.stop_ids == loaded.template.stop_ids


def made_from(folder):
    return load_policy(policy(folder), seed=0).model


@pytest.mark.parametrize("kind", ["qwen3", "gpt2"])
def test_checkpointing_computes_the_same_gradients(kind):
    from agentgym.train.models.huggingface import HuggingFaceModel

    found = []
    for checkpointing in (False, True):
        inner = small_models.make_model(kind, scale=5)
        model = HuggingFaceModel(inner, context=CONTEXT, gradient_checkpointing=checkpointing)
        model.extend([[1, 2]], [0], model.start_cache(1))  # Sampling comes between.
        assert not inner.training
        packed = pack(texts(9, 12), 24)
        logits = model(packed.ids, packed.positions, packed.segments)
        assert inner.training is checkpointing
        logits.square().mean().backward()
        found.append([weight.grad for weight in inner.parameters()])
    for plain, anew in zip(*found, strict=True):
        assert torch.allclose(plain, anew, rtol=1e-4, atol=1e-7)


def test_dropout_is_switched_off():
    from agentgym.train.models.huggingface import HuggingFaceModel

    inner = small_models.make_model("gpt2")
    assert inner.config.attn_pdrop > 0
    model = HuggingFaceModel(inner, context=CONTEXT, gradient_checkpointing=True)
    packed = pack(texts(9), 9)
    told = (packed.ids, packed.positions, packed.segments)
    assert torch.equal(model(*told), model(*told))


def test_small_steps_of_a_bfloat16_model_add_up(saved):
    """A hundredth of the last place is lost each time unless float32 collects it."""
    model = load_policy(policy(saved, dtype="bfloat16"), seed=0).model
    weight = model.inner.model.norm.weight
    assert weight.dtype == torch.bfloat16
    before = weight.detach().float().clone()
    optimizer = Optimizer([weight], 1e-4)
    for _ in range(200):
        optimizer.backward(weight.float().sum())
        optimizer.step(1e9)
    assert torch.allclose(weight.float(), before - 0.02, atol=5e-3)
    assert weight.grad is None
    other = Optimizer([weight], 1e-4)
    other.load_state_dict(optimizer.state_dict())
    assert torch.equal(other._copies[0], optimizer._copies[0])


def test_a_bfloat16_model_samples_and_learns(saved):
    model = load_policy(policy(saved, dtype="bfloat16"), seed=0).model
    state, figures, _ = learn(model, 1)
    assert figures[0]["gradient_norm"] > 0
    assert len(state["learner"]["optimizer"]["copies"]) == len(list(model.parameters()))


def test_a_model_that_cannot_share_rows_is_padded_and_says_so(tmp_path):
    loaded = load_policy(policy(small_models.save(tmp_path / "m", "opt")), seed=0)
    assert not loaded.model.packed
    assert "OPTForCausalLM cannot tell sequences in one row apart" in loaded.notes[1]


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("bloom", "BloomForCausalLM.* cannot be sampled with a cache"),
        ("mamba", "layers of the kind 'linear_attention', which keep a state"),
        ("mistral", "48 tokens do not fit .* 32 tokens in its attention window; use context = 32"),
    ],
)
def test_models_that_cannot_be_sampled_are_refused(tmp_path, kind, why):
    with pytest.raises(ConfigError, match=why):
        load_policy(policy(small_models.save(tmp_path / "m", kind)), seed=0)


@pytest.mark.parametrize("attention", [1.0, 1e-6])
def test_a_model_whose_sequences_see_each_other_is_found_out(attention):
    """With faint attention the logits hardly differ; the slope tells."""
    from agentgym.train.models.examine import can_pack
    from agentgym.train.models.huggingface import HuggingFaceModel

    model = HuggingFaceModel(small_models.make_model("llama", scale=5), context=CONTEXT)
    with torch.no_grad():
        for layer in model.inner.model.layers:
            layer.self_attn.o_proj.weight.mul_(attention)
    assert can_pack(model)
    forward = model.inner.forward

    @functools.wraps(forward)
    def seeing(**inputs):
        given = inputs.get("input_ids", inputs.get("inputs_embeds"))
        return forward(**inputs, attention_mask=torch.ones(given.shape[:2]))

    model.inner.forward = seeing
    assert not can_pack(model)


def test_a_window_that_is_kept_to_is_full_attention(tmp_path):
    folder = small_models.save(tmp_path / "m", "mistral", scale=5)
    model = load_policy(policy(folder, context=32), seed=0).model
    ids, cache = texts(32)[0], model.start_cache(1)
    model.extend([ids[:20]], [0], cache)
    assert torch.allclose(model.extend([ids[20:]], [0], cache)[0], alone(model, ids)[-1], atol=1e-3)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"path": "/no/such/folder"}, "there is no folder '/no/such/folder'"),
        ({"path": "."}, "has no config.json"),
        ({"device": "cuda:7"}, "policy.device: 'cuda:7' is not here: torch .* sees"),
        ({"context": 4096}, "which has 2048 positions; use context = 2048 or less"),
        ({"context": 8}, "expected at least 16, got 8"),
        ({"attention": "flash_attention_2"}, "(?i)flash"),
    ],
)
def test_what_cannot_be_loaded_is_refused(saved, options, why):
    with pytest.raises(ConfigError, match=why):
        load_policy(policy(**{"path": saved, **options}), seed=0)


def test_large_vocabularies_are_computed_in_parts(monkeypatch):
    logits, ids = torch.randn(50, 40, requires_grad=True), torch.randint(0, 40, (50,))

    def found():
        own, entropy = token_statistics(logits, ids, 0.7)
        (slope,) = torch.autograd.grad((own + entropy.square()).sum(), logits)
        return own.detach(), entropy.detach(), slope

    whole = found()
    monkeypatch.setattr("agentgym.train.logits._AT_ONCE", 40 * 8)
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(whole, found(), strict=True))
