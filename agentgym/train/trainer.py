"""The reference trainer: play groups of episodes, learn from them, measure, repeat.

Everything random derives from the configured seed and the number of the iteration, so a run that
was interrupted goes on from its last checkpoint as if it had not been.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from agentgym import plugins
from agentgym.env.environment import Environment
from agentgym.env.opening import load_built
from agentgym.errors import ConfigError, RecordError
from agentgym.train.config import TrainConfig
from agentgym.train.learner import Learner
from agentgym.train.models.tiny import TinyShape, TinyTransformer
from agentgym.train.policy import TokenPolicy
from agentgym.train.rollouts import Group, Rollouts
from agentgym.train.sampling.sampler import Sampler
from agentgym.train.templates.words import WordTemplate

Metrics = dict[str, float | int | None]
_SEEDS_PER_TRIAL = 1_000_003


@dataclass
class TrainingRun:
    """The folder of a training run.

    Attributes:
        folder: Holds ``metrics.jsonl``, a line an iteration, and ``checkpoint.pt``.
    """

    folder: Path
    history: list[Metrics] = field(default_factory=list)

    def note(self, metrics: Metrics) -> None:
        """Add the figures of an iteration."""
        self.history.append(metrics)
        with (self.folder / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(metrics) + "\n")

    def save(self, state: Mapping[str, Any]) -> None:
        """Replace the checkpoint; a kill leaves the old or the new one."""
        part = self.folder / "checkpoint.pt.part"
        torch.save({**state, "history": self.history}, part)
        os.replace(part, self.folder / "checkpoint.pt")

    def load(self) -> dict[str, Any] | None:
        """Return the checkpoint, None if there is none, and cut the metrics back to it.

        Raises:
            RecordError: It cannot be read.
        """
        path = self.folder / "checkpoint.pt"
        if not path.exists():
            return None
        try:
            state: dict[str, Any] = torch.load(path, weights_only=True)
        except Exception as error:
            raise RecordError(f"{path}: not a checkpoint of a training run: {error}") from error
        self.history = state["history"]
        lines = "".join(json.dumps(metrics) + "\n" for metrics in self.history)
        (self.folder / "metrics.jsonl").write_text(lines)
        return state


class Trainer:
    """Trains one policy; made by `open_trainer`."""

    def __init__(
        self, config: TrainConfig, environments: dict[str, Environment], run: TrainingRun
    ) -> None:
        self._config, self._run, self._environments = config, run, environments
        self._template = WordTemplate(config.policy.actions, config.policy.words)
        torch.manual_seed(config.seed)
        policy = config.policy
        size = (len(self._template.vocabulary), policy.width, policy.layers, policy.heads)
        self._model = TinyTransformer(TinyShape(*size, policy.context))
        self._learner = Learner(
            self._model, config.algorithm, temperature=config.rollouts.temperature
        )
        self._sampler = Sampler(self._model, rows=config.rollouts.jobs)
        self._rollouts = Rollouts(environments, self._policy, jobs=config.rollouts.jobs)
        self._instances = {task: self._seeds(task) for task in config.tasks}
        self.iteration = 0

    def resume(self) -> None:
        """Go on from the run's checkpoint, if there is one.

        Raises:
            RecordError: It cannot be read, or another configuration made it.
        """
        if (state := self._run.load()) is None:
            return
        if state["config"] != self._config.model_dump_json():
            raise RecordError(
                f"{self._run.folder}: another configuration made this run; train into a new folder"
            )
        self._model.load_state_dict(state["model"])
        self._learner.load_state_dict(state["optimizer"])
        self.iteration = self._sampler.version = state["iteration"]

    async def train(self, tell: Callable[[Metrics], None]) -> list[Metrics]:
        """Train until the configured number of iterations; returns the figures of each.

        Args:
            tell: Is called with the figures of each iteration.
        """
        while self.iteration < self._config.iterations:
            metrics = await self._iterate()
            self._run.note(metrics)
            self._run.save(
                {
                    "config": self._config.model_dump_json(),
                    "iteration": self.iteration,
                    "model": self._model.state_dict(),
                    "optimizer": self._learner.state_dict(),
                }
            )
            tell(metrics)
        return self._run.history

    async def close(self) -> None:
        """End what is being sampled."""
        await self._sampler.close()

    async def _iterate(self) -> Metrics:
        began_s = time.monotonic()
        played = await self._play()
        played_s = time.monotonic()
        teaching = [group for group in played if group.teaches]
        everything = [each for group in played for each in group.trajectories]
        metrics: Metrics = {
            "iteration": self.iteration + 1,
            "reward": _mean([each.reward for each in everything]),
            "pass_rate": _mean([float(each.reward >= 1) for each in everything]),
            "episodes": len(everything),
            "missing": sum(len(group.missing) for group in played),
            "groups": len(teaching),
            "tokens": sum(len(s.ids) for each in everything for s in each.tokens.sequences),
        }
        if teaching:
            rewards = [each.reward for group in teaching for each in group.trajectories]
            if self._config.algorithm.shuffle_rewards:
                random.Random(f"{self._config.seed} {self.iteration}").shuffle(rewards)
            async with self._sampler.updating():
                update = self._learner.update
                metrics |= await asyncio.to_thread(update, teaching, rewards)
        self.iteration += 1
        self._sampler.version = self.iteration
        learnt_s = time.monotonic()
        if self.iteration % self._config.evaluation.every == 0:
            metrics |= await self._evaluate()
        metrics |= {
            "play_s": round(played_s - began_s, 3),
            "learn_s": round(learnt_s - played_s, 3),
            "evaluate_s": round(time.monotonic() - learnt_s, 3),
        }
        return metrics

    async def _play(self) -> list[Group]:
        """Play the groups of an iteration; those that teach nothing are followed by others."""
        rollouts, played = self._config.rollouts, list[Group]()
        rng = random.Random(f"{self._config.seed} play {self.iteration}")
        for round_number in range(1 + rollouts.refills):
            wanted = rollouts.groups - sum(group.teaches for group in played)
            tasks = [rng.choice(self._config.tasks) for _ in range(wanted)]
            salts = [self._salt(round_number, number) for number in range(wanted)]
            played += await asyncio.gather(
                *(
                    self._rollouts.group(
                        task, rng.choice(self._instances[task]), rollouts.group_size, salt=salt
                    )
                    for task, salt in zip(tasks, salts, strict=True)
                )
            )
        if not any(group.trajectories for group in played):
            reasons = {reason for group in played for reason in group.missing}
            raise RecordError(f"no episode of an iteration has a score: {'; '.join(reasons)}")
        return played

    def _salt(self, round_number: int, number: int) -> int:
        iteration = self.iteration * (1 + self._config.rollouts.refills) + round_number
        return iteration * self._config.rollouts.groups + number

    async def _evaluate(self) -> Metrics:
        """Play the seeds that are not trained on, as the policy samples."""
        evaluation = self._config.evaluation
        groups = await asyncio.gather(
            *(
                self._rollouts.group(task, seed, evaluation.trials, salt=-1)
                for task in self._config.tasks
                for seed in evaluation.seeds
            )
        )
        scored = [each for group in groups for each in group.trajectories]
        return {
            "evaluation_reward": _mean([each.reward for each in scored]),
            "evaluation_pass_rate": _mean([float(each.reward >= 1) for each in scored]),
            "evaluation_missing": sum(len(group.missing) for group in groups),
        }

    def _policy(self, draws: int) -> TokenPolicy:
        return TokenPolicy(
            self._sampler,
            self._template,
            limit=1,
            temperature=self._config.rollouts.temperature,
            seed=self._config.seed * _SEEDS_PER_TRIAL + draws,
        )

    def _seeds(self, task: str) -> list[int]:
        """Return seeds to train on whose instances differ from those of the evaluation.

        Raises:
            ConfigError: There are none.
        """
        instance = self._environments[task].task.instance
        held_out = [instance(seed).params for seed in self._config.evaluation.seeds]
        seeds = range(self._config.rollouts.instances)
        if found := [seed for seed in seeds if instance(seed).params not in held_out]:
            return found
        raise ConfigError(
            f"{task}: every instance to train on is one of the evaluation's; "
            "raise rollouts.instances or name fewer evaluation.seeds"
        )


@asynccontextmanager
async def open_trainer(config: TrainConfig, folder: Path) -> AsyncIterator[Trainer]:
    """Open the environments and the policy of a training run, and close them.

    Args:
        config: The run.
        folder: Holds the run; it is made if needed.

    Raises:
        AgentGymError: A task or the sandbox provider is unknown or broken.
    """
    folder.mkdir(parents=True, exist_ok=True)
    async with AsyncExitStack() as closing:
        provider = plugins.load("agentgym.sandboxes", config.sandbox)()
        closing.push_async_callback(provider.close)
        environments = {
            task: await closing.enter_async_context(Environment(load_built(task), provider))
            for task in config.tasks
        }
        trainer = Trainer(config, environments, TrainingRun(folder))
        closing.push_async_callback(trainer.close)
        yield trainer


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
