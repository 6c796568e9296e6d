"""A domain as a suite of agentgym: task folders that point to the tasks of a checkout.

The folders lie below `catalogue.imported()`, which is on the search path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from agentgym.errors import TaskError
from agentgym.formats.pointers import must_be_imported, replaced_suite, write_pointer
from agentgym.formats.tau2 import SCHEMA
from agentgym.formats.tau2.checkout import Checkout
from agentgym.manifest import Manifest, load_toml

_LONGEST = 100


class Pointer(Manifest):
    """The `task.toml` of such a folder.

    Attributes:
        id: ``tau2-<domain>/<name>-v1``.
        checkout: Folder with tau2-bench.
        python: Interpreter that runs its code.
        domain: Name of the domain.
        task: Id of the task in its domain.
        tasks: File of the tasks, if the domain itself reads another one.
        retrieval: Method by which the agent of a domain with documents finds them.
    """

    schema_version: Literal["agentgym.tau2/1"]
    id: str
    checkout: Path
    python: str
    domain: str
    task: str
    tasks: str = ""
    retrieval: str


def read_pointer(folder: Path) -> Pointer:
    """Return the pointer that a folder holds.

    Raises:
        TaskError: The `task.toml` is not a valid pointer, or no import has written it.
    """
    must_be_imported(folder, "agentgym suite import tau2 CHECKOUT")
    return load_toml(folder / "task.toml", Pointer, TaskError)


def count_tasks(root: Path, domain: str) -> int:
    """Return the number of tasks of a domain that an earlier import wrote into a catalogue."""
    return len(list((root / "tasks" / _suite_of(domain)).glob("*/task.toml")))


def _suite_of(domain: str) -> str:
    return f"tau2-{domain.lower()}"


def write_suite(
    root: Path,
    checkout: Checkout,
    domain: str,
    tasks: Iterable[str],
    *,
    source: str,
    retrieval: str,
) -> str:
    """Write the folders of a domain, in place of those of an earlier import.

    Args:
        root: Folder of a catalogue.
        checkout: Checkout that holds the tasks.
        domain: Domain of the tasks.
        tasks: Ids of the tasks in their domain.
        source: File of the tasks, empty for the one that the domain itself reads.
        retrieval: Method by which the agent of a domain with documents finds them.

    Returns:
        Name of the suite.
    """
    suite = _suite_of(domain)
    with replaced_suite(root, suite) as fresh:
        for task, name in _named(tasks):
            fields = {
                "schema_version": SCHEMA,
                "id": f"{suite}/{name}-v1",
                "checkout": str(checkout.path),
                "python": checkout.python,
                "domain": domain,
                "task": task,
                "tasks": source,
                "retrieval": retrieval,
            }
            write_pointer(fresh / name, fields)
    return suite


def _named(tasks: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each id with a unique folder name."""
    taken: set[str] = set()
    for task in tasks:
        plain = (
            re.sub(r"[^a-z0-9_]+", "-", task.lower()).strip("-_")[:_LONGEST].strip("-_") or "task"
        )
        name, number = plain, 1
        while name in taken:
            number += 1
            name = f"{plain}-{number}"
        taken.add(name)
        yield task, name
