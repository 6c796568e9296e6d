"""The common part of sandboxes with a guest supervisor: commands and the audit, by its channel.

A provider's sandbox inherits from Supervised, starts the supervisor in its own way, and adds
lifecycle, limits and state.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from socket import socket
from typing import Any

from agentgym.errors import (
    SandboxDiedError,
    SandboxEndedError,
    SandboxError,
    SandboxTimeoutError,
    UnsupportedError,
)
from agentgym.protocols import FileTree
from agentgym.records import Audit, ExecResult, Process, Recipe
from agentgym.sandbox.carried_through import carried_through
from agentgym.sandbox.channel import Channel
from agentgym.sandbox.layers.tree import LiveTree
from agentgym.sandbox.network.handover import accept_connection, accept_listener
from agentgym.sandbox.network.journal import Journal
from agentgym.sandbox.network.policy import Policy, proxy_variables
from agentgym.sandbox.network.proxy import PORT, Proxy
from agentgym.sandbox.startup import start_service
from agentgym.sandbox.supervised_shell import REPLY_S, SupervisedShell
from agentgym.sandbox.transfer import FileTransfer
from agentgym.sandbox.watch import DiskWatch, Watch, Written

_log = logging.getLogger(__name__)

_CONNECT_S = 10.0
# Bytes that a guest's files may keep if they filled the disk.
_KEPT = 64 * 2**20
_ROOTS_OWN = ("HOME", "USER", "LOGNAME")
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "USER": "root",
    "LOGNAME": "root",
    "SHELL": "/bin/bash",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    # No person reads the output, so pagers and prompts would wait for ever.
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "DEBIAN_FRONTEND": "noninteractive",
    "PYTHONHASHSEED": "0",
}
# If only one user id exists inside, files cannot get another owner.
_ONE_ID = {"TAR_OPTIONS": "--no-same-owner"}


class Supervised(FileTransfer):
    """The half of a Sandbox that talks to a supervisor.

    Args:
        recipe: Environment variables and output limit of every command.

    Attributes:
        began_s: When it was made, in seconds since 1970.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.began_s = time.time()
        base = {**ENVIRONMENT, **(_ONE_ID if self._has_one_id else {})}
        self._environment = {**base, **proxy_variables(recipe, PORT), **recipe.env}
        self._channel: Channel | None = None
        # The reason if a limit ended the sandbox.
        self._ended_by = ""
        # The reason of its death if the guest did not cause it.
        self._died_of = ""
        self._shells = 0
        self._policy = Policy.of(recipe.network, recipe.allow)
        self._proxy: Proxy | None = None
        self._connections = Journal()
        self._watch: Watch | None = None

    @property
    def id(self) -> str:
        """Name unique within this host."""
        raise NotImplementedError

    @property
    def _has_one_id(self) -> bool:
        """Whether only root exists inside; asked as soon as the recipe is known."""
        return False

    def _lost(self) -> None:
        """Record that the supervisor ended by itself.

        A guest can end its own PID 1, for example by running out of memory. If that were an error,
        the guest could remove a bad result from the record.
        """
        self._ended_by = self._ended_by or "its supervisor came to an end under it"

    async def _ask(
        self, op: str, body: bytes = b"", *, timeout_s: float = REPLY_S, **fields: object
    ) -> tuple[dict[str, Any], bytes]:
        """Send one request to the supervisor."""
        with self._reaching() as channel:
            return await channel.request(op, body, timeout_s=timeout_s, **fields)

    async def _ask_for_socket(self, op: str, **fields: object) -> socket:
        """Send one request whose reply brings a socket."""
        with self._reaching() as channel:
            return await channel.request_socket(op, timeout_s=REPLY_S, **fields)

    @contextlib.contextmanager
    def _reaching(self) -> Iterator[Channel]:
        if self._channel is None:
            raise SandboxDiedError(f"sandbox {self.id} is closed")
        try:
            yield self._channel
        except SandboxDiedError:
            if self._ended_by:
                message = f"sandbox {self.id} was ended: {self._ended_by}"
                raise SandboxEndedError(message) from None
            if self._died_of:
                raise SandboxDiedError(f"sandbox {self.id} is gone: {self._died_of}") from None
            raise

    async def exec(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout_s: float = 60.0,
        user: str | None = None,
    ) -> ExecResult:
        """Run one command to its end."""
        request = self._command(cwd, env, user or self.recipe.user)
        return await self._run(argv, request, stdin, timeout_s)

    def _command(self, cwd: str | None, env: Mapping[str, str] | None, user: str) -> dict[str, Any]:
        """Return the fields of a request for folder, variables and user of a command."""
        variables = {**self._environment, **(env or {})}
        if user != "root":
            # The supervisor finds the user's home, unless a variable sets it.
            own = {**self.recipe.env, **(env or {})}
            variables = {k: v for k, v in variables.items() if k not in _ROOTS_OWN or k in own}
        return {
            "cwd": cwd or self.recipe.workdir,
            "env": variables,
            "user": user,
            "limit": self.recipe.limits.output_bytes,
        }

    async def _run(
        self, argv: Sequence[str], request: dict[str, Any], stdin: bytes, timeout_s: float
    ) -> ExecResult:
        header, body = await self._ask(
            "exec",
            stdin,
            timeout_s=timeout_s + REPLY_S,
            argv=list(argv),
            deadline_s=timeout_s,
            **request,
        )
        split = header["stdout_bytes"]
        return ExecResult(
            exit_code=header["exit_code"],
            stdout=body[:split],
            stderr=body[split:],
            timed_out=header["timed_out"],
            omitted_bytes=header["omitted"],
            duration_s=header["duration_s"],
        )

    async def open_shell(
        self, *, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> SupervisedShell:
        """Start a persistent shell session."""
        self._shells += 1
        await self._ask(
            "shell.open",
            shell=self._shells,
            **self._command(cwd, env, self.recipe.user),
        )
        return SupervisedShell(self._ask, self._shells, cwd or self.recipe.workdir)

    def begin(self) -> None:
        """Count the wall time from now."""
        if self._watch is not None:
            self._watch.begin()

    def _written(self) -> int:
        """Return the bytes that the guest occupies on the disk; this may be slow."""
        raise NotImplementedError

    def _hides(self) -> bool:
        """Return whether the guest may hold files that `_written` cannot find."""
        raise NotImplementedError

    def _end(self, reason: str) -> None:
        """End the sandbox because it exceeded a limit that the kernel does not watch."""
        raise NotImplementedError

    async def _gone(self) -> None:
        """Wait until every process of the guest has ended."""
        raise NotImplementedError

    def _left(self) -> int:
        """Return the bytes that the files of the ended guest occupy; this may be slow."""
        raise NotImplementedError

    def _empty(self, most: int) -> tuple[int, str]:
        """Empty the ended guest's largest files; see `layers.size.empty_largest`."""
        raise NotImplementedError

    async def _make_room(self, disk: DiskWatch) -> None:
        """Empty the largest files of the ended guest if they fill the disk.

        Otherwise neither its episode nor another one could be judged, and an agent could avoid a
        bad result by filling the disk faster than the disk is measured.
        """
        try:
            emptied = await disk.make_room(self._left, functools.partial(self._empty, _KEPT))
        except (OSError, SandboxError) as error:
            _log.warning("warning: sandbox %s: its files cannot be emptied: %s", self.id, error)
            return
        if emptied is not None and emptied[0]:
            _log.warning(
                "warning: sandbox %s: its files filled the disk of this machine; %d of them are "
                "kept empty, the first: %r",
                *(self.id, emptied[0], emptied[1][:200]),
            )

    async def _furnish(self, disk: DiskWatch) -> None:
        """Watch its limits, and prepare network and services before the sandbox is handed out.

        Raises:
            SandboxError: The preparation failed; a limit that ends it counts as a failed start.
        """

        async def make_room() -> None:
            await self._gone()
            await self._make_room(disk)

        # Before the services, because their writes count but their time does not.
        written = Written(self._written, self._hides)
        self._watch = Watch(self.recipe.limits, disk, written, self._end, make_room)
        with contextlib.suppress(SandboxEndedError):
            await self._open_network()
            await self._start_services()
        if self._ended_by:
            raise SandboxError(f"sandbox did not start: it was ended: {self._ended_by}")
        self.begin()

    async def _hang_up(self) -> None:
        """Close the channel; PID 1 then exits, and the kernel ends the other processes."""
        if self._watch is not None:
            self._watch.stop()
            self._watch = None
        await self._close_network()
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    async def _start_services(self) -> None:
        """Start the recipe's services before any other command."""
        for service in self.recipe.services:
            await start_service(service, self)

    async def run_as_root(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        timeout_s: float = 60.0,
    ) -> ExecResult:
        """Run one command to its end as root, regardless of the recipe's user."""
        return await self._run(argv, self._command(None, env, "root"), b"", timeout_s)

    async def processes(self) -> Sequence[Process]:
        """List live guest processes without the supervisor and its shells."""
        header, _ = await self._ask("ps")
        return [Process(pid, tuple(argv), tuple(ports)) for pid, argv, ports in header["processes"]]

    async def audit(self) -> Audit:
        """Return the records that the guest cannot reach."""
        # The guest lists its processes while a thread reads the count.
        processes, killed = await asyncio.gather(self._listed(), self._killed_for_memory())
        if processes is None:
            # It may have been killed since the count was read.
            killed = await self._killed_for_memory()
        return Audit(
            processes=tuple(processes or ()),
            connections=self._connections.connections(),
            killed_for_memory=killed,
        )

    async def _listed(self) -> Sequence[Process] | None:
        """List live guest processes; None if the guest has ended itself."""
        try:
            return await self.processes()
        except SandboxEndedError:
            return None

    async def _killed_for_memory(self) -> int | None:
        """Return how many processes the memory limit ended, or None if they are not counted."""
        return None

    async def connect(self, port: int) -> socket:
        """Return a socket connected to a TCP port of the guest's loopback; it blocks.

        Raises:
            SandboxError: No process listens on the port, or it does not answer in time.
        """
        _check_port(port)
        passed = await self._ask_for_socket("connect", port=port, deadline_s=_CONNECT_S)
        return accept_connection(passed, port)

    async def listen(self, port: int) -> socket:
        """Return a socket that listens on a TCP port of the guest's loopback; it does not block.

        The host answers the guest's connections there until it closes the socket.

        Raises:
            SandboxError: A process already listens on the port.
        """
        _check_port(port)
        return accept_listener(await self._ask_for_socket("listen", port=port), port)

    async def _open_network(self) -> None:
        """Start the proxy for the recipe's network before any command can take its port."""
        if self._policy is not None:
            self._proxy = Proxy(await self.listen(PORT), self._policy, self._connections)

    async def _close_network(self) -> None:
        proxy, self._proxy = self._proxy, None
        if proxy is not None:
            await proxy.close()

    @contextlib.asynccontextmanager
    async def look(self) -> AsyncIterator[FileTree]:
        """Freeze the processes inside, yield the current files, and thaw the processes."""
        held = LiveTree(await self._live_tree())
        async with self._frozen(held):
            yield held

    async def _live_tree(self) -> FileTree:
        """Return the guest's current files, read from outside."""
        raise UnsupportedError(
            f"sandbox {self.id} cannot be looked into while it runs; seal it and open its snapshot"
        )

    @contextlib.asynccontextmanager
    async def _frozen(self, held: LiveTree | None = None) -> AsyncIterator[None]:
        """Freeze every process inside while a caller reads its files from outside.

        Args:
            held: A tree to close before the processes continue.
        """
        freezing = asyncio.ensure_future(self._ask("freeze"))
        try:
            await asyncio.shield(freezing)
            yield
        finally:
            # The caller may be cancelled, even while the guest is being stopped; the guest must
            # continue even then.
            await carried_through(self._let_go(freezing, held))

    async def _let_go(self, freezing: asyncio.Future[Any], held: LiveTree | None) -> None:
        await asyncio.wait({freezing})
        if held is not None:
            await held.close()
        failed = freezing.exception()
        if failed is None or isinstance(failed, SandboxTimeoutError):
            await self._ask("thaw")


def _check_port(port: int) -> None:
    if not 0 < port < 65536:
        raise SandboxError(f"port {port}: expected a number from 1 to 65535")
