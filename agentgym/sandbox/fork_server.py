"""The host's end of the fork server, the long-lived process from which sandboxes are forked.

A fresh unshare, bubblewrap and Python for each sandbox cost 40 ms. A fork of a process that has
loaded the supervisor costs a tenth. bubblewrap makes the surroundings of that process (user,
mount, process, network, IPC and host-name namespaces, the store, the host's /usr, no
environment), and `forking.py` runs there. When it ends, the kernel ends every sandbox with it.
"""

from __future__ import annotations

import array
import asyncio
import contextlib
import marshal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentgym.errors import SandboxDiedError, SandboxError
from agentgym.sandbox.confine import GUEST, HOST, MASK, RESOLV, STORE
from agentgym.sandbox.forking import READY
from agentgym.sandbox.launch import as_owner, give_ids, may_give_ids
from agentgym.sandbox.runtime import ENVIRONMENT, RUNTIME, Runtime
from agentgym.sandbox.watch import ended
from agentgym.threads import to_thread

_START_S = 20.0
_END_S = 2.0
_MARSHAL_VERSION = 2
# The sandbox covers this directory in its own namespace, so no process of the host depends on it.
_MOUNT_POINT = "/mnt"
# `read` waits until the host has mapped this process's ids. The working directory leads to the
# store, because the folders above it may be closed to the sandboxes' user.
_SCRIPT = """
echo unshared >&0
read -r go || exit 1
export LIBMOUNT_FORCE_MOUNT2=always
mount --no-canonicalize --rbind . "$1" || exit 1
shift
exec "$@"
"""
# The environment is empty, so no supervisor inherits the host's environment in its memory.
_HOST_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **ENVIRONMENT}


class ForkServer:
    """One fork server. Made by `start`; `fork` asks it for a sandbox."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        self._process, self._control = process, control
        self._sending = asyncio.Lock()
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, root: Path, runtime: Runtime, *, isolated: bool) -> ForkServer:
        """Start a fork server and wait until it accepts requests.

        Args:
            root: The store whose layers it mounts.
            runtime: Its runtime, linked in the store.
            isolated: False: its sandboxes share the host's network, IPC and host name.

        Raises:
            SandboxError: It does not start; the message contains its output.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        with theirs:
            process = subprocess.Popen(
                _command(runtime, isolated),
                cwd=root,
                env=_HOST_ENVIRONMENT,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                umask=0o022,
                start_new_session=True,
            )
        server = cls(process, ours)
        try:
            async with asyncio.timeout(_START_S):
                await server._greet()
        except (TimeoutError, OSError):
            reason = await server._complaint()
            await server.close()
            raise SandboxError(f"sandboxes cannot be started: {reason}") from None
        except BaseException:
            await server.close()
            raise
        return server

    @property
    def ended(self) -> bool:
        """Whether it has ended, and every sandbox with it."""
        if self._control.fileno() < 0:
            return True
        try:
            # It sends nothing after its start, so a readable socket means its end.
            self._control.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True

    async def fork(
        self, request: Mapping[str, object], channel: socket.socket, groups: Sequence[int]
    ) -> None:
        """Ask for one sandbox.

        Args:
            request: The description of the sandbox; see `Launch.request`.
            channel: The sandbox's end of the channel. The answer comes over the other end.
            groups: Descriptors for joining control groups.

        Raises:
            SandboxDiedError: The fork server has ended.
        """
        passed = array.array("i", [channel.fileno(), *groups])
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, passed)]
        data = marshal.dumps(dict(request, groups=len(groups)), _MARSHAL_VERSION)
        async with self._sending:
            while True:
                try:
                    self._control.sendmsg([data], rights)
                    return
                except BlockingIOError:
                    await self._writable()
                except OSError:
                    message = "the fork server has ended; the next start starts a new one"
                    raise SandboxDiedError(message) from None

    async def close(self) -> None:
        """End it and its sandboxes. Every call waits for the end.

        A start that is cancelled here would leave a process that is not waited for, so the end
        goes on without its caller.
        """
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    # --- private ---

    async def _close(self) -> None:
        self._control.close()
        process = self._process
        if process.returncode is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_END_S):
                    await _ended(process)
            process.kill()
            await _ended(process)
        if process.stderr is not None:
            process.stderr.close()

    async def _greet(self) -> None:
        """Map the ids of the launcher, which only the host can do, and wait until it is ready."""
        loop = asyncio.get_running_loop()
        if not await loop.sock_recv(self._control, 64):
            raise ConnectionError
        if may_give_ids():
            give_ids(self._process.pid)
        # A message of one byte, because a shell reads one byte at a time.
        await loop.sock_sendall(self._control, b"\n")
        # Its message brings its own socket for requests, because the launcher's socket is shared.
        readable = asyncio.Event()
        loop.add_reader(self._control, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(self._control)
        said, descriptors, _, _ = socket.recv_fds(self._control, 64, 1, socket.MSG_CMSG_CLOEXEC)
        if said != READY or not descriptors:
            raise ConnectionError
        self._control.close()
        self._control = socket.socket(fileno=descriptors[0])
        self._control.setblocking(False)

    async def _complaint(self) -> str:
        """Return its output before it failed."""
        self._process.kill()
        await _ended(self._process)
        assert self._process.stderr is not None
        text = await to_thread(self._process.stderr.read, 4000)
        return text.decode("utf-8", "replace").strip() or "no reason given; see: agentgym doctor"

    async def _writable(self) -> None:
        loop, writable = asyncio.get_running_loop(), asyncio.Event()
        loop.add_writer(self._control, writable.set)
        try:
            await writable.wait()
        finally:
            loop.remove_writer(self._control)


async def _ended(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        await ended(process.pid)
        process.wait()


def _command(runtime: Runtime, isolated: bool) -> list[str]:
    """Return the whole command line."""
    store = f"{_MOUNT_POINT}/{runtime.layer.name}{RUNTIME}"
    names = "/etc/resolv.conf"
    around = (
        ("--unshare-net", "--unshare-ipc", "--unshare-uts")
        if isolated
        else ("--ro-bind", "/", HOST, "--ro-bind-try", names, RESOLV)
    )
    bwrap = [
        *("bwrap", "--bind", _MOUNT_POINT, STORE, "--ro-bind", store, RUNTIME),
        *("--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev"),
        *("--ro-bind", "/dev/null", MASK, "--dir", GUEST),
        *("--unshare-pid", "--as-pid-1", *around, "--die-with-parent", "--new-session"),
        *("--cap-add", "ALL", "--chdir", STORE, "--clearenv"),
        *(part for item in ENVIRONMENT.items() for part in ("--setenv", *item)),
        *runtime.fork_server(),
    ]
    # The next exec drops the capabilities of an id that is not mapped yet.
    ids = ("-Um", "--keep-caps") if may_give_ids() else ("-Urm",)
    unshare = ("unshare", *ids, "--propagation", "private")
    return [*as_owner(), *unshare, "sh", "-c", _SCRIPT, "sh", _MOUNT_POINT, *bwrap]
