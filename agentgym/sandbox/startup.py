"""Starts the services of a sandbox in order and waits until each is healthy."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from agentgym.errors import GuestFileError, SandboxError, SandboxTimeoutError
from agentgym.records import ExecResult, Service

_LOGS = "/var/log/agentgym"
_START_S = 10.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.01, 0.25
_TAIL_LINES = 20
# A service writes into no pipe of the host, and shares its session with no later command.
_START = '/bin/sh -c "$1" > "$2" 2>&1 < /dev/null & echo $!'
_ENDED = 97
_HEALTH = f'kill -0 "$1" 2> /dev/null || exit {_ENDED}\neval "$2"'


class Host(Protocol):
    """The operations of a sandbox that starting a service needs."""

    async def run_as_root(self, argv: Sequence[str], *, timeout_s: float) -> ExecResult:
        """Run one command to its end."""
        ...

    async def read_file(self, path: str) -> bytes:
        """Return a file's bytes."""
        ...

    async def write_file(self, path: str, data: bytes) -> None:
        """Write a file, making its parents."""
        ...


async def start_service(service: Service, host: Host) -> None:
    """Start a service as root, and wait until it is healthy.

    Raises:
        SandboxError: It ended, or was not healthy in time; the message quotes its log.
    """
    log = f"{_LOGS}/{service.name}.log"
    await host.write_file(log, b"")
    started = await host.run_as_root(_sh(_START, service.command, log), timeout_s=_START_S)
    if started.exit_code:
        reason = (started.stderr or started.stdout).decode("utf-8", "replace").strip()
        raise SandboxError(f"service {service.name!r} cannot be started: {reason}")
    if not service.health:
        return
    check = _sh(_HEALTH, started.stdout.decode().strip(), service.health)
    try:
        async with asyncio.timeout(service.timeout_s):
            ended = await _poll(check, service.timeout_s, host)
    except (TimeoutError, SandboxTimeoutError):
        problem = f"was not healthy after {service.timeout_s:g} s"
    else:
        if not ended:
            return
        problem = "ended before it was healthy"
    raise SandboxError(
        f"service {service.name!r} {problem}; {log} ends with:\n{await _tail(log, host)}"
    )


async def _poll(check: Sequence[str], timeout_s: float, host: Host) -> bool:
    """Check repeatedly; return False once it is healthy, True once it has ended."""
    pause = _FIRST_PAUSE_S
    while True:
        code = (await host.run_as_root(check, timeout_s=timeout_s)).exit_code
        if code in (0, _ENDED):
            return code == _ENDED
        await asyncio.sleep(pause)
        pause = min(_LONGEST_PAUSE_S, 2 * pause)


async def _tail(log: str, host: Host) -> str:
    try:
        text = (await host.read_file(log)).decode("utf-8", "replace")
    except GuestFileError as error:
        return str(error)
    return "\n".join(text.strip().splitlines()[-_TAIL_LINES:])


def _sh(script: str, *arguments: str) -> list[str]:
    return ["/bin/sh", "-c", script, "sh", *arguments]
