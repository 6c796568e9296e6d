"""Isolated computers: what a sandbox is made of, what it may use, what is seen of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds of a sandbox. None means: not limited by agentgym."""

    memory_mb: int | None = 2048
    cpus: float | None = None
    pids: int | None = 512
    disk_mb: int | None = 4096
    wall_s: float | None = 3600.0
    output_bytes: int = 65_536


@dataclass(frozen=True, slots=True)
class Service:
    """A program that runs in a sandbox from its start.

    Attributes:
        name: What messages call it.
        command: A shell line that stays in the foreground.
        health: A shell line that exits with 0 once the service can be used; empty: at once.
        timeout_s: How long it may take until then.
    """

    name: str
    command: str
    health: str = ""
    timeout_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a sandbox is made of, read from ``sandboxes/<name>/recipe.toml``.

    Attributes:
        name: Catalogue name.
        image: Name of the built root file system, a digest of all that goes into it; empty:
            nothing is built, the root is the host's ``/usr`` under an ``/etc`` of our own.
        network: ``"none"`` (loopback only), ``"allowlist"`` (the hosts in `allow`, through a
            proxy) or ``"open"`` (any host, through the same proxy).
        allow: Host patterns: ``"pypi.org"``, ``"*.debian.org"``, ``"example.com:8080"``.
        limits: Enforced upper bounds.
        env: Environment variables of every command.
        user: Who commands run as, a name of the image's ``/etc/passwd``.
        workdir: Where commands start.
        services: What is started, in order, before the sandbox is handed out.
        ports: Guest ports the services listen on, for people and surfaces to `connect` to.
        hostname: What ``hostname`` prints inside.
    """

    name: str
    image: str = ""
    network: str = "none"
    allow: tuple[str, ...] = ()
    limits: Limits = Limits()
    env: Mapping[str, str] = field(default_factory=dict)
    user: str = "root"
    workdir: str = "/root"
    services: tuple[Service, ...] = ()
    ports: tuple[int, ...] = ()
    hostname: str = "sandbox"


class Capability(StrEnum):
    """What a sandbox provider may declare; asking for an absent one is an error."""

    SNAPSHOT = "snapshot"
    FORK = "fork"
    RESTORE = "restore"
    CHANGES = "changes"
    LOOK = "look"
    ISOLATION = "isolation"


@dataclass(frozen=True, slots=True)
class Bounds:
    """How large an archive of files may be.

    Attributes:
        max_bytes: Of the archive; holes in files do not count.
        max_entries: Files, directories and all else.
    """

    max_bytes: int
    max_entries: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A frozen file system state of one provider.

    Attributes:
        provider: Name of the provider that can start it.
        layers: Provider-specific layer names, topmost first; equal layers mean equal files.
    """

    provider: str
    layers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExecResult:
    """Outcome of one command in a sandbox.

    Attributes:
        exit_code: As a shell reports it: 128 + N for a command ended by signal N.
        stdout: Captured bytes, head and tail kept when over the output limit.
        stderr: The same for standard error (empty where the streams are merged).
        timed_out: The deadline passed and the command was ended.
        omitted_bytes: Bytes dropped from the middle of the streams.
        duration_s: Wall time as the supervisor measured it.
    """

    exit_code: int
    stdout: bytes
    stderr: bytes = b""
    timed_out: bool = False
    omitted_bytes: int = 0
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ShellResult:
    """Outcome of one command in a persistent shell session.

    Attributes:
        output: Standard output and error as they were interleaved, head and tail kept.
        exit_code: Of the last command; None where the session ended before it said.
        cwd: Working directory after the command.
        timed_out: The command was interrupted at its deadline.
        restarted: The session had to be replaced; variables and functions are gone.
        omitted_bytes: Bytes dropped from the middle of the output.
        duration_s: Wall time as the supervisor measured it.
    """

    output: bytes
    exit_code: int | None
    cwd: str
    timed_out: bool = False
    restarted: bool = False
    omitted_bytes: int = 0
    duration_s: float = 0.0


class ChangeKind(StrEnum):
    """How a path differs from an earlier snapshot."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs from an earlier snapshot; `path` is absolute in the guest."""

    path: str
    kind: ChangeKind


@dataclass(frozen=True, slots=True)
class FileStat:
    """What a file tree knows of one path.

    Attributes:
        kind: ``"file"``, ``"dir"``, ``"link"`` or ``"other"``.
        mode: Permission bits including setuid, setgid and sticky, e.g. ``0o2775``.
        size: Bytes of a file.
        target: Where a symbolic link points, else empty.
        mtime_s: Modification time, seconds since the epoch.
        acl: Access control list in short form with numeric ids, such as
            ``u::rwx,u:1000:r--,g::r-x,m::r-x,o::---``; empty if the mode says it all.
        default_acl: What a directory hands down to what is created in it, in the same form.
    """

    kind: str
    mode: int
    size: int = 0
    target: str = ""
    mtime_s: float = 0.0
    acl: str = ""
    default_acl: str = ""


@dataclass(frozen=True, slots=True)
class Process:
    """A process that is alive in a sandbox, as its supervisor sees it."""

    pid: int
    argv: tuple[str, ...]
    tcp_ports: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Connection:
    """One attempt of a guest to reach a host through the proxy.

    Attributes:
        host: Name or address as the guest asked for it.
        port: TCP port.
        via: ``"connect"``, ``"http"`` or ``"socks5"``.
        outcome: ``"open"``, ``"refused: <why>"`` by the policy, or ``"failed: <why>"``.
        sent_bytes: From guest to host.
        received_bytes: From host to guest.
    """

    host: str
    port: int
    via: str
    outcome: str
    sent_bytes: int = 0
    received_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Audit:
    """What a sandbox's audit holds, out of the guest's reach.

    Attributes:
        processes: What is alive now.
        connections: Every attempt to reach a host, in order.
        killed_for_memory: How many processes the kernel ended because the memory limit was
            reached; None where nobody counts them.
    """

    processes: tuple[Process, ...] = ()
    connections: tuple[Connection, ...] = ()
    killed_for_memory: int | None = None

    def following(self, earlier: Audit) -> Audit:
        """Return it as that of a fork: what happened before the fork stands before it."""
        killed = [n for n in (earlier.killed_for_memory, self.killed_for_memory) if n is not None]
        return Audit(
            self.processes,
            (*earlier.connections, *self.connections),
            sum(killed) if killed else None,
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """What a sandbox has used, and who enforces which limit.

    Attributes:
        cpu_s: Processor seconds of everything that ran in it, None where unknown.
        memory_mb: Resident memory now, None where unknown.
        processes: Live processes, the supervisor included.
        disk_mb: Size of what was written since the snapshot it started from.
        enforced: Limit name to mechanism, e.g. ``{"pids": "rlimit", "disk_mb": "watch"}``;
            a limit that nothing enforces is absent.
    """

    cpu_s: float | None
    memory_mb: float | None
    processes: int
    disk_mb: float
    enforced: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something this machine lacks, and the command or step that adds it."""

    what: str
    fix: str
