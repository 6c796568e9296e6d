"""Runs one build operation inside namespaces; `worker.py` starts it there.

It reads one JSON request and exits with the status of the command, or with 125 and a last line
that states the reason. It is process 1 of a process namespace and has its own mounts, so none of
its processes and mounts outlive it, however it ends. Standard library only.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from . import copying, debian, host_network, tarlayer

FAILED = 125
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _BIND = 1, 2, 4, 8, 32, 4096
_DETACH = 2
_PR_CAPBSET_DROP = 24
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT, _LANDLOCK_ABSTRACT_SOCKETS = 444, 446, 1
_NEW_MOUNTS = 0x00020000
# dpkg and build commands need these: the capabilities of `docker build` without device creation.
_CAPABILITIES = {0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 29, 31}
_LENT = "/run/agentgym-build"
_POLICY = "/usr/sbin/policy-rc.d"
_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Serve one request from standard input."""
    request = json.loads(sys.stdin.read())
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.umask(0o022)
    try:
        status = _OPERATIONS[request.pop("op")](**request)
    except (OSError, tarfile.TarError, ValueError) as error:
        print(f"{error}", flush=True)
        status = FAILED
    # The remaining children die with this process, so it need not wait for them.
    os._exit(status)


# --- operations ------------------------------------------------------------------------------


def unpack(file: str, folder: str) -> int:
    """Unpack a blob into a layer directory."""
    tarlayer.unpack(file, folder)
    return 0


def remove(folder: str) -> int:
    """Remove a folder and its content, whatever user owns it."""
    return subprocess.run(["rm", "-rf", "--", folder], check=False).returncode


def bootstrap(upper: str, output: str, **options: Any) -> int:
    """Install a Debian system into a new layer."""
    began = time.time()
    os.mkdir(upper, 0o755)
    status = debian.bootstrap(upper, **options)
    for name in ("proc", "sys"):
        _libc.umount2(f"{upper}/{name}".encode(), _DETACH)
    if status == 0:
        debian.tidy(upper, options["suite"], options["mirror"])
        tarlayer.pack(upper, output, began=began)
    return status


def copy(lowers: list[str], upper: str, output: str, files: str, **where: Any) -> int:
    """Put the files of a tar into the image."""
    began = time.time()
    with tarfile.open(files, "r:") as archive, _overlay(lowers, upper) as root, _inside(root):
        copying.place(archive, **where)
    tarlayer.pack(upper, output, began=began)
    return 0


def workdir(lowers: list[str], upper: str, output: str, path: str) -> int:
    """Make a folder if it is absent."""
    began = time.time()
    with _overlay(lowers, upper) as root, _inside(root):
        os.makedirs(path, 0o755, exist_ok=True)
    tarlayer.pack(upper, output, began=began)
    return 0


def run(
    lowers: list[str],
    upper: str,
    output: str,
    argv: list[str],
    env: Mapping[str, str],
    cwd: str,
    user: str,
    is_own: bool,
    calls: str,
) -> int:
    """Run a command in the image, with the host's network.

    Args:
        lowers: Folders of the image's layers, topmost first.
        upper: Folder for the new layer.
        output: File for the new layer's tar.
        argv: The command.
        env: Its variables, but for those that the network needs.
        cwd: Its working directory.
        user: Its user.
        is_own: Whether it may use the credentials of this user.
        calls: The system call filter in base64; empty for none.
    """
    made: list[str] = []
    with _overlay(lowers, upper) as root:
        lent = _furnish(root, made, is_own)
        child = os.fork()
        if child == 0:
            _become(root, argv, {**env, **lent}, cwd, user, base64.b64decode(calls))
        status = _wait(child)
    # The overlay is unmounted, so the layer must lose the files that only served as mount points.
    for path in reversed(made):
        with contextlib.suppress(OSError):
            (os.rmdir if os.path.isdir(upper + path) else os.unlink)(upper + path)
    if status == 0:
        tarlayer.pack(upper, output)
    return status


_OPERATIONS: dict[str, Callable[..., int]] = {
    "unpack": unpack,
    "remove": remove,
    "bootstrap": bootstrap,
    "copy": copy,
    "workdir": workdir,
    "run": run,
}


# --- the root of a step ----------------------------------------------------------------------


@contextlib.contextmanager
def _overlay(lowers: list[str], upper: str) -> Iterator[str]:
    """Mount an overlay of layers, topmost first; `upper` receives the writes."""
    root, work = "merged", "work"
    for folder in (root, work):
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder, 0o755)
    os.mkdir(upper, 0o755)
    # Relative and short, because the options of a mount must fit one page.
    options = f"userxattr,volatile,lowerdir={':'.join(lowers)},upperdir={upper},workdir={work}"
    _mount("overlay", root, "overlay", _NODEV, options)
    try:
        yield os.path.abspath(root)
    finally:
        _libc.umount2(root.encode(), _DETACH)
        shutil.rmtree(work, ignore_errors=True)


@contextlib.contextmanager
def _inside(root: str) -> Iterator[None]:
    """Make `root` the root of this process, so that no link leads out of it."""
    outside, here = os.open("/", os.O_RDONLY), os.open(".", os.O_RDONLY)
    os.chroot(root)
    os.chdir("/")
    try:
        yield
    finally:
        os.fchdir(outside)
        os.chroot(".")
        os.fchdir(here)
        os.close(outside)
        os.close(here)


def _furnish(root: str, made: list[str], is_own: bool) -> dict[str, str]:
    """Mount the file systems that a command needs; return the variables for network access.

    Args:
        root: The mounted overlay.
        made: Receives the paths that exist only as mount points or to keep services from starting.
        is_own: Whether the command may use the credentials of this user.
    """
    for path in ("/proc", "/dev", "/run", _LENT):
        if not os.path.isdir(root + path):
            os.mkdir(root + path, 0o755)
            made.append(path)
    _mount("proc", f"{root}/proc", "proc", _NOSUID | _NODEV | _NOEXEC)
    # The host's root can write these even without capabilities.
    for name in ("sys", "sysrq-trigger", "irq", "bus", "fs"):
        path = f"{root}/proc/{name}"
        if os.path.exists(path):
            _mount(path, path, "", _BIND)
            _mount("", path, "", _BIND | _REMOUNT | _RDONLY | _NOSUID | _NODEV | _NOEXEC)
    _devices(f"{root}/dev")
    _mount("tmpfs", root + _LENT, "tmpfs", _NOSUID | _NODEV, "mode=755,size=16m")
    lent = host_network.lay(Path(root + _LENT), _LENT, Path(root), with_credentials=is_own)
    with _inside(root):
        _cover("/etc/resolv.conf", f"{_LENT}/resolv.conf", made)
        if os.path.exists(f"{_LENT}/sources.list"):
            for listed in host_network.replaced_sources(Path("/")):
                _cover(str(listed), os.devnull, made)
        if os.path.isdir("/var/lib/dpkg") and not os.path.lexists(_POLICY):
            _write(_POLICY, "#!/bin/sh\nexit 101\n", 0o755)
            made.append(_POLICY)
    return lent


def _devices(folder: str) -> None:
    _mount("tmpfs", folder, "tmpfs", _NOSUID | _NOEXEC, "mode=755,size=64m")
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        _write(f"{folder}/{name}", "", 0o666)
        _mount(f"/dev/{name}", f"{folder}/{name}", "", _BIND)
        # It belongs to the host: a command may write to it but not change its mode.
        flags = _BIND | _REMOUNT | _RDONLY | _NOSUID | _NOEXEC
        _mount("", f"{folder}/{name}", "", flags)
    for name in ("pts", "shm"):
        os.mkdir(f"{folder}/{name}")
    os.chmod(f"{folder}/shm", 0o1777)
    _mount("devpts", f"{folder}/pts", "devpts", _NOSUID | _NOEXEC, "newinstance,ptmxmode=0666")
    os.symlink("pts/ptmx", f"{folder}/ptmx")
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink(f"/proc/self/fd{target}", f"{folder}/{name}")


def _cover(path: str, source: str, made: list[str]) -> None:
    """Bind a file over a path if the path can hold a file."""
    path = os.path.realpath(path)
    if not os.path.isdir(os.path.dirname(path)) or not os.path.exists(source):
        return
    if not os.path.exists(path):
        _write(path, "", 0o644)
        made.append(path)
    _mount(source, path, "", _BIND)


def _write(path: str, text: str, mode: int) -> None:
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    arguments = (source.encode(), target.encode(), kind.encode(), flags, options.encode())
    if _libc.mount(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"cannot mount {kind or source}: {os.strerror(code)}", target)


# --- the command -----------------------------------------------------------------------------


def _become(
    root: str, argv: list[str], env: dict[str, str], cwd: str, user: str, calls: bytes
) -> None:
    """Replace this process by the command; never return."""
    try:
        # The lock of the build is inherited, and a command could let go of it.
        os.closerange(3, 1 << 20)
        _leave_host(root)
        _scope()
        if calls:
            _filter(calls)
        account = copying.account(user)
        os.chdir(cwd)
        os.setsid()
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for capability in range(64):
            if capability not in _CAPABILITIES:
                _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
        os.setgroups(account.groups)
        os.setgid(account.gid)
        os.setuid(account.uid)
        os.execvpe(argv[0], argv, {"HOME": account.home, **env})
    except OSError as error:
        print(f"{argv[0]}: cannot be run: {error}", flush=True)
    finally:
        os._exit(127)


def _leave_host(root: str) -> None:
    """Detach everything but the image, because root can leave a mere chroot."""
    os.chdir(root)
    if _libc.unshare(_NEW_MOUNTS) or _libc.pivot_root(b".", b".") or _libc.umount2(b".", _DETACH):
        raise OSError(ctypes.get_errno(), "cannot leave the host's root")
    os.chdir("/")


def _scope() -> None:
    """Keep abstract sockets of the host out of reach, which have no path and no owner.

    Older kernels than 6.12 cannot do that; see landlock(7).
    """
    attributes = struct.pack("=QQQ", 0, 0, _LANDLOCK_ABSTRACT_SOCKETS)
    rules = _libc.syscall(_LANDLOCK_CREATE, attributes, len(attributes), 0)
    if rules >= 0:
        _libc.syscall(_LANDLOCK_RESTRICT, rules, 0)
        os.close(rules)


def _filter(program: bytes) -> None:
    """Install a system call filter. Setuid programs still work, because this process is root."""
    instructions = ctypes.create_string_buffer(program, len(program))
    filters = struct.pack("@HP", len(program) // 8, ctypes.addressof(instructions))
    if _libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, filters, 0, 0):
        raise OSError(ctypes.get_errno(), "the kernel refuses the system call filter")


def _wait(child: int) -> int:
    """Reap children until the command has ended, then end the processes that it left."""
    while True:
        pid, status = os.wait()
        if pid == child:
            break
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code
