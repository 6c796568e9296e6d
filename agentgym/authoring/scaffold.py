"""Writes the folder of a new task: a small complete one for its author to change."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from agentgym import catalogue
from agentgym.authoring.draft import draft
from agentgym.env.spec import EnvSpec, load_env_spec
from agentgym.errors import ConfigError

_NAME = re.compile(r"([a-z0-9][a-z0-9_-]*)/([a-z0-9][a-z0-9_-]*)")
_EXAMPLES: Final = {
    "shell": ("bash",),
    "tickets": ("tickets_search", "tickets_get", "tickets_close", "tickets_comment"),
}
"""Example to the tools that its solution and mutants need; the first that fits is used."""
_VERSIONED = re.compile(r"-v[0-9]+$")


def new_task(name: str, *, env: str, template: bool, root: Path) -> Path:
    """Write the folder of a new task and return it.

    Args:
        name: ``suite/name``.
        env: Catalogue name of its environment.
        template: Whether the task has slots that are drawn from the seed.
        root: Catalogue folder; the task goes to ``tasks/suite/name`` below it.

    Raises:
        NotFoundError: No environment has this name.
        ConfigError: The name is invalid, the folder exists, the id is taken, or the environment
            lacks the tools that an example needs.
    """
    match = _NAME.fullmatch(name)
    if match is None or _VERSIONED.search(name):
        raise ConfigError(
            f"{name!r}: expected suite/name in lower case without a version, e.g. web-shop/refund"
        )
    spec = load_env_spec(env)
    tools = frozenset(tool.name for kind in spec.make_surface_kinds() for tool in kind.tools())
    example = next((name for name, needed in _EXAMPLES.items() if tools.issuperset(needed)), None)
    drafted: Mapping[str, str] = {}
    if example is None:
        drafted = _drafted(env, spec, tools, template)
    task_id, folder = f"{name}-v1", root / "tasks" / name
    if folder.exists():
        raise ConfigError(f"{folder} exists already; choose another name, or remove it first")
    if task_id in catalogue.folders("tasks"):
        where = catalogue.find("tasks", task_id)
        raise ConfigError(f"{task_id} exists already, in {where}; choose another name")
    words = {"__ID__": task_id, "__ENV__": env}
    for name_of_file, text in drafted.items():
        _write(folder / name_of_file, text, words)
    if example is not None:
        with as_file(files("agentgym.authoring") / "example" / example) as source:
            for layer in ("plain", "template")[: 1 + template]:
                _lay_down(source / layer, folder, words)
    return folder


def _drafted(env: str, spec: EnvSpec, tools: frozenset[str], template: bool) -> Mapping[str, str]:
    """Return the files of a task for an environment that lacks the tools of every example."""
    services = spec.find_services()
    wanted = " nor ".join(", ".join(names) for names in _EXAMPLES.values())
    if services is None:
        raise ConfigError(
            f"environment {env!r} has neither {wanted}, which the examples act through, nor "
            "services of its own; choose another with --env, or copy a task of that environment"
        )
    if template:
        raise ConfigError(
            f"environment {env!r} has neither {wanted}, which the example of a template acts "
            "through; leave --template out, and add [params] to the task that is drafted"
        )
    if not tools & services.functions.keys():
        raise ConfigError(
            f'environment {env!r} offers agents no tool of its services; add "services" to '
            "surfaces in env.toml while the task is drafted, or copy a task of that environment"
        )
    return draft(env, services, tools)


def _lay_down(source: Path, target: Path, words: Mapping[str, str]) -> None:
    for path in sorted(source.rglob("*")):
        if not path.is_file() or "__pycache__" in path.parts:
            continue
        _write(target / path.relative_to(source), path.read_text(encoding="utf-8"), words)


def _write(place: Path, text: str, words: Mapping[str, str]) -> None:
    if place.name == "task.toml":
        for word, value in words.items():
            text = text.replace(word, value)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{place}: cannot be written: {error.strerror}") from error
