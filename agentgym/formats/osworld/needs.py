"""The needs of a task, and those that are not met: the report of an import."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from agentgym.formats.osworld import applications
from agentgym.formats.osworld.environment import Offered
from agentgym.formats.osworld.files import LocalFiles
from agentgym.formats.osworld.getters.registry import GETTERS
from agentgym.formats.osworld.metrics.registry import MODULES, missing_package
from agentgym.formats.osworld.model import BROKEN, Measure, OSWorldTask, SetupStep
from agentgym.formats.osworld.steps import STEPS, truth


class Kind(StrEnum):
    """Kinds of what can be missing."""

    TASK = "task"
    APPLICATION = "application"
    FILE = "file"
    STEP = "step"
    GETTER = "getter"
    METRIC = "metric"
    PACKAGE = "package"
    NETWORK = "network"


@dataclass(frozen=True, order=True)
class Missing:
    """One thing that a task needs and that is not at hand.

    Attributes:
        kind: Its kind.
        name: Its name, or the address of a file.
    """

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def missing(task: OSWorldTask, files: LocalFiles, environment: Offered) -> tuple[Missing, ...]:
    """Return everything that a task lacks, sorted; empty if it can run.

    Args:
        task: The task.
        files: Local copies of online files.
        environment: What the environment offers.
    """
    try:
        return tuple(sorted(_lacking(task, files, environment)))
    except BROKEN as error:
        told = f"OSWorld task {task.id[:80]!r}: a step or a getter is broken: {error!r:.300}"
        return (Missing(Kind.TASK, told),)


def _lacking(task: OSWorldTask, files: LocalFiles, environment: Offered) -> set[Missing]:
    found = {*_of_steps(task), *_of_measures(task)}
    found |= {Missing(Kind.FILE, url) for url in urls(task) if files.find(url, task.id) is None}
    there = environment.packages
    lacking = applications.lacking(_programs(task), there, host=environment.is_host)
    found |= {Missing(Kind.APPLICATION, name) for name in lacking}
    if not environment.has_screen and _needs_screen(task):
        found.add(Missing(Kind.APPLICATION, "a screen"))
    return found


def _programs(task: OSWorldTask) -> set[str]:
    return {applications.named(name) for name in task.applications} | set(_commands(task))


def _needs_screen(task: OSWorldTask) -> bool:
    steps = (*task.config, *task.postconfig)
    getters = (getter.type for measure in task.measures for getter in measure.getters)
    return (
        bool(_ON_SCREEN.intersection(getters))
        or any(step.type in _ON_SCREEN for step in steps)
        or any("pyautogui" in str(step.parameters.get("command")) for step in steps)
    )


_ON_SCREEN = frozenset(
    ("activate_window", "close_window", "launch", "open", "vm_screen_size", "vm_window_size")
)


def substitutes(task: OSWorldTask) -> Mapping[str, str]:
    """Return the applications of the environment that stand for those that a task starts."""
    words = [*task.applications]
    for step in (*task.config, *task.postconfig):
        command = step.parameters.get("command")
        words += [command] if isinstance(command, str) else map(str, command or ())
    text = " ".join(words)
    return {
        name: other
        for name, other in applications.SUBSTITUTES.items()
        if name != other and name in text
    }


def _of_steps(task: OSWorldTask) -> Iterator[Missing]:
    for step in (*task.config, *task.postconfig):
        if step.type not in STEPS:
            yield Missing(Kind.STEP, step.type)
        if _downloads(step):
            yield Missing(Kind.NETWORK, "packages from the internet")


def _of_measures(task: OSWorldTask) -> Iterator[Missing]:
    for measure in task.measures:
        yield from _of_metric(measure)
        for getter in measure.getters:
            if getter.type not in GETTERS:
                yield Missing(Kind.GETTER, getter.type)


def _of_metric(measure: Measure) -> Iterator[Missing]:
    if measure.metric not in MODULES:
        yield Missing(Kind.METRIC, measure.metric)
    elif package := missing_package(measure.metric, measure.options):
        yield Missing(Kind.PACKAGE, package)


def urls(task: OSWorldTask) -> frozenset[str]:
    """Return the addresses of the files that a task needs."""
    found = set()
    for step in (*task.config, *task.postconfig):
        if step.type == "download":
            found |= {str(file["url"]) for file in step.parameters.get("files", ())}
    for measure in task.measures:
        for getter in measure.getters:
            if getter.type == "cloud_file":
                found |= set(_several(getter.fields.get("path")))
    return frozenset(found)


def _several(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


def _commands(task: OSWorldTask) -> Iterator[str]:
    """Yield the programs that a task's steps and getters start."""
    for step in (*task.config, *task.postconfig):
        if step.type == "open":
            yield applications.opener(str(step.parameters.get("path", "")))
        yield from _started(step.parameters)
    for measure in task.measures:
        for getter in measure.getters:
            yield from _started(getter.fields)
            yield from _GETTER_PROGRAMS.get(getter.type, ())


_GETTER_PROGRAMS = {
    "gimp_config_file": ("gimp",),
    "vlc_config": ("vlc",),
}


def _started(fields: Any) -> Iterator[str]:
    command = fields.get("command")
    if command:
        yield from applications.programs(command, shell=truth(fields.get("shell")))


def _downloads(step: SetupStep) -> bool:
    command = step.parameters.get("command", "")
    text = command if isinstance(command, str) else " ".join(map(str, command))
    return any(
        piece in text
        for piece in ("apt install", "apt-get install", "apt update", "apt-get update")
    ) or ("pip install" in text and "/home/" not in text)
