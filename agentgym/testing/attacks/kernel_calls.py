"""System calls that reach the kernel, which every sandbox shares with the host."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import struct
import time

from agentgym.testing.attacks.probing import attempt, call, call_number, effective, probe, program

_PROCESS_KEYRING, _SESSION_KEYRING = -2, -3
_KEYCTL_GET_KEYRING_ID, _KEYCTL_SEARCH, _KEYCTL_READ = 0, 10, 11
_NAMESPACES = {
    "mount": 0x00020000,
    "cgroup": 0x02000000,
    "uts": 0x04000000,
    "ipc": 0x08000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
    "time": 0x00000080,
}
_SIGCHLD = 17


@program("capabilities; system call filter")
def machine() -> None:
    """Restart the machine, load a kernel or a module, swap, account, set the clock."""
    probe("reboot", call, "reboot", 0, 0, 0, None)
    probe("kexec_load", call, "kexec_load", 0, 0, None, -1)
    probe("kexec_file_load", call, "kexec_file_load", -1, -1, 0, None, -1)
    probe("init_module", call, "init_module", None, 0, None)
    probe("finit_module", call, "finit_module", -1, b"", 0)
    # No module has this name, so an authorised caller gets ENOENT.
    attempt("delete_module", _reaches, 2, "delete_module", b"agentgym_none", os.O_NONBLOCK)
    attempt("swapon", _reaches, 2, "swapon", b"/agentgym-none", 0)
    attempt("swapoff", _reaches, 2, "swapoff", b"/agentgym-none")
    attempt("acct", _reaches, 2, "acct", b"/agentgym-none")
    attempt("quotactl", _reaches, 2, "quotactl", 0x80000200, b"/agentgym-none", 0, None)
    now = struct.pack("=qq", int(time.time()), time.time_ns() % 10**9)
    attempt("clock_settime", call, "clock_settime", 0, now)
    attempt("settimeofday", call, "settimeofday", now[:8] + struct.pack("=q", 0), None)
    # ADJ_TICK with an impossible tick.
    probe("adjtimex", call, "adjtimex", struct.pack("=I", 0x4000) + bytes(204))
    attempt("iopl", call, "iopl", 3)
    attempt("ioperm", call, "ioperm", 0x80, 1, 1)


def _reaches(expected: int, *arguments: object) -> None:
    """Make a call for which one particular error means success."""
    try:
        call(*arguments)  # type: ignore[arg-type]
    except OSError as error:
        if error.errno != expected:
            raise


@program("system call filter")
def risky_calls() -> None:
    """Use the parts of the kernel that most exploits begin with."""
    # An array map of one element; a task clock; user mode faults only; one ring entry.
    attempt("bpf", call, "bpf", 0, struct.pack("=4I", 2, 4, 4, 1) + bytes(112), 128)
    clock = struct.pack("=IIQQQQQ", 1, 128, 1, 0, 0, 0, 0x61) + bytes(80)
    attempt("perf_event_open", call, "perf_event_open", clock, 0, -1, -1, 0)
    attempt("userfaultfd", call, "userfaultfd", 1)
    attempt("io_uring_setup", call, "io_uring_setup", 1, bytes(120))
    attempt("fanotify_init", call, "fanotify_init", 0x4, 0)
    attempt("read the kernel log", call, "syslog", 3, ctypes.create_string_buffer(4096), 4096)


@program("system call filter")
def keyrings(secret: str = "agentgym-none") -> None:
    """Read a key of the host's session, and keep keys where every sandbox can."""
    attempt("add_key", call, "add_key", b"user", b"agentgym", b"x", 1, _PROCESS_KEYRING)
    attempt("request_key", _reaches, 126, "request_key", b"user", b"agentgym-none", None, 0)
    attempt("session keyring", call, "keyctl", _KEYCTL_GET_KEYRING_ID, _SESSION_KEYRING, 0)
    attempt("the host's key", _read_key, secret)


def _read_key(secret: str) -> None:
    name = secret.encode()
    key = call("keyctl", _KEYCTL_SEARCH, _SESSION_KEYRING, b"user", name, 0)
    call("keyctl", _KEYCTL_READ, key, ctypes.create_string_buffer(64), 64)


@program("capabilities; no user namespaces left; system call filter")
def namespaces() -> None:
    """Make or enter namespaces, where more could be done."""
    for name, flag in _NAMESPACES.items():
        attempt(f"unshare {name}", call, "unshare", flag)
        if name != "time":
            attempt(f"clone {name}", _clone, "clone", flag | _SIGCHLD, 0, 0, 0, 0)
        attempt(f"clone3 {name}", _clone, "clone3", struct.pack("=8Q", flag, *[0] * 7), 64)
    attempt("setns", _setns)


def _clone(name: str, *arguments: object) -> None:
    if call(name, *arguments) == 0:
        os._exit(0)


def _setns() -> None:
    call("setns", os.open("/proc/self/ns/net", os.O_RDONLY), 0)


@program("capabilities; system call filter")
def file_handles() -> None:
    """Open files of the host's disk by their number, as the "shocker" exploit did."""
    for folder in ("/", "/usr", "/etc/hostname", "/usr/bin"):
        attempt(f"open_by_handle_at {folder}", _open_root_inode, folder)


def _open_root_inode(folder: str) -> None:
    # Type 1 is an inode number and a generation; 2 is the root of an ext4 file system.
    handle = struct.pack("=IiII", 8, 1, 2, 0)
    mount = os.open(folder, os.O_RDONLY)
    call("open_by_handle_at", mount, ctypes.create_string_buffer(handle), os.O_RDONLY)


@program("system call filter")
def foreign_calls() -> None:
    """Make forbidden calls by the call numbers of 32-bit programs."""
    if platform.machine() == "x86_64":
        # add_key has the number 286 there; with no description it answers EFAULT.
        probe("i386 getpid", _interrupt_80, 20)
        probe("i386 add_key", _interrupt_80, 286)
        probe("x32 getpid", call_number, 0x40000000 | 39)
        probe("x32 add_key", call_number, 0x40000000 | 248, None, None, None, 0, 0)
    else:
        effective(False, "this machine has no other call numbers")


def _interrupt_80(number: int) -> None:
    # push rbx; mov eax, number; xor ebx, ebx; int 0x80; pop rbx; ret
    code = b"\x53\xb8" + struct.pack("=I", number) + b"\x31\xdb\xcd\x80\x5b\xc3"
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    if result < 0:
        raise OSError(-result, os.strerror(-result))
