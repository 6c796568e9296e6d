"""Imported tasks as a suite: folders that point to the tasks of a checkout.

The folders lie below `catalogue.imported_dir()`, which is on the search path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal

from agentgym.errors import TaskError
from agentgym.formats.osworld import SCHEMA
from agentgym.formats.osworld.checkout import Checkout
from agentgym.formats.pointers import must_be_imported, replaced_suite, write_pointer
from agentgym.manifest import Manifest, load_toml

SUITE: Final = "osworld"


class Pointer(Manifest):
    """The `task.toml` of such a folder.

    Attributes:
        id: ``osworld/<domain>-<start of the task's id>-v1``.
        checkout: Folder with OSWorld.
        domain: Folder of the task in it.
        task: Id of the task.
        files: Folder with online files; empty without one.
        env: Environment in which the task runs.
    """

    schema_version: Literal["agentgym.osworld/1"]
    id: str
    checkout: Path
    domain: str
    task: str
    files: str = ""
    env: str


def read_pointer(folder: Path) -> Pointer:
    """Return the pointer that a folder holds.

    Raises:
        TaskError: The `task.toml` is not a valid pointer, or no import has written it.
    """
    must_be_imported(folder, "agentgym suite import osworld CHECKOUT")
    return load_toml(folder / "task.toml", Pointer, TaskError)


def write_suite(
    root: Path,
    checkout: Checkout,
    tasks: Iterable[tuple[str, str]],
    *,
    files: Path | None,
    env: str,
) -> str:
    """Write the folders of tasks, in place of those of an earlier import.

    Args:
        root: Folder of a catalogue.
        checkout: Checkout that holds the tasks.
        tasks: Domain and id of each.
        files: Folder with online files, absolute.
        env: Environment in which they run.

    Returns:
        Name of the suite.
    """
    with replaced_suite(root, SUITE) as fresh:
        for domain, task in tasks:
            name = _name(fresh, domain, task)
            fields = {
                "schema_version": SCHEMA,
                "id": f"{SUITE}/{name}-v1",
                "checkout": str(checkout.path),
                "domain": domain,
                "task": task,
                "files": str(files or ""),
                "env": env,
            }
            write_pointer(fresh / name, fields)
    return SUITE


def _name(folder: Path, domain: str, task: str) -> str:
    """Return a name for a task's folder: the domain and as much of the id as makes it unique."""
    plain = re.sub(r"[^a-z0-9]+", "-", f"{domain.replace('_', '-')}-{task}".lower()).strip("-")
    short = plain[: len(re.sub(r"[^a-z0-9]+", "-", domain.lower())) + 9].strip("-")
    return plain if (folder / short).exists() else short
