"""A checkout of OSWorld on this machine: which tasks it has."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentgym.errors import NotFoundError, TaskError
from agentgym.formats.osworld.model import OSWorldTask, read_task
from agentgym.manifest import show_path
from agentgym.regular_file import read_regular

_EXAMPLES: Final = Path("evaluation_examples", "examples")
_LIST: Final = Path("evaluation_examples", "test_all.json")
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,120}")


@dataclass(frozen=True)
class Checkout:
    """A folder with OSWorld.

    Attributes:
        path: The folder, absolute.
        tasks: Ids of its tasks by domain: those of `test_all.json`, else those of its folders.
    """

    path: Path
    tasks: Mapping[str, tuple[str, ...]]

    def read(self, domain: str, task: str) -> OSWorldTask:
        """Return a task.

        Raises:
            TaskError: It is absent or broken.
        """
        if not (_NAME.fullmatch(domain) and _NAME.fullmatch(task)):
            raise TaskError(f"OSWorld task {domain}/{task}: expected plain names of files")
        path = self.path / _EXAMPLES / domain / f"{task}.json"
        try:
            data = read_regular(path)
        except OSError as error:
            raise TaskError(f"{show_path(path)}: {error.strerror or error}") from None
        return read_task(data, domain)

    def chosen(self, domains: list[str] | None) -> Iterator[tuple[str, str]]:
        """Yield domain and id of each task, of all domains or of some.

        Raises:
            NotFoundError: A domain is not there.
        """
        for domain in domains or ():
            if domain not in self.tasks:
                raise NotFoundError("OSWorld domain", domain, self.tasks)
        for domain in domains or self.tasks:
            for task in self.tasks[domain]:
                yield domain, task


def open_checkout(path: Path) -> Checkout:
    """Return the checkout in a folder.

    Raises:
        TaskError: The folder is not such a checkout, or its list is broken.
    """
    path = Path(os.path.abspath(os.path.expanduser(path)))
    examples = path / _EXAMPLES
    if not examples.is_dir():
        raise TaskError(
            f"{show_path(path)}: expected a checkout of OSWorld, but it has no folder {_EXAMPLES}"
        )
    listed = path / _LIST
    if listed.exists():
        tasks = _listed(listed)
    else:
        tasks = {
            folder.name: tuple(sorted(one.stem for one in folder.glob("*.json")))
            for folder in sorted(examples.iterdir())
            if folder.is_dir()
        }
    if not any(tasks.values()):
        raise TaskError(f"{show_path(examples)}: no task in it")
    return Checkout(path, tasks)


def _listed(path: Path) -> dict[str, tuple[str, ...]]:
    try:
        said = json.loads(read_regular(path))
        return {str(domain): tuple(map(str, ids)) for domain, ids in said.items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise TaskError(
            f"{show_path(path)}: expected lists of task ids by domain: {error}"
        ) from None
