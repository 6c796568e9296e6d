"""The reference trainer: play groups of episodes, learn from them, measure, repeat.

Everything random derives from the configured seed and the number of a group, so a run that was
interrupted goes on from its last checkpoint as if it had not been.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from agentgym.cluster.place import ClusterOptions
from agentgym.env.opening import load_built
from agentgym.errors import AgentGymError, ConfigError, RecordError
from agentgym.record.reading import expect
from agentgym.task.model import Task
from agentgym.train.cluster_player import open_cluster_player
from agentgym.train.curriculum import Curriculum
from agentgym.train.engine import HELD, RolloutEngine
from agentgym.train.learner import Learner
from agentgym.train.loading import LoadedPolicy, load_policy
from agentgym.train.players import LocalPlayer, Player, open_environments
from agentgym.train.progress import TrainingProgress
from agentgym.train.rollouts import Assignment, Group
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
        run: TrainingRun,
        progress: TrainingProgress,
        loaded: LoadedPolicy,
        player: Player,
        tasks: Mapping[str, Task],
    ) -> None:
        self._config, self._run, self._progress = run.config, run, progress
        self._loaded, self._player, self._tasks = loaded, player, tasks
        self._learner = self._make_learner()
        self._engine = self._make_engine()
        self._warm_start: WarmStart | None = None
        self.iteration = 0

    async def begin(self) -> None:
        """Begin with the policy as it was loaded, or go on from the run's checkpoint.

        Raises:
            RecordError: The checkpoint, or a data set to learn from first, cannot be read.
            ConfigError: A data set does not fit the policy.
        """
        if (state := self._run.load()) is not None:
            try:
                self._loaded.module.load_state_dict(state["model"])
                self._learner.load_state_dict(state["learner"])
                self._engine.load_state_dict(state["engine"])
                self.iteration = expect(state["iteration"], "iteration", int)
                if self.iteration < 0:
                    raise ValueError(f"iteration: expected at least 0, got {self.iteration}")
            except Exception as error:  # PyTorch raises many kinds for a state of another form.
                told = f"{self._run.folder}: its checkpoint does not fit: {error!s:.2000}"
                raise RecordError(told) from error
        else:
            self._warm_start = self._open_warm_start()
        await self._player.update(self._engine.version, lambda: None)

    async def train(self) -> list[Metrics]:
        """Train until the configured number of iterations; returns the figures of each.

        Iteration 0 measures the policy before it has learnt, and holds the figures of learning
        from data sets.

        Raises:
            RecordError: No episode of a batch has a score, or the run cannot be written.
        """
        if not self._run.history:
            warm_start, self._warm_start = self._warm_start, None
            untrained = await self._evaluate()
            self._note({"iteration": 0, **untrained, **await self._warm(warm_start)})
        while self.iteration < self._config.iterations:
            self._note(await self._iterate())
        return self._run.history

    async def close(self) -> None:
        """End what is being played and sampled."""
        await self._engine.close()
        self._run.close()

    def _note(self, metrics: Metrics) -> None:
        self._run.note(metrics)
        self._run.save(
            {
                "iteration": self.iteration,
                "model": self._loaded.module.state_dict(),
                "learner": self._learner.state_dict(),
                "engine": self._engine.state_dict(),
            }
        )
        self._progress.iteration(metrics)

    async def _iterate(self) -> Metrics:
        began_s, busy_s = time.monotonic(), self._player.busy_s
        number = self.iteration + 1
        before = self._engine.counters.copy()
        batch = await self._engine.batch(
            lambda ready, wanted: self._progress.playing(f"iteration {number}", ready, wanted)
        )
        played_s = time.monotonic()
        metrics: Metrics = {"iteration": number, **_figures(batch.played)}
        metrics["drift"] = await asyncio.to_thread(self._drift, batch.played)
        metrics["groups"] = len(batch.groups)
        left_out = self._engine.counters - before
        metrics |= {name: left_out[name] for name in ("cancelled", "stale")}
        if self._config.algorithm.step_rewards:
            metrics["grader_failures"] = self._player.take_failures()
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
        live_s = self._player.busy_s - busy_s
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
        return await self._player.update(
            self._engine.version + 1, lambda: self._learner.update(groups, rewards)
        )

    def _open_warm_start(self) -> WarmStart | None:
        """Read the data sets that the policy learns from first, without held-out instances."""
        if self._config.supervised is None and self._config.preference is None:
            return None
        instances = {
            id: task.instance
            for name, task in self._tasks.items()
            if name in self._config.evaluated
            for id in (name, task.id)
        }
        seeds = self._config.evaluation.seeds
        held_out = {id: [make(seed).params for seed in seeds] for id, make in instances.items()}

        def is_held_out(task: str, seed: int) -> bool:
            return task in instances and instances[task](seed).params in held_out[task]

        vocabulary, tokens = self._loaded.template.vocabulary, self._loaded.tokens
        return open_warm_start(self._config, vocabulary, tokens, is_held_out)

    async def _warm(self, warm_start: WarmStart | None) -> Metrics:
        """Learn from the data sets, and measure the policy again."""
        if warm_start is None:
            return {}
        figures = await self._player.update(
            self._engine.version, lambda: warm_start.learn(self._loaded.model)
        )
        self._learner = self._make_learner()
        measured = await self._evaluate()
        return {**figures, "warm_pass_rate": measured["evaluation_pass_rate"]}

    def _make_learner(self) -> Learner:
        config = self._config
        temperature, updates = config.rollouts.temperature, config.iterations
        return Learner(
            *(self._loaded.model, config.algorithm),
            temperature=temperature,
            updates=updates,
            pictures=self._loaded.pictures,
        )

    async def _evaluate(self) -> Metrics:
        """Play the seeds that are not trained on, as the policy samples."""
        evaluation = self._config.evaluation
        groups = await asyncio.gather(
            *(
                self._player.measure(Assignment(_EVALUATION, task, seed, evaluation.trials))
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
        return _mean([float(self._loaded.template.drifts(ids)) for ids in completions])

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
            self._player,
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
        instance = self._tasks[task].instance
        held_out = [instance(seed).params for seed in self._config.evaluation.seeds]
        if found := [seed for seed in seeds if instance(seed).params not in held_out]:
            return found
        raise ConfigError(
            f"{task}: every instance to train on is one of the evaluation's; "
            "raise rollouts.instances or name fewer evaluation.seeds"
        )


@asynccontextmanager
async def open_trainer(
    run: TrainingRun, progress: TrainingProgress, cluster: ClusterOptions | None = None
) -> AsyncIterator[Trainer]:
    """Open the environments and the policy of a training run, and close them.

    Args:
        run: The run; it is continued if it holds a checkpoint.
        progress: Shows what happens.
        cluster: A cluster whose workers play the episodes; None: this process plays them.

    Raises:
        AgentGymError: A task, the sandbox provider or the cluster is unknown or broken.
        ConfigError: Episodes on workers are to wait between two batches.
    """
    opened = False
    try:
        async with AsyncExitStack() as closing:
            trainer = await _open(run, progress, cluster, closing)
            opened = True
            yield trainer
    except AgentGymError:
        if not opened:
            # The next try of a new run then needs neither --resume nor another folder.
            run.abandon()
        raise


async def _open(
    run: TrainingRun,
    progress: TrainingProgress,
    cluster: ClusterOptions | None,
    closing: AsyncExitStack,
) -> Trainer:
    """Return a trainer that can begin; `closing` ends what it uses."""
    config = run.config
    if cluster is not None and config.rollouts.surplus in HELD:
        raise ConfigError(
            f'rollouts.surplus: "{config.rollouts.surplus}" needs episodes in this process; '
            'with workers, expected "cancel", "reissue" or "continue"'
        )
    loaded = load_policy(config.policy, seed=config.seed)
    for note in loaded.notes:
        progress.note(note)
    tasks = {name: load_built(name) for name in config.tasks}
    store = None
    if config.rollouts.record:
        store = run.open_record([task.id for task in tasks.values()])
        closing.callback(store.close)
    if cluster is None:
        environments = await closing.enter_async_context(open_environments(config))
        player: Player = LocalPlayer(config, loaded, environments, store)
    else:
        opening = open_cluster_player(config, loaded.module, store, cluster, progress.note)
        player = await closing.enter_async_context(opening)
    closing.push_async_callback(player.close)
    trainer = Trainer(run, progress, loaded, player, tasks)
    closing.push_async_callback(trainer.close)
    await trainer.begin()
    return trainer


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
