"""The episodes of an evaluation, in the process that plays them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping

from agentgym.env.environment import Environment
from agentgym.env.outcome import failed
from agentgym.env.recording import record_end
from agentgym.errors import AgentGymError, SandboxError
from agentgym.eval.queue import StartingPoint
from agentgym.eval.settings import Settings
from agentgym.protocols import Agent, SandboxProvider
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.records import Step
from agentgym.rollout.again import once_more_if_lost
from agentgym.rollout.run import EpisodeResult, run_episode
from agentgym.task.load import find_task
from agentgym.threads import to_thread
from agentgym.verify.judge.opening import open_judge


class Episodes:
    """Plays the episodes of a plan: those of one task share an environment.

    Args:
        settings: Settings of the run.
        provider: Starts the sandboxes.
        unrunnable: Reason why a task cannot run, by task; its episodes are recorded with it.
        create: Creates an agent from its spec.
    """

    def __init__(
        self,
        settings: Settings,
        provider: SandboxProvider,
        unrunnable: Mapping[str, str],
        create: Callable[[str], Agent],
    ) -> None:
        self._settings, self._create = settings, create
        self._provider, self._unrunnable = provider, unrunnable
        self._judge = open_judge(settings.judge) if settings.judge else None
        self._environments: dict[str, Environment] = {}
        self._making: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def run(
        self, store: RunStore, row: EpisodeRow, on_step: Callable[[Step], None]
    ) -> EpisodeResult:
        """Run an episode to its recorded end; once more if a process that episodes share ended it.

        Then it has that process for itself, so that no policy leaves the mean by ending it.

        Args:
            store: Where it is recorded.
            row: The episode, as planned or begun there.
            on_step: Called with every recorded step.

        Raises:
            RecordError: It cannot be recorded.
        """

        async def play(note: str) -> EpisodeResult:
            planned = await store.threads.finish(store.episode, row.id) if note else row
            return await self._play(store, planned, on_step, note)

        return await once_more_if_lost(play, store, row.id)

    async def _play(
        self, store: RunStore, row: EpisodeRow, on_step: Callable[[Step], None], note: str
    ) -> EpisodeResult:
        settings = self._settings
        try:
            environment = await self._environment(row)
            agent = self._create(row.plan.agent)
        except AgentGymError as error:
            ending = failed(error)
            ended = (store, row, settings.sandbox, ending, 0.0)
            await store.threads.finish(record_end, *ended)
            return EpisodeResult(ending.verdict, row.steps, row.usage, 0.0, 0.0, ending.error)
        return await run_episode(
            environment,
            agent,
            seed=row.plan.seed,
            store=store,
            episode_id=row.id,
            timeout_s=settings.timeout_s,
            on_step=on_step,
            step_tests=settings.step_tests,
            alone=bool(note),
            note=note,
        )

    async def prepare(self, row: EpisodeRow) -> StartingPoint | None:
        """Run the setup of an episode in advance; return None if the episode needs no sandbox."""
        environment = await self._environment(row)
        if environment.provider is not self._provider:
            return None
        return await environment.prepare(row.plan.seed)

    async def close(self) -> None:
        """Close all environments. Never raises."""
        for environment in self._environments.values():
            await environment.close()

    async def _environment(self, row: EpisodeRow) -> Environment:
        name = row.plan.task
        if why := self._unrunnable.get(name):
            raise SandboxError(why)
        async with self._making[name]:
            if name not in self._environments:
                self._environments[name] = await to_thread(self._make, name)
        return self._environments[name]

    def _make(self, task: str) -> Environment:
        """Make the environment of a task; this reads its files and may load its services."""
        settings = self._settings
        return Environment(
            find_task(task).with_surfaces(settings.surfaces),
            self._provider,
            max_steps=settings.max_steps,
            judge=self._judge,
            user=settings.user,
            offline=settings.offline,
        )
