"""Becoming more than a guest is: capabilities, setuid programs, priorities."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import struct
import subprocess

from agentgym.testing.attacks.probing import attempt, call, effective, program

_VERSION_3 = 0x20080522
_SYS_ADMIN, _SYS_PTRACE, _NET_RAW = 21, 19, 13
_PR_SET_NO_NEW_PRIVS = 38
_FIFO = 1
_SOMEBODY = 33


@program("capabilities dropped for good")
def capabilities() -> None:
    """Take capabilities: for oneself, for children, on a file."""
    for name, number in (("SYS_ADMIN", _SYS_ADMIN), ("SYS_PTRACE", _SYS_PTRACE)):
        attempt(f"capset {name}", _raise_capability, number)
    attempt("on a file", _file_capability)
    attempt("allow new privileges", call, "prctl", _PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0)


def _raise_capability(number: int) -> None:
    word = struct.pack("=3I", 1 << number, 1 << number, 0)
    call("capset", struct.pack("=Ii", _VERSION_3, 0), word + bytes(12))


def _file_capability() -> None:
    shutil.copy("/usr/bin/env", "/tmp/capable")
    # VFS_CAP_REVISION_2, effective; permitted: CAP_NET_RAW.
    value = struct.pack("=5I", 0x02000001, 1 << _NET_RAW, 0, 0, 0)
    os.setxattr("/tmp/capable", "security.capability", value)


@program("no new privileges; one user id")
def setuid_programs() -> None:
    """As another user, become root through a program with the setuid bit."""
    attempt("setuid", _run_setuid, 0o4755, "-u")
    attempt("setgid", _run_setuid, 0o2755, "-g")


def _run_setuid(mode: int, option: str) -> None:
    copy = f"/tmp/id{option}"
    shutil.copy("/usr/bin/id", copy)
    os.chmod(copy, mode)
    os.setgroups([])
    os.setgid(_SOMEBODY)
    os.setuid(_SOMEBODY)
    done = subprocess.run([copy, option], stdout=subprocess.PIPE, check=True)
    effective(done.stdout == b"0\n", f"still {done.stdout.decode().strip()}")


@program("capabilities; resource limits")
def priorities() -> None:
    """Take more of the machine than others: real time, nice, locked memory, higher limits."""
    attempt("real time", call, "sched_setscheduler", 0, _FIFO, struct.pack("=i", 1))
    attempt("nice", os.nice, -5)
    attempt("never out of memory", _protect)
    attempt("more open files", _raise_limit, resource.RLIMIT_NOFILE)
    attempt("larger core files", _raise_limit, resource.RLIMIT_CORE)
    attempt("host name", call, "sethostname", ctypes.create_string_buffer(b"agentgym"), 8)


def _protect() -> None:
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("-900")


def _raise_limit(kind: int) -> None:
    _, hard = resource.getrlimit(kind)
    # Python's own function would turn the errno into a sentence.
    call("prlimit64", 0, kind, struct.pack("=QQ", hard + 1, hard + 1), None)
