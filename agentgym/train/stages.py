"""The configuration of learning from data sets, before the first episode of a training run."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agentgym.manifest import Manifest
from agentgym.train.losses import Weighting
from agentgym.train.policies import Positive

PositiveFactor = Annotated[float, Field(gt=0, le=1e9)]
"""A number that float32 holds, and its products with others too."""


class SupervisedConfig(Manifest):
    """Supervised fine-tuning before the first episode."""

    data: str
    """A file of ``agentgym dataset sft --form native`` (or ``purified``)."""
    epochs: Positive = 4
    batch: Positive = 16
    """Episodes of an update."""
    learning_rate: PositiveFactor = 3e-3
    weighting: Weighting = Weighting.TRAJECTORIES


class PreferenceConfig(Manifest):
    """Learning from preference pairs, after supervised fine-tuning and before the first episode."""

    data: str
    """A file of ``agentgym dataset pairs --form native``."""
    epochs: Positive = 2
    batch: Positive = 16
    """Pairs of an update."""
    learning_rate: PositiveFactor = 1e-3
    beta: PositiveFactor = 0.1
    smoothing: float = Field(default=0.0, ge=0, lt=0.5)
    """Share of the preferences that are taken to be the wrong way round."""
    shuffle: bool = False
    """Exchange chosen and rejected in half of the pairs: a control that must learn nothing."""
