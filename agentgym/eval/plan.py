"""The plan of a run: its settings, its episodes, and what must be right before anything runs.

Trial t of a task uses seed S + t whatever the agent, so that agents meet the same worlds and
their scores are paired.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agentgym import __version__, catalogue, plugins
from agentgym.agents import registry
from agentgym.env.environment import Environment
from agentgym.errors import AgentGymError, ConfigError, RecordError
from agentgym.eval.needs import missing_commands
from agentgym.protocols import SandboxProvider
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.task.load import find_task
from agentgym.task.model import Task
from agentgym.verify.rubric import load_rubric

FREE_ON_RESUME = "jobs"
"""The one setting that may differ when a run is taken up again: it changes no result."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a run is made of. `tasks` are ids, `agents` are specs like ``openai:gpt-x``."""

    tasks: tuple[str, ...]
    agents: tuple[str, ...]
    trials: int = 1
    seed: int = 0
    sandbox: str = "bubblewrap"
    max_steps: int | None = None
    timeout_s: float | None = None
    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)

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
        field = ".".join(str(part) for part in fault["loc"])
        raise RecordError(
            f"the settings of this run cannot be read: {field}: {fault['msg']}; "
            "it was not written by `agentgym eval`"
        ) from error


def holds_run(folder: Path) -> bool:
    """Whether a run was started in a folder."""
    return (folder / "run.db").exists()


def start_run(folder: Path, asked: Mapping[str, Any]) -> RunStore:
    """Check everything, then lay down a new run; a failed check leaves no folder behind.

    Args:
        folder: Where the run will live.
        asked: Values of `Settings` as given by the user, with ``patterns`` in place of ``tasks``.

    Raises:
        ConfigError: Something asked for cannot run; the message names every problem.
    """
    if holds_run(folder):
        raise ConfigError(
            f"{folder} already holds a run; add --resume to go on with it, "
            "or choose another folder with --out"
        )
    given = dict(asked)
    problems: list[str] = []
    given["tasks"] = _match(given.pop("patterns", ()), problems)
    if not given.get("agents"):
        problems.append("no agent was named; add one, e.g. --agent noop")
    given["agents"] = tuple(dict.fromkeys(given.get("agents", ())))
    settings = Settings(**given)
    problems += check(settings)
    if problems:
        raise ConfigError(_listed(problems))
    started = datetime.now(UTC).isoformat(timespec="seconds")
    stored = {**asdict(settings), "agentgym": __version__, "started": started}
    return RunStore.create(folder, stored, settings.episodes())


def resume_run(folder: Path, asked: Mapping[str, Any]) -> RunStore:
    """Open a run to go on with it; episodes that ended in an error are planned anew.

    Raises:
        ConfigError: There is no run, or what was asked differs from what the run was started with.
    """
    if not holds_run(folder):
        raise ConfigError(f"{folder} holds no run; name tasks and agents to start one there")
    store = RunStore.open(folder, readonly=False)
    try:
        problems = _differences(read_settings(store), asked) or check(read_settings(store))
        if problems:
            raise ConfigError(_listed(problems))
        for row in store.episodes():
            if row.parent is None and row.verdict is not None and not row.verdict.scored:
                store.reset_episode(row.id)
    except BaseException:
        store.close()
        raise
    return store


def check(settings: Settings) -> list[str]:
    """Return everything that keeps these settings from running, in words; empty where they can."""
    problems: list[str] = []
    tasks: list[Task] = []
    provider: SandboxProvider | None = None
    try:
        provider = plugins.load("agentgym.sandboxes", settings.sandbox)()
        problems += [f"sandbox {settings.sandbox}: {p.what}; {p.fix}" for p in provider.problems()]
    except AgentGymError as error:
        problems.append(str(error))
    for task_id in settings.tasks:
        try:
            tasks.append(_sound_task(task_id, provider))
        except AgentGymError as error:
            problems.append(str(error))
    for spec in settings.agents:
        try:
            registry.create(spec)
        except AgentGymError as error:
            problems.append(str(error))
    for need in missing_commands(tasks):
        problems.append(f"{need.command} is not installed, {need.wanted_by}; run: {need.install}")
    return problems


def _sound_task(task_id: str, provider: SandboxProvider | None) -> Task:
    """Load a task and everything it refers to, so that a broken one is known before it runs."""
    task = find_task(task_id)
    if provider is not None:
        Environment(task, provider)
    load_rubric(task.folder / "checks" / "rubric.toml")
    return task


def _match(patterns: Sequence[str], problems: list[str]) -> tuple[str, ...]:
    if not patterns:
        problems.append("no task was named; give a suite, a task id or a glob, e.g. terminal")
    tasks: dict[str, None] = {}
    for pattern in patterns:
        try:
            tasks.update(dict.fromkeys(catalogue.match_tasks(pattern)))
        except AgentGymError as error:
            problems.append(str(error))
    return tuple(tasks)


def _differences(stored: Settings, asked: Mapping[str, Any]) -> list[str]:
    given = dict(asked)
    problems: list[str] = []
    if patterns := given.pop("patterns", ()):
        given["tasks"] = _match(patterns, problems)
    for name, value in given.items():
        before = getattr(stored, name)
        if name == FREE_ON_RESUME or _as_set(value) == _as_set(before):
            continue
        problems.append(
            f"{name} was {_words(before)} when this run was started and is {_words(value)} now; "
            "leave it out to go on, or start another run with a new --out"
        )
    return problems


def _as_set(value: object) -> object:
    return frozenset(value) if isinstance(value, tuple) else value


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _listed(problems: Sequence[str]) -> str:
    unique = list(dict.fromkeys(problems))
    if len(unique) == 1:
        return unique[0]
    items = [problem.replace("\n", "\n    ") for problem in unique]
    return "\n  - ".join([f"{len(unique)} problems, nothing was run:", *items])
