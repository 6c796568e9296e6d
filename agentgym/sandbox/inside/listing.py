"""The process table for the host: arguments, listening ports, resources in use."""

from __future__ import annotations

import os

from agentgym.sandbox.inside.processes import Process, process_table, read_stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from agentgym.sandbox.inside.messages import Request, Result

MAX_ARGV = 16384


def list_processes(shells: Container[int]) -> Result:
    """List the running processes except the shells, with their arguments and listening ports."""
    table = sorted(process_table().items())
    others = [pid for pid, seen in table if not (seen.ended() or pid in shells)]
    # For these the kernel walks the tables of the whole host, which takes some milliseconds.
    ports = listening_ports() if others else {}
    found = []
    for pid in others:
        try:
            folder = f"/proc/{pid}"
            argv = read_argv(folder)
            if not argv:
                # A first thread that has ended, or is ending, has only its number left.
                folder += "/task/" + max(os.listdir(folder + "/task"), key=int)
                argv = read_argv(folder)
                if not argv and not has_memory(folder):
                    # The thread is ending.
                    continue
        except (OSError, ValueError):
            # The process has ended or has no thread left.
            continue
        found.append([pid, argv, ports_of(folder, ports) if ports else []])
    return {"processes": found}, b""


def read_argv(folder: str) -> list[str]:
    with open(folder + "/cmdline", "rb") as file:
        return [os.fsdecode(part) for part in file.read(MAX_ARGV).split(b"\0")[:-1]]


def has_memory(folder: str) -> bool:
    with open(folder + "/statm", "rb") as file:
        return not file.read().startswith(b"0 ")


def listening_ports() -> dict[str, int]:
    """Return {link target of a descriptor: TCP port} for every listening socket."""
    ports = {}
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(name) as file:
                for line in file.readlines()[1:]:
                    fields = line.split()
                    if fields[3] == "0A":
                        ports["socket:[" + fields[9] + "]"] = int(fields[1].rpartition(":")[2], 16)
        except OSError:
            continue
    return ports


def ports_of(folder: str, ports: dict[str, int]) -> list[int]:
    found = set()
    try:
        for fd in os.listdir(folder + "/fd"):
            try:
                target = os.readlink(folder + "/fd/" + fd)
            except OSError:
                # The descriptor was closed after the listing.
                continue
            if target in ports:
                found.add(ports[target])
    except OSError:
        pass
    return sorted(found)


def op_usage(request: Request, body: bytes) -> Result:
    processes = [Process(read_stat("/proc/self/stat")), *process_table().values()]
    used = {
        "cpu_s": sum(process.cpu_ticks for process in processes) / os.sysconf("SC_CLK_TCK"),
        "memory_bytes": sum(p.resident_pages for p in processes) * os.sysconf("SC_PAGE_SIZE"),
        "processes": sum(not process.ended() for process in processes),
    }
    return used, b""
