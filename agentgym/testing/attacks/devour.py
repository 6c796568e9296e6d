"""Exhaustion of resources, run inside for the attacks on limits."""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import socket
import threading
import time

from agentgym.testing.attacks.probing import attempt, call

_MB = 2**20
_F_SETPIPE_SZ = 1031
_IPC_CREAT = 0o1000
# Long enough for an outside observer to look twice.
_WATCHED_S = 30


def processes(count: str) -> None:
    """Start processes and threads, up to a number."""
    attempt("processes", _fork, int(count))
    attempt("threads", _start_threads, int(count))


def _fork(count: int) -> None:
    children = []
    try:
        for _ in range(count):
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            children.append(child)
    finally:
        for child in children:
            os.kill(child, 9)


def _start_threads(count: int) -> None:
    threading.stack_size(65536)
    over = threading.Event()
    try:
        for _ in range(count):
            threading.Thread(target=over.wait, daemon=True).start()
    except RuntimeError:
        raise OSError(11, "") from None
    finally:
        over.set()


def memory(kind: str, megabytes: str) -> None:
    """Fill one kind of memory up to an amount."""
    attempt(kind, globals()[f"_fill_{kind}"], int(megabytes))


def _fill_heap(megabytes: int) -> None:
    kept = [b"x" * _MB for _ in range(megabytes)]
    del kept


def _fill_memfd(megabytes: int) -> None:
    _write(os.memfd_create("fill"), megabytes)


def _fill_shared_file(megabytes: int) -> None:
    _write(os.open("/dev/shm/fill", os.O_WRONLY | os.O_CREAT), megabytes)


def _fill_run(megabytes: int) -> None:
    _write(os.open("/run/fill", os.O_WRONLY | os.O_CREAT), megabytes)


def _fill_segment(megabytes: int) -> None:
    size = megabytes * _MB
    address = call("shmat", call("shmget", 0, size, _IPC_CREAT | 0o600), None, 0)
    ctypes.memset(address, 1, size)


def _fill_pipes(megabytes: int) -> None:
    ends: list[int] = []
    for _ in range(megabytes):
        ends += os.pipe()
        fcntl.fcntl(ends[-1], _F_SETPIPE_SZ, _MB)
        os.write(ends[-1], bytes(_MB))


def _fill_sockets(megabytes: int) -> None:
    kept, left = [], megabytes * _MB
    while left > 0:
        kept.append(socket.socketpair())
        kept[-1][0].setblocking(False)
        try:
            while True:
                left -= kept[-1][0].send(bytes(65536))
        except BlockingIOError:
            continue


def _fill_names(megabytes: int) -> None:
    # A file without content takes about a kilobyte of the kernel's memory.
    for index in range(megabytes * 1024):
        os.mknod(f"/run/{index}")


def _write(fd: int, megabytes: int) -> None:
    for _ in range(megabytes):
        left = bytes(_MB)
        while left:
            left = left[os.write(fd, left) :]


def descriptors() -> None:
    """Open files without end."""
    attempt("descriptors", _open_all)


def _open_all() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for _ in range(hard + 1):
        os.open("/dev/null", os.O_RDONLY)


def disk(kind: str, megabytes: str) -> None:
    """Fill the disk in one of several ways, and wait for the effect."""
    attempt(kind, globals()[f"_store_{kind}"], int(megabytes))


def _store_one_file(megabytes: int) -> None:
    with open("/srv/fill", "wb", buffering=0) as file:
        _write(file.fileno(), megabytes)


def _store_many_files(megabytes: int) -> None:
    for index in range(megabytes):
        with open(f"/srv/{index}", "wb") as file:
            file.write(b"x" * _MB)
    time.sleep(_WATCHED_S)


def _store_deleted_files(megabytes: int) -> None:
    for index in range(megabytes // 4):
        fd = os.open(f"/srv/{index}", os.O_WRONLY | os.O_CREAT)
        os.unlink(f"/srv/{index}")
        _write(fd, 4)
    time.sleep(_WATCHED_S)


def _store_deep_files(megabytes: int) -> None:
    os.chdir("/srv")
    for _ in range(20):
        os.mkdir("d" * 250)
        os.chdir("d" * 250)
    for index in range(megabytes):
        with open(str(index), "wb") as file:
            file.write(b"x" * _MB)
    time.sleep(_WATCHED_S)


def _store_empty_files(megabytes: int) -> None:
    for index in range(megabytes * 256):
        os.mknod(f"/srv/{index}")
    time.sleep(_WATCHED_S)
