"""The findings of `agentgym sandbox doctor`: kernel, providers, and programs that builds use."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from agentgym.cli.doctor import Finding, docker_daemon, providers

_GROUPS = Path("/sys/fs/cgroup")
_BUILD_TOOLS = (
    ("unshare", "util-linux", "namespaces of a build step"),
    ("setpriv", "util-linux", "ends a build step with its builder"),
    ("debootstrap", "debootstrap", "builds Debian from packages; the bundled recipes use it"),
    ("skopeo", "skopeo", "fetches images from registries"),
)


def findings() -> Iterator[Finding]:
    """Examine everything; yield one line each."""
    yield _control_groups()
    yield _namespaces()
    yield _overlay()
    yield _seccomp()
    yield from providers()
    yield docker_daemon()
    yield _builder()
    for program, package, purpose in _BUILD_TOOLS:
        there = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
        fix = "" if there else f"apt-get install {package}"
        yield Finding(True if there else None, program, f"{there or 'absent'}: {purpose}", fix)


def _control_groups() -> Finding:
    unified = (_GROUPS / "cgroup.controllers").exists()
    version = "v2" if unified else "v1"
    folders = [_GROUPS] if unified else [_GROUPS / name for name in ("memory", "pids", "cpu")]
    if not all(folder.is_dir() for folder in folders):
        return Finding(None, "control groups", "absent; limits hold for each process alone")
    if all(os.access(folder, os.W_OK) for folder in folders):
        return Finding(True, "control groups", f"{version}, writable: limits hold for a sandbox")
    detail = f"{version}, not writable: memory and processor limits hold for each process alone"
    return Finding(None, "control groups", detail, "run as root, or have a group delegated to you")


def _namespaces() -> Finding:
    from agentgym.sandbox import launch

    problems = launch.problems()
    if problems:
        return Finding(False, "namespaces", problems[0].what, problems[0].fix)
    return Finding(True, "namespaces", "user and mount namespaces can be created")


def _overlay() -> Finding:
    known = Path("/proc/filesystems").read_text().split()
    if "overlay" in known:
        return Finding(True, "overlayfs", "the kernel supports it")
    return Finding(False, "overlayfs", "the kernel does not have it loaded", "modprobe overlay")


def _seccomp() -> Finding:
    from agentgym.sandbox.seccomp import filter_program

    if filter_program() is None:
        return Finding(None, "seccomp", "no filter for this processor; other isolation still holds")
    if "Seccomp:" not in Path("/proc/self/status").read_text():
        return Finding(None, "seccomp", "the kernel lacks it; other isolation still holds")
    return Finding(True, "seccomp", "system calls of guests are filtered")


def _builder() -> Finding:
    from agentgym.errors import AgentGymError
    from agentgym.sandbox.build.worker import as_root

    try:
        as_root()
    except AgentGymError as error:
        return Finding(None, "builds", str(error))
    who = "root" if os.geteuid() == 0 else "a range of user ids of this user"
    return Finding(True, "builds", f"by {who}")
