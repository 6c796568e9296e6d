"""Turns the task that a format has read into a `Task`.

The id of a task that is named by its path is that path, because a record can find the task only by
it. A task that was imported into the catalogue has an id there.
"""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from agentgym.errors import PluginError, TaskError
from agentgym.manifest import LimitsManifest, show_path
from agentgym.plugin_values import problems_of
from agentgym.protocols import ForeignTask, TaskFormat
from agentgym.task.foreign_fields import TaskFields
from agentgym.task.model import Task, TaskManifest
from agentgym.task.user import UserScript
from agentgym.task_formats import plugin_errors

_LEVELS = ("easy", "medium", "hard")


def load_foreign(folder: Path, task_format: TaskFormat) -> Task:
    """Read a task folder of a format.

    Raises:
        TaskError: The task cannot be read, or needs something that is not supported.
        PluginError: The format fails, or returns something unusable.
    """
    where = f"task format {task_format.name!r}: {show_path(folder)}"
    with plugin_errors(f"{where} cannot be read"):
        found = task_format.load(folder)
    if not isinstance(found, ForeignTask):
        raise PluginError(f"{where}: expected a ForeignTask, got {type(found).__name__}")
    if found.format != task_format.name:
        raise PluginError(f"{where}: format: expected {task_format.name!r}, got {found.format!r}")
    if problems := "\n".join(f"{where}: {problem}" for problem in problems_of(found, TaskFields)):
        raise PluginError(problems)
    task_id = found.id or str(folder)
    return Task(task_id, folder, _manifest(task_id, found), found.instruction, found, _user(found))


def _manifest(task_id: str, found: ForeignTask) -> TaskManifest:
    sandbox = found.sandbox
    return TaskManifest.model_construct(
        schema_version="agentgym.task/1",
        id=task_id,
        title=found.title,
        tags=found.tags,
        difficulty=found.difficulty if found.difficulty in _LEVELS else "medium",
        env=found.env,
        max_steps=found.max_steps,
        limits=LimitsManifest(
            memory_mb=None if sandbox is None else sandbox.memory_mb,
            disk_mb=None if sandbox is None else sandbox.disk_mb,
            cpus=None if sandbox is None else sandbox.cpus,
            wall_s=found.agent_s,
        ),
    )


def _user(found: ForeignTask) -> UserScript | None:
    if found.user is None:
        return None
    try:
        return UserScript.model_validate_json(json.dumps(found.user))
    except (TypeError, RecursionError) as error:
        raise PluginError(f"{found.title}: user: expected JSON values: {error}") from error
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field = ".".join(map(str, problem["loc"]))
        raise TaskError(f"{found.title}: user: {field}: {problem['msg']}") from error
