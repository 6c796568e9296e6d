"""The configuration of a training run, read from a TOML file (docs/training.md)."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from agentgym.errors import ConfigError
from agentgym.manifest import Manifest, load_toml
from agentgym.train.losses import Weighting

Positive = Annotated[int, Field(ge=1)]
SCHEMA: Final = "agentgym.train/1"


class Advantage(StrEnum):
    """Advantages that a configuration may name; see `agentgym.train.advantages`."""

    GRPO = "grpo"
    DR_GRPO = "dr_grpo"
    RLOO = "rloo"
    MC_GRPO = "mc_grpo"
    GIGPO = "gigpo"
    HGPO = "hgpo"


class PolicyConfig(Manifest):
    """The model, and the words that it reads and samples."""

    kind: Literal["tiny"] = "tiny"
    width: Positive = 64
    layers: Positive = 2
    heads: Positive = 4
    context: Positive = 128
    actions: dict[str, str]
    words: tuple[str, ...] = ()


class RolloutConfig(Manifest):
    """The episodes of an iteration."""

    groups: Positive = 16
    group_size: int = Field(default=8, ge=2)
    jobs: Positive = 16
    instances: Positive = 200
    """Seeds of each task that are trained on, from 0."""
    temperature: float = Field(default=1.0, gt=0)
    refills: int = Field(default=1, ge=0)
    """How many times groups that teach nothing are replaced by others."""


class AlgorithmConfig(Manifest):
    """How the weights are changed."""

    advantage: Advantage = Advantage.GRPO
    learning_rate: float = Field(default=3e-3, gt=0)
    epochs: Positive = 2
    clip_low: float = Field(default=0.2, ge=0, le=1)
    clip_high: float = Field(default=0.3, ge=0)
    entropy: float = Field(default=0.01, ge=0)
    """Weight of the entropy of the policy, which keeps it exploring."""
    weighting: Weighting = Weighting.TRAJECTORIES
    gradient_norm: float = Field(default=1.0, gt=0)
    row_tokens: Positive = 512
    rows: Positive = 32
    """Packed rows that are computed at once."""
    shuffle_rewards: bool = False
    """Shuffle the rewards of all episodes of an iteration: a control that must learn nothing."""


class EvaluationConfig(Manifest):
    """Episodes that measure the policy on seeds it is not trained on."""

    every: Positive = 10
    seeds: tuple[int, ...]
    trials: Positive = 4


class TrainConfig(Manifest):
    """See the module."""

    schema_version: Literal["agentgym.train/1"]
    tasks: tuple[str, ...] = Field(min_length=1)
    sandbox: str = "bubblewrap"
    iterations: Positive = 60
    seed: int = Field(default=0, ge=0)
    policy: PolicyConfig
    rollouts: RolloutConfig = RolloutConfig()
    algorithm: AlgorithmConfig = AlgorithmConfig()
    evaluation: EvaluationConfig

    @model_validator(mode="after")
    def _distinct(self) -> TrainConfig:
        if len(set(self.tasks)) < len(self.tasks):
            raise ValueError("tasks: a task is named twice")
        return self


def load_config(path: Path) -> TrainConfig:
    """Read a configuration; a task such as ``./copy`` is a folder beside the file.

    Raises:
        ConfigError: The file is missing or wrong; the message names its line.
    """
    config = load_toml(path, TrainConfig, ConfigError)
    beside = path.resolve().parent
    tasks = [str(beside / task) if task.startswith("./") else task for task in config.tasks]
    return config.model_copy(update={"tasks": tuple(tasks)})
