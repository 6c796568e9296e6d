"""Confines a forked process before it serves as PID 1 of a sandbox.

The process runs inside the private runtime (standard library only), in new namespaces and in a
copy of the fork server's mounts (see `fork_server.py`). It sets limits, builds its own root file
system, sets host name and loopback, and finally gives up rights. No guest code runs before all of
that is done. Files of the guest may lie at the mount points, so no link is followed there.
"""

from __future__ import annotations

import _socket
import fcntl
import os
import resource

from agentgym.sandbox import supervisor, syscalls
from agentgym.sandbox.syscalls import MS_BIND, MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_RDONLY, MS_REC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Request = dict[str, Any]

# Paths in the fork server: the store, a folder for mounts, and a file that masks others.
STORE, GUEST, MASK, HOST, RESOLV = "/store", "/guest", "/mask", "/host", "/resolv.conf"
_SAFE = MS_NOSUID | MS_NODEV
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_DEVICE_LINKS = {
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "fd": "/proc/self/fd",
    "core": "/proc/kcore",
    "ptmx": "pts/ptmx",
}
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1


def confine(request: Request, groups: list[int]) -> None:
    """Confine this process as a request describes; see `Launch.request` for its fields.

    Args:
        request: The mounts, limits and capabilities.
        groups: Descriptors of the control groups' lists of members.

    Raises:
        OSError: The kernel refuses something.
    """
    for group in groups:
        # If a single thread moves itself, the kernel does not wait for all other processes.
        os.write(group, b"0")
    os.setsid()
    _limit(request["rlimits"])
    with open("/proc/sys/user/max_user_namespaces", "w") as file:
        file.write("0")
    os.umask(0o022)
    _build_root(request)
    if request["isolated"]:
        syscalls.set_host_name(request["hostname"])
        _raise_loopback()
    syscalls.enter_root()
    syscalls.keep_capabilities(tuple(request["capabilities"]))
    supervisor.hide()
    if request["filter"]:
        supervisor.filter_calls(request["filter"])


def _limit(limits: dict[str, int]) -> None:
    for name, value in limits.items():
        resource.setrlimit(getattr(resource, name), (value, value))


def _build_root(request: Request) -> None:
    """Mount everything that the guest sees, and enter its root."""
    os.chdir(STORE)
    syscalls.mount("overlay", GUEST, "overlay", _SAFE, request["overlay"])
    os.chdir(GUEST)
    runtime = _folder(request["runtime"].strip("/"))
    if request["host_usr"]:
        _show_usr(request["hidden"])
    if not request["isolated"]:
        _show_host()
    syscalls.mount("proc", _folder("proc"), "proc", _SAFE | MS_NOEXEC)
    for name in request["masked"]:
        # A device on a mount without devices: it cannot even be opened.
        syscalls.mount(MASK, name.lstrip("/"), flags=MS_BIND)
    _make_dev(request["shm_bytes"])
    size = f"mode=0755,size={request['run_bytes']}"
    syscalls.mount("tmpfs", _folder("run"), "tmpfs", _SAFE, size)
    os.mkdir("run/lock")
    place = _folder(request["runtime"].strip("/"))
    _bind_read_only(runtime, place, request["runtime"].strip("/"))


def _show_usr(hidden: list[str]) -> None:
    """Bind the host's /usr, with the guest's own /usr/local."""
    own = _folder("usr/local")
    # The fork server's bind is locked as read-only, and this copy inherits that.
    syscalls.mount("/usr", _folder("usr"), flags=MS_BIND | MS_REC)
    for folder in hidden:
        flags = _SAFE | MS_RDONLY
        syscalls.mount("tmpfs", folder.lstrip("/"), "tmpfs", flags, "mode=0755,size=4096")
    syscalls.mount(own, "usr/local", flags=MS_BIND)


def _show_host() -> None:
    syscalls.mount(HOST, _folder("mnt"), flags=MS_BIND | MS_REC)
    if os.path.exists(RESOLV):
        folder = os.open(_folder("etc"), os.O_PATH | os.O_DIRECTORY)
        file = os.open("resolv.conf", os.O_PATH | os.O_NOFOLLOW, dir_fd=folder)
        syscalls.mount(RESOLV, f"/proc/self/fd/{file}", flags=MS_BIND)


def _make_dev(shm_bytes: int) -> None:
    place = _folder("dev")
    syscalls.mount("tmpfs", place, "tmpfs", _SAFE, "mode=0755")
    for name in _DEVICES:
        os.close(os.open(f"dev/{name}", os.O_CREAT | os.O_WRONLY, 0o666))
        syscalls.mount(f"/dev/{name}", f"dev/{name}", flags=MS_BIND)
    for name, target in _DEVICE_LINKS.items():
        os.symlink(target, f"dev/{name}")
    for name in ("pts", "shm"):
        os.mkdir(f"dev/{name}")
    options = "newinstance,ptmxmode=0666,mode=620"
    syscalls.mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, options)
    syscalls.mount("tmpfs", "dev/shm", "tmpfs", _SAFE, f"mode=0755,size={shm_bytes}")
    _make_read_only("dev")


def _bind_read_only(source: str, target: str, path: str) -> None:
    syscalls.mount(source, target, flags=MS_BIND)
    _make_read_only(path)


def _make_read_only(path: str) -> None:
    syscalls.mount("", path, flags=MS_BIND | syscalls.MS_REMOUNT | MS_RDONLY | _SAFE)


def _folder(path: str) -> str:
    """Return a link-free name of a folder below the current one; make it if absent."""
    folder = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    for part in path.split("/"):
        try:
            below = os.open(part, flags, dir_fd=folder)
        except FileNotFoundError:
            os.mkdir(part, 0o755, dir_fd=folder)
            below = os.open(part, flags, dir_fd=folder)
        os.close(folder)
        folder = below
    # It stays open until the process closes everything but its channel.
    return f"/proc/self/fd/{folder}"


def _raise_loopback() -> None:
    link = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    try:
        request = b"lo".ljust(16, b"\0") + _IFF_UP.to_bytes(2, "little").ljust(24, b"\0")
        fcntl.ioctl(link.fileno(), _SIOCSIFFLAGS, request)
    finally:
        link.close()
