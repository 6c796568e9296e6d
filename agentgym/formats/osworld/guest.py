"""The computer of an episode, as steps and getters use it."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from agentgym.errors import GuestFileError, TaskError
from agentgym.formats.osworld.applications import replaced
from agentgym.protocols import Sandbox
from agentgym.records import ExecResult

HOME: Final = "/home/user"
_INSIDE: Final = Path(__file__).with_name("inside")
_PLACE: Final = "/opt/osworld"
_COMMAND_S: Final = 120.0
_SCREEN_S: Final = 90.0
_MOST_BYTES: Final = 64 * 2**20
_QUIET_S, _QUIET_MOST_S = 0.5, 20.0
_PYTHON: Final = ("/usr/bin/python3", "-sB")
_WAIT: Final = """
cd /
for _ in $(seq 600); do
    [ "$(%s list | tr '{' '\\n' | grep -c '"id"')" -gt "$1" ] && exit 0
    sleep 0.1
done
exit 1
"""

Command = str | Sequence[str]


class Guest:
    """The computer of an episode.

    Args:
        sandbox: The computer.
        user: The user whose desktop it is; empty for root.
        has_screen: Whether it has a screen.
    """

    def __init__(self, sandbox: Sandbox, user: str, has_screen: bool) -> None:
        self._sandbox, self._user, self.has_screen = sandbox, user, has_screen
        self._size: dict[str, int] | None = None

    async def install(self) -> None:
        """Copy the programs that steps and getters run into the computer."""
        if self.has_screen:
            for program in sorted(_INSIDE.glob("*.py")):
                await self._sandbox.write_file(f"{_PLACE}/{program.name}", program.read_bytes())

    # --- commands ---

    async def run(self, command: Command, *, shell: bool = False) -> ExecResult:
        """Run a command to its end, as the user, in the home folder."""
        argv = await self._argv(command, shell)
        cwd = HOME if self._user else None
        env = {"PYTHONPATH": _PLACE, "HOME": HOME} if self._user else {"PYTHONPATH": _PLACE}
        return await self._sandbox.exec(argv, cwd=cwd, env=env, timeout_s=_COMMAND_S)

    async def start(self, command: Command, *, shell: bool = False) -> None:
        """Start a program; with a screen, wait for its window and until that is quiet."""
        argv = await self._argv(command, shell)
        before = len(await self.windows()) if self.has_screen else 0
        line = 'exec setsid -f "$@" </dev/null >/dev/null 2>&1'
        done = await self.run(["/bin/sh", "-c", line, "sh", *argv])
        if done.exit_code:
            raise TaskError(f"{argv[0]} cannot be started: {_last_line(done)}")
        if self.has_screen and not argv[0].endswith("kill"):
            wait = _WAIT % " ".join([*_PYTHON, f"{_PLACE}/screen.py"])
            await self.run(["/bin/sh", "-c", wait, "sh", str(before)])
            await self.settle()

    async def _argv(self, command: Command, shell: bool) -> list[str]:
        """Return the words of a command as OSWorld's server reads them, with our programs."""
        if isinstance(command, str):
            words = ["/bin/bash", "-c", command] if shell else command.split()
        elif shell:
            words = ["/bin/sh", "-c", *command]
        else:
            words = list(command)
        if any("{SCREEN_" in word for word in words):
            words = [self._sized(word, await self.size()) for word in words]
        if not words:
            raise TaskError("a step has an empty command")
        words = [_home(word) for word in words]
        if words[0] in ("python", "python3"):
            return [*_PYTHON, *words[1:]]
        if words[0] in ("bash", "/bin/bash", "sh", "/bin/sh"):
            return words
        return [replaced(words[0].removeprefix("/usr/bin/")), *words[1:]]

    def _sized(self, word: str, size: dict[str, int]) -> str:
        for name, side in (("WIDTH", "width"), ("HEIGHT", "height")):
            word = word.replace(f"{{SCREEN_{name}_HALF}}", str(size[side] // 2))
            word = word.replace(f"{{SCREEN_{name}}}", str(size[side]))
        return word

    # --- files ---

    async def read(self, path: str) -> bytes | None:
        """Return the content of a regular file; None if it is absent or too large."""
        try:
            return await self._sandbox.read_file(_home(path), max_bytes=_MOST_BYTES)
        except GuestFileError:
            return None

    async def write(self, path: str, data: bytes) -> None:
        """Write a file of the user, and create its folders."""
        path = _home(path)
        folder = posixpath.dirname(path)
        made = await self.run(["mkdir", "-p", folder])
        if made.exit_code:
            raise TaskError(f"{folder} cannot be created: {_last_line(made)}")
        await self._sandbox.write_file(path, data)
        if self._user:
            await self._sandbox.run_as_root(["/bin/chown", "-h", f"{self._user}:", path])

    # --- the screen ---

    async def screen(self, *request: str) -> Any:
        """Return the answer of the program that knows the windows.

        Raises:
            TaskError: There is no screen, or it does not answer.
        """
        if not self.has_screen:
            raise TaskError("the task needs a screen, and its environment has none")
        argv = [*_PYTHON, f"{_PLACE}/screen.py", *request]
        done = await self._sandbox.exec(argv, timeout_s=_SCREEN_S)
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise TaskError(
                f"the screen does not answer {request[0]}: {_last_line(done)}"
            ) from None

    async def windows(self) -> list[dict[str, Any]]:
        """Return the windows: title, class, width and height."""
        return list(await self.screen("list"))

    async def size(self) -> dict[str, int]:
        """Return width and height of the screen."""
        if self._size is None:
            self._size = dict(await self.screen("size"))
        return self._size

    async def settle(self) -> None:
        """Wait until the screen has not changed for a while, or for the longest time."""
        if self.has_screen:
            await self.screen("quiet", str(_QUIET_S), str(_QUIET_MOST_S))


def _home(word: str) -> str:
    return HOME + word[1:] if word.startswith("~/") else word


def _last_line(done: ExecResult) -> str:
    said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
    return said[-1][:300] if said else f"exit code {done.exit_code}"
