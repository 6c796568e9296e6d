"""Log-probabilities and entropies of tokens, a part of the logits at a time.

With a vocabulary of 150,000 words the distributions of a batch are larger than the model. They are
computed anew in the backward pass, so that only the logits are kept.
"""

from __future__ import annotations

from typing import Final, cast

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

_AT_ONCE: Final = 2**26
"""Numbers of a distribution that are computed at once: 256 MiB in float32."""


def token_statistics(logits: Tensor, ids: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Return what a model said about tokens.

    Args:
        logits: ``float[N, V]``, before each token.
        ids: ``int64[N]``, the tokens.
        temperature: The temperature at which they were sampled, above 0.

    Returns:
        ``float32[N]``, the log-probability of each token, and ``float32[N]``, the entropy of the
        distribution that it was drawn from, in nats.
    """
    rows = max(1, _AT_ONCE // logits.shape[-1])
    if len(logits) <= rows:
        return _statistics(logits, ids, temperature)
    parts = [
        cast(
            tuple[Tensor, Tensor],
            checkpoint(_statistics, part, chosen, temperature, use_reentrant=False),
        )
        for part, chosen in zip(torch.split(logits, rows), torch.split(ids, rows), strict=True)
    ]
    own, entropy = zip(*parts, strict=True)
    return torch.cat(own), torch.cat(entropy)


def _statistics(logits: Tensor, ids: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    logprobs = (logits.float() / temperature).log_softmax(-1)
    own = logprobs.gather(-1, ids[:, None])[:, 0]
    return own, -(logprobs.exp() * logprobs).sum(-1)
