"""The launch of a sandbox: mounts, limits and rights as one request to the fork server.

This module also defines the host's user and group ids of guests, and finds what a machine lacks
to start sandboxes. The fork server (`fork_server.py`) takes the request, and `confine.py` carries
it out. All mounts live in a mount namespace of the sandbox, so they end with its last process.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentgym.records import Limits, Problem, Recipe
from agentgym.sandbox import syscalls
from agentgym.sandbox.hidden import hidden_folders
from agentgym.sandbox.runtime import RUNTIME, Runtime
from agentgym.sandbox.runtime import problems as runtime_problems
from agentgym.sandbox.seccomp import filter_program
from agentgym.sandbox.unpack import IDS

_RUN_BYTES = 64 * 2**20
_SHM_BYTES = 256 * 2**20
# Guest root is one unprivileged host id. If root runs agentgym, that id must not be 0: the kernel
# lets user 0 write /proc/sys and exempts it from process limits, even in a namespace.
_ID_WHEN_ROOT = 1_879_000_000

# Name to number (linux/capability.h).
CAPABILITIES = {
    "CAP_CHOWN": 0,
    "CAP_DAC_OVERRIDE": 1,
    "CAP_FOWNER": 3,
    "CAP_FSETID": 4,
    "CAP_KILL": 5,
    "CAP_SETGID": 6,
    "CAP_SETUID": 7,
    "CAP_SETPCAP": 8,
    "CAP_NET_BIND_SERVICE": 10,
    # sshd, postfix and similar programs use it to give up rights; an escape from a chroot ends at
    # the sandbox's own root.
    "CAP_SYS_CHROOT": 18,
}
# Files in /proc that the owner of a process may write; guests own the supervisor too.
FIRST_PROCESS = tuple(
    f"/proc/1/{name}"
    for name in ("autogroup", "clear_refs", "coredump_filter", "oom_adj", "oom_score_adj")
    if os.path.exists(f"/proc/self/{name}")
)


def memory_file_systems(limits: Limits) -> tuple[int, int]:
    """Return the sizes of /run and /dev/shm; the default of a tmpfs is half of the host's memory.

    Together they hold at most half of the memory limit, because their content cannot be killed.
    """
    room = 2**40 if limits.memory_mb is None else limits.memory_mb * 2**20 // 4
    return min(_RUN_BYTES, room), min(_SHM_BYTES, room)


def sandbox_owner() -> int:
    """Return the host user and group id that guest root is mapped to."""
    return os.getuid() or _ID_WHEN_ROOT


def may_give_ids() -> bool:
    """Return whether a sandbox can have more user ids than that of its root."""
    return os.getuid() == 0


def give_ids(pid: int) -> None:
    """Map the guest ids from 0 on to the host ids from `sandbox_owner` on."""
    for name in ("uid_map", "gid_map"):
        Path(f"/proc/{pid}/{name}").write_text(f"0 {sandbox_owner()} {IDS}")


def as_owner() -> list[str]:
    """Return the command prefix that runs a process as `sandbox_owner`."""
    if os.getuid() != 0:
        return []
    owner = sandbox_owner()
    return ["setpriv", f"--reuid={owner}", f"--regid={owner}", "--clear-groups"]


@dataclass(frozen=True, slots=True)
class Launch:
    """The settings for the start of one sandbox.

    Attributes:
        layers: Layers to mount, topmost first; names are relative to the store.
        upper: Directory above the layers that receives the writes.
        runtime: The runtime of its supervisor.
        recipe: The recipe with its host name and limits.
        host_usr: Whether it sees the host's /usr.
        many_ids: Whether it gets all ids of the fork server, and not just one.
        enforced: Limits that another mechanism enforces.
        isolated: False: it shares the host's network, IPC and host name, may use every system
            call, and finds the host's files, read-only, at ``/mnt``. Its writes still go to its
            upper directory, and its process namespace still ends with it.
    """

    layers: tuple[str, ...]
    upper: str
    runtime: Runtime
    recipe: Recipe
    host_usr: bool
    many_ids: bool
    enforced: Container[str]
    isolated: bool = True

    def options(self) -> str:
        """Return the overlay mount options."""
        # volatile: these files need not survive a power failure, so no call waits for a disk.
        return (
            f"userxattr,volatile,lowerdir={':'.join((self.runtime.layer.name, *self.layers))},"
            f"upperdir={self.upper}/u,workdir={self.upper}/w"
        )

    def request(self) -> dict[str, object]:
        """Return the request for the fork server; plain values, for `marshal`."""
        run_bytes, shm_bytes = memory_file_systems(self.recipe.limits)
        return {
            "isolated": self.isolated,
            "ids": IDS if self.many_ids else 1,
            "hostname": self.recipe.hostname,
            "rlimits": self._rlimits(),
            "overlay": self.options(),
            "runtime": RUNTIME,
            "host_usr": self.host_usr,
            "hidden": list(hidden_folders()) if self.host_usr else [],
            "masked": list(FIRST_PROCESS),
            "run_bytes": run_bytes,
            "shm_bytes": shm_bytes,
            "capabilities": list(CAPABILITIES.values()),
            "filter": filter_program() if self.isolated else None,
        }

    def _rlimits(self) -> dict[str, int]:
        limits = self.recipe.limits
        found = {"RLIMIT_CORE": 0}
        if limits.pids is not None:
            found["RLIMIT_NPROC"] = limits.pids
        # A fallback: it limits each process alone, and counts reserved memory as used.
        if limits.memory_mb is not None and "memory_mb" not in self.enforced:
            found["RLIMIT_DATA"] = limits.memory_mb * 2**20
        if limits.disk_mb is not None:
            found["RLIMIT_FSIZE"] = limits.disk_mb * 2**20
        return found


def problems() -> Sequence[Problem]:
    """Return what this machine lacks to start sandboxes."""
    found = []
    for program, package in (
        ("bwrap", "bubblewrap"),
        ("unshare", "util-linux"),
        ("setpriv", "util-linux"),
        ("mount", "mount"),
    ):
        if shutil.which(program) is None:
            found.append(Problem(f"{program} is not installed", f"apt-get install -y {package}"))
    if not syscalls.can_clone():
        machine = os.uname().machine
        found.append(Problem(f"sandboxes are not known to work on {machine}", "use docker"))
    found += [*guest_problems(), *runtime_problems()]
    if not found and not _namespaces_work():
        found.append(
            Problem(
                "unprivileged user namespaces are not allowed here",
                "run as root, or: sysctl -w kernel.unprivileged_userns_clone=1 "
                "kernel.apparmor_restrict_unprivileged_userns=0",
            )
        )
    return found


def guest_problems() -> list[Problem]:
    """Return what the host's /usr lacks to serve as a guest's."""
    found = []
    if not os.path.islink("/bin"):
        found.append(
            Problem("/bin is not a link to /usr/bin", "use a distribution with a merged /usr")
        )
    return found


def _namespaces_work() -> bool:
    mount = ("mount", "-t", "tmpfs", "x", "/mnt")
    trial = subprocess.run(
        [*as_owner(), "unshare", "-Urm", "--propagation", "private", *mount],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=10,
        check=False,
    )
    return trial.returncode == 0
