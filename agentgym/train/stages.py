"""The configuration of learning from data sets, before the first episode of a training run."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agentgym.manifest import Manifest
from agentgym.train.losses import Weighting

_Count = Annotated[int, Field(ge=1)]
_Factor = Annotated[float, Field(gt=0, le=1e9)]


class SupervisedConfig(Manifest):
    """Supervised fine-tuning before the first episode."""

    data: str
    """A file of ``agentgym dataset sft --form native`` (or ``purified``)."""
    epochs: _Count = 4
    batch: _Count = 16
    """Episodes of an update."""
    learning_rate: _Factor = 3e-3
    weighting: Weighting = Weighting.TRAJECTORIES


class PreferenceConfig(Manifest):
    """Learning from preference pairs, after supervised fine-tuning and before the first episode."""

    data: str
    """A file of ``agentgym dataset pairs --form native``."""
    epochs: _Count = 2
    batch: _Count = 16
    """Pairs of an update."""
    learning_rate: _Factor = 1e-3
    beta: _Factor = 0.1
    smoothing: float = Field(default=0.0, ge=0, lt=0.5)
    """Share of the preferences that are taken to be the wrong way round."""
    shuffle: bool = False
    """Exchange chosen and rejected in half of the pairs: a control that must learn nothing."""
