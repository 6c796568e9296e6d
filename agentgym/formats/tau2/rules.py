"""A task of tau2-bench, and the processes that its episodes share."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from agentgym.errors import TaskError
from agentgym.formats.tau2.checkout import open_checkout
from agentgym.formats.tau2.model import Tau2Task, read_task
from agentgym.formats.tau2.process import DomainProcess, tool_of
from agentgym.formats.tau2.suite import Pointer, read_pointer
from agentgym.manifest import show_path
from agentgym.records import ToolSpec


class SharedDomain:
    """A domain and its tasks, started once in this process and ended with it."""

    def __init__(self, pointer: Pointer) -> None:
        checkout = open_checkout(pointer.checkout, pointer.python)
        self.process = DomainProcess(checkout, pointer.domain, retrieval=pointer.retrieval)
        self._data = checkout.data(pointer.domain)
        self._source = pointer.tasks

    @cached_property
    def tasks(self) -> Mapping[str, Tau2Task]:
        """The tasks by id."""
        file = self._data / self._source if self._source else None
        return {raw["id"]: read_task(raw) for raw in self.process.tasks(file)}

    @cached_property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools of the agent."""
        return self._described("tools")

    @cached_property
    def user_tools(self) -> tuple[ToolSpec, ...]:
        """The tools of the user; empty in most domains."""
        return self._described("user_tools")

    def _described(self, whose: str) -> tuple[ToolSpec, ...]:
        with self.process.world() as world:
            return tuple(tool_of(schema) for schema in world.ask("describe")[whose])


_shared: dict[tuple[int, str, str, str, str, str], SharedDomain] = {}
_lock = threading.Lock()


def shared_domain(pointer: Pointer) -> SharedDomain:
    """Return the domain of a task, and start it if it is not running.

    Raises:
        TaskError: The checkout is absent or broken.
        MissingExtraError: Its interpreter lacks a package.
    """
    about = (pointer.python, pointer.domain, pointer.tasks, pointer.retrieval)
    key = (os.getpid(), str(pointer.checkout), *about)
    with _lock:
        if key not in _shared or not _shared[key].process.alive:
            found = SharedDomain(pointer)
            atexit.register(found.process.close)
            _shared[key] = found
        return _shared[key]


@dataclass(frozen=True, slots=True)
class Tau2Rules:
    """The rules of a task of tau2-bench.

    Attributes:
        pointer: Location of the task.
        task: The task.
    """

    pointer: Pointer
    task: Tau2Task

    @property
    def domain(self) -> SharedDomain:
        """The process of its domain."""
        return shared_domain(self.pointer)


def read_rules(folder: Path) -> Tau2Rules:
    """Return the rules of the task that a folder points to.

    Raises:
        TaskError: The folder, the checkout or the task is broken.
        MissingExtraError: The interpreter lacks a package.
    """
    pointer = read_pointer(folder)
    tasks = shared_domain(pointer).tasks
    if pointer.task not in tasks:
        raise TaskError(
            f"{show_path(folder)}: {pointer.checkout} has no task {pointer.task!r} in domain "
            f"{pointer.domain!r} any more; run: agentgym suite import tau2 {pointer.checkout}"
        )
    return Tau2Rules(pointer, tasks[pointer.task])
