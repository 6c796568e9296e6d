"""`agentgym list`: lists tasks and everything needed to run them."""

from __future__ import annotations

import fnmatch
import math
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Final, Literal, cast

import typer

from agentgym.errors import AgentGymError, NotFoundError

KINDS = {
    "tasks": "task",
    "suites": "suite",
    "envs": "environment",
    "verifiers": "check pack",
    "sandboxes": "sandbox",
    "agents": "agent",
    "surfaces": "surface",
    "formats": "task format",
}
"""Kinds that can be listed, with the noun for one of them."""

_ENTRY_POINTS = {
    "sandboxes": "agentgym.sandboxes",
    "agents": "agentgym.agents",
    "surfaces": "agentgym.surfaces",
    "formats": "agentgym.task_formats",
}

_LARGE: Final = 10**15
"""Numbers from here on are told by their power of ten."""
_COLUMNS = {"tasks": ("id", "difficulty", "instances", "title"), "suites": ("name", "tasks")}

OWN_AGENTS = (
    "an agent of your own: --agent ./FILE.py:CLASS or --agent python:MODULE:CLASS; "
    "begin one with: agentgym agent new NAME"
)


def list_catalogue(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=", ".join(KINDS) + ".")] = "tasks",
    pattern: Annotated[
        str | None, typer.Argument(metavar="PATTERN", help="A name or a glob like '*git*'.")
    ] = None,
) -> None:
    """List tasks, suites, environments, check packs, sandboxes, agents, surfaces or formats."""
    from rich.table import Table

    from agentgym.cli.console import stderr_console, stdout_console

    if kind not in KINDS:
        hint = f"kinds are {', '.join(KINDS)}; to search tasks: agentgym list tasks {kind}"
        raise NotFoundError("kind of thing to list", kind, KINDS, hint)
    columns = _COLUMNS.get(kind, ("name", "where"))
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="dim")
    for name in columns:
        side: Literal["left", "right"] = "right" if name in ("instances", "tasks") else "left"
        table.add_column(name, justify=side, no_wrap=True, overflow="ellipsis")
    for row in _tasks(pattern) if kind == "tasks" else _others(kind, pattern):
        table.add_row(*row)
    stdout_console().print(table)
    if kind == "agents":
        stderr_console().print(OWN_AGENTS, markup=False, highlight=False, soft_wrap=True)


def _tasks(pattern: str | None) -> Iterator[tuple[str, ...]]:
    from agentgym import catalogue
    from agentgym.task.load import find_task
    from agentgym.task.template import cardinality

    ids = catalogue.match_tasks(pattern) if pattern else sorted(catalogue.folders("tasks"))
    for task_id in ids:
        try:
            manifest = find_task(task_id).manifest
        except AgentGymError as error:
            yield task_id, "broken", "", str(error).splitlines()[0]
        else:
            instances = _number(cardinality(manifest.params))
            yield task_id, manifest.difficulty, instances, manifest.title


def _number(count: int) -> str:
    """Return a number; Python refuses to write one of more than 4,300 digits."""
    return f"{count:,}" if count < _LARGE else f"10^{int(math.log10(count))}"


def _others(kind: str, pattern: str | None) -> Iterator[tuple[str, ...]]:
    from agentgym import catalogue, plugins

    found: list[tuple[str, str]] = []
    if kind in _ENTRY_POINTS:
        found += [(name, "entry point") for name in plugins.names(_ENTRY_POINTS[kind])]
    if kind == "suites":
        tasks = Counter(task_id.split("/")[0] for task_id in catalogue.folders("tasks"))
        found += [(name, f"{number:,}") for name, number in tasks.items()]
    if kind in ("envs", "verifiers", "sandboxes"):
        folders = catalogue.folders(cast(Literal["envs", "verifiers", "sandboxes"], kind))
        found += [(name, str(path)) for name, path in folders.items()]
    matching = [row for row in found if fnmatch.fnmatchcase(row[0], pattern or "*")]
    if pattern and not matching:
        raise NotFoundError(KINDS[kind], pattern, [name for name, _ in found])
    yield from sorted(matching)
