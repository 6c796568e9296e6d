"""Starts or resumes a run, after checking everything that the run needs.

Trial t of a task uses seed S + t for every agent, so that agents meet the same instances and their
scores are paired.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agentgym import __version__, catalogue, plugins
from agentgym.agents import registry
from agentgym.env.environment import Environment
from agentgym.env.recording import end_abandoned
from agentgym.env.resolved_task import needs_sandbox
from agentgym.errors import AgentGymError, ConfigError
from agentgym.eval.judges import judge_problems, judged_tasks
from agentgym.eval.requirements import fails_alone, missing_commands
from agentgym.eval.settings import Settings, read_settings
from agentgym.eval.trust import unnamed
from agentgym.eval.users import user_problems
from agentgym.protocols import Agent, SandboxProvider
from agentgym.record.store import RunStore
from agentgym.rollout.trust import isolates
from agentgym.swe.patch_tests import has_hidden_tests
from agentgym.task.load import find_task
from agentgym.task.model import Task
from agentgym.user.registry import user_spec
from agentgym.verify.checking import bind_checks
from agentgym.verify.judge.opening import judge_spec

FREE_ON_RESUME = ("jobs", "pool")
"""Settings that may change when a run is resumed: they change no result."""

LAST_SEED = 2**63 - 1
"""The largest seed that a record can hold."""


def holds_run(folder: Path) -> bool:
    """Return whether a run was started in a folder."""
    return (folder / "run.db").exists()


def start_run(
    folder: Path, asked: Mapping[str, Any], create: Callable[[str], Agent] = registry.create
) -> RunStore:
    """Check everything, then create a new run; a failed check leaves no folder behind.

    Args:
        folder: Folder of the run.
        asked: Values of `Settings` as given by the user, with ``patterns`` in place of ``tasks``.
        create: Creates an agent from its spec.

    Raises:
        ConfigError: The run cannot start; the message names every problem.
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
    started = datetime.now(UTC).isoformat(timespec="seconds")
    settings = with_company(Settings(**given, agentgym=__version__, started=started))
    problems += check(settings, create)
    if problems:
        raise ConfigError(listed(problems))
    settings = replace(settings, isolated=isolates(settings.sandbox))
    return RunStore.create(folder, asdict(settings), settings.episodes())


def with_company(settings: Settings) -> Settings:
    """Return settings with the judge and user that environment variables name, if needed."""
    if not settings.judge and (spec := judge_spec()) and _is_judged(settings.tasks):
        settings = replace(settings, judge=spec)
    if not settings.user and _has_user(settings.tasks):
        settings = replace(settings, user=user_spec())
    return settings


def resume_run(
    folder: Path, asked: Mapping[str, Any], create: Callable[[str], Agent] = registry.create
) -> RunStore:
    """Open a run to resume it; episodes that ended in an error are planned anew.

    So are episodes whose verdict the record has lost.

    Raises:
        RecordError: The run is damaged beyond that, or another process writes it.
        ConfigError: The folder holds no run, the arguments differ from those of the start, or the
            record names something that only the user may name.
    """
    if not holds_run(folder):
        raise ConfigError(f"{folder} holds no run; name tasks and agents to start one there")
    store = RunStore.open(folder, readonly=False)
    try:
        settings = read_settings(store)
        if settings.recorded_by:
            raise ConfigError(
                f"{folder} was recorded by agentgym.{settings.recorded_by}, so it has no plan to "
                "resume; start another run with a new --out"
            )
        for episode_id in store.unjudged():
            store.reset_episode(episode_id)
        problems = (
            _differences(settings, asked)
            or unnamed(folder, settings, store.episodes(), asked)
            or check(settings, create)
        )
        if problems:
            raise ConfigError(listed(problems))
        # A fork has no plan by which it could be played on.
        end_abandoned(store, lambda row: row.parent is not None)
        for row in store.episodes():
            if row.parent is None and row.verdict is not None and not row.verdict.scored:
                store.reset_episode(row.id)
    except BaseException:
        store.close()
        raise
    return store


def check(settings: Settings, create: Callable[[str], Agent] = registry.create) -> list[str]:
    """Return every reason why these settings cannot run; empty if they can."""
    problems = [*_bad_seed(settings), *settings.label_problems()]
    tasks: list[Task] = []
    provider: SandboxProvider | None = None
    try:
        provider = plugins.make_provider(settings.sandbox)
    except AgentGymError as error:
        problems.append(str(error))
    for task_id in settings.tasks:
        try:
            tasks.append(_sound_task(task_id, provider, settings.surfaces))
        except AgentGymError as error:
            # Part of a foreign suite may be unable to run here; its episodes report the reason.
            if len(settings.tasks) == 1 or not fails_alone(task_id):
                problems.append(str(error))
    if provider is not None and (not tasks or any(map(needs_sandbox, tasks))):
        lacking = plugins.problems_of(provider)
        problems += [f"sandbox {settings.sandbox}: {p.what}; {p.fix}" for p in lacking]
    for spec in settings.agents:
        try:
            registry.check(create(spec))
        except AgentGymError as error:
            problems.append(str(error))
    if settings.step_tests and tasks and not any(map(has_hidden_tests, tasks)):
        problems.append("--step-tests: no hidden tests of a repository decide any of these tasks")
    problems += judge_problems(settings.judge, tasks)
    problems += user_problems(settings.user, tasks)
    for need in missing_commands(tasks):
        problems.append(f"{need.command} is not installed, {need.wanted_by}; run: {need.install}")
    # Last, because trying the folder creates it, and a run that cannot start leaves nothing.
    return problems or [*_bad_cache()]


def _has_user(task_ids: Sequence[str]) -> bool:
    """Return whether a task has a user; `check` reports a broken task."""
    for task_id in task_ids:
        with suppress(AgentGymError):
            if find_task(task_id).user is not None:
                return True
    return False


def _is_judged(task_ids: Sequence[str]) -> bool:
    """Return whether a task asks a judge; `check` reports a broken task."""
    for task_id in task_ids:
        with suppress(AgentGymError):
            if judged_tasks([find_task(task_id)]):
                return True
    return False


def _bad_seed(settings: Settings) -> Iterator[str]:
    last = settings.seed + settings.trials - 1
    if not 0 <= settings.seed <= last <= LAST_SEED:
        yield (
            f"seed {settings.seed} with {settings.trials} trials: "
            f"expected seeds from 0 to {LAST_SEED}, got {settings.seed} to {last}"
        )


def _bad_cache() -> Iterator[str]:
    """Test that the cache folder, which every episode needs, can be written."""
    try:
        folder = catalogue.cache_dir()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        yield (
            f"the cache folder {folder} cannot be written: {error.strerror}; "
            "set AGENTGYM_CACHE to a folder that can"
        )
    except ConfigError as error:
        yield str(error)


def _sound_task(task_id: str, provider: SandboxProvider | None, surfaces: Sequence[str]) -> Task:
    """Load a task and everything it refers to, so that errors appear before the run."""
    task = find_task(task_id).with_surfaces(surfaces)
    if provider is not None:
        Environment(task, provider)
    if task.foreign is None:
        bind_checks(task.instance(0))
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
        if name in FREE_ON_RESUME or _as_set(value) == _as_set(before):
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


def listed(problems: Sequence[str]) -> str:
    """Return problems as the text of one error."""
    unique = list(dict.fromkeys(problems))
    if len(unique) == 1:
        return unique[0]
    items = [problem.replace("\n", "\n    ") for problem in unique]
    return "\n  - ".join([f"{len(unique)} problems, nothing was run:", *items])
