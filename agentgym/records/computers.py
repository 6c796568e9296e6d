"""Records of isolated computers: recipes, limits, results of commands, audit and usage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from agentgym.records.values import Json


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds of a sandbox. None means that agentgym sets no limit."""

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
        name: Name in messages.
        command: A shell line that stays in the foreground.
        health: A shell line that exits with 0 once the service is ready; empty for at once.
        timeout_s: Longest time until it is ready, in seconds.
        in_setup: Whether it runs while a task is set up, too.
    """

    name: str
    command: str
    health: str = ""
    timeout_s: float = 30.0
    in_setup: bool = True


@dataclass(frozen=True, slots=True)
class Recipe:
    """The configuration of a sandbox, read from ``sandboxes/<name>/recipe.toml``.

    Attributes:
        name: Catalogue name.
        image: Name of the built root file system, a digest of all its parts; empty if nothing
            is built and the root is the host's ``/usr`` under agentgym's own ``/etc``.
        network: ``"none"`` (loopback only), ``"allowlist"`` (the hosts in `allow`, through a
            proxy) or ``"open"`` (any host, through the same proxy).
        allow: Host patterns: ``"pypi.org"``, ``"*.debian.org"``, ``"example.com:8080"``.
        limits: Enforced upper bounds.
        env: Environment variables of every command.
        user: User of the commands, a name of the image's ``/etc/passwd``.
        workdir: Initial working directory of commands.
        services: Programs started, in order, before the sandbox is handed out.
        ports: Guest ports of the services, for people and surfaces to `connect` to.
        hostname: Output of ``hostname`` inside.
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


@dataclass(frozen=True, slots=True)
class Packages:
    """Packages of Debian and PyPI, in the form of `apt-get install` and `pip install`."""

    apt: tuple[str, ...] = ()
    pip: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskSandbox:
    """A sandbox that a task brings, described by its image; agentgym builds the image.

    Attributes:
        context: Folder with a Dockerfile; None if the sandbox starts from `image`.
        image: Image of a registry; used if there is no Dockerfile.
        network: ``"none"``, ``"allowlist"`` or ``"open"``, as in `Recipe`.
        allow: Host patterns of an allowlist.
        env: Variables of every command, on top of the image's.
        workdir: Working directory; empty for the image's.
        user: User of the commands; empty for the image's.
        memory_mb: Upper limit of the memory; None for agentgym's default, as in the next two.
        disk_mb: Upper limit of the disk, in megabytes.
        cpus: Upper limit, in processors.
        prepared: Packages installed in the image in addition to those of its author.
    """

    context: Path | None = None
    image: str = ""
    network: str = "open"
    allow: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str = ""
    user: str = ""
    memory_mb: int | None = None
    disk_mb: int | None = None
    cpus: float | None = None
    prepared: Packages = Packages()


class Capability(StrEnum):
    """The optional abilities of a provider; the use of an undeclared one is an error."""

    SNAPSHOT = "snapshot"
    FORK = "fork"
    RESTORE = "restore"
    CHANGES = "changes"
    LOOK = "look"
    ISOLATION = "isolation"


@dataclass(frozen=True, slots=True)
class Bounds:
    """The largest size of an archive of files.

    Attributes:
        max_bytes: Largest size of the archive; holes in files do not count.
        max_entries: Largest number of files, directories and other entries.
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
    """The outcome of one command in a sandbox.

    Attributes:
        exit_code: As a shell reports it: 128 + N for a command ended by signal N.
        stdout: Captured bytes, head and tail kept when over the output limit.
        stderr: The same for standard error (empty if the streams are merged).
        timed_out: Whether the deadline passed and the command was ended.
        omitted_bytes: Bytes dropped from the middle of the streams.
        duration_s: Wall time as the supervisor measured it, in seconds.
    """

    exit_code: int
    stdout: bytes
    stderr: bytes = b""
    timed_out: bool = False
    omitted_bytes: int = 0
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ShellResult:
    """The outcome of one command in a persistent shell session.

    Attributes:
        output: Standard output and error as they were interleaved, head and tail kept.
        exit_code: Exit code of the last command; None if the session ended before it was known.
        cwd: Working directory after the command.
        timed_out: Whether the command was interrupted at its deadline.
        restarted: Whether the session was replaced; its variables and functions are then lost.
        omitted_bytes: Bytes dropped from the middle of the output.
        duration_s: Wall time as the supervisor measured it, in seconds.
    """

    output: bytes
    exit_code: int | None
    cwd: str
    timed_out: bool = False
    restarted: bool = False
    omitted_bytes: int = 0
    duration_s: float = 0.0


class ChangeKind(StrEnum):
    """The kind of difference of a path from an earlier snapshot."""

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
    """The metadata of one path in a file tree.

    Attributes:
        kind: ``"file"``, ``"dir"``, ``"link"`` or ``"other"``.
        mode: Permission bits including setuid, setgid and sticky, e.g. ``0o2775``.
        size: Size of a file in bytes.
        target: Target of a symbolic link, else empty.
        mtime_s: Modification time, seconds since the epoch.
        acl: Access control list in short form with numeric ids, such as
            ``u::rwx,u:1000:r--,g::r-x,m::r-x,o::---``; empty if the mode says it all.
        default_acl: List that new entries of a directory inherit, in the same form.
        ctime_s: Time of the last change of the entry itself, seconds since the epoch. No program
            can set it: a file that was removed and put back has another one than before. Layers
            of more than 60 forks in a row are merged, and then all of them have another one.
    """

    kind: str
    mode: int
    size: int = 0
    target: str = ""
    mtime_s: float = 0.0
    acl: str = ""
    default_acl: str = ""
    ctime_s: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class Process:
    """A live process in a sandbox, as its supervisor sees it."""

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
        sent_bytes: Bytes from guest to host.
        received_bytes: Bytes from host to guest.
    """

    host: str
    port: int
    via: str
    outcome: str
    sent_bytes: int = 0
    received_bytes: int = 0


@dataclass(frozen=True, slots=True)
class WebRequest:
    """One request of a browser, as the proxy saw it that is the browser's only network.

    Attributes:
        step: Number of the browser action that caused it, counted from 1; 0 for the first page.
        method: Method of HTTP.
        url: Its target.
        status: Status of the answer, 0 without an answer.
        request_bytes: Bytes of its body.
        response_bytes: Bytes of the answer's body.
        mime: Media type of the answer.
        location: Where the answer redirects, empty if it does not.
        mutating: Whether its method may change something (RFC 9110, 9.2.1).
        destructive: Whether it asks to remove something.
        refused: Why the proxy has refused it; empty if a site has answered.
        failed: How the site has failed; empty if it has not.
    """

    step: int
    method: str
    url: str
    status: int
    request_bytes: int = 0
    response_bytes: int = 0
    mime: str = ""
    location: str = ""
    mutating: bool = False
    destructive: bool = False
    refused: str = ""
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Audit:
    """The audit of an episode's sandbox and surfaces, kept out of the guest's reach.

    Attributes:
        processes: Processes that are alive now.
        connections: Every attempt to reach a host, in order.
        killed_for_memory: Number of processes that the kernel ended because the memory limit
            was reached; None if it is not counted.
        requests: Every request of the browsers, in order.
        page_state: Values that the environment reads from the page, by name.
        surface_calls: Number of calls that each surface has executed, by its name; empty if they
            were not counted.
    """

    processes: tuple[Process, ...] = ()
    connections: tuple[Connection, ...] = ()
    killed_for_memory: int | None = None
    requests: tuple[WebRequest, ...] = ()
    page_state: Mapping[str, Json] = field(default_factory=dict)
    surface_calls: Mapping[str, int] = field(default_factory=dict)

    def beside(self, other: Audit) -> Audit:
        """Return it with the requests and the page state of another audit of the same time."""
        return replace(
            self,
            requests=(*self.requests, *other.requests),
            page_state={**self.page_state, **other.page_state},
        )

    def following(self, earlier: Audit) -> Audit:
        """Return it as that of a fork: what happened before the fork stands before it."""
        killed = [n for n in (earlier.killed_for_memory, self.killed_for_memory) if n is not None]
        return Audit(
            self.processes,
            (*earlier.connections, *self.connections),
            sum(killed) if killed else None,
            (*earlier.requests, *self.requests),
            {**earlier.page_state, **self.page_state},
            {
                name: earlier.surface_calls.get(name, 0) + self.surface_calls.get(name, 0)
                for name in (*earlier.surface_calls, *self.surface_calls)
            },
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """The resource usage of a sandbox, and the mechanism that enforces each limit.

    Attributes:
        cpu_s: Processor seconds of all its processes, None if unknown.
        memory_mb: Resident memory now, None if unknown.
        processes: Number of live processes, including the supervisor.
        disk_mb: Size of the data written since the snapshot it started from.
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
    """Something that this machine lacks, and the command or step that adds it."""

    what: str
    fix: str
