"""Control groups: memory, process and processor limits of a whole sandbox, where writable.

Kernel docs: admin-guide/cgroup-v2 and cgroup-v1/{memory,pids,cpu}. In v2 a group with limited
members may hold no processes of its own, and an ordinary user may write only below a delegated
group. The module uses the nearest group above this process that allows both. If no group does,
only the limits of `launch.py` (per process) apply.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentgym.errors import SandboxError
from agentgym.records import Limits

_ROOT = Path("/sys/fs/cgroup")
_PROC = Path("/proc")
_CONTROLLERS = ("memory", "pids", "cpu")
_PARENT = "agentgym"
_PERIOD_US = 100_000
_LEAST_QUOTA_US = 1_000
_REMOVE_S = 1.0
_ABANDONED_S = 60.0
# File in which the kernel counts processes killed for memory, by version.
_KILLS = ("memory.events", "memory.oom_control")


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """The group of one sandbox.

    Attributes:
        folders: One per hierarchy (v1), or one (v2).
        enforced: Limit name to mechanism.
    """

    folders: tuple[Path, ...]
    enforced: Mapping[str, str]

    @classmethod
    def create(
        cls, name: str, limits: Limits, root: Path = _ROOT, proc: Path = _PROC
    ) -> ControlGroup | None:
        """Make an empty group with limits; return None if this process may not make groups."""
        unified = _is_unified(root)
        wanted = _settings(limits, unified)
        parents = _parents(tuple(wanted), root, proc)
        folders: dict[Path, None] = {}
        enforced = {}
        for controller, parent in parents.items():
            limit, settings = wanted[controller]
            folder = parent / name.replace("/", "-")
            try:
                folder.mkdir(exist_ok=folder in folders)
                (folder / settings[0][0]).write_text(settings[0][1])
            except OSError:
                # Read-only, not delegated, or without this controller; the other limits may work.
                if folder not in folders:
                    _remove([folder])
                continue
            for file, value in settings[1:]:
                # Some kernels do not account for swap.
                with contextlib.suppress(OSError):
                    (folder / file).write_text(value)
            enforced[limit] = "cgroup v2" if unified else "cgroup v1"
            folders[folder] = None
        return cls(tuple(folders), enforced) if folders else None

    @property
    def member_files(self) -> tuple[Path, ...]:
        """The lists of members: a single-threaded process joins the group by writing ``0``."""
        name = "cgroup.procs" if "cgroup v2" in self.enforced.values() else "tasks"
        return tuple(folder / name for folder in self.folders)

    def open_members(self) -> list[int]:
        """Return descriptors with which a single-threaded process joins the group: it writes ``0``.

        The kernel checks the rights of the process that opened them. A thread that moves itself
        need not wait for every other process of the machine; moving a whole process (v1) does.

        Raises:
            SandboxError: This process may not open the lists of members.
        """
        found: list[int] = []
        try:
            for file in self.member_files:
                found.append(os.open(file, os.O_WRONLY | os.O_CLOEXEC))
        except OSError as error:
            for descriptor in found:
                os.close(descriptor)
            raise SandboxError(f"cannot limit the sandbox with {file}: {error}") from None
        return found

    def killed_for_memory(self) -> int | None:
        """Return how many processes of the group were killed for memory; None: not counted."""
        counts = (kills(folder) for folder in self.folders)
        return next((count for count in counts if count is not None), None)

    def remove(self) -> None:
        """Remove the group of a sandbox whose processes have ended."""
        _remove(self.folders)


def memory_group(pid: int, root: Path = _ROOT, proc: Path = _PROC) -> Path | None:
    """Return the folder of the group that accounts for a process's memory."""
    path = _own_path("memory", pid, root, proc)
    return path if path is not None and path.is_dir() else None


def kills(folder: Path) -> int | None:
    """Return how often the kernel killed for memory in a group; None if it does not count."""
    for name in _KILLS:
        try:
            with open(f"{folder}/{name}", "rb", buffering=0) as file:
                lines = file.read().splitlines()
        except OSError:
            continue
        for line in lines:
            key, _, value = line.partition(b" ")
            if key == b"oom_kill":
                return int(value)
    return None


def remove_groups_of(owner: str, root: Path = _ROOT, proc: Path = _PROC) -> None:
    """Remove the groups of a dead host process's sandboxes."""
    _remove(_groups(f"{owner}-*", root, proc))


def remove_abandoned_groups(root: Path = _ROOT, proc: Path = _PROC) -> None:
    """Remove old empty groups of ended host processes, whether or not their store exists."""
    for folder in _groups("*-*-*", root, proc):
        # A new group may belong to a process of another process namespace.
        with contextlib.suppress(OSError):
            old = time.time() - folder.stat().st_mtime > _ABANDONED_S
            if old and not (proc / folder.name.partition("-")[0]).exists():
                folder.rmdir()


# --- private ---


def _groups(pattern: str, root: Path, proc: Path) -> list[Path]:
    above = _lineage(root, proc) if _is_unified(root) else (root / name for name in _CONTROLLERS)
    return [folder for parent in above for folder in (parent / _PARENT).glob(pattern)]


def _is_unified(root: Path) -> bool:
    return (root / "cgroup.controllers").exists()


def _own_path(controller: str, pid: int, root: Path, proc: Path) -> Path | None:
    """Return the folder of a process's group."""
    unified = _is_unified(root)
    try:
        lines = (proc / str(pid) / "cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, names, path = line.split(":", 2)
        if unified and not names:
            return root / path.strip("/")
        if not unified and controller in names.split(","):
            return root / controller / path.strip("/")
    return None


def _lineage(root: Path, proc: Path) -> Iterator[Path]:
    """Yield the v2 groups above this process, nearest first."""
    own = _own_path("", os.getpid(), root, proc)
    # In a container the path may be one of the host, which is not mounted here.
    here = own if own is not None and own.is_dir() else root
    while here != root:
        yield here
        here = here.parent
    yield root


def _parents(controllers: tuple[str, ...], root: Path, proc: Path) -> dict[str, Path]:
    """Return the parent of new groups for each available controller."""
    if not _is_unified(root):
        found = {name: root / name / _PARENT for name in controllers}
        return {name: parent for name, parent in found.items() if _made(parent)}
    for above in _lineage(root, proc):
        parent = above / _PARENT
        try:
            offered = (above / "cgroup.controllers").read_text().split()
        except OSError:
            continue
        granted = [name for name in controllers if name in offered and _enable(above, name)]
        if granted and _made(parent) and all(_enable(parent, name) for name in granted):
            return dict.fromkeys(granted, parent)
    return {}


def _made(folder: Path) -> bool:
    try:
        folder.mkdir(exist_ok=True)
    except OSError:
        return False
    return True


def _enable(folder: Path, controller: str) -> bool:
    """Enable a controller for the groups in a folder; return False if that fails."""
    try:
        with open(folder / "cgroup.subtree_control", "a+") as control:
            control.seek(0)
            if controller not in control.read().split():
                control.write(f"+{controller}\n")
    except OSError:
        # The group belongs to another user, or it holds processes.
        return False
    return True


def _remove(folders: Iterable[Path]) -> None:
    deadline = time.monotonic() + _REMOVE_S
    for folder in folders:
        while folder.exists():
            try:
                folder.rmdir()
            except OSError:
                # The kernel still accounts for the last process.
                if time.monotonic() > deadline:
                    break
                os.sched_yield()
        with contextlib.suppress(OSError):
            # The parent belongs to agentgym too; it goes once no other sandbox uses it.
            folder.parent.rmdir()


def _settings(limits: Limits, unified: bool) -> dict[str, tuple[str, list[tuple[str, str]]]]:
    """Return controller -> (limit, [(file, value)]); all but the first value may be refused."""
    found: dict[str, tuple[str, list[tuple[str, str]]]] = {}
    if limits.memory_mb is not None:
        size = str(limits.memory_mb * 2**20)
        # The group gets no swap, so that it cannot exceed the limit by swapping.
        found["memory"] = (
            "memory_mb",
            (
                [("memory.max", size), ("memory.swap.max", "0")]
                if unified
                else [
                    ("memory.limit_in_bytes", size),
                    ("memory.memsw.limit_in_bytes", size),
                    ("memory.swappiness", "0"),
                ]
            ),
        )
    if limits.pids is not None:
        found["pids"] = "pids", [("pids.max", str(limits.pids))]
    if limits.cpus is not None:
        quota = max(_LEAST_QUOTA_US, int(limits.cpus * _PERIOD_US))
        found["cpu"] = (
            "cpus",
            (
                [("cpu.max", f"{quota} {_PERIOD_US}")]
                if unified
                else [("cpu.cfs_quota_us", str(quota))]
            ),
        )
    return found
