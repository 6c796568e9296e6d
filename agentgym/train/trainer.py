"""The reference trainer: play groups of episodes, learn from them, measure, repeat.

Everything random derives from the configured seed and the number of a group, so a run that was
interrupted goes on from its last checkpoint as if it had not been.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from torch import nn

from agentgym import plugins
from agentgym.env.environment import Environment
from agentgym.env.opening import load_built
from agentgym.errors import ConfigError, RecordError
from agentgym.train.curriculum import Curriculum
from agentgym.train.engine import RolloutEngine
from agentgym.train.learner import Learner
from agentgym.train.loading import load_policy
from agentgym.train.policy import TokenPolicy
from agentgym.train.progress import TrainingProgress
from agentgym.train.rollouts import Assignment, Group, Rollouts
from agentgym.train.sampling.sampler import Sampler
from agentgym.train.step_rewards import StepRewards
from agentgym.train.training_run import SAVED_POLICY, Metrics, TrainingRun
from agentgym.train.warm_start import WarmStart, open_warm_start

_EVALUATION = -1
"""Number of the groups that measure: they draw other tokens than those that are learnt from."""


class Trainer:
    """Trains one policy; made by `open_trainer`.

    Attributes:
        iteration: How many batches the policy has learnt from.
    """

    def __init__(
        self,
        environments: dict[str, Environment],
        run: TrainingRun,
        progress: TrainingProgress,
    ) -> None:
        self._config = config = run.config
        self._run, self._progress, self._environments = run, progress, environments
        self._loaded = load_policy(config.policy, seed=config.seed)
        for note in self._loaded.notes:
            progress.note(note)
        self._template, self._model = self._loaded.template, self._loaded.module
        # Where rollouts go on while the policy learns, they sample from a copy of it.
        copied = copy.deepcopy(self._loaded.model) if config.rollouts.staleness else None
        sampled = copied or self._loaded.model
        assert isinstance(sampled, nn.Module)
        self._sampled = sampled
        self._learner = self._make_learner()
        self._sampler = Sampler(
            sampled,
            rows=config.rollouts.jobs,
            batch_invariant=config.policy.batch_invariant,
        )
        rollouts = config.rollouts
        tasks = [environment.task.id for environment in environments.values()]
        self._store = run.open_record(tasks) if rollouts.record else None
        weights = config.algorithm.step_rewards
        self._step_rewards = StepRewards(weights) if weights else None
        self._rollouts = Rollouts(
            *(environments, self._policy),
            jobs=rollouts.jobs,
            tree=rollouts.tree,
            store=self._store,
            step_rewards=self._step_rewards,
        )
        self._engine = self._make_engine()
        self.iteration = 0

    def resume(self) -> None:
        """Go on from the run's checkpoint, if there is one.

        Raises:
            RecordError: It cannot be read.
        """
        if (state := self._run.load()) is None:
            return
        try:
            self._model.load_state_dict(state["model"])
            self._sampled.load_state_dict(state["model"])
            self._learner.load_state_dict(state["learner"])
            self._engine.load_state_dict(state["engine"])
        except (KeyError, RuntimeError, ValueError) as error:
            raise RecordError(f"{self._run.folder}: its checkpoint does not fit: {error}") from None
        self.iteration = state["iteration"]
        self._sampler.version = self._engine.version

    async def train(self) -> list[Metrics]:
        """Train until the configured number of iterations; returns the figures of each.

        Iteration 0 measures the policy before it has learnt, and holds the figures of learning
        from data sets.

        Raises:
            RecordError: No episode of a batch has a score, or the run cannot be written.
        """
        if not self._run.history:
            warm_start = self._open_warm_start()
            untrained = await self._evaluate()
            self._note({"iteration": 0, **untrained, **await self._warm(warm_start)})
        while self.iteration < self._config.iterations:
            self._note(await self._iterate())
        return self._run.history

    async def close(self) -> None:
        """End what is being played and sampled."""
        await self._engine.close()
        await self._sampler.close()
        if self._store is not None:
            self._store.close()
        self._run.close()

    def _note(self, metrics: Metrics) -> None:
        self._run.note(metrics)
        self._run.save(
            {
                "iteration": self.iteration,
                "model": self._model.state_dict(),
                "learner": self._learner.state_dict(),
                "engine": self._engine.state_dict(),
            }
        )
        self._progress.iteration(metrics)

    async def _iterate(self) -> Metrics:
        began_s, busy_s = time.monotonic(), self._rollouts.busy_s
        number = self.iteration + 1
        batch = await self._engine.batch(
            lambda ready, wanted: self._progress.playing(f"iteration {number}", ready, wanted)
        )
        played_s = time.monotonic()
        metrics: Metrics = {"iteration": number, **_figures(batch.played)}
        metrics["drift"] = await asyncio.to_thread(self._drift, batch.played)
        metrics["groups"] = len(batch.groups)
        if self._step_rewards is not None:
            metrics["grader_failures"] = self._step_rewards.take_failures()
        if batch.groups:
            oldest = min(group.oldest for group in batch.groups)
            metrics["staleness"] = self._engine.version - oldest
            metrics |= await self._learn(batch.groups)
            self._engine.advance()
        self.iteration = number
        learnt_s = time.monotonic()
        last = number == self._config.iterations
        if last or number % self._config.evaluation.every == 0:
            metrics |= await self._evaluate()
            await asyncio.to_thread(self._loaded.save, self._run.folder / SAVED_POLICY)
        spent_s = learnt_s - began_s
        live_s = self._rollouts.busy_s - busy_s
        metrics |= {
            "tokens_per_s": round(int(metrics["tokens"] or 0) / (played_s - began_s)),
            "utilisation": round(live_s / (spent_s * self._config.rollouts.jobs), 3),
            "play_s": round(played_s - began_s, 3),
            "learn_s": round(learnt_s - played_s, 3),
        }
        return metrics

    async def _learn(self, groups: Sequence[Group]) -> dict[str, float]:
        rewards = [each.reward for group in groups for each in group.trajectories]
        if self._config.algorithm.shuffle_rewards:
            random.Random(f"{self._config.seed} {self.iteration}").shuffle(rewards)
        if self._sampled is self._model:
            async with self._sampler.updating():
                return await asyncio.to_thread(self._learner.update, groups, rewards)
        figures = await asyncio.to_thread(self._learner.update, groups, rewards)
        async with self._sampler.updating():
            self._sampled.load_state_dict(self._model.state_dict())
        return figures

    def _open_warm_start(self) -> WarmStart | None:
        """Read the data sets that the policy learns from first, without held-out instances."""
        instances = {
            id: environment.task.instance
            for task, environment in self._environments.items()
            if task in self._config.evaluated
            for id in (task, environment.task.id)
        }
        seeds = self._config.evaluation.seeds
        held_out = {id: [make(seed).params for seed in seeds] for id, make in instances.items()}

        def is_held_out(task: str, seed: int) -> bool:
            return task in instances and instances[task](seed).params in held_out[task]

        return open_warm_start(self._config, self._template.vocabulary, is_held_out)

    async def _warm(self, warm_start: WarmStart | None) -> Metrics:
        """Learn from the data sets, and measure the policy again."""
        if warm_start is None:
            return {}
        async with self._sampler.updating():
            figures = await asyncio.to_thread(warm_start.learn, self._loaded.model)
            self._sampled.load_state_dict(self._model.state_dict())
        self._learner = self._make_learner()
        measured = await self._evaluate()
        return {**figures, "warm_pass_rate": measured["evaluation_pass_rate"]}

    def _make_learner(self) -> Learner:
        config = self._config
        temperature, updates = config.rollouts.temperature, config.iterations
        told = (self._loaded.model, config.algorithm)
        return Learner(*told, temperature=temperature, updates=updates)

    async def _evaluate(self) -> Metrics:
        """Play the seeds that are not trained on, as the policy samples."""
        evaluation = self._config.evaluation
        rollouts = Rollouts(self._environments, self._policy, jobs=self._config.rollouts.jobs)
        groups = await asyncio.gather(
            *(
                rollouts.group(Assignment(_EVALUATION, task, seed, evaluation.trials))
                for task in self._config.evaluated
                for seed in evaluation.seeds
            )
        )
        figures = _figures(groups)
        kept = ("reward", "pass_rate", "missing")
        return {f"evaluation_{name}": figures[name] for name in kept}

    def _drift(self, groups: Sequence[Group]) -> float | None:
        """Return the share of completions whose text, encoded anew, has other tokens."""
        played = [each.tokens for group in groups for each in group.trajectories]
        completions = [ids for tokens in played for ids in tokens.completions()]
        return _mean([float(self._template.drifts(ids)) for ids in completions])

    def _policy(self, assignment: Assignment, attempt: str) -> TokenPolicy:
        told = f"{self._config.seed} {assignment.number} {attempt}"
        return TokenPolicy(
            self._sampler,
            self._template,
            limit=self._loaded.completion_tokens,
            temperature=self._config.rollouts.temperature,
            seed=int.from_bytes(hashlib.sha256(told.encode()).digest()[:8]),
        )

    def _make_engine(self) -> RolloutEngine:
        rollouts = self._config.rollouts
        curriculum = Curriculum(
            {task: self._seeds(task) for task in self._config.tasks},
            difficulty=rollouts.difficulty,
            sizes=(rollouts.group_size, rollouts.largest_group or rollouts.group_size),
            band=rollouts.band,
            seed=self._config.seed,
        )
        return RolloutEngine(
            self._rollouts,
            curriculum,
            batch=rollouts.groups,
            staleness=rollouts.staleness,
            refills=rollouts.refills,
            overprovision=rollouts.overprovision,
            surplus=rollouts.surplus,
        )

    def _seeds(self, task: str) -> list[int]:
        """Return seeds to train on; their instances differ from those of the evaluation.

        Raises:
            ConfigError: Every seed has an instance of the evaluation.
        """
        seeds = range(self._config.rollouts.instances)
        if task not in self._config.evaluated:
            return list(seeds)
        instance = self._environments[task].task.instance
        held_out = [instance(seed).params for seed in self._config.evaluation.seeds]
        if found := [seed for seed in seeds if instance(seed).params not in held_out]:
            return found
        raise ConfigError(
            f"{task}: every instance to train on is one of the evaluation's; "
            "raise rollouts.instances or name fewer evaluation.seeds"
        )


@asynccontextmanager
async def open_trainer(run: TrainingRun, progress: TrainingProgress) -> AsyncIterator[Trainer]:
    """Open the environments and the policy of a training run, and close them.

    Args:
        run: The run; it is continued if it holds a checkpoint.
        progress: Shows what happens.

    Raises:
        AgentGymError: A task or the sandbox provider is unknown or broken.
    """
    async with AsyncExitStack() as closing:
        provider = plugins.make_provider(run.config.sandbox)
        closing.push_async_callback(provider.close)
        environments = {
            task: await closing.enter_async_context(Environment(load_built(task), provider))
            for task in run.config.tasks
        }
        trainer = Trainer(environments, run, progress)
        closing.push_async_callback(trainer.close)
        trainer.resume()
        yield trainer


def _figures(groups: Sequence[Group]) -> Metrics:
    """Return what the trajectories of groups reached, by task too if there are several."""
    played = [(group.assignment.task, each) for group in groups for each in group.trajectories]
    metrics: Metrics = {
        "reward": _mean([each.reward for _, each in played]),
        "pass_rate": _mean([float(each.reward >= 1) for _, each in played]),
        "episodes": len(played),
        "missing": sum(len(group.missing) for group in groups),
        "tokens": sum(len(ids.ids) for _, each in played for ids in each.tokens.sequences),
        "breaks": sum(each.tokens.breaks for _, each in played),
    }
    for task in sorted({task for task, _ in played}):
        rewards = [each.reward for name, each in played if name == task]
        metrics[f"pass_rate/{task.rsplit('/', 1)[-1]}"] = _mean([float(r >= 1) for r in rewards])
    return metrics


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 6) if values else None
