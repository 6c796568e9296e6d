"""Starts Chromium in namespaces of its own; runs as a program, with the standard library only.

The process enters new user and network namespaces, starts bubblewrap with Chromium in them, and
stays as the only door to that network: at each request over the control socket it returns a new
socket that listens on the loopback of the namespace. The host serves it; nothing else is reachable
from there. What the browser says to the DevTools driver goes through `devtools_filter`, and no
process of the browser may take more than `_MOST_BYTES` of memory. Man pages: user_namespaces(7),
network_namespaces(7), cmsg(3).
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import importlib
import os
import resource
import select
import signal
import socket
import struct
import sys
import threading

_NEWUSER, _NEWNET = 0x10000000, 0x40000000
_SIOCSIFFLAGS, _IFF_UP, _IFF_RUNNING = 0x8914, 0x1, 0x40
_PR_SET_PDEATHSIG = 1
_BACKLOG = 128
_SAID = 4
_FLUSH_S = 2.0
_F_SETPIPE_SZ, _PIPE_BYTES = 1031, 1 << 20
_MOST_BYTES = 2_500 << 20


def _enter_namespaces() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.geteuid(), os.getegid()
    if libc.unshare(_NEWUSER | _NEWNET):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), "unshare")
    for name, line in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(line)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", _IFF_UP | _IFF_RUNNING)
        fcntl.ioctl(control, _SIOCSIFFLAGS, request)


def _listener() -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.bind(("127.0.0.1", 0))
    listening.listen(_BACKLOG)
    return listening


def _answer(control: socket.socket) -> bool:
    """Return one listening socket for each byte received; False if the host has closed."""
    asked = control.recv(16)
    for _ in asked:
        with _listener() as listening:
            socket.send_fds(control, [b"+"], [listening.fileno()])
    return bool(asked)


def _status(pid: int) -> int | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) & 255 if ended else None


def main(path: str, command: list[str]) -> int:
    """Start a command in the namespaces, and serve the control socket until it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The path may be longer than an address can be.
    os.chdir(os.path.dirname(path))
    control.connect(os.path.basename(path))
    control.set_inheritable(False)
    _enter_namespaces()
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    heard, said = os.pipe()
    with contextlib.suppress(OSError):
        fcntl.fcntl(said, _F_SETPIPE_SZ, _PIPE_BYTES)
    driver = os.dup(_SAID)
    pid = os.fork()
    if pid == 0:
        os.dup2(said, _SAID)
        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_BYTES, _MOST_BYTES))
        os.execvp(command[0], command)
    # The pipes of the DevTools protocol belong to the browser alone: their ends must be seen.
    for descriptor in {0, 3, _SAID, said} - {control.fileno(), wake, woken, heard, driver}:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    relay = importlib.import_module("devtools_filter").relay
    passing = threading.Thread(target=relay, args=(heard, driver), daemon=True)
    passing.start()
    while True:
        ready, _, _ = select.select([control.fileno(), wake], [], [])
        if wake in ready:
            os.read(wake, 64)
        code = _status(pid)
        if code is not None:
            passing.join(_FLUSH_S)
            return code
        if control.fileno() in ready and not _answer(control):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return 0


if __name__ == "__main__":
    # Last, so that no module beside this one hides one of the standard library.
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    sys.exit(main(sys.argv[1], sys.argv[2:]))
