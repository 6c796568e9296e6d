"""Recognises foreign task folders and reads them as `Task`.

The id of a task that is named by its path is that path, because a record can find the task only by
it. A task that was imported into the catalogue has an id there.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentgym.errors import TaskError
from agentgym.manifest import LimitsManifest, show_path
from agentgym.task.foreign.harbor import read_harbor
from agentgym.task.foreign.prepared import prepared_for
from agentgym.task.foreign.rules import SandboxRules
from agentgym.task.foreign.tau2.rules import INSTRUCTION, read_rules
from agentgym.task.foreign.tau2.suite import is_pointer
from agentgym.task.foreign.terminal_bench import read_terminal_bench
from agentgym.task.model import Task, TaskManifest

ENV = "terminal"
MAX_STEPS = 200
"""Largest number of steps: these tasks limit only time, and an episode must end."""
_LEVELS = ("easy", "medium", "hard")
_OWN = "agentgym.task/"


def is_foreign(folder: Path) -> bool:
    """Return whether a folder holds a task in a foreign format."""
    if (folder / "task.yaml").is_file():
        return True
    if (folder / "checks").is_dir():  # agentgym's own format, however broken its task.toml is
        return False
    try:
        text = (folder / "task.toml").read_text("utf-8", "replace")
        stated = tomllib.loads(text).get("schema_version", "")
    except tomllib.TOMLDecodeError:
        return True  # reading the task reports the error
    except OSError:
        return False
    return not str(stated).startswith(_OWN)


def load_foreign(folder: Path) -> Task:
    """Read a foreign task folder.

    Raises:
        TaskError: The task cannot be read, or needs something that is not supported.
    """
    if (folder / "task.yaml").is_file():
        classic, rules = read_terminal_bench(folder)
        return _task(folder, rules, classic.difficulty, classic.tags)
    if is_pointer(_stated_version(folder)):
        return _imported(folder)
    if (folder / "task.toml").is_file():
        harbor, rules = read_harbor(folder)
        about = harbor.metadata
        return _task(folder, rules, about.get("difficulty"), about.get("tags") or ())
    raise TaskError(f"{show_path(folder)}: expected task.toml or task.yaml, found neither")


def _stated_version(folder: Path) -> object:
    try:
        return tomllib.loads((folder / "task.toml").read_text("utf-8")).get("schema_version")
    except (OSError, ValueError):
        return None  # reading the task reports the error


def _imported(folder: Path) -> Task:
    rules = read_rules(folder)
    pointer = rules.pointer
    manifest = TaskManifest.model_construct(
        schema_version="agentgym.task/1",
        id=pointer.id,
        title=f"{pointer.domain}: {pointer.task}",
        difficulty="medium",
        env=rules.format,
        max_steps=MAX_STEPS,
    )
    return Task(pointer.id, folder, manifest, INSTRUCTION, rules, rules.customer)


def _task(folder: Path, rules: SandboxRules, difficulty: Any, tags: Any) -> Task:
    computer = replace(rules.computer, prepared=prepared_for(folder))
    rules = replace(rules, computer=computer)
    manifest = TaskManifest.model_construct(
        schema_version="agentgym.task/1",
        id=str(folder),
        title=folder.name,
        tags=tuple(str(tag) for tag in tags),
        difficulty=difficulty if difficulty in _LEVELS else "medium",
        env=ENV,
        max_steps=MAX_STEPS,
        limits=LimitsManifest(
            memory_mb=computer.memory_mb,
            disk_mb=computer.disk_mb,
            cpus=computer.cpus,
            wall_s=sum(stage.agent_timeout_s for stage in rules.stages),
        ),
    )
    return Task(str(folder), folder, manifest, rules.stages[0].instruction, rules)
