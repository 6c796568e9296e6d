"""Attacks on PID 1, the supervisor: a guest that controls it speaks to the host in its name."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import glob
import os
import signal
import socket
import struct

from agentgym.testing.attacks.probing import attempt, call, effective, open_for, program

_PTRACE_ATTACH, _PTRACE_SEIZE = 16, 0x4206
_SCHED_IDLE = 5
_BY_PROCESS, _BY_GROUP, _BY_USER = 0, 1, 2
_WORD = ctypes.sizeof(ctypes.c_void_p)


@program("PID 1 of a process namespace takes no signals")
def killing(victim: str = "1") -> None:
    """Kill or stop PID 1, by every signal and every call that sends one."""
    pid = int(victim)
    # The two stopping signals come first, because a process survives them.
    attempt("pidfd_send_signal", _signal, pid, _by_descriptor, pid, signal.SIGSTOP)
    _recover(pid)
    first = (signal.SIGSTOP, signal.SIGTSTP)
    others = signal.valid_signals() - {*first, signal.SIGKILL, signal.SIGCHLD, signal.SIGCONT}
    for number in (*first, *sorted(others), signal.SIGKILL):
        attempt(signal_name(number), _signal, pid, os.kill, pid, number)
        _recover(pid)


def signal_name(number: int) -> str:
    """Return a signal's name, including real-time signals."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _recover(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGCONT)


def _by_descriptor(pid: int, number: int) -> None:
    call("pidfd_send_signal", call("pidfd_open", pid, 0), number, None, 0)


def _signal(pid: int, send: object, *arguments: object) -> None:
    send(*arguments)  # type: ignore[operator]
    # The signal is delivered when the process is next scheduled, so a yield suffices.
    for _ in range(200):
        os.sched_yield()
        if _state(pid) in "TtZX":
            return
    effective(False, "no effect")


def _state(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0].decode()
    except OSError:
        return "X"


@program("not dumpable, and no CAP_SYS_PTRACE")
def reading_its_memory(victim: str = "1") -> None:
    """Trace PID 1, read or write its memory, its descriptors and its environment."""
    pid = int(victim)
    page = ctypes.create_string_buffer(64)
    local = struct.pack("=QQ", ctypes.addressof(page), 64)
    remote = struct.pack("=QQ", _some_address(pid), 64)
    for name in ("process_vm_readv", "process_vm_writev"):
        attempt(name, call, name, pid, local, 1, remote, 1, 0)
    for name in ("environ", "auxv", "mem", "stack", "syscall", "pagemap", "io", "personality"):
        attempt(f"read {name}", _read_one, f"/proc/{pid}/{name}")
    attempt("write mem", open_for, f"/proc/{pid}/mem", os.O_WRONLY)
    for name in ("root", "cwd", "exe", "ns/mnt"):
        attempt(f"follow {name}", os.readlink, f"/proc/{pid}/{name}")
    # Not fd itself: the owner may list it and learns only the number of descriptors.
    for name in ("map_files", "fdinfo"):
        attempt(f"list {name}", os.listdir, f"/proc/{pid}/{name}")
    attempt("open a descriptor", _open_descriptor, pid)
    attempt("take a descriptor", _take_descriptor, pid)
    attempt("enter its namespaces", _enter, pid)
    attempt("ptrace seize", call, "ptrace", _PTRACE_SEIZE, pid, 0, 0)
    attempt("ptrace attach", call, "ptrace", _PTRACE_ATTACH, pid, 0, 0)


def _some_address(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/maps") as file:
            return next(
                (int(line.split("-")[0], 16) for line in file if " rw-p " in line), 0x400000
            )
    except OSError:
        return 0x400000


def _read_one(path: str) -> None:
    fd = os.open(path, os.O_RDONLY)
    if not path.endswith("/mem"):
        os.read(fd, 1)


def _open_descriptor(pid: int) -> None:
    # A socket cannot be opened this way (ENXIO), but this error shows that access is allowed.
    for number in (0, *range(3, 8), *range(100, 104)):
        try:
            os.stat(f"/proc/{pid}/fd/{number}")
            return
        except FileNotFoundError:
            continue


def _take_descriptor(pid: int) -> None:
    process = call("pidfd_open", pid, 0)
    for number in (0, *range(3, 8), *range(100, 104)):
        try:
            call("pidfd_getfd", process, number, 0)
            return
        except OSError as error:
            if error.errno != 9:
                raise


def _enter(pid: int) -> None:
    call("setns", call("pidfd_open", pid, 0), 0x40000000)


@program("system call filter; masked files")
def starving(victim: str = "1") -> None:
    """Slow PID 1 down, limit it, or have it chosen when memory runs out."""
    pid = int(victim)
    attempt("prlimit", call, "prlimit64", pid, 7, struct.pack("=QQ", 3, 3), None)
    attempt("sched_setscheduler", call, "sched_setscheduler", pid, _SCHED_IDLE, bytes(4))
    idle = struct.pack("=IIQiIQQQ", 48, _SCHED_IDLE, 0, 0, 0, 0, 0, 0)
    attempt("sched_setattr", call, "sched_setattr", pid, idle, 0)
    attempt("sched_setaffinity", call, "sched_setaffinity", pid, 128, b"\x01" + bytes(127))
    attempt("ioprio_set", call, "ioprio_set", 1, pid, 3 << 13)
    attempt("oom_score_adj", _write, f"/proc/{pid}/oom_score_adj", "999")
    attempt("oom_adj", _write, f"/proc/{pid}/oom_adj", "15")
    attempt("coredump_filter", _write, f"/proc/{pid}/coredump_filter", "00000001")
    attempt("setpriority user", _lower_everybody, pid)
    attempt("setpriority process", call, "setpriority", _BY_PROCESS, pid, 19)
    attempt("setpriority group", call, "setpriority", _BY_GROUP, os.getpgid(pid), 19)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
    with open(path) as file:
        effective(file.read().strip() == text, "masked")


def _lower_everybody(pid: int) -> None:
    before = os.getpriority(os.PRIO_PROCESS, pid)
    call("setpriority", _BY_USER, os.getuid(), before + 1)
    effective(os.getpriority(os.PRIO_PROCESS, pid) > before, "not that one")


@program("the socket is gone before the first command")
def its_channel(folder: str = "/run") -> None:
    """Connect to the supervisor's socket, or to any other that can be found."""
    paths = [
        p for p in glob.glob(f"{folder}/**", recursive=True, include_hidden=True) if _is_socket(p)
    ]
    with open("/proc/net/unix") as file:
        names = [line.split()[-1] for line in file.readlines()[1:] if len(line.split()) > 7]
    for path in {f"{folder}/agentgym/entry/socket", *paths, *names}:
        attempt(f"connect to {path}", _connect, path.replace("@", "\0", 1))
    attempt("write to standard input", _write_back)


def _is_socket(path: str) -> bool:
    try:
        return os.path.exists(path) and (os.stat(path).st_mode & 0o170000) == 0o140000
    except OSError:
        return False


def _connect(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(5)
        link.connect(path)


def _write_back() -> None:
    """Look whether an inherited descriptor is the channel."""
    for name in os.listdir("/proc/self/fd"):
        try:
            kind = os.readlink(f"/proc/self/fd/{name}")
            writable = fcntl.fcntl(int(name), fcntl.F_GETFL) & os.O_ACCMODE
        except OSError:
            continue
        if kind.startswith("socket:") and writable:
            return
    effective(False, "no socket among the descriptors")
