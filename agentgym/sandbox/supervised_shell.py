"""A shell session in a guest, by requests to the guest's supervisor."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from agentgym.errors import SandboxError
from agentgym.records import Json, ShellResult

Ask: TypeAlias = Callable[..., Awaitable[tuple[dict[str, Any], bytes]]]
"""``ask(op, body=b"", *, timeout_s=REPLY_S, **fields)`` returns header and body of the reply."""

REPLY_S = 30.0
"""Longest wait for a reply in seconds, on top of the time that the request itself may take."""
SAVE_S = 60.0
"""Longest time in seconds that a session has to tell its variables."""

# Variables that every bash sets for itself.
_BASH_OWN = (b"_", b"OLDPWD", b"PWD", b"SHLVL")


class SupervisedShell:
    """A Shell over a supervisor's channel.

    Args:
        ask: Sends one request to the supervisor.
        number: Number of the session in its sandbox.
        cwd: Its working directory.
    """

    def __init__(self, ask: Ask, number: int, cwd: str) -> None:
        self._ask, self._number, self._cwd = ask, number, cwd

    @property
    def cwd(self) -> str:
        """Working directory after its last command."""
        return self._cwd

    async def run(self, command: str, *, timeout_s: float = 60.0) -> ShellResult:
        """Run a command; at the deadline interrupt it and keep the session."""
        header, body = await self._ask(
            "shell.run",
            command.encode("utf-8", "surrogateescape"),
            timeout_s=timeout_s + REPLY_S,
            shell=self._number,
            deadline_s=timeout_s,
        )
        self._cwd = header["cwd"]
        return ShellResult(
            output=body,
            exit_code=header["exit_code"],
            cwd=self._cwd,
            timed_out=header["timed_out"],
            restarted=header["restarted"],
            omitted_bytes=header["omitted"],
            duration_s=header["duration_s"],
        )

    async def save(self) -> Mapping[str, Json]:
        """Return the working directory and the exported variables."""
        header, body = await self._ask(
            "shell.save",
            timeout_s=SAVE_S + REPLY_S,
            shell=self._number,
            deadline_s=SAVE_S,
        )
        self._cwd = header["cwd"]
        pairs = (item.partition(b"=") for item in body.split(b"\0") if b"=" in item)
        exported: dict[str, Json] = {
            os.fsdecode(name): os.fsdecode(value)
            for name, _, value in pairs
            if name not in _BASH_OWN
        }
        return {"cwd": self._cwd, "env": exported}

    async def close(self) -> None:
        """End the session and its foreground command."""
        with contextlib.suppress(SandboxError):
            await self._ask("shell.close", shell=self._number)
