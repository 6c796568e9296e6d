"""Measures sampling and training of a language model with random weights.

Sampling is that of rollouts: dialogues of different lengths join and leave a batch. It is compared
with `generate` of transformers, one prompt after another and in batches that wait for their
longest. The utilisation of training counts the operations that the model needs, without any that
are repeated: 6 a weight and token, and those of causal attention (Chowdhery et al. 2022, "PaLM",
appendix B).
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch

from agentgym.bench.peak import peak_flops, wait
from agentgym.bench.series import Figure, Figures
from agentgym.train.config import AlgorithmConfig
from agentgym.train.learner import Learner
from agentgym.train.models.huggingface import HuggingFaceModel
from agentgym.train.rollouts import Assignment, Group, Trajectory
from agentgym.train.samples import EpisodeTokens, TokenSequence
from agentgym.train.sampling.sampler import Dialogue, Sampler


@dataclass(frozen=True)
class Load:
    """A model and the work it is given.

    Attributes:
        width: Size of a token's vector.
        feed: Size between the layers of a block.
        layers: Number of blocks.
        heads: Number of attention heads.
        groups: Number of heads of keys and values.
        vocabulary: Number of tokens.
        rows: Dialogues that are sampled at once.
        prompt: Tokens of a prompt.
        longest: Tokens of the longest completion; the shortest has an eighth, most are short.
        one_by_one: Prompts that the plain loop is given.
        row_tokens: Tokens of a packed row.
        packed_rows: Rows that are computed at once.
        sequences: Sequences of an update, a third of a row long on average.
    """

    width: int
    feed: int
    layers: int
    heads: int
    groups: int
    vocabulary: int
    rows: int
    prompt: int
    longest: int
    one_by_one: int
    row_tokens: int
    packed_rows: int
    sequences: int


LARGE: Final = Load(1536, 8960, 28, 12, 2, 151_936, 128, 256, 512, 2, 4096, 2, 96)
"""1.5 billion weights, for a GPU with 80 GB."""
MEDIUM: Final = Load(896, 4864, 24, 14, 2, 151_936, 64, 256, 512, 2, 2048, 1, 48)
"""Half a billion weights, for a GPU with 24 GB."""
SMALL: Final = Load(32, 64, 2, 4, 2, 64, 4, 4, 12, 1, 48, 2, 6)
"""For a CPU: it shows that the measurement works, and no speed."""
_LARGE_GB: Final = 60


def load_for(device: torch.device) -> Load:
    """Return the work for a device."""
    if device.type != "cuda":
        return SMALL
    memory = torch.cuda.get_device_properties(device).total_memory
    return LARGE if memory > _LARGE_GB * 1e9 else MEDIUM


def model_figures(load: Load, device: torch.device) -> list[Figure]:
    """Return the figures that `measure_models` fills."""
    gpu = device.type == "cuda"
    gain, share = (3.0, 40.0) if gpu else (None, None)
    return [
        Figure("sample.tokens_per_s", f"sampling, {load.rows} dialogues at once", "/s"),
        Figure("hf_generate.tokens_per_s", "  generate, one prompt after another", "/s"),
        Figure("hf_generate_batched.tokens_per_s", f"  generate, batches of {load.rows}", "/s"),
        Figure("sample.gain", "sampling over one prompt after another", "x", gain, at_least=True),
        Figure("sample.batched_gain", "sampling over batches", "x"),
        Figure("train.tokens_per_s", "training: packed rows, loss, update", "/s"),
        Figure("train.mfu", "  share of the device's peak", "%", share, at_least=True),
    ]


async def measure_models(figures: Figures, device: torch.device, load: Load, rounds: int) -> None:
    """Measure a model.

    Args:
        figures: Holds those of `model_figures`.
        device: Where the model is.
        load: The model and its work.
        rounds: Repetitions of each measurement, after one that is not counted.
    """
    model = _made(load, device)
    for number in range(rounds + 1):
        rates = {
            "sample.tokens_per_s": await _sampled(model, load, number),
            "hf_generate.tokens_per_s": await asyncio.to_thread(_one_by_one, model, load),
            "hf_generate_batched.tokens_per_s": await asyncio.to_thread(_batched, model, load),
        }
        for key, rate in rates.items():
            figures[key].samples += [rate] if number else []
    await asyncio.to_thread(_trained, figures, model, load, rounds)
    figures.ratio("sample.gain", "sample.tokens_per_s", "hf_generate.tokens_per_s")
    figures.ratio("sample.batched_gain", "sample.tokens_per_s", "hf_generate_batched.tokens_per_s")


def _made(load: Load, device: torch.device) -> HuggingFaceModel:
    from transformers import AutoModelForCausalLM, Qwen2Config

    torch.manual_seed(0)
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    context = max(load.prompt + load.longest, load.row_tokens)
    config = Qwen2Config(
        vocab_size=load.vocabulary,
        hidden_size=load.width,
        intermediate_size=load.feed,
        num_hidden_layers=load.layers,
        num_attention_heads=load.heads,
        num_key_value_heads=load.groups,
        max_position_embeddings=context,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=None,
    )
    with torch.device(device):
        inner = AutoModelForCausalLM.from_config(config, dtype=dtype)
    return HuggingFaceModel(inner.to(device), context=context)


def _lengths(load: Load) -> list[int]:
    """Return the length of each completion: twice as many as are sampled at once."""
    draws = random.Random(0)
    shortest = max(load.longest // 8, 1)
    spread = load.longest - shortest
    return [shortest + round(spread * draws.random() ** 3) for _ in range(2 * load.rows)]


def _prompts(load: Load) -> list[list[int]]:
    draws = random.Random(1)
    count = 2 * load.rows
    return [[draws.randrange(load.vocabulary) for _ in range(load.prompt)] for _ in range(count)]


async def _sampled(model: HuggingFaceModel, load: Load, seed: int) -> float:
    """Return the tokens a second of sampling all completions."""
    sampler, lengths = Sampler(model, rows=load.rows), _lengths(load)

    async def talk(number: int, prompt: Sequence[int]) -> int:
        dialogue = Dialogue()
        told = {"limit": lengths[number], "stop_ids": (), "seed": 1000 * seed + number}
        done = await sampler.generate(dialogue, prompt, **told)  # type: ignore[arg-type]
        sampler.end(dialogue)
        return len(done.ids)

    try:
        started = time.perf_counter()
        counts = await asyncio.gather(*(talk(n, ids) for n, ids in enumerate(_prompts(load))))
        return sum(counts) / (time.perf_counter() - started)
    finally:
        await sampler.close()


def _one_by_one(model: HuggingFaceModel, load: Load) -> float:
    """Return the tokens a second of a plain loop over prompts."""
    work = list(zip(_prompts(load), _lengths(load), strict=True))[: load.one_by_one]
    started = time.perf_counter()
    for prompt, length in work:
        _generated(model, [prompt], length)
    return sum(length for _, length in work) / (time.perf_counter() - started)


def _batched(model: HuggingFaceModel, load: Load) -> float:
    """Return the tokens a second that were asked for; each batch runs to its longest completion."""
    prompts, lengths = _prompts(load), _lengths(load)
    started = time.perf_counter()
    for first in range(0, len(prompts), load.rows):
        part = slice(first, first + load.rows)
        _generated(model, prompts[part], max(lengths[part]))
    return sum(lengths) / (time.perf_counter() - started)


def _generated(model: HuggingFaceModel, prompts: Sequence[Sequence[int]], length: int) -> Any:
    ids = torch.tensor(prompts, device=model.device)
    told = {
        "do_sample": True,
        "min_new_tokens": length,
        "max_new_tokens": length,
        "pad_token_id": 0,
    }
    found = model.inner.generate(ids, attention_mask=torch.ones_like(ids), **told)
    wait(model.device)
    return found


def _trained(figures: Figures, model: HuggingFaceModel, load: Load, rounds: int) -> None:
    """Measure updates of the learner, each with its packing, loss and optimiser."""
    config = AlgorithmConfig(
        learning_rate=1e-6,
        epochs=1,
        entropy=0.0,
        row_tokens=load.row_tokens,
        rows=load.packed_rows,
    )
    learner = Learner(model, config, temperature=1.0, updates=rounds)
    group, lengths = _group(load)
    rewards = [each.reward for each in group.trajectories]
    peak, source = peak_flops(model.device, model.inner.dtype)
    operations = _operations(model, load, lengths)
    for number in range(rounds + 1):
        wait(model.device)
        started = time.perf_counter()
        learner.update([group], rewards)
        wait(model.device)
        spent_s = time.perf_counter() - started
        if number:
            figures["train.tokens_per_s"].samples.append(sum(lengths) / spent_s)
            figures["train.mfu"].samples.append(100 * operations / spent_s / peak)
    weights = sum(each.numel() for each in model.parameters())
    figures.notes.append(
        f"{weights / 1e9:.3f} billion random weights in "
        f"{str(model.inner.dtype).removeprefix('torch.')} on {model.device}; peak "
        f"{peak / 1e12:.1f} TFLOP/s ({source})"
    )


def _group(load: Load) -> tuple[Group, list[int]]:
    """Return trajectories of random tokens, half of them sampled, and their lengths."""
    draws, played, lengths = random.Random(2), list[Trajectory](), list[int]()
    for number in range(load.sequences):
        length = draws.randint(load.row_tokens // 6, load.row_tokens // 2)
        mask = [place >= length // 2 for place in range(length)]
        sequence = TokenSequence(
            [draws.randrange(load.vocabulary) for _ in range(length)],
            mask,
            [-1.0 if sampled else 0.0 for sampled in mask],
            [0 if sampled else -1 for sampled in mask],
        )
        tokens = EpisodeTokens((sequence,), 0, 0)
        played.append(Trajectory(float(number % 2), tokens, ("state",)))
        lengths.append(length)
    return Group(Assignment(0, "bench", 0, load.sequences), tuple(played)), lengths


def _operations(model: HuggingFaceModel, load: Load, lengths: Sequence[int]) -> float:
    """Return the operations of one pass forward and back; the embedding is the last layer too."""
    weights = sum(each.numel() for each in model.parameters())
    attention = 6.0 * load.layers * load.width
    return sum(6.0 * weights * length + attention * length**2 for length in lengths)
