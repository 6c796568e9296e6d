"""Measures what reinforcement learning needs of the engine, and on a GPU of a language model.

The episodes are those of a task over services, because these start and step fastest, so that what
the engine adds is seen best. Policies answer at once, or after a wait with a long tail.
"""

from __future__ import annotations

import asyncio
import functools
import random
import time
from collections.abc import Sequence
from typing import Any

import gymnasium

import agentgym
import agentgym.vector
from agentgym.bench.series import Figure, Figures
from agentgym.bench.server import figures_of_servers, measure_servers
from agentgym.env.environment import Environment
from agentgym.env.episode import Episode
from agentgym.env.opening import load_built
from agentgym.env.transition import Transition
from agentgym.installation import missing_extra
from agentgym.records import Action, Briefing, Decision, Observation, Step, ToolSpec
from agentgym.rollout.run import run_episode
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.train.branch_points import BranchAt, TreeConfig
from agentgym.train.curriculum import Curriculum
from agentgym.train.engine import RolloutEngine, Surplus
from agentgym.train.rollouts import Assignment, Group, Trajectory
from agentgym.train.samples import EpisodeTokens
from agentgym.train.trees import play_tree

_TASK = "tools/largest-debtors-v1"
_READ = {"tool": "contacts_search", "arguments": {"text": "an"}}
_LANES = 8
_EPISODES = 256


async def measure_rl(quick: bool, models: bool = False) -> Figures:
    """Measure rollouts for training, and on a GPU a language model.

    Args:
        quick: Whether to do fewer repetitions, with a quarter of the live episodes.
        models: Whether to measure a language model on a CPU too, a very small one.

    Raises:
        MissingExtraError: `models` is set, and transformers is not installed.
    """
    live = _EPISODES // (4 if quick else 1)
    figures = Figures(
        Figure("overhead_ms.p50", f"the event loop's time in a step, {live} live", "ms", 0.5),
        Figure("step_ms.p50", "  processor time of the step, its service call included", "ms"),
        Figure(
            *("overprovision.gain", "groups a second with half as many more begun", "x", 1.4),
            at_least=True,
        ),
        Figure("asynchronous.gain", "  with episodes that go on into the next batch", "x"),
        Figure("tree64.cost_ratio", "a tree of 64 leaves: steps over distinct ones", "x", 1.2),
        Figure("tree64.leaf_ms", "  a leaf: its fork, steps and judgement, processor time", "ms"),
        Figure("vector.steps_per_s", f"agentgym.vector, {_LANES} lanes", "/s"),
        Figure("gymnasium_async.steps_per_s", f"gymnasium's AsyncVectorEnv, {_LANES} lanes", "/s"),
        Figure("vector.gain", "agentgym.vector over AsyncVectorEnv", "x", 0.5, at_least=True),
        *figures_of_servers(),
    )
    provider = NoSandboxProvider()
    async with Environment(load_built(_TASK), provider) as environment:
        await _steps(figures, environment, live, 5 if quick else 20)
        for _ in range(1 if quick else 3):
            await _gains(figures, environment, 3 if quick else 5)
            await _tree(figures, environment)
    await provider.close()
    for _ in range(2 if quick else 5):
        await asyncio.to_thread(_vectors, figures, 20 if quick else 100)
    await asyncio.to_thread(measure_servers, figures, 2 if quick else 5, 300 if quick else 1_500)
    figures.ratio("vector.gain", "vector.steps_per_s", "gymnasium_async.steps_per_s")
    await _models(figures, 1 if quick else 3, asked=models)
    return figures


async def _models(figures: Figures, rounds: int, *, asked: bool) -> None:
    """Measure a language model if there is a GPU, or if it is asked for."""
    try:
        import torch

        if not (asked or torch.cuda.is_available()):
            figures.notes.append("no GPU: no language model is measured (--models: a small one)")
            return
        from agentgym.bench.language_models import load_for, measure_models, model_figures
    except ModuleNotFoundError as error:
        if asked:
            raise missing_extra(error.name or "transformers", "train-hf") from error
        figures.notes.append(f"no {error.name}: no language model is measured")
        return
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    load = load_for(device)
    figures.all += model_figures(load, device)
    await measure_models(figures, device, load, rounds)


async def _steps(figures: Figures, environment: Environment, live: int, rounds: int) -> None:
    """Step many live episodes at once.

    The engine runs on the event loop's thread and the services on others, so the processor time of
    this thread is the engine's.
    """
    episodes = await asyncio.gather(*(environment.start(seed % 4) for seed in range(live)))
    try:
        for warm in range(rounds + 1):
            engine, whole = time.thread_time(), time.process_time()
            await asyncio.gather(*(episode.step(_READ) for episode in episodes))
            spent = (time.thread_time() - engine, time.process_time() - whole)
            for key, each in zip(("overhead_ms.p50", "step_ms.p50"), spent, strict=True):
                figures[key].samples += [each * 1e3 / live] if warm else []
    finally:
        for episode in episodes:
            await episode.close()


class _Waiting:
    """A policy that reads twice and submits, each after a wait with a long tail."""

    def __init__(self, name: str) -> None:
        self._random = random.Random(name)

    async def start(self, briefing: Briefing) -> None:
        """Begin an episode."""

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Wait, then call."""
        await asyncio.sleep(min(self._random.lognormvariate(-3.7, 1.6), 3.0))
        return Decision(Action.from_json(_READ) if len(history) < 2 else Action("submit"))

    async def close(self) -> None:
        """Release nothing."""


class _Groups:
    """Plays groups of real episodes. Every group is worth learning from."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self.engine: RolloutEngine | None = None

    def hold(self) -> None:
        """Do nothing: these groups are cancelled or go on."""

    def go_on(self) -> None:
        """Do nothing: these groups never wait."""

    async def group(self, assignment: Assignment) -> Group:
        assert self.engine is not None
        version = self.engine.version
        await asyncio.gather(
            *(
                run_episode(
                    self._environment,
                    _Waiting(f"{assignment.number} {attempt}"),
                    seed=assignment.seed,
                    store=None,
                    episode_id=None,
                )
                for attempt in range(assignment.size)
            )
        )
        tokens = EpisodeTokens((), 0, version)
        return Group(assignment, (Trajectory(0.0, tokens, ()), Trajectory(1.0, tokens, ())))


async def _gains(figures: Figures, environment: Environment, batches: int) -> None:
    """Measure batches a second in turn, with more groups than needed, and asynchronously."""
    plain = await _batches(environment, batches)
    more = await _batches(environment, batches, overprovision=1.5)
    ahead = await _batches(environment, batches, staleness=1, surplus=Surplus.CONTINUE)
    figures["overprovision.gain"].samples.append(plain / more)
    figures["asynchronous.gain"].samples.append(plain / ahead)


async def _batches(
    environment: Environment,
    count: int,
    *,
    overprovision: float = 1.0,
    staleness: int = 0,
    surplus: Surplus = Surplus.CANCEL,
) -> float:
    """Return the wall time of some batches in seconds."""
    groups = _Groups(environment)
    engine = RolloutEngine(
        groups,
        Curriculum({_TASK: range(4)}, sizes=(4, 4)),
        batch=8,
        overprovision=overprovision,
        staleness=staleness,
        surplus=surplus,
    )
    groups.engine = engine
    try:
        started = time.perf_counter()
        for _ in range(count):
            await engine.batch()
            engine.advance()
        return time.perf_counter() - started
    finally:
        await engine.close()


class _Drawing(_Waiting):
    """A policy that calls at once, each branch another tool call."""

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Draw a call."""
        if len(history) == 8:
            return Decision(Action("submit"))
        text = self._random.choice("abcdefghijklmnopqrstuvw")
        return Decision(Action("contacts_search", {"text": text}))


async def _tree(figures: Figures, environment: Environment) -> None:
    """Grow a tree, and count the calls of `Episode.step`."""
    executed, step = 0, Episode.step

    async def counted(episode: Episode, *arguments: Any, **options: Any) -> Transition:
        nonlocal executed
        executed += 1
        return await step(episode, *arguments, **options)

    config = TreeConfig(leaves=64, width=4, at=BranchAt.STEPS, steps=(1, 3, 5))
    started = time.process_time()
    Episode.step = counted  # type: ignore[method-assign,assignment]  # For this measurement.
    try:
        tree = await play_tree(environment, _Drawing, 0, config)
    finally:
        Episode.step = step  # type: ignore[method-assign]
    spent_ms = (time.process_time() - started) * 1e3
    prefixes = set[str]()
    for leaf in tree.leaves:
        taken = [repr(step.action) for node in tree.path(leaf) for step in tree.nodes[node].steps]
        prefixes |= {repr(taken[: end + 1]) for end in range(len(taken))}
    figures["tree64.cost_ratio"].samples.append(executed / len(prefixes))
    figures["tree64.leaf_ms"].samples.append(spent_ms / len(tree.leaves))


def _vectors(figures: Figures, rounds: int) -> None:
    """Step lanes of one task in one process, and in a process each."""
    envs: gymnasium.vector.VectorEnv[Any, Any, Any]
    envs = agentgym.vector.make(_TASK, _LANES, seed=0, sandbox="none")
    figures["vector.steps_per_s"].samples.append(_rate(envs, rounds))
    make = functools.partial(agentgym.make, _TASK, sandbox="none")
    envs = gymnasium.vector.AsyncVectorEnv([make] * _LANES, context="spawn")
    figures["gymnasium_async.steps_per_s"].samples.append(_rate(envs, rounds))


def _rate(envs: gymnasium.vector.VectorEnv[Any, Any, Any], rounds: int) -> float:
    """Return the steps of all lanes a second, and close the lanes."""
    actions = [_READ] * _LANES
    try:
        envs.reset(seed=0)
        envs.step(actions)
        started = time.perf_counter()
        for _ in range(rounds):
            envs.step(actions)
        return _LANES * rounds / (time.perf_counter() - started)
    finally:
        envs.close()
