"""The configuration of a training run, read from a TOML file (docs/training.md)."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from agentgym.errors import ConfigError
from agentgym.manifest import Manifest, load_toml
from agentgym.train.branch_points import TreeConfig
from agentgym.train.curriculum import Difficulty
from agentgym.train.engine import GOES_ON, Surplus
from agentgym.train.losses import Level, Weighting
from agentgym.train.policies import HuggingFacePolicy, PolicyConfig, Positive, TinyPolicy
from agentgym.train.stages import PositiveFactor, PreferenceConfig, SupervisedConfig

SCHEMA: Final = "agentgym.train/1"

_MOST_EPISODES: Final = 1_000_000
"""Episodes of a batch, or of an evaluation."""
_MOST_TINY_ROW: Final = 16_384
"""Tokens of a row of the built-in transformer, whose attention takes the square of their number."""

_Factor = Annotated[float, Field(ge=0, le=1e9)]
"""A number that float32 holds, and its products with others too."""
_GroupSize = Annotated[int, Field(ge=2, le=4096)]


class Advantage(StrEnum):
    """Advantages that a configuration may name; see `agentgym.train.advantages`."""

    GRPO = "grpo"
    DR_GRPO = "dr_grpo"
    RLOO = "rloo"
    MC_GRPO = "mc_grpo"
    GIGPO = "gigpo"
    HGPO = "hgpo"
    PROCESS_GRPO = "process_grpo"
    TREE = "tree"


_BY_STEP: Final = (Advantage.GIGPO, Advantage.HGPO, Advantage.PROCESS_GRPO)


class Correction(StrEnum):
    """Weights for tokens that an older policy or another program sampled; see `losses`."""

    NONE = "none"
    TRUNCATED = "truncated"
    MASKED = "masked"


class RolloutConfig(Manifest):
    """The episodes of an iteration."""

    groups: int = Field(default=16, ge=1, le=65_536)
    """Groups of a batch: those in which rewards differ."""
    group_size: _GroupSize = 8
    largest_group: _GroupSize | None = None
    """Groups of instances that are nearly always or nearly never solved grow up to this size."""
    jobs: int = Field(default=16, ge=1, le=4096)
    instances: int = Field(default=200, ge=1, le=1_000_000)
    """Seeds of each task that are trained on, from 0."""
    difficulty: Difficulty = Difficulty.UNIFORM
    band: tuple[float, float] = (0.2, 0.8)
    """Success rates that ``difficulty = "band"`` aims at."""
    temperature: PositiveFactor = 1.0
    refills: int = Field(default=1, ge=0, le=10_000)
    """Batches of further groups that replace those whose rewards are all equal."""
    staleness: int = Field(default=0, ge=0, le=1024)
    """Updates of the weights between a token and its use, at most; 0 plays and learns in turn."""
    overprovision: float = Field(default=1.0, ge=1, le=8)
    """Groups begun for each group that a batch needs."""
    surplus: Surplus = Surplus.CANCEL
    """The fate of the groups that a batch did not need."""
    record: bool = False
    """Record every episode that is learnt from, in the folder ``rollouts`` of the run."""
    tree: TreeConfig | None = None
    """The forks of each attempt of a group; without it, attempts do not branch."""

    @model_validator(mode="after")
    def _values_fit(self) -> RolloutConfig:
        if self.surplus in GOES_ON and not self.staleness:
            raise ValueError(f'surplus: "{self.surplus}" needs a staleness of at least 1')
        if self.largest_group is not None and self.largest_group < self.group_size:
            raise ValueError("largest_group: expected at least group_size")
        if not 0 <= self.band[0] <= self.band[1] <= 1:
            raise ValueError(f"band: expected two ascending rates from 0 to 1, got {self.band}")
        begun = self.groups * (self.overprovision + self.staleness)
        episodes = int(begun * (self.largest_group or self.group_size))
        if episodes > _MOST_EPISODES:
            raise ValueError(
                f"groups of this size and this staleness begin {episodes:,} episodes at once; "
                f"expected at most {_MOST_EPISODES:,}"
            )
        return self


class AlgorithmConfig(Manifest):
    """The rule by which the weights change."""

    advantage: Advantage = Advantage.GRPO
    step_rewards: dict[str, Annotated[float, Field(ge=-1e9, le=1e9)]] = {}
    """Weight of the values of each step grader, for advantages that compare steps."""
    learning_rate: PositiveFactor = 3e-3
    final_learning_rate: float = Field(default=1.0, gt=0, le=1)
    """Share of the learning rate that is left at the last iteration; it decays linearly."""
    weight_decay: _Factor = 0.0
    epochs: Positive = 2
    largest_kl: float | None = Field(default=None, gt=0)
    """Divergence from the policy that sampled (nats a token) after which a batch gets no further
    epoch."""
    clip_low: float = Field(default=0.2, ge=0, le=1)
    clip_high: _Factor = 0.3
    dual_clip: float | None = Field(default=None, gt=1, le=1e9)
    correction: Correction = Correction.NONE
    correction_level: Level = Level.TOKEN
    kl: _Factor = 0.0
    """Weight of the divergence from the policy that the run began with."""
    entropy: _Factor = 0.01
    """Weight of the entropy of the policy, which keeps it exploring."""
    weighting: Weighting = Weighting.TRAJECTORIES
    gradient_norm: PositiveFactor = 1.0
    row_tokens: int = Field(default=512, ge=1, le=1 << 20)
    rows: int = Field(default=32, ge=1, le=65_536)
    """Packed rows that are computed at once."""
    shuffle_rewards: bool = False
    """Shuffle the rewards of all episodes of an iteration: a control that must learn nothing."""

    @model_validator(mode="after")
    def _steps_count(self) -> AlgorithmConfig:
        if self.step_rewards and self.advantage not in _BY_STEP:
            names = ", ".join(_BY_STEP)
            raise ValueError(f"step_rewards: expected one of the advantages {names}")
        if self.step_rewards and self.shuffle_rewards:
            raise ValueError("shuffle_rewards: the rewards of steps would still tell")
        return self


class EvaluationConfig(Manifest):
    """Episodes that measure the policy on seeds it is not trained on."""

    every: Positive = 10
    tasks: tuple[str, ...] = ()
    """Some of the tasks; all, if empty."""
    seeds: tuple[Annotated[int, Field(ge=0)], ...] = Field(min_length=1)
    trials: int = Field(default=4, ge=1, le=4096)

    @model_validator(mode="after")
    def _each_seed_counts_once(self) -> EvaluationConfig:
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds: a seed is named twice")
        return self


class TrainConfig(Manifest):
    """See the module."""

    schema_version: Literal["agentgym.train/1"]
    tasks: tuple[str, ...] = Field(min_length=1)
    sandbox: str = "bubblewrap"
    iterations: Positive = 60
    seed: int = Field(default=0, ge=0)
    policy: PolicyConfig
    supervised: SupervisedConfig | None = None
    preference: PreferenceConfig | None = None
    rollouts: RolloutConfig = RolloutConfig()
    algorithm: AlgorithmConfig = AlgorithmConfig()
    evaluation: EvaluationConfig

    @model_validator(mode="after")
    def _tasks_agree(self) -> TrainConfig:
        if len(set(self.tasks)) < len(self.tasks):
            raise ValueError("tasks: a task is named twice")
        if self.rollouts.tree is not None and self.algorithm.step_rewards:
            raise ValueError("algorithm.step_rewards: trees have none yet")
        played = len(self.evaluated) * len(self.evaluation.seeds) * self.evaluation.trials
        if played > _MOST_EPISODES:
            raise ValueError(
                f"evaluation: {played:,} episodes; expected at most {_MOST_EPISODES:,}"
            )
        if unknown := set(self.evaluation.tasks) - set(self.tasks):
            raise ValueError(f"evaluation.tasks: {min(unknown)} is not among the tasks")
        return self

    @model_validator(mode="after")
    def _a_dialogue_fits(self) -> TrainConfig:
        context, row = self.policy.context, self.algorithm.row_tokens
        if context > row:
            raise ValueError(
                f"algorithm.row_tokens: expected at least the context of the policy, {context}, "
                f"got {row}"
            )
        if isinstance(self.policy, TinyPolicy):
            if row > _MOST_TINY_ROW:
                raise ValueError(
                    f"algorithm.row_tokens: expected at most {_MOST_TINY_ROW} for this policy, "
                    f"got {row}"
                )
            self.policy.check_cache(self.rollouts.jobs)
        return self

    @property
    def evaluated(self) -> tuple[str, ...]:
        """The tasks on whose held-out seeds the policy is measured."""
        return self.evaluation.tasks or self.tasks


def load_config(path: Path) -> TrainConfig:
    """Read a configuration; a task, model or data set such as ``./copy`` is beside the file.

    Raises:
        ConfigError: The file is missing or wrong; the message names its line.
    """
    config = load_toml(path, TrainConfig, ConfigError)
    beside = path.resolve().parent

    def placed(name: str) -> str:
        return str(beside / name) if name.startswith("./") else name

    tasks, evaluated = (tuple(map(placed, t)) for t in (config.tasks, config.evaluation.tasks))
    evaluation = config.evaluation.model_copy(update={"tasks": evaluated})
    changes: dict[str, object] = {"tasks": tasks, "evaluation": evaluation}
    if isinstance(policy := config.policy, HuggingFacePolicy):
        changes["policy"] = policy.model_copy(update={"path": placed(policy.path)})
    for name in ("supervised", "preference"):
        if (stage := getattr(config, name)) is not None:
            changes[name] = stage.model_copy(update={"data": placed(stage.data)})
    return config.model_copy(update=changes)
