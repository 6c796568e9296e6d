"""The connection of a Docker container's supervisor to the host, made once at its start.

The supervisor connects to a socket in a folder of this sandbox alone, and reads its system call
filter from the same folder. The host accepts one connection and then removes both files, so no
guest can reach them.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path

from agentgym.sandbox.seccomp import filter_program

_INSIDE = "/run/agentgym/entry"
_CREDENTIALS = struct.Struct("3i")
_LOOK_S = 1.0


class Entry:
    """The folder with the socket and the filter of one start of a container.

    Args:
        folder: Where it lies on the host; made if it is missing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.setblocking(False)
        # The path of a socket has at most 107 bytes; that of a folder may be longer.
        fd = os.open(folder, os.O_PATH | os.O_DIRECTORY)
        try:
            self._listener.bind(f"/proc/self/fd/{fd}/socket")
            self._listener.listen(1)
        except BaseException:
            self._listener.close()
            raise
        finally:
            os.close(fd)

    @property
    def bind(self) -> str:
        """The mount that the container needs."""
        return f"{self._folder}:{_INSIDE}:ro"

    def arguments(self) -> list[str]:
        """Write the filter and return the supervisor's arguments."""
        program = filter_program()
        if program is None:
            return [f"{_INSIDE}/socket"]
        # In a file, because every `ps` inside shows the arguments of PID 1.
        (self._folder / "filter").write_bytes(program)
        return [f"{_INSIDE}/socket", f"{_INSIDE}/filter"]

    async def accept(
        self, limit_s: float, is_running: Callable[[], Awaitable[bool]]
    ) -> socket.socket | None:
        """Accept the only connection of the supervisor.

        Args:
            limit_s: Seconds to wait.
            is_running: Asked every second whether the container still runs.

        Returns:
            The connection, or None if none came.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + limit_s
        while loop.time() < deadline:
            try:
                async with asyncio.timeout(_LOOK_S):
                    return (await loop.sock_accept(self._listener))[0]
            except TimeoutError:
                if not await is_running():
                    break
        return None

    def close(self) -> None:
        """Remove both files. The supervisor installs its filter before it connects."""
        self._listener.close()
        for name in ("socket", "filter"):
            (self._folder / name).unlink(missing_ok=True)


def process_behind(sock: socket.socket) -> int:
    """Return the process id at the other end of a Unix socket; 0 in a foreign process namespace."""
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid: int = _CREDENTIALS.unpack(credentials)[0]
    return pid
