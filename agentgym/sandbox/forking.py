"""The fork server: forks processes that confine themselves and serve as PID 1 of a sandbox.

It runs inside the private runtime (standard library only), alone in a root that holds only the
store and the host's /usr, with an empty environment. One request on its socket means one sandbox:
a marshalled header, the supervisor's end of the channel to the host, and descriptors of control
groups. The answer comes over that channel: the supervisor's greeting with a descriptor of its
process, or the reason of a failure. `fork_server.py` is the host's end.
"""

from __future__ import annotations

import _socket
import contextlib
import errno
import fcntl
import gc
import marshal
import os
import select
import sys

from agentgym.sandbox import confine, supervisor, syscalls
from agentgym.sandbox.inside.messages import to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Request = dict[str, Any]

READY = b"ready"
_MOST_BYTES, _MOST_DESCRIPTORS = 64 * 2**10, 8
_CHANNEL = 100
_GO = b"g"
_INT_BYTES = 4
_ALWAYS = syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS | syscalls.CLONE_NEWPID
_ISOLATED = syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS


class ForkServer:
    """Serves requests from one socket until it closes; all its children end with it."""

    def __init__(self, control: _socket.socket) -> None:
        self.control = control
        self.poll = select.epoll()
        self.poll.register(control.fileno(), select.EPOLLIN)
        # Maps the descriptor of a child's process to its process id.
        self.children: dict[int, int] = {}

    def run(self) -> None:
        """Serve until the host is gone; never return."""
        while True:
            for fd, _ in self.poll.poll():
                if fd in self.children:
                    self._reap(fd)
                else:
                    self._receive()

    def _reap(self, fd: int) -> None:
        self.poll.unregister(fd)
        os.close(fd)
        os.waitpid(self.children.pop(fd), 0)

    def _receive(self) -> None:
        room = _socket.CMSG_LEN(_MOST_DESCRIPTORS * _INT_BYTES)
        data, ancillary, _, _ = self.control.recvmsg(_MOST_BYTES, room, _socket.MSG_CMSG_CLOEXEC)
        if not data:
            # The host is gone. As PID 1 this process takes every sandbox with it.
            os._exit(0)
        passed = b"".join(content for _, _, content in ancillary)
        descriptors = [
            int.from_bytes(passed[at : at + _INT_BYTES], sys.byteorder)
            for at in range(0, len(passed), _INT_BYTES)
        ]
        if not descriptors:
            # No descriptor could be received; the host sees its end of the channel close.
            return
        channel, *groups = descriptors
        try:
            self._fork(marshal.loads(data), channel, groups)
        # The process that asked for a sandbox receives the reason of any failure.
        except Exception as error:  # noqa: BLE001
            _complain(channel, error)
        for fd in (channel, *groups):
            os.close(fd)

    def _fork(self, request: Request, channel: int, groups: list[int]) -> None:
        if len(groups) != request["groups"]:
            # The kernel drops descriptors that do not fit, and the limits would be lost with them.
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), "join the control groups")
        waiting, going = os.pipe()
        pid = 0
        try:
            pid = syscalls.clone(_ALWAYS | (_ISOLATED if request["isolated"] else 0))
            if pid == 0:
                self.control.close()
                _live(request, channel, groups, waiting, going)
            _map_ids(pid, request["ids"])
            process = os.pidfd_open(pid)
            os.write(going, _GO)
        except Exception:
            os.close(going)
            if pid:
                # Without the signal to go on, the child ends by itself.
                os.waitpid(pid, 0)
            raise
        else:
            os.close(going)
        finally:
            os.close(waiting)
        self.children[process] = pid
        self.poll.register(process, select.EPOLLIN)


def _map_ids(pid: int, count: int) -> None:
    """Give a child the user and group ids of this process from 0 on."""
    if count == 1:
        _write(f"/proc/{pid}/setgroups", "deny")
    for name in ("uid_map", "gid_map"):
        _write(f"/proc/{pid}/{name}", f"0 0 {count}")


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def _live(request: Request, channel: int, groups: list[int], waiting: int, going: int) -> None:
    """Be the child: wait for ids, confine this process, and serve until the host hangs up."""
    try:
        os.close(going)
        if os.read(waiting, 1) != _GO:
            os._exit(1)
        confine.confine(request, groups)
        for name in os.listdir("/proc/self/fd"):
            if int(name) not in (0, 1, 2, channel):
                _close(int(name))
        # The supervisor's number for it, which leaves a command's first descriptors free.
        kept = fcntl.fcntl(channel, fcntl.F_DUPFD_CLOEXEC, _CHANNEL)
        os.close(channel)
        channel = kept
        supervisor.serve(channel, os.pidfd_open(os.getpid()))
    # No caller can handle the error, because this process is a copy of the fork server.
    except BaseException as error:  # noqa: BLE001
        _complain(channel, error)
    finally:
        os._exit(1)


def _close(fd: int) -> None:
    # The list also contains the descriptor that read it, which is closed by now.
    with contextlib.suppress(OSError):
        os.close(fd)


def _complain(channel: int, error: BaseException) -> None:
    """Send the reason of a failure in a frame like the supervisor's greeting."""
    reason = f"{type(error).__name__}: {error}"
    if isinstance(error, OSError):
        reason = f"{error.filename or 'a system call'}: {error.strerror}"
    head = to_json({"id": 0, "error": reason}).encode()
    # The host may have stopped waiting.
    with contextlib.suppress(OSError):
        os.write(channel, len(head).to_bytes(4, "big") + bytes(4) + head)


def main() -> None:
    """Send the host a socket for requests, and serve it."""
    # The launcher also has standard input, but only this process has this socket. The host
    # therefore sees the end of this process before the end of any sandbox.
    control, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    rights = theirs.fileno().to_bytes(_INT_BYTES, sys.byteorder)
    _socket.socket(fileno=0).sendmsg([READY], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
    theirs.close()
    # Children need no garbage collection of objects that they inherit.
    gc.collect()
    gc.freeze()
    ForkServer(control).run()


if __name__ == "__main__":
    main()
