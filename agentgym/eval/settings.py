"""The settings of a run, as given by the user and stored in its record."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from pydantic import TypeAdapter, ValidationError

from agentgym.env.kept_states import DEFAULT_MB, Policy
from agentgym.env.labels import check_labels
from agentgym.errors import ConfigError, RecordError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Json

_FIELD: Final = re.compile(r"\{(\w*)\}")
_FIELDS: Final = ("task", "seed", "trial", "agent")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a run.

    Attributes:
        tasks: Ids of the tasks.
        agents: Specs of the agents, like ``openai:gpt-x``.
        trials: Episodes of every task with every agent.
        seed: Seed of the first trial.
        sandbox: Name of the sandbox provider.
        max_steps: Largest number of steps in an episode, None for the task's own.
        timeout_s: Longest wall time of an episode in seconds, None for the task's own.
        jobs: Number of concurrent episodes.
        pool: Number of sandboxes kept ready for later episodes, None for as many as `jobs`.
        agentgym: Version that started the run.
        started: Start of the run, in ISO 8601.
        offline: Whether sandboxes have no network, whatever a task allows.
        image_fallbacks: By task, the recipe that replaces each unavailable image.
        isolated: Whether the provider declares that its sandboxes are isolated.
        judge: Spec of the judge that checks ask; empty if no check needs one.
        user: Spec of the simulated user; empty if no task has one.
        surfaces: Surfaces that replace those of every environment; empty to keep these.
        step_tests: Whether hidden tests score each step that changes a repository.
        keep_states: Episodes whose final states are kept for regrading: all, failed, none.
        keep_states_mb: Largest size of kept final states, in megabytes.
        group: Group of the episodes; ``{task}``, ``{seed}``, ``{trial}`` and ``{agent}`` in it
            stand for those of each episode. None if they are in no group.
        metadata: A JSON object that each episode has, None if it was not given.
        recorded_by: ``"make"`` if `agentgym.make` recorded the run, whose tasks and agents are
            then those seen so far; empty for a run of `agentgym eval` or `agentgym serve`.
    """

    tasks: tuple[str, ...]
    agents: tuple[str, ...]
    trials: int = 1
    seed: int = 0
    sandbox: str = "bubblewrap"
    max_steps: int | None = None
    timeout_s: float | None = None
    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    pool: int | None = None
    agentgym: str = ""
    started: str = ""
    offline: bool = False
    image_fallbacks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    isolated: bool = True
    judge: str = ""
    user: str = ""
    surfaces: tuple[str, ...] = ()
    step_tests: bool = False
    keep_states: str = Policy.ALL.value
    keep_states_mb: int = DEFAULT_MB
    group: str | None = None
    metadata: Mapping[str, Json] | None = None
    recorded_by: str = ""

    def episodes(self) -> list[EpisodePlan]:
        """Return every episode: all tasks and agents once, then the next trial."""
        return [
            self._labelled(EpisodePlan(task=task, seed=self.seed + trial, trial=trial, agent=agent))
            for trial in range(self.trials)
            for task in self.tasks
            for agent in self.agents
        ]

    def _labelled(self, plan: EpisodePlan) -> EpisodePlan:
        group = self.group and _FIELD.sub(lambda field: str(getattr(plan, field[1])), self.group)
        return replace(plan, group=group, metadata=self.metadata)

    def label_problems(self) -> Iterator[str]:
        """Yield the reasons why the episodes cannot have this group and metadata."""
        try:
            check_labels(self.group, self.metadata)
            if unknown := sorted(set(_FIELD.findall(self.group or "")) - {*_FIELDS}):
                known = ", ".join(f"{{{name}}}" for name in _FIELDS)
                yield f"group: expected {known} in braces, got {{{unknown[0]}}}"
                return
            for group in {plan.group for plan in self.episodes()}:
                check_labels(group, None)
        except ConfigError as error:
            yield str(error)


def read_settings(store: RunStore) -> Settings:
    """Return the settings with which a run was started.

    Raises:
        RecordError: The record holds no usable settings.
    """
    try:
        return settings_from(store.settings)
    except ConfigError as error:
        raise RecordError(
            f"{store.folder}: the settings of this run cannot be read: {error}; "
            "it was not written by `agentgym eval`, or is damaged"
        ) from error


def settings_from(recorded: Mapping[str, Json]) -> Settings:
    """Return settings that were recorded.

    Raises:
        ConfigError: They are not settings of a run; the message names the field.
    """
    try:
        return TypeAdapter(Settings).validate_python(dict(recorded))
    except ValidationError as error:
        fault = error.errors()[0]
        name = ".".join(str(part) for part in fault["loc"])
        raise ConfigError(f"{name}: {fault['msg']}") from error
