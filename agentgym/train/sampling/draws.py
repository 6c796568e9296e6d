"""Draws tokens with a generator for each completion, whatever else is in the batch."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch
from torch import Tensor


def draw(
    logits: Tensor, generators: Sequence[random.Random], temperatures: Sequence[float]
) -> tuple[list[int], list[float]]:
    """Return a token for each row, and its log-probability under the tempered distribution.

    Args:
        logits: ``float32[B, V]``.
        generators: One for each row; each gives one number.
        temperatures: One for each row; 0 takes the likeliest token, whose probability is then 1.

    Returns:
        B token ids, and B natural logarithms.
    """
    device = logits.device
    heat = torch.tensor(temperatures, device=device, dtype=logits.dtype)[:, None]
    tempered = torch.where(heat > 0, logits / heat.clamp(min=1e-8), logits)
    logprobs = tempered.log_softmax(-1)
    # In float32 the sum over a large vocabulary loses rare tokens.
    cumulated = logprobs.double().exp().cumsum(-1)
    uniform = torch.tensor([generator.random() for generator in generators], device=device)
    reached = uniform.double()[:, None] * cumulated[:, -1:]
    sampled = (cumulated <= reached).sum(-1).clamp(max=logits.shape[-1] - 1)
    chosen = torch.where(heat[:, 0] > 0, sampled, logits.argmax(-1))
    told = logprobs.gather(-1, chosen[:, None])[:, 0]
    return chosen.tolist(), torch.where(heat[:, 0] > 0, told, 0.0).tolist()
