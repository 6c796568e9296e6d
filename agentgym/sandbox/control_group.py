"""Control groups: memory, process and processor limits of a whole sandbox, where writable.

Kernel docs: admin-guide/cgroup-v2 and cgroup-v1/{memory,pids,cpu}. Where no hierarchy may be
written to there is no group, and the limits of `launch.py` (per process) are all there is.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from agentgym.records import Limits

_ROOT = Path("/sys/fs/cgroup")
_CONTROLLERS = ("memory", "pids", "cpu")
_PERIOD_US = 100_000
_REMOVE_S = 1.0


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """The group of one sandbox.

    Attributes:
        folders: One per hierarchy (v1), or one (v2).
        enforced: Limit name to mechanism.
    """

    folders: tuple[Path, ...]
    enforced: dict[str, str] = field(default_factory=dict)

    @classmethod
    def create(cls, name: str, pid: int, limits: Limits) -> ControlGroup | None:
        """Make a group with limits and move a process into it; None where that is not allowed."""
        unified = (_ROOT / "cgroup.controllers").exists()
        folders: list[Path] = []
        enforced: dict[str, str] = {}
        for controller, settings in _settings(limits, unified).items():
            parent = _ROOT / "agentgym" if unified else _ROOT / controller / "agentgym"
            folder = parent / name.replace("/", "-")
            try:
                if unified and not parent.exists():
                    parent.mkdir()
                    (parent / "cgroup.subtree_control").write_text("+memory +pids +cpu")
                folder.mkdir(parents=True, exist_ok=True)
                for limit, file, value in settings:
                    (folder / file).write_text(value)
                    enforced[limit] = "cgroup v2" if unified else "cgroup v1"
                (folder / "cgroup.procs").write_text(str(pid))
            except OSError:
                # Read-only, not delegated, or without this controller: the others may work.
                with contextlib.suppress(OSError):
                    folder.rmdir()
                continue
            if folder not in folders:
                folders.append(folder)
        return cls(tuple(folders), enforced) if folders else None

    def remove(self) -> None:
        """Remove the group of a sandbox whose processes have ended."""
        _remove(self.folders)


def remove_groups_of(owner: str) -> None:
    """Remove the groups that the sandboxes of a dead host process left."""
    parents = [_ROOT / "agentgym", *(_ROOT / name / "agentgym" for name in _CONTROLLERS)]
    _remove([folder for parent in parents for folder in parent.glob(f"{owner}-*")])


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
            # Ours too, once it is empty; another sandbox may still be in it.
            folder.parent.rmdir()


def _settings(limits: Limits, unified: bool) -> dict[str, list[tuple[str, str, str]]]:
    """Return controller -> [(limit, file, value)] for what is limited."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    if limits.memory_mb is not None:
        file = "memory.max" if unified else "memory.limit_in_bytes"
        found["memory"] = [("memory_mb", file, str(limits.memory_mb * 2**20))]
    if limits.pids is not None:
        found["pids"] = [("pids", "pids.max", str(limits.pids))]
    if limits.cpus is not None:
        quota = int(limits.cpus * _PERIOD_US)
        found["cpu"] = (
            [("cpus", "cpu.max", f"{quota} {_PERIOD_US}")]
            if unified
            else [("cpus", "cpu.cfs_quota_us", str(quota))]
        )
    return found
