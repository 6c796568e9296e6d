"""Confinement of workers: limits on time and memory, and no rights that they do not need.

Layers hold files of any mode and owner, so a worker keeps the right to read (CAP_DAC_READ_SEARCH).
If root runs the host, the right covers all files; if an ordinary user does, it covers that user's
files in a new user namespace. A worker of root may write only in its own folder for temporary files
and where any user may. See capabilities(7).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import time
from pathlib import Path

CPU_S = 10
MEMORY_BYTES = 512 * 2**20
_NOBODY = 65534
_CLONE_NEWUSER = 0x10000000
_PR_SET_PDEATHSIG, _PR_SET_KEEPCAPS, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 1, 8, 38, 47
_PR_CAP_AMBIENT_RAISE = 2
_CAP_DAC_READ_SEARCH = 2
_CAPABILITY_VERSION_3 = 0x20080522
_TICKED_CLOCK = ~0 << 3  # of this process (0), CPUCLOCK_PROF (0): user and system time in ticks

_libc = ctypes.CDLL(None, use_errno=True)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


def confine(folder: str) -> None:
    """Give up rights that a worker does not need; called while it has one thread.

    Args:
        folder: The folder for its temporary files, which it may write to afterwards.
    """
    os.setsid()
    # Its parent is the fork server, which ends with the host.
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if os.geteuid() == 0:
        os.chown(folder, _NOBODY, _NOBODY)
        _libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # setting a new user id clears it
    else:
        _become_root_of_a_namespace()
    _keep_reading_only()
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _become_root_of_a_namespace() -> None:
    uid, gid = os.geteuid(), os.getegid()
    if _libc.unshare(_CLONE_NEWUSER) != 0:
        return  # then no sandbox could start either, so the right is not needed
    with contextlib.suppress(OSError):
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1")


def _keep_reading_only() -> None:
    only = 1 << _CAP_DAC_READ_SEARCH
    data = (_Data * 2)(_Data(only, only, only), _Data(0, 0, 0))
    header = _Header(_CAPABILITY_VERSION_3, 0)
    if _libc.capset(ctypes.byref(header), ctypes.byref(data)) == 0:
        # A check starts the readers of hostile formats as programs.
        _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_READ_SEARCH, 0, 0)


def limit(cpu_s: int = CPU_S, memory_bytes: int = MEMORY_BYTES) -> None:
    """Limit the further use of this process; over the time limit it is killed.

    Over the memory limit a MemoryError is raised, or the process ends if a library cannot raise it.
    """
    _soft(resource.RLIMIT_CPU, int(used_s()) + 1 + cpu_s)
    _soft(resource.RLIMIT_AS, _pages(0) + memory_bytes)


def used_s() -> float:
    """Return the processor time of this process in seconds, as RLIMIT_CPU counts it.

    The kernel counts whole ticks for that limit. On a busy machine they are up to a third more
    than getrusage(2) tells, so a worker would soon have less time left than it was given.
    """
    try:
        return time.clock_gettime(_TICKED_CLOCK)
    except OSError:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return used.ru_utime + used.ru_stime


def resident_bytes() -> int:
    """Return how much memory this process holds."""
    return _pages(1)


def _soft(what: int, value: int) -> None:
    hard = resource.getrlimit(what)[1]
    bounded = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (bounded, hard))


def _pages(field: int) -> int:
    with open("/proc/self/statm", "rb", buffering=0) as file:
        return int(file.read().split()[field]) * resource.getpagesize()
