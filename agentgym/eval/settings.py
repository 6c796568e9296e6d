"""The settings of a run: what it is made of, as given by the user and as its record holds it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from agentgym.errors import RecordError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.rollout.keeping import DEFAULT_MB, Policy


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run is made of.

    Attributes:
        tasks: Ids of tasks.
        agents: Specs like ``openai:gpt-x``.
        trials: Episodes of every task with every agent.
        seed: Seed of the first trial.
        sandbox: Name of the sandbox provider.
        max_steps: Bound on an episode's steps, None for the task's own.
        timeout_s: Bound on an episode's wall time, None for the task's own.
        jobs: Episodes at a time.
        pool: Sandboxes kept ready ahead of the episodes, None for as many as `jobs`.
        agentgym: Version that started the run.
        started: When, in ISO 8601.
        offline: Sandboxes have no network, whatever a task allows.
        image_fallbacks: By task, what stood for what could not be had: image to recipe.
        isolated: Whether the provider declares that its sandboxes are.
        judge: Spec of who decides what checks ask a judge; empty where none does.
        user: Spec of who plays the users that tasks have; empty where none has one.
        keep_states: Whose final states are kept, to be judged again: all, failed, none.
        keep_states_mb: How much of them the run keeps.
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
    keep_states: str = Policy.ALL.value
    keep_states_mb: int = DEFAULT_MB

    def episodes(self) -> list[EpisodePlan]:
        """Return every episode: all tasks and agents once, then the next trial."""
        return [
            EpisodePlan(task=task, seed=self.seed + trial, trial=trial, agent=agent)
            for trial in range(self.trials)
            for task in self.tasks
            for agent in self.agents
        ]


def read_settings(store: RunStore) -> Settings:
    """Return the settings a run was started with.

    Raises:
        RecordError: The record holds no usable settings.
    """
    try:
        return TypeAdapter(Settings).validate_python(dict(store.settings))
    except ValidationError as error:
        fault = error.errors()[0]
        name = ".".join(str(part) for part in fault["loc"])
        raise RecordError(
            f"{store.folder}: the settings of this run cannot be read: {name}: {fault['msg']}; "
            "it was not written by `agentgym eval`, or is damaged"
        ) from error
