"""A shell in a fresh sandbox, for a person or a script."""

from __future__ import annotations

import asyncio
import contextlib
import readline  # noqa: F401  # gives `input` editing and history
import sys
from typing import TYPE_CHECKING

from agentgym.cli.console import ask
from agentgym.errors import GuestFileError

if TYPE_CHECKING:
    from agentgym.protocols import Sandbox, SandboxProvider, Shell
    from agentgym.records import Recipe, ShellResult

_COMMAND_S = 24 * 3600.0
_GIVE_UP_S = 3.0


def converse(provider: SandboxProvider, recipe: Recipe) -> int:
    """Run the commands on standard input in one session; return the last exit code."""
    from agentgym.env.portal import portal

    session = _Session(provider, recipe)
    try:
        portal().run(session.open())
        if not sys.stdin.isatty():
            return portal().run(session.run(sys.stdin.read()))
        while True:
            try:
                line = ask(f"{recipe.user}@{recipe.hostname}:{session.cwd}$ ")
                if line.strip() == "exit":
                    return session.status
                portal().run(session.run(line))
            except KeyboardInterrupt:
                print()
            except EOFError:
                print()
                return session.status
    finally:
        portal().run(session.close())


class _Session:
    """One sandbox with one shell: `cwd` and exit `status` are those after the last command."""

    def __init__(self, provider: SandboxProvider, recipe: Recipe) -> None:
        self._provider, self._recipe = provider, recipe
        self._sandbox: Sandbox | None = None
        self.cwd, self.status = recipe.workdir, 0

    async def open(self) -> None:
        self._sandbox = await self._provider.start(self._recipe)
        self._shell: Shell = await self._sandbox.open_shell()

    async def run(self, command: str) -> int:
        """Run a command and print its output; when cancelled, the command is interrupted."""
        assert self._sandbox is not None
        before = {process.pid for process in await self._sandbox.processes()}
        running = asyncio.ensure_future(self._shell.run(command, timeout_s=_COMMAND_S))
        try:
            self._show(await asyncio.shield(running))
        except asyncio.CancelledError:
            await self._interrupt(before)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_GIVE_UP_S):
                    self._show(await running)
                raise
            # The command does not react, or is part of the shell: a new session takes its place.
            await self._shell.close()
            try:
                self._shell = await self._sandbox.open_shell(cwd=self.cwd)
            except GuestFileError:
                # The working directory was removed during the session.
                self._shell = await self._sandbox.open_shell(cwd="/")
            raise
        return self.status

    async def _interrupt(self, before: set[int]) -> None:
        assert self._sandbox is not None
        now = {process.pid for process in await self._sandbox.processes()}
        pids = [str(pid) for pid in sorted(now - before)]
        if pids:
            await self._sandbox.exec(["/bin/sh", "-c", 'kill -INT "$@"', "sh", *pids])

    def _show(self, result: ShellResult) -> None:
        sys.stdout.buffer.write(result.output)
        if result.output and not result.output.endswith(b"\n") and sys.stdin.isatty():
            sys.stdout.buffer.write(b"\n")
        sys.stdout.flush()
        self.cwd = result.cwd
        self.status = result.exit_code if result.exit_code is not None else 1

    async def close(self) -> None:
        if self._sandbox is not None:
            await self._sandbox.close()
        await self._provider.close()
