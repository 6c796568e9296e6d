"""The episodes of one Gymnasium environment in a run: each recorded as it is played."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agentgym import catalogue
from agentgym.env.environment import Environment
from agentgym.env.episode import Episode, Transition
from agentgym.env.outcome import Ending, abandoned, failed
from agentgym.env.portal import portal
from agentgym.env.recorded_run import Player, RecordedRun, recorded_runs
from agentgym.env.recording import EpisodeRecording, record_end
from agentgym.errors import ConfigError, RecordError
from agentgym.records import Capability, Json
from agentgym.verify.judge.judged_checks import judged_checks
from agentgym.verify.judge.opening import judge_spec

_LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels by which a trainer finds an episode.

    Attributes:
        group: Name of the group that it is compared within, None if it is in none.
        metadata: A JSON object, None if it was not given.
    """

    group: str | None = None
    metadata: dict[str, Json] | None = None


def read_labels(options: Mapping[str, Any]) -> Labels:
    """Read the options of a reset that is recorded.

    Raises:
        ConfigError: There is another option, or one has a wrong value.
    """
    if unknown := options.keys() - {"group", "metadata"}:
        names = ", ".join(sorted(map(repr, unknown)))
        raise ConfigError(f"reset: expected the options 'group' and 'metadata', got {names}")
    group, metadata = options.get("group"), options.get("metadata")
    if group is not None:
        check_name("options['group']", group)
    if metadata is None:
        return Labels(group)
    if not isinstance(metadata, Mapping) or not all(isinstance(key, str) for key in metadata):
        raise ConfigError(f"options['metadata']: expected a JSON object, got {metadata!r:.200}")
    try:
        return Labels(group, json.loads(json.dumps(dict(metadata), allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"options['metadata']: it cannot be written as JSON: {error}") from error


def check_name(what: str, name: object) -> None:
    """Check the name of a group or an agent.

    Raises:
        ConfigError: It is no text, empty, too long, or cannot be written as UTF-8.
    """
    usable = isinstance(name, str) and name.strip() and len(name) <= _LONGEST_NAME
    if not usable or not _is_utf8(str(name)):
        raise ConfigError(
            f"{what}: expected a text of 1 to {_LONGEST_NAME} characters, got {name!r:.80}"
        )


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class GymRecording:
    """Records the episodes of one environment, one after the other.

    Made by `open_recording`, and used in the event loop's thread only.

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
        return None if self._current is None else self._current.episode_id

    async def start(self, environment: Environment, seed: int, labels: Labels) -> Episode:
        """Begin an episode and its record; one that cannot be started is recorded unscored.

        Raises:
            AgentGymError: It cannot be started, or cannot be recorded.
        """
        self._began_s, self._broken = time.monotonic(), ""
        try:
            episode = await environment.start(seed)
        except Exception as error:
            ending = failed(error)
            store, name = self._run.store, environment.provider.name
            row = store.episode(self._add(seed, labels))
            record_end(store, row, name, ending, time.monotonic() - self._began_s)
            raise
        try:
            episode_id = self._add(seed, labels)
            self._current = EpisodeRecording(self._run.store, episode_id, episode)
        except BaseException:
            await episode.close()
            raise
        self._episode = episode
        return episode

    def _add(self, seed: int, labels: Labels) -> int:
        return self._run.add(self._player, seed, labels.group, labels.metadata)

    async def step(self, action: object) -> Transition:
        """Do something in the current episode and record it.

        Raises:
            AgentGymError: A boundary broke; the episode is recorded as unscored.
            RecordError: The step cannot be recorded.
        """
        episode, recording = self._episode, self._current
        assert episode is not None and recording is not None, "GymEnv starts an episode first"
        try:
            done = await episode.step(action)
            recording.take_steps()
            if done.verdict is not None:
                self._finish(Ending(done.verdict, truncated=done.truncated))
        except RecordError as error:
            self._broken = str(error)
            raise
        except Exception as error:
            self._finish(failed(error))
            raise
        return done

    def abandon(self, why: str) -> None:
        """Record that the current episode was left, if it is not over.

        Args:
            why: For the record.

        Raises:
            RecordError: It cannot be recorded.
        """
        if self._current is not None and not self._current.over:
            told = f"its record could not be written: {self._broken}" if self._broken else why
            self._finish(abandoned(told))

    def close(self, why: str) -> None:
        """Abandon the current episode and let go of the run.

        Raises:
            RecordError: The end of the episode cannot be recorded.
        """
        try:
            self.abandon(why)
        finally:
            self._run.leave(self)

    def _finish(self, ending: Ending) -> None:
        assert self._current is not None
        self._current.finish(ending, duration_s=time.monotonic() - self._began_s)


def open_recording(
    folder: str | Path,
    environment: Environment,
    *,
    task_id: str,
    agent: str,
    sandbox: str,
    max_steps: int | None,
) -> GymRecording:
    """Open the record of an environment; to be called in the event loop's thread.

    Args:
        folder: The run folder; a new one is made.
        environment: What is recorded.
        task_id: How its task was named.
        agent: Name under which the episodes are recorded.
        sandbox: Name of the sandbox provider.
        max_steps: The steps that were asked for, None for the task's own number.

    Raises:
        ConfigError: The folder holds a run of another kind or with other settings, or a name is
            unusable.
        RecordError: The run is damaged, cannot be written, or another process writes it.
    """
    if not isinstance(folder, str | Path) or not str(folder):
        raise ConfigError(f"record: expected a run folder, got {folder!r:.80}")
    check_name("record_as", agent)
    task = environment.task
    asks = task.foreign is None and judged_checks(task.folder / "checks", demanded=True)
    player = Player(
        task=str(catalogue.path_of(task_id) or task_id),
        agent=agent,
        sandbox=sandbox,
        isolated=Capability.ISOLATION in environment.provider.capabilities,
        max_steps=max_steps,
        user="" if task.user is None else environment.user,
        judge=judge_spec() if asks else "",
    )
    # The program may change its directory while the run is open.
    run = recorded_runs(portal()).open(Path(folder).absolute())
    try:
        return GymRecording(run, player)
    except BaseException:
        if not run.is_used:
            run.shut()
        raise
