"""The episodes of one Gymnasium environment or lane in a run: each recorded as it is played."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentgym import catalogue
from agentgym.env.environment import Environment
from agentgym.env.episode import Episode
from agentgym.env.kept_states import KeptStates
from agentgym.env.labels import Labels, check_name
from agentgym.env.outcome import Ending, abandoned, failed
from agentgym.env.portal import portal
from agentgym.env.recording import EpisodeRecording, record_end
from agentgym.env.resolved_task import image_fallbacks
from agentgym.env.transition import Transition
from agentgym.errors import ConfigError, RecordError
from agentgym.gymnasium.recorded_run import Player, RecordedRun, recorded_runs
from agentgym.records import Capability
from agentgym.verify.judge.judged_checks import judged_checks
from agentgym.verify.judge.opening import judge_spec


class GymRecording:
    """Records the episodes of one environment, one after the other.

    Made by `open_recordings`, and used in the event loop's thread only.

    Args:
        run: Where they are recorded.
        player: Who plays what.

    Raises:
        ConfigError: The run was recorded with other settings.
        RecordError: It cannot be written.
    """

    def __init__(self, run: RecordedRun, player: Player) -> None:
        self._run, self._player = run, player
        self._current: EpisodeRecording | None = None
        self._episode: Episode | None = None
        self._newest: int | None = None
        self._began_s = 0.0
        self._broken = ""
        run.join(self, player, lambda: self.close("the process ended before the episode did"))

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self._run.store.folder

    @property
    def episode_id(self) -> int | None:
        """Id of the newest episode in the run, None before the first."""
        return self._newest

    async def start(self, starting: Awaitable[Episode], seed: int, labels: Labels) -> Episode:
        """Begin an episode and its record; one that cannot be started is recorded unscored.

        Args:
            starting: Starts the episode.
            seed: Its seed.
            labels: Its labels.

        Raises:
            AgentGymError: It cannot be started, or cannot be recorded.
        """
        self._began_s, self._broken = time.monotonic(), ""
        self._current = self._episode = None
        try:
            episode = await starting
        except Exception as error:
            await self._run.store.threads.finish(self._not_started, failed(error), seed, labels)
            raise
        try:
            self._newest = await self._run.store.threads.finish(self._add, seed, labels)
            self._current = await EpisodeRecording.begin(self._run.store, self._newest, episode)
        except BaseException:
            await episode.close()
            raise
        self._episode = episode
        return episode

    def _not_started(self, ending: Ending, seed: int, labels: Labels) -> None:
        store, spent_s = self._run.store, time.monotonic() - self._began_s
        with store.transaction():
            self._newest = self._add(seed, labels)
            record_end(store, store.episode(self._newest), self._player.sandbox, ending, spent_s)

    def _add(self, seed: int, labels: Labels) -> int:
        return self._run.add(self._player, seed, labels.group, labels.metadata)

    async def step(self, stepping: Awaitable[Transition]) -> Transition:
        """Do something in the current episode and record it.

        Args:
            stepping: Takes the step.

        Raises:
            AgentGymError: A boundary broke; the episode is recorded as unscored.
            RecordError: The step cannot be recorded.
        """
        recording = self._current
        assert recording is not None, "an episode is started first"
        try:
            done = await stepping
            await recording.take_steps()
            if done.verdict is not None:
                await self._finish(Ending(done.verdict, truncated=done.truncated))
        except RecordError as error:
            self._broken = str(error)
            raise
        except Exception as error:
            await self._finish(failed(error))
            raise
        return done

    async def fail(self, error: Exception) -> None:
        """Record that the current episode broke, if it is not over.

        Raises:
            RecordError: It cannot be recorded.
        """
        if self._current is not None and not self._current.over:
            await self._finish(failed(error))

    async def abandon(self, why: str) -> None:
        """Record that the current episode was left, if it is not over.

        Args:
            why: For the record.

        Raises:
            RecordError: It cannot be recorded.
        """
        if self._current is not None and not self._current.over:
            told = f"its record could not be written: {self._broken}" if self._broken else why
            await self._finish(abandoned(told))

    async def close(self, why: str) -> None:
        """Abandon the current episode and let go of the run.

        Raises:
            RecordError: The end of the episode cannot be recorded.
        """
        try:
            await self.abandon(why)
        finally:
            self._run.leave(self)

    async def _finish(self, ending: Ending) -> None:
        assert self._current is not None
        await self._current.finish(ending, duration_s=time.monotonic() - self._began_s)


async def open_recordings(
    folder: str | Path,
    environments: Sequence[tuple[str, Environment]],
    *,
    agent: str,
    sandbox: str,
    max_steps: int | None,
    kept: KeptStates,
) -> list[GymRecording]:
    """Open the records of environments in one run; to be called in the event loop's thread.

    Args:
        folder: The run folder; a new one is made.
        environments: What is recorded, each with the name of its task. An environment that has
            several lanes stands here several times.
        agent: Name under which the episodes are recorded.
        sandbox: Name of the sandbox provider.
        max_steps: The steps that were asked for, None for the task's own number.
        kept: Which final states the run shall keep.

    Raises:
        ConfigError: The folder holds a run of another kind or with other settings, or a name is
            unusable.
        RecordError: The run is damaged, cannot be written, or another process writes it.
    """
    if not isinstance(folder, str | Path) or not str(folder):
        raise ConfigError(f"record: expected a run folder, got {folder!r:.80}")
    check_name("record_as", agent)
    common = Player("", agent, sandbox, max_steps=max_steps, kept=kept)
    players = {
        environment: replace(common, **_described(environment, task_id))
        for task_id, environment in environments
    }
    # The program may change its directory while the run is open.
    run = recorded_runs(portal()).open(Path(folder).absolute())
    opened: list[GymRecording] = []
    try:
        for _, environment in environments:
            opened.append(GymRecording(run, players[environment]))
    except BaseException:
        if not run.is_used:
            run.shut()
        for recording in opened:
            await recording.close("")
        raise
    return opened


def _described(environment: Environment, task_id: str) -> dict[str, Any]:
    """Return the fields of a `Player` that depend on its environment."""
    task = environment.task
    asks = task.foreign is None and judged_checks(task.folder / "checks", demanded=True)
    return {
        "task": str(catalogue.path_of(task_id) or task_id),
        "isolated": Capability.ISOLATION in environment.provider.capabilities,
        "user": "" if task.user is None else environment.user,
        "judge": judge_spec() if asks else "",
        "image_fallbacks": image_fallbacks(task),
    }
