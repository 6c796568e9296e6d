"""The processes of the guest as /proc shows them (proc(5)), and signals to them."""

from __future__ import annotations

import os


class Process:
    """The content of /proc/pid/stat for one process."""

    def __init__(self, fields: list[bytes]) -> None:
        self.state = fields[0]
        self.parent, self.session = int(fields[1]), int(fields[3])
        # Processor time (user, system) of the process and of its ended children.
        self.cpu_ticks = sum(int(field) for field in fields[11:15])
        self.threads = int(fields[17])
        self.start_ticks = int(fields[19])
        self.resident_pages = int(fields[21])

    def ended(self) -> bool:
        # The first thread may end before the others.
        return self.state in b"ZX" and self.threads < 2


def read_stat(path: str) -> list[bytes]:
    """Return the fields of a stat file from the state on; the name before it is arbitrary."""
    try:
        with open(path, "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def process_table() -> dict[int, Process]:
    """Return every process but this one, zombies included."""
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            fields = read_stat(f"/proc/{name}/stat")
            if fields:
                table[int(name)] = Process(fields)
    return table


def thread_states(pid: int, process: Process) -> list[bytes]:
    """Return the state of every thread."""
    if process.threads < 2:
        return [process.state]
    try:
        names = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [
        fields[0] for fields in (read_stat(f"/proc/{pid}/task/{n}/stat") for n in names) if fields
    ]


def ticks_now() -> int:
    with open("/proc/uptime", "rb") as file:
        return int(float(file.read().split()[0]) * os.sysconf("SC_CLK_TCK"))


def ignores_interrupt(pid: int) -> bool:
    """Return whether a process ignores SIGINT and SIGQUIT, like background jobs of bash."""
    try:
        with open(f"/proc/{pid}/status") as file:
            for line in file:
                if line.startswith("SigIgn:"):
                    mask = int(line.split()[1], 16)
                    return mask & 0b110 == 0b110
    except (OSError, ValueError):
        pass
    return False


def send_signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass
