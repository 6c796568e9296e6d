"""Attempts of a guest to reach things outside, run inside for attacks that play both sides.

Secrets are passed backwards, so that a guest does not find them in its own command line.
"""

from __future__ import annotations

import contextlib
import ctypes
import glob
import os
import socket
import stat
import sys
import time
from collections.abc import Iterator

from agentgym.testing.attacks.probing import attempt, call, effective, open_for

_PR_SET_NAME = 15
_IPC_CREAT = 0o1000
_SHOWN_BYTES = 2**20
_WAYS = (
    *("/proc/1/root", "/proc/1/cwd", "/oldroot", "/newroot", "/host", "/rootfs", "/mnt"),
    *("/.." * 30, "/proc/self/root/../..", "/proc/self/cwd/../../../..", "/dev/fd/../../.."),
)


def host_files(terces: str, path: str) -> None:
    """Read a file of the host by its name, through every path that may lead out of the root."""
    secret = terces[::-1].encode()
    attempt("by its name", _expect, path, secret)
    for way in _WAYS:
        attempt(f"through {way[:40]}", _expect, way + path, secret)
    attempt("through other processes", _through_processes, path, secret)
    attempt("beside it", os.listdir, os.path.dirname(path))
    attempt("in the environment", _in_environments, secret)


def _expect(path: str, secret: bytes) -> None:
    with open(path, "rb") as file:
        effective(secret in file.read(), "another file")


def _through_processes(path: str, secret: bytes) -> None:
    for name in ("root", "cwd"):
        for folder in glob.glob(f"/proc/[0-9]*/{name}"):
            with contextlib.suppress(OSError):
                _expect(folder + path, secret)
                return
    raise FileNotFoundError(2, "", path)


def _in_environments(secret: bytes) -> None:
    for path in glob.glob("/proc/[0-9]*/environ"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            if secret in file.read():
                return
    effective(False, "not there")


def host_names(*paths: str) -> None:
    """Open folders, sockets and accounts of the host."""
    for path in paths:
        attempt(path, _open_any, path)
    attempt("/etc/shadow", open_for, "/etc/shadow", os.O_RDONLY)
    attempt("homes", _homes)


def _open_any(path: str) -> None:
    if stat.S_ISSOCK(os.stat(path).st_mode):
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(path)
    else:
        open_for(path, os.O_RDONLY)


def _homes() -> None:
    found = [*os.listdir("/root"), *os.listdir("/home")]
    effective(bool(found), "empty")


def search(terces: str) -> None:
    """Look for a secret in every file, environment, command line and deleted file."""
    secret = terces[::-1].encode()
    attempt("in files", _found, _files(), secret)
    for name in ("environ", "cmdline", "fd/*", "map_files/*"):
        attempt(f"in {name}", _found, iter(glob.glob(f"/proc/[0-9]*/{name}")), secret)


def _files() -> Iterator[str]:
    for folder, folders, names in os.walk("/"):
        if folder == "/":
            folders[:] = sorted(set(folders) - {"proc", "sys", "usr"})
        for name in names:
            yield os.path.join(folder, name)


def _found(paths: Iterator[str], secret: bytes) -> None:
    looked = 0
    for path in paths:
        with contextlib.suppress(OSError):
            if path.startswith("/proc") or stat.S_ISREG(os.lstat(path).st_mode):
                fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                try:
                    regular = stat.S_ISREG(os.fstat(fd).st_mode)
                    if regular and secret in os.read(fd, _SHOWN_BYTES):
                        return
                    looked += 1
                finally:
                    os.close(fd)
    effective(False, "not there")


def offer(name: str) -> None:
    """Leave a process behind that offers everything that `neighbour` looks for."""
    with open(f"/srv/{name}", "w") as file:
        file.write(name)
    with open(f"/dev/shm/{name}", "w") as file:
        file.write(name)
    call("shmget", _key(name), 4096, _IPC_CREAT | 0o600)
    listeners = [socket.create_server(("127.0.0.1", _port(name)))]
    for address in (f"\0{name}", f"/tmp/{name}"):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address)
        listener.listen()
        listeners.append(listener)
    if os.fork() == 0:
        call("prctl", _PR_SET_NAME, ctypes.create_string_buffer(name.encode()), 0, 0, 0)
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        time.sleep(600)
        sys.exit()
    while not list(_called(name)):
        os.sched_yield()


def neighbour(name: str) -> None:
    """Look for what `offer` offers: file, process, sockets, shared memory."""
    attempt("file", open_for, f"/srv/{name}", os.O_RDONLY)
    attempt("shared memory file", open_for, f"/dev/shm/{name}", os.O_RDONLY)
    attempt("shared memory segment", call, "shmget", _key(name), 4096, 0)
    attempt("process", _find_process, name)
    attempt("loopback", _connect, socket.AF_INET, ("127.0.0.1", _port(name)))
    attempt("abstract socket", _connect, socket.AF_UNIX, f"\0{name}")
    attempt("socket in a folder", _connect, socket.AF_UNIX, f"/tmp/{name}")


def _key(name: str) -> int:
    return int.from_bytes(name.encode()[-3:], "big")


def _port(name: str) -> int:
    return 20000 + _key(name) % 10000


def _called(name: str) -> Iterator[str]:
    for path in glob.glob("/proc/[0-9]*/comm"):
        with contextlib.suppress(OSError), open(path) as file:
            if file.read().strip() == name:
                yield path.split("/")[2]


def _find_process(name: str) -> None:
    effective(any(_called(name)), "not there")


def _connect(family: int, address: tuple[str, int] | str) -> None:
    with socket.socket(family) as link:
        link.settimeout(5)
        link.connect(address)


def attack(victim: str) -> None:
    """Signal, trace, read or slow down a process by the number it has on the host."""
    pid = int(victim)
    attempt("signal", os.kill, pid, 0)
    attempt("descriptor", call, "pidfd_open", pid, 0)
    attempt("its folder", os.listdir, f"/proc/{pid}")
    attempt("nice", call, "setpriority", 0, pid, 19)
    attempt("affinity", call, "sched_setaffinity", pid, 128, b"\x03" + bytes(127))
    attempt("limits", call, "prlimit64", pid, 7, None, ctypes.create_string_buffer(16))
    attempt("trace", call, "ptrace", 0x4206, pid, 0, 0)
