"""One command line that turns a stack of layers into a running supervisor.

unshare makes a user and a mount namespace; a few lines of shell mount the overlay there and
hand over to bubblewrap, which adds the process, network, IPC and host-name namespaces and
starts the supervisor as PID 1. All mounts live in that mount namespace, so they vanish with
the last process, however it ends.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentgym.records import Limits, Problem, Recipe
from agentgym.sandbox.hidden import hidden_folders
from agentgym.sandbox.runtime import ENVIRONMENT, RUNTIME, Runtime
from agentgym.sandbox.runtime import problems as runtime_problems
from agentgym.sandbox.seccomp import filter_fd
from agentgym.sandbox.unpack import IDS

# The host waits for nobody below this directory: the overlay covers it in a namespace of its own.
_MOUNT_POINT = "/mnt"
_RUN_BYTES = 64 * 2**20
_SHM_BYTES = 256 * 2**20
# Guest root is one unprivileged host id. Run by root, it must not be root's own: the kernel
# lets user 0 write /proc/sys and exempts it from process limits, namespace or not.
_ID_WHEN_ROOT = 1_879_000_000

CAPABILITIES = (
    *("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL"),
    *("CAP_NET_BIND_SERVICE", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID"),
    # By which sshd, postfix and their like give rights up; a way out of a chroot ends at the
    # sandbox's own root.
    "CAP_SYS_CHROOT",
)
# What the owner of a process may set in its folder of /proc: guests own the supervisor too.
FIRST_PROCESS = tuple(
    f"/proc/1/{name}"
    for name in ("autogroup", "clear_refs", "coredump_filter", "oom_adj", "oom_score_adj")
    if os.path.exists(f"/proc/self/{name}")
)
# `read` waits until the host has put this process into its control group and given it ids.
_SCRIPT = """
echo unshared >&0
read -r go || exit 1
export LIBMOUNT_FORCE_MOUNT2=always
mount -t overlay overlay -o "$1" "$2" || exit 1
shift 2
echo 0 > /proc/sys/user/max_user_namespaces
exec "$@"
"""


def memory_file_systems(limits: Limits) -> tuple[int, int]:
    """Return the sizes of /run and /dev/shm; without one a tmpfs takes half of the host's memory.

    Together they hold half of the memory limit at most: what fills them cannot be killed for it.
    """
    room = 2**40 if limits.memory_mb is None else limits.memory_mb * 2**20 // 4
    return min(_RUN_BYTES, room), min(_SHM_BYTES, room)


def sandbox_owner() -> int:
    """Return the host user and group id that guest root is mapped to."""
    return os.getuid() or _ID_WHEN_ROOT


def may_give_ids() -> bool:
    """Whether a sandbox can have more user ids than that of its root."""
    return os.getuid() == 0


def give_ids(pid: int) -> None:
    """Map the guest ids from 0 on to the host ids from `sandbox_owner` on."""
    for name in ("uid_map", "gid_map"):
        Path(f"/proc/{pid}/{name}").write_text(f"0 {sandbox_owner()} {IDS}")


def as_owner() -> list[str]:
    """Return the command prefix that makes a process run as `sandbox_owner`."""
    if os.getuid() != 0:
        return []
    owner = sandbox_owner()
    return ["setpriv", f"--reuid={owner}", f"--regid={owner}", "--clear-groups"]


@dataclass(frozen=True, slots=True)
class Launch:
    """Everything that decides how one sandbox is started.

    Attributes:
        root: The store; names of layers are relative to it.
        layers: What is mounted, topmost first.
        upper: What is written to, above them.
        runtime: What its supervisor runs with.
        recipe: Whose host name and limits it has.
        host_usr: Whether it sees the host's /usr.
        many_ids: Whether it is given ids by `give_ids`, and not just one.
        enforced: Limits that something else enforces.
        isolated: False: it shares the host's network, IPC and host name, may use every system
            call, and finds the host's files, read-only, at ``/mnt``. What it writes still goes
            to its upper directory, and a process namespace still ends with it.
    """

    root: Path
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
        # volatile: nobody needs these files after a power failure, so nobody waits for a disk.
        return (
            f"userxattr,volatile,lowerdir={':'.join((self.runtime.layer.name, *self.layers))},"
            f"upperdir={self.upper}/u,workdir={self.upper}/w"
        )

    def argv(self, filter_fd: int | None) -> list[str]:
        """Return the whole command line."""
        filtered = () if filter_fd is None else ("--seccomp", str(filter_fd))
        capabilities = [part for name in CAPABILITIES for part in ("--cap-add", name)]
        usr = ["--ro-bind", "/usr", "/usr", "--bind", f"{_MOUNT_POINT}/usr/local", "/usr/local"]
        for folder in hidden_folders() if self.host_usr else ():
            usr += ["--size", "4096", "--perms", "0755", "--tmpfs", folder, "--remount-ro", folder]
        run_bytes, shm_bytes = memory_file_systems(self.recipe.limits)
        # A device where devices are not allowed: it cannot even be opened.
        masks = [part for path in FIRST_PROCESS for part in ("--ro-bind", "/dev/null", path)]
        bwrap = [
            *("bwrap", "--bind", _MOUNT_POINT, "/", *(usr if self.host_usr else ())),
            *("--proc", "/proc", *masks, "--dev", "/dev"),
            *("--size", str(shm_bytes), "--tmpfs", "/dev/shm"),
            *("--remount-ro", "/dev", "--size", str(run_bytes), "--tmpfs", "/run"),
            *("--dir", "/run/lock", "--dir", "/run/agentgym"),
            *("--ro-bind", f"{_MOUNT_POINT}{RUNTIME}", RUNTIME),
            *("--unshare-pid", *self._surroundings(), "--as-pid-1"),
            *("--die-with-parent", "--new-session", *filtered),
            *("--cap-drop", "ALL", *capabilities, "--chdir", "/", "--clearenv"),
            *(part for item in ENVIRONMENT.items() for part in ("--setenv", *item)),
            *self.runtime.command(),
        ]
        # The capabilities of an id that is not mapped yet would be lost with the next exec.
        ids = ("-Um", "--keep-caps") if self.many_ids else ("-Urm",)
        return [
            *as_owner(),
            *("unshare", *ids, "--propagation", "private", "sh", "-c", _SCRIPT, "sh"),
            *(self.options(), _MOUNT_POINT, *self._rlimits(), *bwrap),
        ]

    def _surroundings(self) -> list[str]:
        if self.isolated:
            namespaces = ["--unshare-net", "--unshare-ipc", "--unshare-uts"]
            return [*namespaces, "--hostname", self.recipe.hostname]
        names = "/etc/resolv.conf"
        return ["--ro-bind", "/", "/mnt", "--ro-bind-try", names, names]

    def _rlimits(self) -> list[str]:
        argv, limits = ["prlimit", "--core=0"], self.recipe.limits
        if limits.pids is not None:
            argv.append(f"--nproc={limits.pids}")
        # Of each process, and of what it asked for, used or not: a stopgap.
        if limits.memory_mb is not None and "memory_mb" not in self.enforced:
            argv.append(f"--data={limits.memory_mb * 2**20}")
        if limits.disk_mb is not None:
            argv.append(f"--fsize={limits.disk_mb * 2**20}")
        return argv

    def start(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        """Start the process and return it with the host's end of its channel.

        Standard error is a pipe: it carries the reason when the start fails.
        """
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        filtered = filter_fd() if self.isolated else None
        inherited = () if filtered is None else (filtered,)
        try:
            process = subprocess.Popen(
                self.argv(filtered),
                cwd=self.root,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=inherited,
                umask=0o022,
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
            for fd in inherited:
                os.close(fd)
        return process, ours


def problems() -> Sequence[Problem]:
    """Say what this machine lacks to start sandboxes."""
    found = []
    for program, package in (
        ("bwrap", "bubblewrap"),
        ("unshare", "util-linux"),
        ("setpriv", "util-linux"),
        ("mount", "mount"),
        ("prlimit", "util-linux"),
    ):
        if shutil.which(program) is None:
            found.append(Problem(f"{program} is not installed", f"apt-get install -y {package}"))
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
    """Say what the host's /usr lacks to be a guest's."""
    found = []
    if not os.path.islink("/bin"):
        found.append(
            Problem("/bin is not a link to /usr/bin", "use a distribution with a merged /usr")
        )
    return found


def _namespaces_work() -> bool:
    mount = ("mount", "-t", "tmpfs", "x", _MOUNT_POINT)
    trial = subprocess.run(
        [*as_owner(), "unshare", "-Urm", "--propagation", "private", *mount],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=10,
        check=False,
    )
    return trial.returncode == 0
