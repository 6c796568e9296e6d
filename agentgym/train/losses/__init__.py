"""Losses over sampled tokens and over pairs, corrections for stale data, and divergences."""

from agentgym.train.losses.correction import Level, masked, truncated
from agentgym.train.losses.divergence import Estimator, divergence
from agentgym.train.losses.policy import TokenLoss, clipped, decoupled
from agentgym.train.losses.preference import PreferenceLoss, dpo
from agentgym.train.losses.weighting import Weighting, token_weights

__all__ = [
    "Estimator",
    "Level",
    "PreferenceLoss",
    "TokenLoss",
    "Weighting",
    "clipped",
    "decoupled",
    "divergence",
    "dpo",
    "masked",
    "token_weights",
    "truncated",
]
