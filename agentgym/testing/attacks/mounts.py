"""Mounts, and the folders of the host that a sandbox sees read-only."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct

from agentgym.testing.attacks.probing import (
    AT_FDCWD,
    attempt,
    call,
    effective,
    program,
)

_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_MOVE, _MS_PRIVATE = 1, 32, 4096, 8192, 1 << 18
_MNT_DETACH = 2
_TREE_CLONE, _EMPTY_PATH = 1, 0x1000


@program("capabilities; system call filter")
def mounting() -> None:
    """Mount something, in each way that Linux knows."""
    for kind in ("tmpfs", "proc", "sysfs", "cgroup2", "overlay", "devtmpfs"):
        options = b"lowerdir=/usr:/etc" if kind == "overlay" else None
        attempt(f"mount {kind}", _mount, b"none", b"/mnt", kind.encode(), 0, options)
    attempt("bind", _mount, b"/proc", b"/mnt", None, _MS_BIND)
    attempt("move", _mount, b"/dev", b"/mnt", None, _MS_MOVE)
    attempt("make private", _mount, None, b"/", None, _MS_PRIVATE)
    attempt("fsopen", call, "fsopen", b"tmpfs", 0)
    attempt("fspick", call, "fspick", AT_FDCWD, b"/", 0)
    attempt("open_tree", call, "open_tree", AT_FDCWD, b"/usr", _TREE_CLONE)
    attempt("move_mount", _move_mount)
    attempt("pivot_root", _pivot_root)


@program("capabilities; system call filter")
def unmounting() -> None:
    """Take away a read-only mount, or make it writable."""
    writable = _MS_REMOUNT | _MS_BIND
    for path in ("/usr", "/usr/bin"):
        attempt(f"remount {path}", _mount, None, path.encode(), None, writable)
        # struct mount_attr: set nothing, clear MOUNT_ATTR_RDONLY.
        clear = struct.pack("=4Q", 0, 1, 0, 0)
        attempt(
            f"mount_setattr {path}", call, "mount_setattr", AT_FDCWD, path.encode(), 0, clear, 32
        )
        attempt(f"umount {path}", call, "umount2", path.encode(), _MNT_DETACH)
    for path in ("/dev", "/proc", "/"):
        attempt(f"umount {path}", call, "umount2", path.encode(), _MNT_DETACH)


def _mount(
    source: bytes | None, target: bytes, kind: bytes | None, flags: int, data: bytes | None = None
) -> None:
    call("mount", source, target, kind, flags, data)


def _move_mount() -> None:
    tree = call("open_tree", AT_FDCWD, b"/usr", _TREE_CLONE)
    call("move_mount", tree, b"", AT_FDCWD, b"/mnt", 4)


def _pivot_root() -> None:
    os.chdir("/")
    call("pivot_root", b".", b".")


@program("read-only mounts")
def writing_the_hosts_programs(target: str = "") -> None:
    """Write, replace, rename or alter a program of the host, also through a mapping of it."""
    path = target or os.path.realpath("/usr/bin/env")
    attempt("open", os.open, path, os.O_WRONLY)
    attempt("truncate", os.truncate, path, os.path.getsize(path))
    attempt("chmod", os.chmod, path, 0o4755)
    attempt("utime", os.utime, path, (0, 0))
    attempt("chown", os.chown, path, os.getuid(), os.getgid())
    attempt("setxattr", os.setxattr, path, "user.agentgym", b"x")
    attempt("create beside it", os.open, f"{path}.new", os.O_WRONLY | os.O_CREAT)
    attempt("link", os.link, path, f"{path}.link")
    attempt("reopen", _reopen, path)
    attempt("write a mapping", _write_mapping, path)
    attempt("rename", os.rename, path, f"{path}.old")
    attempt("unlink", os.unlink, path if os.path.exists(path) else f"{path}.old")


def _reopen(path: str) -> None:
    os.open(f"/proc/self/fd/{os.open(path, os.O_RDONLY)}", os.O_RDWR)


def _write_mapping(path: str) -> None:
    with open(path, "rb") as file:
        before = file.read(4)
        view = mmap.mmap(file.fileno(), mmap.PAGESIZE, mmap.MAP_SHARED, mmap.PROT_READ)
    # PyObject_HEAD, then the address: ctypes takes no address of a read-only buffer.
    address = ctypes.c_size_t.from_address(id(view) + object.__basicsize__).value
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        memory.seek(address)
        memory.write(b"evil")
    effective(view[:4] != before, "a private copy was written")
