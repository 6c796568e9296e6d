"""Set-up steps and post-actions: what is done before the agent comes and before it is judged."""

from __future__ import annotations

import asyncio
import os
import posixpath
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agentgym.errors import TaskError
from agentgym.formats.osworld.applications import opener
from agentgym.formats.osworld.files import LocalFiles
from agentgym.formats.osworld.guest import Guest
from agentgym.formats.osworld.model import BROKEN, SetupStep

_MOST_SLEEP_S: Final = 5.0
_MOST_NAME: Final = 200
"""Largest number of bytes of a file's name; Linux allows 255."""


@dataclass
class Stage:
    """The state that the steps and getters of one episode share.

    Attributes:
        task: Id of the task.
        guest: The computer.
        files: Local copies of online files.
        kept: Files by name, which steps have written and getters have fetched.
    """

    task: str
    guest: Guest
    files: LocalFiles
    kept: dict[str, bytes] = field(default_factory=dict)

    def keep(self, name: object, data: bytes) -> str:
        """Keep a file under a plain name and return that.

        A path would lead out of the folder in which metrics find their files.

        Raises:
            TaskError: No file can have this name.
        """
        plain = posixpath.basename(str(name))
        if plain in ("", ".", "..") or "\0" in plain or len(os.fsencode(plain)) > _MOST_NAME:
            raise TaskError(f"OSWorld task {self.task!r}: {str(name)[:300]!r} is no name of a file")
        self.kept[plain] = data
        return plain


def truth(value: Any) -> bool:
    """Return a switch of a task, which may be written as a text."""
    return value.lower() == "true" if isinstance(value, str) else bool(value)


async def take(stage: Stage, step: SetupStep) -> None:
    """Take one step.

    Raises:
        TaskError: The step is unknown, or broken, or its file is not at hand.
        SandboxError: The computer broke.
    """
    if step.type not in STEPS:
        raise TaskError(f"OSWorld task {stage.task!r}: the step {step.type!r} is not supported")
    try:
        await STEPS[step.type](stage, step.parameters)
    except BROKEN as error:
        raise TaskError(
            f"OSWorld task {stage.task!r}: the step {step.type!r} is broken: {error!r:.300}"
        ) from None


async def _download(stage: Stage, given: Mapping[str, Any]) -> None:
    for file in given["files"]:
        await stage.guest.write(file["path"], stage.files.read(file["url"], stage.task))


async def _open(stage: Stage, given: Mapping[str, Any]) -> None:
    await stage.guest.start([opener(given["path"]), given["path"]])


async def _launch(stage: Stage, given: Mapping[str, Any]) -> None:
    await stage.guest.start(given["command"], shell=truth(given.get("shell")))


async def _execute(stage: Stage, given: Mapping[str, Any]) -> None:
    done = await stage.guest.run(given["command"], shell=truth(given.get("shell")))
    for name, data in (("stdout", done.stdout), ("stderr", done.stderr)):
        if given.get(name):
            stage.keep(given[name], data)
    await stage.guest.settle()


async def _activate(stage: Stage, given: Mapping[str, Any]) -> None:
    await _tell(stage, "activate", given)


async def _close(stage: Stage, given: Mapping[str, Any]) -> None:
    await _tell(stage, "close", given)


async def _tell(stage: Stage, verb: str, given: Mapping[str, Any]) -> None:
    switches = ("1" if truth(given.get(name)) else "0" for name in ("strict", "by_class"))
    await stage.guest.screen(verb, given["window_name"], *switches)
    await stage.guest.settle()


async def _sleep(stage: Stage, given: Mapping[str, Any]) -> None:
    """Wait until the screen is quiet; without a screen, for the time itself."""
    if stage.guest.has_screen:
        await stage.guest.settle()
    else:
        await asyncio.sleep(min(float(given["seconds"]), _MOST_SLEEP_S))


STEPS: Final[Mapping[str, Callable[[Stage, Mapping[str, Any]], Awaitable[None]]]] = {
    "activate_window": _activate,
    "close_window": _close,
    "command": _execute,
    "download": _download,
    "execute": _execute,
    "launch": _launch,
    "open": _open,
    "sleep": _sleep,
}
"""The steps that can be taken, by their type."""
