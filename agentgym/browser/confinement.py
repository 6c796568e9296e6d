"""The namespaces of Chromium, seen from the host: its files, its network, the sockets it gives.

Chromium sees the host's `/usr` and fonts, read-only, and a folder for transfers. Its network is a
loopback of its own; see `agentgym.browser.launcher`. Its own sandbox for renderers works in there
too.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
import socket
import sys
from pathlib import Path
from typing import Final

from agentgym.browser import launcher
from agentgym.browser.executable import Executable
from agentgym.errors import SandboxError, SurfaceError, SurfaceLostError
from agentgym.sandbox.network.handover import accept_listener
from agentgym.scratch import make_scratch_folder, socket_address

_CONNECT_S: Final = 30
_PASS_S: Final = 10
_LINKS: Final = ("bin", "lib", "lib32", "lib64", "sbin")
_SHOWN: Final = ("/etc/fonts", "/etc/alternatives", "/usr/share/fonts")


class Confinement:
    """The surroundings of one Chromium process: a script that starts it, and its network.

    Args:
        executable: The program.
    """

    def __init__(self, executable: Executable) -> None:
        self._folder = make_scratch_folder("browser")
        self.transfers = self._folder / "transfers"
        self.transfers.mkdir()
        self.script = self._folder / "chromium"
        self._path = self._folder / "control"
        self._waiting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with socket_address(self._path) as address:
            self._waiting.bind(address)
        self._waiting.listen(1)
        self._waiting.setblocking(False)
        self._control: socket.socket | None = None
        self._turn = asyncio.Lock()
        program = [sys.executable, "-I", "-S", launcher.__file__, str(self._path)]
        inside = self._bubblewrap(executable)
        self.script.write_text(f'#!/bin/sh\nexec {shlex.join([*program, *inside])} "$@"\n')
        self.script.chmod(0o700)

    def _bubblewrap(self, executable: Executable) -> list[str]:
        """Return the command line that starts the program with nothing of the host but `/usr`."""
        path = str(executable.path)
        command = ["bwrap", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
        command += ["--unshare-cgroup-try", "--die-with-parent", "--new-session"]
        command += ["--uid", "1000", "--gid", "1000", "--hostname", "browser"]
        command += ["--ro-bind", "/usr", "/usr"]
        for name in _LINKS:
            link = Path("/", name)
            if link.is_symlink():
                command += ["--symlink", str(link.readlink()), str(link)]
            elif link.is_dir():
                command += ["--ro-bind", str(link), str(link)]
        for shown in _SHOWN:
            command += ["--ro-bind-try", shown, shown]
        command += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/tmp/home"]
        if not path.startswith("/usr/"):
            folder = str(executable.path.parent)
            command += ["--ro-bind", folder, folder]
        command += ["--bind", str(self.transfers), str(self.transfers)]
        command += ["--clearenv", "--setenv", "HOME", "/tmp/home", "--setenv", "PATH", "/usr/bin"]
        command += ["--setenv", "TZ", "UTC", "--setenv", "LANG", "C.UTF-8", "--chdir", "/tmp"]
        return [*command, "--", path]

    async def connected(self) -> None:
        """Wait for the launcher, which calls as soon as it runs.

        Raises:
            SurfaceError: It does not call.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_CONNECT_S):
                self._control, _ = await loop.sock_accept(self._waiting)
        except TimeoutError:
            raise SurfaceError(f"the browser's launcher did not call in {_CONNECT_S} s") from None
        self._control.setblocking(True)
        self._control.settimeout(_PASS_S)

    async def listener(self) -> socket.socket:
        """Return a new socket that listens on the loopback of the browser's network.

        Raises:
            SurfaceError: The browser has ended.
        """
        async with self._turn:
            try:
                return await asyncio.to_thread(self._ask)
            except (OSError, SandboxError) as error:
                raise SurfaceLostError(f"the browser has ended: {error}") from None

    def _ask(self) -> socket.socket:
        if self._control is None:
            raise OSError("it is not connected")
        self._control.sendall(b"?")
        _, descriptors, _, _ = socket.recv_fds(self._control, 1, 1)
        if not descriptors:
            raise OSError("its launcher is gone")
        passed = socket.socket(fileno=descriptors[0])
        return accept_listener(passed, passed.getsockname()[1])

    def close(self) -> None:
        """End the browser by closing the control socket, and remove the folder."""
        for held in (self._control, self._waiting):
            if held is not None:
                held.close()
        shutil.rmtree(self._folder, ignore_errors=True)
